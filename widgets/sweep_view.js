// SweepView: a scatter with the front, bounds, parallel coordinates, and a table of all there is.

import { bestPoint, boundStops, keepsBounds } from "./sweep/front.js";
import { drawParallel } from "./sweep/parallel.js";
import { drawScatter } from "./sweep/scatter.js";
import { element } from "./view/dom.js";
import { readNumber } from "./view/format.js";
import { button, picker, showView } from "./view/host.js";
import { makeChart } from "./view/svg.js";
import { makeTable } from "./view/table.js";
import { makeTabs } from "./view/tabs.js";

/** @param {import("./view/host.js").Host} host */
function build(host) {
  const { content, model } = host;
  /** @type {import("./sweep/front.js").Objective[]} */
  const objectives = content.objectives;
  const names = objectives.map((one) => one.name);
  /** @type {any[][]} */
  const rows = content.rows;
  /** @type {import("./sweep/front.js").Point[]} */
  const points = rows.map(([name, , , status, , cells]) => ({
    name,
    isFront: status === "ok, front",
    values: cells.map((/** @type {any[]} */ [value]) => {
      const known = readNumber(value);
      return known !== known ? null : known;
    }),
  }));
  const places = new Map(rows.map(([name], place) => [name, place]));
  /** @type {Set<string>} */
  let selected = new Set();

  /** @type {(name: string, value: any) => void} */
  const keep = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  /** @type {(name: string) => number} */
  const placeOf = (name) => Math.max(0, names.indexOf(model.get(name)));
  /** @returns {Record<string, number>} */
  const bounds = () => model.get("bounds") ?? {};
  const best = () => bestPoint(points, objectives, bounds(), model.get("by"));
  /** @type {(k: number, value: number) => string} */
  const textOf = (k, value) => rows[points.findIndex((one) => one.values[k] === value)]?.[5][k][1] ?? String(value);
  /** @type {(name: string, isMore: boolean) => void} */
  const choose = (name, isMore) => host.select([...new Set([...(isMore ? selected : []), name])]);
  /** @param {import("./sweep/front.js").Point} point */
  const label = ({ name }) => {
    const [, , , status, , cells] = rows[places.get(name) ?? 0];
    const said = cells.map((/** @type {any[]} */ [, text], /** @type {number} */ k) => [names[k], text].join(" "));
    return [`${name}: ${said.join(", ")}`, status].join(", ");
  };

  const scatter = makeChart((width) =>
    drawScatter({
      width,
      points,
      objectives,
      x: placeOf("x"),
      y: placeOf("y"),
      bounds: bounds(),
      best: best(),
      selected,
      onPick: choose,
      label,
    }),
  );
  scatter.root.setAttribute("role", "group");
  scatter.root.setAttribute("aria-label", "Configurations; the table says the same in words");
  const stops = objectives.map((_, k) => boundStops(points, objectives, k));
  const ends = stops.map((one, k) => (one.length ? [textOf(k, one[0]), textOf(k, one[one.length - 1])] : ["", ""]));
  const parallel = makeChart((width) =>
    objectives.length < 3 || !points.length
      ? { height: 0, parts: [] }
      : drawParallel({ width, points, objectives, ends, bounds: bounds(), selected, onPick: choose }),
  );
  parallel.root.setAttribute("role", "img");
  parallel.root.setAttribute("aria-label", `A line a configuration over ${names.join(", ")}, the best at the top`);

  // ---- bounds --------------------------------------------------------------------------------

  const sliders = objectives.map((one, k) => {
    const list = stops[k];
    const input = element("input", { type: "range", min: "0", max: String(Math.max(list.length - 1, 0)), step: "1", value: "0" });
    const said = element("output", {});
    const root = element("label", { class: "etlab-sweep-slider" }, [one.name, input, said]);
    const show = () => {
      const bound = bounds()[one.name];
      const at = bound === undefined ? 0 : list.findIndex((value) => value === bound || (one.higher ? value > bound : value < bound));
      input.value = String(at < 0 ? list.length - 1 : at);
      const text = bound === undefined ? "any" : [one.higher ? "≥" : "≤", textOf(k, bound)].join(" ");
      said.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("input", () => {
      const { [one.name]: _, ...others } = bounds();
      const at = Number(input.value);
      keep("bounds", at ? { ...others, [one.name]: list[at] } : others);
      refresh();
    });
    input.disabled = list.length < 2;
    return { root, show };
  });

  // ---- tables --------------------------------------------------------------------------------

  /** @type {import("./view/table.js").Column[]} */
  const columns = [
    { label: "partitioner" },
    { label: "quantizer" },
    ...objectives.map((one, k) => ({
      label: one.name,
      isNumeric: true,
      text: (/** @type {any} */ _, /** @type {any[]} */ row) => row[names.length + 4][5][k][1],
    })),
    { label: "status" },
    { label: "bounds" },
  ];
  const tableRows = () =>
    rows.map((row, place) => {
      const isKept = keepsBounds(points[place], objectives, bounds());
      const mark = place === best() ? "best" : row[3].startsWith("ok") ? (isKept ? "kept" : "broken") : "";
      return [row[1], row[2], ...points[place].values, row[3], mark, row];
    });
  const all = makeTable({ caption: "Configurations", columns, rows: tableRows(), key: (row) => row[names.length + 4][0], onSelect: choose });
  const lost = rows.filter(([, , , status]) => !status.startsWith("ok"));
  const failed = makeTable({
    caption: "Without result",
    columns: ["partitioner", "quantizer", "status", "reason"].map((one) => ({ label: one })),
    rows: lost.map((row) => [row[1], row[2], row[3], row[4], row[0]]),
    key: (row) => row[4],
    onSelect: choose,
  });
  const tabs = makeTabs("Tables", [
    { name: "all", label: `Configurations (${rows.length})`, panel: all.root },
    ...(lost.length ? [{ name: "failed", label: `Without result (${lost.length})`, panel: failed.root }] : []),
  ], host.kept);

  // ---- the frame -----------------------------------------------------------------------------

  /** @type {(label: string, name: string) => ReturnType<typeof picker>} */
  const objectivePicker = (text, name) =>
    picker(text, names, names[placeOf(name)], (value) => {
      keep(name, value);
      refresh();
    });
  const [right, upward, first] = [objectivePicker("right", "x"), objectivePicker("up", "y"), objectivePicker("best by", "by")];
  const bestButton = button("best", "Select the best within the bounds (b)");
  const exportButton = button("export", "Export the selected configuration, or the best: view.run (e)");
  const stopButton = button("stop", "Stop the work that goes on");
  host.tools.append(right.root, upward.root, first.root, bestButton, exportButton, stopButton);
  const exported = element("div", { class: "etlab-sweep-title", role: "status" });
  const problem = element("div", { class: "etlab-view-note", role: "alert", hidden: "" });
  host.body.append(
    element("div", { class: "etlab-sweep-title" }, [content.title]),
    ...content.notes.map((/** @type {string} */ text) => element("div", { class: "etlab-view-note" }, [text])),
    problem,
    scatter.root,
    element("div", { class: "etlab-sweep-bounds", role: "group", "aria-label": "Bounds" }, sliders.map((one) => one.root)),
    parallel.root,
    exported,
    tabs.root,
  );
  for (const [kind, text] of [["full", "not beaten in any objective"], ["", "beaten"], ["out", "breaks a bound"], ["best", "best within bounds"]]) {
    const swatch = element("span", { class: `etlab-sweep-swatch etlab-sweep-is-${kind}`, "aria-hidden": "true" });
    host.legend.append(element("span", { class: "etlab-view-entry" }, [swatch, text]));
  }

  const refresh = () => {
    [right, upward, first].forEach(({ list }, k) => (list.value = names[placeOf(["x", "y", "by"][k])]));
    for (const slider of sliders) slider.show();
    scatter.redraw();
    parallel.redraw();
    all.setRows(tableRows());
    all.select(selected);
    const place = best();
    const kept = points.filter((point) => point.values.some((value) => value !== null) && keepsBounds(point, objectives, bounds())).length;
    host.say(place < 0 ? "no configuration keeps the bounds" : `${kept} within the bounds, best ${label(points[place])}`);
  };
  const selectBest = () => {
    const place = best();
    if (place >= 0) choose(points[place].name, false);
  };
  const startExport = () => {
    const [name] = selected.size ? selected : [points[best()]?.name];
    if (!name || model.get("working")) return;
    host.ask({ type: "export", row: name }).catch((error) => {
      problem.hidden = false;
      problem.textContent = error.message;
    });
  };
  const showWork = () => {
    const working = model.get("working");
    exportButton.disabled = Boolean(working);
    stopButton.disabled = !working;
    problem.hidden = !model.get("problem");
    problem.textContent = model.get("problem");
    const run = model.get("exported");
    exported.textContent = working ? `${working} …` : run ? `view.run: ${run}` : "";
  };
  bestButton.addEventListener("click", selectBest);
  exportButton.addEventListener("click", startExport);
  stopButton.addEventListener("click", () => host.ask({ type: "stop" }).catch(() => {}));
  /** @type {[string, () => void][]} */
  const changes = [
    ...["x", "y", "by", "bounds"].map((name) => /** @type {[string, () => void]} */ ([`change:${name}`, refresh])),
    ...["working", "problem", "exported"].map((name) => /** @type {[string, () => void]} */ ([`change:${name}`, showWork])),
  ];
  for (const [event, callback] of changes) model.on(event, callback);
  showWork();
  refresh();

  return {
    /** @param {string[]} chosen */
    select(chosen) {
      selected = new Set(chosen);
      scatter.redraw();
      parallel.redraw();
      all.select(selected);
      failed.select(selected);
      if (chosen.length) {
        const row = rows[places.get(chosen[0]) ?? 0];
        host.say(row[4] ? `${row[0]}: ${row[4]}` : label(points[places.get(chosen[0]) ?? 0]));
      }
    },
    keys: { b: selectBest, e: startExport },
    close() {
      for (const [event, callback] of changes) model.off(event, callback);
      scatter.close();
      parallel.close();
    },
  };
}

/** @param {{model: any, el: HTMLElement}} place */
function render(place) {
  return showView(place, {
    name: "etlab-sweep",
    label: "Sweep",
    help: [
      ["Tab, Enter, Space", "walk the points; select"],
      ["↑ ↓, Enter", "walk a table; select"],
      ["← →", "on a slider: tighten a bound"],
      ["Shift", "add to the selection"],
      ["b", "select the best within the bounds"],
      ["e", "export what is selected"],
    ],
    build,
  });
}

export default { render };
