// ParityView: outputs, coverage, the depth plot, a heat table of layers, the tensors of one of them.

import { drawDepth } from "./parity/depth.js";
import { layerTable } from "./parity/layers.js";
import { makeTensors } from "./parity/tensor_panel.js";
import { notesOf } from "./parity/notes.js";
import { element } from "./view/dom.js";
import { readNumber } from "./view/format.js";
import { button, picker, showView } from "./view/host.js";
import { makeChart } from "./view/svg.js";
import { makeTable } from "./view/table.js";
import { makeTabs } from "./view/tabs.js";

const DASHES = ["", "7 3", "2 3", "8 3 2 3", "1 4", "12 4"];
const WORST = 3;

/** @param {import("./view/host.js").Host} host */
function build(host) {
  const { content, model } = host;
  /** @type {string[][]} */
  const operators = content.operators;
  const places = new Map(operators.map(([name], place) => [name, place]));
  /** @type {[string, string][]} */
  const paths = content.paths;
  /** @type {Set<string>} */
  const hidden = (host.kept.hidden ??= new Set());
  /** @type {string[]} */
  let selection = [];
  let isAlone = Boolean(host.kept.isAlone);

  const path = () => model.get("path");
  const metricPlace = () => Math.max(0, content.metrics.findIndex((/** @type {any} */ one) => one.name === model.get("metric")));
  /** @type {(name: string, value: any) => void} */
  const keep = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  /** @type {(names: string[], isMore: boolean) => void} */
  const choose = (names, isMore) => host.select([...new Set([...(isMore ? selection : []), ...names])]);

  // ---- the plot ------------------------------------------------------------------------------

  /** @returns {import("./parity/depth.js").Series[]} */
  const series = () => {
    const k = metricPlace();
    return paths.flatMap(([name, colour], place) => {
      if (hidden.has(name)) return [];
      /** @type {(number | null)[][]} */
      const [line, dots] = [0, 1].map(() => operators.map(() => null));
      for (const row of content.rows[name]) {
        if (row[8]) line[row[0]] = readNumber(row[8][k][0]);
        if (row[9]) dots[row[0]] = readNumber(row[9][k][0]);
      }
      return [{ path: name, colour, dash: DASHES[place % DASHES.length], line, dots }];
    });
  };
  const chart = makeChart((width) =>
    drawDepth({
      width,
      count: operators.length,
      series: series(),
      metric: content.metrics[metricPlace()],
      first: content.first && [content.first[1], operators[content.first[1]][0]],
      selected: selection.flatMap((name) => places.get(name) ?? []),
      onPick: (place, isMore) => choose([operators[place][0]], isMore),
      onHover: (place, x, y) => host.hint(x, y, place < 0 ? [] : hintLines(place), /** @type {any} */ (chart.root)),
    }),
  );
  /** @param {number} place */
  const hintLines = (place) => {
    const k = metricPlace();
    const said = paths.map(([name]) => {
      const row = content.rows[name].find((/** @type {any[]} */ one) => one[0] === place);
      const [own, alone] = [row?.[8]?.[k][1], row?.[9]?.[k][1]];
      const both = alone ? `, alone ${alone}` : "";
      return `${name}: ${own ?? (row?.[4] || "not compared")}${both}`;
    });
    return [operators[place][0], operators[place][3], ...said].filter(Boolean);
  };
  /** @param {number} step */
  const walk = (step) => {
    const last = places.get(selection[selection.length - 1]) ?? (step > 0 ? -1 : operators.length);
    const next = Math.min(Math.max(last + step, 0), operators.length - 1);
    if (operators.length) host.select([operators[next][0]]);
  };

  // ---- tables --------------------------------------------------------------------------------

  const layers = layerTable(content, path(), Boolean(host.kept.withOthers), (name, isMore) => choose([name], isMore));
  const outputs = makeTable({
    caption: "Outputs",
    columns: [
      { label: "path" },
      { label: "output" },
      ...content.output_metrics.map((/** @type {any} */ one, /** @type {number} */ k) => ({
        label: one.label,
        isNumeric: true,
        text: (/** @type {any} */ _, /** @type {any[]} */ row) => row[row.length - 1][k][1],
      })),
      { label: "" },
    ],
    rows: content.outputs.map((/** @type {any[]} */ [name, output, status, reason, cells]) => {
      const isReference = name === content.reference && status === "ok";
      const shown = cells.map((/** @type {any[]} */ cell) => [cell[0], isReference ? "" : status === "ok" ? cell[1] : ""]);
      const note = isReference ? "reference" : status === "ok" ? "" : `${status}: ${reason}`;
      return [name, output, ...shown.map((/** @type {any[]} */ cell) => readNumber(cell[0])), note, shown];
    }),
    key: (row) => `${row[0]} ${row[1]}`,
    onSelect: () => {},
  });
  const rounds = makeTable({
    caption: "Rounds",
    columns: ["round", "reference", "left in float by hand", "file", "outputs"].map((label) => ({ label })),
    rows: model.get("rounds") ?? [],
    key: (row) => row[0],
    onSelect: () => {},
  });
  const tensors = makeTensors(host, Object.fromEntries(paths));
  const tabs = makeTabs("Tables", [
    { name: "layers", label: `Layers (${operators.length})`, panel: layers.root },
    { name: "outputs", label: `Outputs (${content.outputs.length})`, panel: outputs.root },
    { name: "rounds", label: "Rounds", panel: rounds.root },
  ], host.kept);

  // ---- the frame -----------------------------------------------------------------------------

  const stage = picker("stage", paths.map(([name]) => name), path(), (name) => {
    keep("path", name);
    showPath();
  });
  const metric = picker("plot", content.metrics.map((/** @type {any} */ one) => one.name), model.get("metric"), (name) => {
    keep("metric", name);
    chart.redraw();
  });
  const reference = picker("against", content.references, content.reference, (name) => begin({ type: "reference", reference: name }));
  const worstButton = button(`worst ${WORST}`, `Select the ${WORST} operators that are farthest away, each alone where that is known (w)`);
  const othersButton = button("not compared too", "List operators that were not compared, with the reason", Boolean(host.kept.withOthers));
  const aloneButton = button("alone", "Tensors of the operator run alone on the reference's inputs (l)", isAlone);
  const rerunButton = button("keep in float & re-run", "Leave the modules of what is selected in float, export and compare again (k)");
  const stopButton = button("stop", "Stop the work that goes on");
  if (paths.length) host.tools.append(stage.root, metric.root);
  host.tools.append(reference.root);
  if (paths.length) host.tools.append(othersButton, worstButton, aloneButton, rerunButton, stopButton);
  const notes = notesOf(content);
  const keepLine = element("div", { class: "etlab-parity-keep", role: "status" });
  const problem = element("div", { class: "etlab-view-note", role: "alert", hidden: "" });
  host.body.append(notes.root, problem);
  if (paths.length) host.body.append(chart.root);
  host.body.append(keepLine, tabs.root, tensors.root);
  if (!paths.length) tabs.show("outputs");
  chart.root.setAttribute("role", "group");
  chart.root.setAttribute("tabindex", "0");
  chart.root.setAttribute("aria-label", "Depth plot: arrows walk the operators; the table says the same in words");
  chart.root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -operators.length, End: operators.length }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    walk(step);
  });
  paths.forEach(([name, colour], place) => {
    const swatch = element("span", { class: "etlab-parity-swatch", "aria-hidden": "true" });
    swatch.style.borderTop = `3px ${place ? (place % 2 ? "dashed" : "dotted") : "solid"} ${colour}`;
    const made = element("button", { type: "button", class: "etlab-view-entry", "aria-pressed": String(!hidden.has(name)), title: `Show the line of ${name}` }, [swatch, name]);
    made.addEventListener("click", () => {
      const isShown = hidden.delete(name) || !hidden.add(name);
      made.setAttribute("aria-pressed", String(isShown));
      chart.redraw();
    });
    host.legend.append(made);
  });

  // ---- what goes on --------------------------------------------------------------------------

  const modules = () => {
    const chosen = new Set(selection);
    const steps = Object.values(content.rows).flat().filter((row) => chosen.has(operators[row[0]][0]));
    // What one step computes together stays in float together.
    const names = [...steps.flatMap((row) => row[1].split(" + "))];
    return [...new Set(names.map((name) => operators[places.get(name) ?? -1]?.[2]).filter(Boolean))];
  };
  const showKeep = () => {
    const names = modules();
    const whole = names.filter((name) => operators.some(([, , module]) => module.startsWith(`${name}.`)));
    const added = whole.length ? `; with all that is in ${whole.join(", ")}` : "";
    keepLine.textContent = selection.length
      ? names.length
        ? `would stay in float: ${names.join(", ")}${added}`
        : "what is selected stands in no module that could stay in float"
      : "";
    rerunButton.disabled = !names.length || Boolean(model.get("working"));
  };
  const showWork = () => {
    const working = model.get("working");
    stopButton.disabled = !working;
    stage.list.disabled = metric.list.disabled = false;
    reference.list.disabled = Boolean(working);
    problem.hidden = !model.get("problem");
    problem.textContent = model.get("problem");
    showKeep();
    if (working) host.say(`${working} …`);
  };
  /** @param {Record<string, any>} question */
  const begin = (question) => {
    host.ask(question).catch((error) => {
      problem.hidden = false;
      problem.textContent = error.message;
      reference.list.value = content.reference;
    });
  };
  const showTensors = () => {
    const [only] = selection;
    if (selection.length !== 1) return tensors.show(null);
    const row = content.rows[path()]?.find((/** @type {any[]} */ one) => operators[one[0]][0] === only);
    if (!row || !row[8]) return tensors.show(null, row ? row[4] : "");
    tensors.show({ operator: only, path: path(), local: isAlone && Boolean(row[9]) });
  };
  const showPath = () => {
    stage.list.value = path();
    layers.show(path());
    layers.select(selection);
    showTensors();
  };
  const worst = () => {
    const one = content.metrics[0];
    const sign = one.higher ? 1 : -1;
    /** @type {[number, string][]} */
    const found = [];
    for (const row of content.rows[path()] ?? []) {
      const value = readNumber((row[9] ?? row[8])?.[0][0]);
      if (value !== null) found.push([value === value ? value * sign : -Infinity, operators[row[0]][0]]);
    }
    found.sort((a, b) => a[0] - b[0]);
    host.select(found.slice(0, WORST).map(([, name]) => name));
  };
  const alone = () => {
    host.kept.isAlone = isAlone = !isAlone;
    aloneButton.setAttribute("aria-pressed", String(isAlone));
    showTensors();
  };
  const rerun = () => {
    if (!rerunButton.disabled) begin({ type: "rerun" });
  };
  othersButton.addEventListener("click", () => {
    const isWanted = othersButton.getAttribute("aria-pressed") !== "true";
    othersButton.setAttribute("aria-pressed", String(isWanted));
    host.kept.withOthers = isWanted;
    layers.list(path(), isWanted);
    layers.select(selection);
  });
  worstButton.addEventListener("click", worst);
  aloneButton.addEventListener("click", alone);
  rerunButton.addEventListener("click", rerun);
  stopButton.addEventListener("click", () => begin({ type: "stop" }));
  /** @type {[string, () => void][]} */
  const changes = [
    ["change:path", showPath],
    ["change:metric", () => { metric.list.value = model.get("metric"); chart.redraw(); }],
    ["change:working", showWork],
    ["change:problem", showWork],
    ["change:rounds", () => rounds.setRows(model.get("rounds"))],
  ];
  for (const [event, callback] of changes) model.on(event, callback);
  showWork();

  return {
    draw: () => tensors.draw(),
    /** @param {string[]} names */
    select(names) {
      selection = names;
      chart.redraw();
      layers.select(names);
      showKeep();
      showTensors();
      const place = places.get(names[names.length - 1]);
      host.say(place === undefined ? "nothing selected" : hintLines(place).join("; "));
    },
    keys: { w: worst, l: alone, k: rerun },
    close() {
      for (const [event, callback] of changes) model.off(event, callback);
      chart.close();
      tensors.close();
    },
  };
}

/** @param {{model: any, el: HTMLElement}} place */
function render(place) {
  return showView(place, {
    name: "etlab-parity",
    label: "Parity",
    help: [
      ["← →, Home, End", "in the plot: walk the operators"],
      ["↑ ↓, Enter", "walk a table; select"],
      ["Shift", "add to the selection"],
      ["w", `select the worst ${WORST}`],
      ["l", "tensors of the operator alone"],
      ["k", "keep the selected modules in float and re-run"],
    ],
    build,
  });
}

export default { render };
