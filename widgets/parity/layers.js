// The heat table of layers: every metric on own values, and alone on the reference's inputs.

import { readNumber } from "../view/format.js";
import { luminance } from "../view/palette.js";
import { makeTable } from "../view/table.js";
import { heatOf } from "./heat.js";

const FACTS = 5; // columns before the metrics

/**
 * @param {any} content
 * @param {string} path
 * @param {boolean} withOthers whether operators are listed that were not compared, with the reason
 * @param {(name: string, isMore: boolean) => void} onSelect
 */
export function layerTable(content, path, withOthers, onSelect) {
  /** @type {import("./heat.js").Metric[]} */
  const metrics = content.metrics;
  const shown = metrics.length * 2;
  /** @type {((value: number | null) => string | undefined)[]} */
  let heats = [];
  const after = FACTS + shown; // note, then what is not shown: texts, key
  /** @type {import("../view/table.js").Column[]} */
  const columns = [
    { label: "≠" },
    { label: "operator" },
    { label: "computed by" },
    { label: "module" },
    { label: "source", text: (value) => (value.length > 48 ? `${value.slice(0, 47)}…` : value) },
    ...Array.from({ length: shown }, (_, k) => ({
      label: metrics[k % metrics.length].label + (k < metrics.length ? "" : ", alone"),
      isNumeric: true,
      text: (/** @type {any} */ _value, /** @type {any[]} */ row) => row[after + 1][k],
      colour: (/** @type {any} */ value) => heats[k](value),
    })),
    { label: "note" },
  ];
  /** @param {string} name */
  const rowsOf = (name) => {
    const listed = (content.rows[name] ?? []).filter((/** @type {any[]} */ row) => withOthers || row[8]);
    /** @type {any[][]} */
    const rows = listed.map((/** @type {any[]} */ [place, names, by, diverges, reason, localReason, known, steps, own, alone]) => {
      const [operator, , module, source] = content.operators[place];
      const cells = [own, alone].flatMap((found) => found ?? metrics.map(() => [null, ""]));
      const note = reason || known || (own && !alone ? localReason : "");
      return [
        diverges ? "≠" : "",
        names,
        by,
        module,
        source,
        ...cells.map(([value]) => readNumber(value)),
        [steps, note].filter(Boolean).join("; "),
        cells.map(([, text]) => text),
        operator,
      ];
    });
    heats = Array.from({ length: shown }, (_, k) => {
      // Both halves of a metric have one scale, so that they can be compared.
      const twins = [k % metrics.length, (k % metrics.length) + metrics.length];
      return heatOf(rows.flatMap((row) => twins.map((twin) => row[FACTS + twin])), metrics[k % metrics.length]);
    });
    return rows;
  };
  const table = makeTable({
    caption: "Layers",
    columns,
    rows: rowsOf(path),
    key: (row) => row[after + 2],
    onSelect: (name, isMore) => onSelect(name, isMore),
    ink: (fill) => (luminance(fill) > 0.179 ? "#000000" : "#ffffff"),
  });
  return {
    root: table.root,
    /** @param {string} name */
    show: (name) => table.setRows(rowsOf(name)),
    /**
     * Whether operators are listed that were not compared, with the reason.
     * @param {string} name
     * @param {boolean} isWanted
     */
    list(name, isWanted) {
      withOthers = isWanted;
      table.setRows(rowsOf(name));
    },
    select: table.select,
  };
}
