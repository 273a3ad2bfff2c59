// DelegationView: bars of who computes what, and tables of reasons, delegates, borders, operators.

import { drawCoverage } from "./delegation/coverage.js";
import { element } from "./view/dom.js";
import { counted, formatBytes, formatFlops, formatSeconds } from "./view/format.js";
import { button, showView } from "./view/host.js";
import { makeChart, svgElement } from "./view/svg.js";
import { makeTable } from "./view/table.js";
import { makeTabs } from "./view/tabs.js";

/** @typedef {import("./view/table.js").Column} Column */

const NODE = 0;
const BACKEND = 8;
const PART = 9;
const KIND = 10;
const OWN = "own kernels";
let patterns = 0;

/** @type {Column} */
const BYTES = { label: "bytes", isNumeric: true, text: (value) => formatBytes(value) };
/** @type {Column} */
const FLOPS = { label: "FLOPs", isNumeric: true, text: (value) => formatFlops(value) };
/** @type {Column} */
const TIME = { label: "time", isNumeric: true, text: (value) => formatSeconds(value) };
/** @type {(label: string) => Column} */
const crossing = (label) => ({ label, isNumeric: true, text: (value) => formatBytes(value, "dynamic") });
/** @type {(label: string) => Column} */
const count = (label) => ({ label, isNumeric: true });

