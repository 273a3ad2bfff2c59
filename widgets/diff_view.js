// DiffView: bars of the numbers, a table of what differs, and the selected differences in full.

import { barSections, drawBars } from "./diff/bars.js";
import { element } from "./view/dom.js";
import { counted } from "./view/format.js";
import { button, picker, showView } from "./view/host.js";
import { makeChart } from "./view/svg.js";
import { makeTable } from "./view/table.js";

const MOST_BARS = 12; // of a section
const MOST_LETTERS = 120; // of a cell
const MOST_LINES = 400; // below the table

/** @param {import("./view/host.js").Host} host */
function build(host) {
  const { content } = host;
  /** @type {string[][]} */
  const rows = content.rows;
  const byName = new Map(rows.map((row) => [row[0], row]));
  /** @type {Set<string>} */
  let selected = new Set();
  let withEqual = false;
  let section = "all";

  /** @type {(name: string, isMore: boolean) => void} */
  const choose = (name, isMore) => host.select([...new Set([...(isMore ? selected : []), name])]);
  /** @param {import("./diff/bars.js").Figure} figure */
  const nameOf = ([name, method, what]) => {
    // Payloads of one backend are summed; the first delegate that differs is what there is to see.
    if (name !== "delegates") return [name, method, what].join("/");
    return rows.find((row) => row[1] === name && row[2] === method && `${row[4]}, ${row[5]}`.includes(what))?.[0] ?? "";
  };
  const chart = makeChart((width) =>
    drawBars({ width, sections: barSections(content.figures, withEqual, MOST_BARS), selected, nameOf, onPick: (name, isMore) => byName.has(name) && choose(name, isMore) }),
  );
  chart.root.setAttribute("role", "group");
  chart.root.setAttribute("aria-label", `Numbers of ${content.names.join(" and of ")}`);

  /** @param {string} value */
  const clipped = (value) => {
    const line = value.split("\n").join(" ⏎ ");
    return line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS - 1)}…` : line;
  };
  const table = makeTable({
    caption: "Differences",
    columns: [
      { label: "section" },
      { label: "method" },
      { label: "what", text: (value) => (value.length > 44 ? `${value.slice(0, 43)}…` : value) },
      { label: "before", text: clipped },
      { label: "after", text: clipped },
    ],
    rows: [],
    key: (row) => row[5],
    onSelect: choose,
  });
  const full = element("div", { class: "etlab-diff-full", role: "region", "aria-label": "Selected differences", tabindex: "0" });

  const query = element("input", { type: "search", placeholder: "find", "aria-label": "Find differences", spellcheck: "false" });
  const found = element("span", { class: "etlab-view-found" });
  const choices = ["all", ...content.sections.filter((/** @type {any[]} */ [, count]) => count).map((/** @type {any[]} */ [name]) => name)];
  const sections = picker("section", choices, section, (name) => {
    section = name;
    showRows();
  });
  const equalButton = button("equal too", "Show numbers that are the same, too", false);
  /** @type {string[][]} */
  let shown = [];
  const showRows = () => {
    const wanted = query.value.trim().toLowerCase();
    shown = rows.filter((row) => {
      if (section !== "all" && row[1] !== section) return false;
      return !wanted || row.some((cell) => cell.toLowerCase().includes(wanted));
    });
    table.setRows(shown.map(([name, ...cells]) => [...cells, name]));
    table.select(selected);
    found.textContent = shown.length === rows.length ? counted(rows.length, "difference") : `${shown.length} of ${rows.length}`;
  };
  const showFull = () => {
    full.replaceChildren();
    full.hidden = !selected.size;
    let lines = 0;
    for (const name of selected) {
      const row = byName.get(name);
      if (!row || lines > MOST_LINES) continue;
      const [, kind, method, what, before, after] = row;
      full.append(element("div", { class: "etlab-diff-what" }, [[kind, method, what].filter(Boolean).join(", ")]));
      for (const [text, sign, style] of [[before, "-", "before"], [after, "+", "after"]]) {
        for (const line of text ? text.split("\n") : []) {
          if (++lines > MOST_LINES) break;
          full.append(element("div", { class: `etlab-diff-line etlab-diff-${style}-line` }, [`${sign} ${line}`]));
        }
      }
    }
    if (lines > MOST_LINES) full.append(element("div", {}, ["… and more: view.rows has all of it"]));
  };
  /** @param {number} step */
  const walk = (step) => {
    if (!shown.length) return;
    const [last] = [...selected].slice(-1);
    const at = shown.findIndex(([name]) => name === last);
    const next = at < 0 ? (step > 0 ? 0 : shown.length - 1) : (at + step + shown.length) % shown.length;
    choose(shown[next][0], false);
  };
  query.addEventListener("input", showRows);
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter") walk(event.shiftKey ? -1 : 1);
  });
  equalButton.addEventListener("click", () => {
    withEqual = !withEqual;
    equalButton.setAttribute("aria-pressed", String(withEqual));
    chart.redraw();
  });
  host.tools.append(query, found, sections.root, equalButton);
  host.body.append(element("div", { class: "etlab-diff-what" }, [content.title]));
  if (!rows.length) host.body.append(element("div", { class: "etlab-view-note" }, ["nothing differs"]));
  host.body.append(chart.root, table.root, full);
  ["before", "after"].forEach((kind, k) => {
    const swatch = element("span", { class: `etlab-view-swatch etlab-diff-${kind}`, "aria-hidden": "true" });
    host.legend.append(element("span", { class: "etlab-view-entry" }, [swatch, `${kind}: ${content.names[k]}`]));
  });
  showRows();

  return {
    /** @param {string[]} names */
    select(names) {
      selected = new Set(names);
      chart.redraw();
      table.select(selected);
      showFull();
      const row = byName.get(names[names.length - 1]);
      host.say(row ? `${row[3]}: ${clipped(row[4]) || "absent"} → ${clipped(row[5]) || "absent"}` : "nothing selected");
    },
    keys: { n: () => walk(1), N: () => walk(-1), "/": () => query.focus() },
    close: chart.close,
  };
}

/** @param {{model: any, el: HTMLElement}} place */
function render(place) {
  return showView(place, {
    name: "etlab-diff",
    label: "Differences of programs",
    help: [
      ["Tab, Enter, Space", "walk the bars; select"],
      ["↑ ↓, Enter", "walk the table; select"],
      ["n, N", "next and last difference"],
      ["/", "find"],
      ["Shift", "add to the selection"],
    ],
    build,
  });
}

export default { render };