/** @param {import("./view/host.js").Host} host */
function build(host) {
  const { content } = host;
  /** @type {any[][]} */
  const calls = content.calls;
  const timed = content.runs ? [TIME] : [];
  const places = new Map(calls.map((call, place) => [call[NODE], place]));
  const hatch = `etlab-own${++patterns}`;
  const fills = content.backends.map((/** @type {string} */ name, /** @type {number} */ k) =>
    name === OWN ? `url(#${hatch})` : content.colours[k],
  );
  /** @type {Set<string>} */
  let selected = new Set();
  /** @type {any[][]} calls that the last table shows */
  let scope = [];

  /** @type {(found: any[][], isMore: boolean) => void} */
  const choose = (found, isMore) => {
    const names = new Set(isMore ? host.selection : []);
    for (const call of found) names.add(call[NODE]);
    host.select([...names]);
  };
  /** @type {(place: number, value: number) => any[][]} */
  const callsWhere = (place, value) => calls.filter((call) => call[place] === value);

  const chart = makeChart((width) => {
    const chosen = [...selected].map((name) => places.get(name) ?? -1).filter((place) => place >= 0);
    const owner = new Set(chosen.map((place) => calls[place][BACKEND]));
    const [only] = owner;
    const isWhole = owner.size === 1 && callsWhere(BACKEND, only).length === chosen.length;
    const { height, parts } = drawCoverage({
      width,
      shares: content.shares,
      backends: content.backends,
      fills,
      owners: calls.map((call) => [call[BACKEND], call[PART]]),
      selected: chosen,
      pressed: isWhole ? only : -1,
      onBackend: (backend, isMore) => choose(callsWhere(BACKEND, backend), isMore),
      onCalls: (start, length, isMore) => choose(calls.slice(start, start + length), isMore),
    });
    return { height, parts: [ownPattern(hatch), ...parts] };
  });
  chart.root.setAttribute("role", "group");
  chart.root.setAttribute("aria-label", `Who computes ${content.title}`);

  /** @type {{name: string, label: string, panel: HTMLElement, select: () => void}[]} */
  const tabs = [];
  /** @type {(name: string, caption: string, columns: Column[], rows: any[][], members: (place: number) => any[][]) => void} */
  const addTable = (name, caption, columns, rows, members) => {
    const numbered = rows.map((row, place) => [...row.slice(0, columns.length), place]);
    const table = makeTable({
      caption,
      columns,
      rows: numbered,
      key: (row) => String(row[columns.length]),
      onSelect: (_, isMore, row) => choose(members(row[columns.length]), isMore),
    });
    const families = rows.map((_, place) => members(place));
    const select = () => {
      const all = families.map((family) => family.length > 0 && family.every((call) => selected.has(call[NODE])));
      table.select(all.flatMap((isChosen, place) => (isChosen ? [String(place)] : [])));
    };
    tabs.push({ name, label: `${caption} (${rows.length})`, panel: table.root, select });
  };
  const measures = [count("calls"), BYTES, FLOPS, ...timed];
  addTable(
    "reasons",
    "Reasons",
    [{ label: "why calls stayed" }, { label: "what would help" }, { label: "operators" }, ...measures],
    content.reasons,
    (place) => callsWhere(KIND, place),
  );
  addTable(
    "parts",
    "Delegates",
    [{ label: "delegate" }, { label: "backend" }, { label: "operators" }, count("calls"), crossing("in"), crossing("out"), crossing("payload"), ...timed],
    content.parts,
    (place) => callsWhere(PART, place),
  );
  const parts = new Map(content.parts.map((/** @type {any[]} */ part, /** @type {number} */ place) => [part[0], place]));
  addTable(
    "borders",
    "Borders",
    [{ label: "tensor" }, { label: "made by" }, { label: "used by" }, { label: "shape" }, { label: "dtype" }, crossing("bytes")],
    content.borders,
    (place) => {
      const [tensor, madeBy, usedBy] = content.borders[place];
      const own = places.get(tensor);
      if (own !== undefined) return [calls[own]];
      const names = parts.has(madeBy) ? [madeBy] : String(usedBy).split(", ");
      return names.flatMap((name) => (parts.has(name) ? callsWhere(PART, /** @type {number} */ (parts.get(name))) : []));
    },
  );
  addTable(
    "operators",
    "Operators",
    [{ label: "operator" }, { label: "backends" }, count("calls"), count("delegated"), BYTES, FLOPS, ...(content.runs ? [{ ...TIME, label: "time with own kernels" }] : [])],
    content.operators,
    (place) => calls.filter((call) => call[1] === content.operators[place][0]),
  );
  addTable(
    "modules",
    "Modules",
    [{ label: "module" }, { label: "operators that stayed" }, count("calls"), count("stayed")],
    content.modules,
    (place) => calls.filter((call) => (call[2] || "(top)") === content.modules[place][0]),
  );
  const isFirst = !host.kept.tab;
  const tabbed = makeTabs("Tables", tabs, host.kept);
  const detail = makeTable({
    caption: "Calls",
    columns: [
      { label: "node" },
      { label: "operator" },
      { label: "module" },
      { label: "source", text: (value) => (value.length > 72 ? `${value.slice(0, 71)}…` : value) },
      { label: "why it stayed" },
      BYTES,
      FLOPS,
      ...timed,
    ],
    rows: [],
    key: (row) => row[NODE],
    onSelect: (_, isMore, row) => choose([row], isMore),
  });
  const measureButton = button("measure time", "Run natively and show who takes how much of the time (t)");
  const problem = element("div", { class: "etlab-view-note", role: "alert", hidden: "" });
  /** @param {string} text */
  const complain = (text) => {
    problem.hidden = !text;
    problem.textContent = text;
  };
  const showWork = () => {
    measureButton.disabled = Boolean(host.model.get("working"));
    complain(host.model.get("problem") ?? "");
    if (host.model.get("working")) host.say("measuring …");
  };
  const measure = () => {
    if (!measureButton.disabled) host.ask({ type: "measure" }).catch((error) => complain(error.message));
  };
  measureButton.addEventListener("click", measure);
  host.model.on("change:working", showWork);
  host.model.on("change:problem", showWork);
  if (!content.runs) host.tools.append(measureButton);
  showWork();
  const title = element("div", { class: "etlab-delegation-title" }, [content.title]);
  host.body.append(title, problem, chart.root, tabbed.root, detail.root);
  content.backends.forEach((/** @type {string} */ name, /** @type {number} */ k) => {
    const swatch = element("span", { class: `etlab-view-swatch${name === OWN ? " etlab-delegation-own" : ""}`, "aria-hidden": "true" });
    if (name !== OWN) swatch.style.background = content.colours[k];
    host.legend.append(element("span", { class: "etlab-view-entry" }, [swatch, name]));
  });
  if (isFirst && !content.reasons.length && content.parts.length) tabbed.show("parts");

  return {
    /** @param {string[]} names */
    select(names) {
      selected = new Set(names);
      const inScope = new Set(scope.map((call) => call[NODE]));
      // One call of those that are listed: the others stay in sight.
      if (names.length !== 1 || !inScope.has(names[0])) {
        scope = names.length ? calls.filter((call) => selected.has(call[NODE])) : calls;
        detail.setRows(scope);
      }
      chart.redraw();
      for (const tab of tabs) tab.select();
      detail.select(names);
      const flat = [...selected];
      const more = flat.length > 3 ? ` and ${flat.length - 3} more` : "";
      host.say(flat.length ? `${counted(flat.length, "call")} selected: ${flat.slice(0, 3).join(", ")}${more}` : "nothing selected");
    },
    keys: {
      r: () => tabbed.show("reasons"),
      d: () => tabbed.show("parts"),
      b: () => tabbed.show("borders"),
      o: () => tabbed.show("operators"),
      m: () => tabbed.show("modules"),
      t: measure,
    },
    close() {
      host.model.off("change:working", showWork);
      host.model.off("change:problem", showWork);
      chart.close();
    },
  };
}

/**
 * Grey with hatches: told apart without colours, too.
 * @param {string} id
 */
function ownPattern(id) {
  return svgElement("defs", {}, [
    svgElement("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, [
      svgElement("rect", { width: 6, height: 6, fill: "#d9d9d9" }),
      svgElement("path", { d: "M0 0V6", stroke: "#999999", "stroke-width": 2 }),
    ]),
  ]);
}

/** @param {{model: any, el: HTMLElement}} place */
function render(place) {
  return showView(place, {
    name: "etlab-delegation",
    label: "Delegation",
    help: [
      ["Tab, Enter, Space", "walk the bars; select who computes"],
      ["↑ ↓, Enter", "walk a table; select"],
      ["Shift", "add to the selection"],
      ["r, d, b, o, m", "reasons, delegates, borders, operators, modules"],
      ["t", "measure time"],
    ],
    build,
  });
}

export default { render };
