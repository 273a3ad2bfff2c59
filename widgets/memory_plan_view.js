// MemoryPlanView: a plan as rectangles, who is alive at a step, and what other planning would do.

import { areas, axesOf, paintPlan } from "./memory/paint.js";
import { aliveAt, besideInMemory, besideInTime, colourTensors, readPlan, tensorAt } from "./memory/plan.js";
import { showLegend } from "./view/legend.js";
import { button, picker, showView } from "./view/host.js";
import { number } from "./view/palette.js";
import { listenToPointer } from "./view/pointer.js";
import { makeStage } from "./view/stage.js";
import { makeTable } from "./view/table.js";

const COLOURINGS = ["operator", "module", "dtype", "lifetime"];
const TABLES = 190; // pixels of the body that the drawing leaves to the tables

/** @param {import("./view/host.js").Host} host */
function build(host) {
  const { content, kept } = host;
  const plan = readPlan(content);
  const lanes = content.lanes;
  const whole = () => ({ left: 0, right: plan.stepCount, low: 0, high: plan.top * 1.06 });
  kept.colourBy ??= content.colourBy;
  const isSame = kept.steps === plan.stepCount && kept.count === plan.count;
  if (!isSame) Object.assign(kept, { step: content.peakStep, steps: plan.stepCount, count: plan.count });
  let sight = whole();
  let colouring = colourTensors(plan, kept.colourBy);
  /** @type {Set<number>} */
  let selected = new Set();
  let hover = -1;
  const places = new Map(plan.names.map((name, k) => [name, k]));

  const stage = makeStage(
    "Drawing of the plan; the table below says who is alive at a step",
    Math.max(200, host.model.get("height") - TABLES),
    (context, width, height) =>
      paintPlan(context, width, height, {
        plan,
        colouring,
        theme: host.theme,
        sight,
        selected,
        hover,
        step: kept.step,
        peakStep: content.peakStep,
        lanes,
      }),
  );
  const { canvas } = stage;
  const area = () => areas(stage.root.clientWidth, stage.root.clientHeight, lanes.length);
  const axes = () => axesOf(sight, area());

  // ---- words ---------------------------------------------------------------------------------

  /** @param {number} k */
  const facts = (k) => [
    plan.names[k],
    [plan.operator.at(k), plan.dtype.at(k), plan.shape.at(k)].filter(Boolean).join(" "),
    `${number(plan.nbytes[k], "B")} (${plan.nbytes[k].toLocaleString("en")} B) at ${plan.offset[k].toLocaleString("en")}`,
    `steps ${plan.first[k]} to ${plan.last[k]}`,
    plan.module.at(k),
    plan.source.at(k),
  ].filter(Boolean);
  const sayPlan = () => {
    const { before } = content;
    const change = before.peak ? content.peak / before.peak - 1 : 0;
    const other = change || before.planner !== content.planner ? `; ${change >= 0 ? "+" : "−"}${number(Math.abs(change) * 100, "%")} against the program's plan` : "";
    const share = number(content.fragmentation * 100, "%");
    host.say(`${plan.count} tensors, peak ${number(content.peak, "B")}, lower bound ${number(content.bound, "B")}, fragmentation ${share}${other}`);
  };

  // ---- tables --------------------------------------------------------------------------------

  const bytesText = (/** @type {number} */ value) => value.toLocaleString("en");
  const alive = makeTable({
    caption: "",
    columns: [
      { label: "tensor" },
      { label: "operator" },
      { label: "module" },
      { label: "result" },
      { label: "bytes", isNumeric: true, text: bytesText },
      { label: "from", isNumeric: true },
      { label: "to", isNumeric: true },
      { label: "source" },
    ],
    rows: [],
    key: (row) => row[0],
    onSelect: (name, isMore) => choose(places.get(name) ?? -1, isMore),
  });
  /** @param {number} step */
  const goTo = (step) => {
    kept.step = Math.min(Math.max(step, 0), plan.stepCount - 1);
    const list = aliveAt(plan, kept.step).sort((a, b) => plan.nbytes[b] - plan.nbytes[a]);
    const rows = list.map((k) => [
      plan.names[k],
      plan.operator.at(k),
      plan.module.at(k),
      `${plan.dtype.at(k)} ${plan.shape.at(k)}`.trim(),
      plan.nbytes[k],
      plan.first[k],
      plan.last[k],
      plan.source.at(k),
    ]);
    const at = kept.step === content.peakStep ? `the peak, step ${kept.step}` : `step ${kept.step}`;
    const sum = list.reduce((total, k) => total + plan.nbytes[k], 0);
    alive.setRows(rows, `alive at ${at} (${plan.steps.at(kept.step)}): ${list.length}, ${number(sum, "B")}`);
    alive.select(host.selection);
    stage.redraw();
  };
  const advice = makeTable({
    caption: "what would lower the peak: bytes of each change alone",
    columns: [{ label: "tensor" }, { label: "saves", isNumeric: true, text: bytesText }, { label: "what to do" }],
    rows: content.advice,
    key: (row) => row[0],
    onSelect: (name, isMore) => choose(places.get(name) ?? -1, isMore),
  });
  const compared = makeTable({
    caption: "",
    columns: [
      { label: "planner" },
      { label: "bytes", isNumeric: true, text: bytesText },
      { label: "over the lower bound", isNumeric: true, text: (value) => number(value * 100, "%") },
    ],
    rows: [],
    key: (row) => row[0],
    onSelect: (name) => replan(name, alignments.list.value),
  });
  compared.root.hidden = true;
  advice.root.hidden = !content.advice.length;

  // ---- what if -------------------------------------------------------------------------------

  /** @type {(planner: string, alignment: string) => void} */
  const replan = (planner, alignment) => {
    host.say("planning …");
    host.ask({ type: "replan", planner, alignment: Number(alignment) }).catch((error) => {
      planners.list.value = content.planner;
      alignments.list.value = String(content.alignment);
      host.say(error.message);
    });
  };
  const planners = picker("planner", content.planners, content.planner, (value) => replan(value, alignments.list.value));
  const alignments = picker("alignment", content.alignments.map(String), String(content.alignment), (value) =>
    replan(planners.list.value, value),
  );
  const compareButton = button("compare planners", "What every planner makes of these tensors (w)");
  const comparePlanners = () => {
    host.say("planning with every planner …");
    host.ask({ type: "what if", alignment: Number(alignments.list.value) }).then(
      ({ rows }) => {
        compared.root.hidden = false;
        compared.setRows(rows, `what every planner makes of it, alignment ${alignments.list.value}; Enter takes one`);
        compared.select([content.planner]);
        sayPlan();
      },
      (error) => host.say(error.message),
    );
  };
  compareButton.addEventListener("click", comparePlanners);

  // ---- looking -------------------------------------------------------------------------------

  const setColour = (/** @type {string} */ by) => {
    kept.colourBy = by;
    colouring = colourTensors(plan, by);
    showLegend(host.legend, by, colouring);
    stage.redraw();
  };
  const colours = picker("colour by", COLOURINGS, kept.colourBy, setColour);
  const fitButton = button("⤢", "All of it (f)");
  const fit = () => {
    sight = whole();
    stage.redraw();
  };
  fitButton.addEventListener("click", fit);
  const peakButton = button("peak", "Go to the peak (p)");
  peakButton.addEventListener("click", () => goTo(content.peakStep));
  /** @type {(factor: number, x: number, y: number) => void} */
  const zoom = (factor, x, y) => {
    const { across, up } = axes();
    const [step, bytes] = [across.back(x), up.back(y)];
    const least = Math.min(3, plan.stepCount) / (sight.right - sight.left);
    const by = Math.max(1 / factor, least);
    sight = {
      left: step + (sight.left - step) * by,
      right: step + (sight.right - step) * by,
      low: bytes + (sight.low - bytes) * by,
      high: bytes + (sight.high - bytes) * by,
    };
    clamp();
  };
  /** @type {(dx: number, dy: number) => void} */
  const pan = (dx, dy) => {
    const { left, right, top, bottom } = area();
    const steps = (dx * (sight.right - sight.left)) / (right - left);
    const bytes = (-dy * (sight.high - sight.low)) / (bottom - top);
    sight = { left: sight.left + steps, right: sight.right + steps, low: sight.low + bytes, high: sight.high + bytes };
    clamp();
  };
  const clamp = () => {
    const all = whole();
    const across = Math.min(sight.right - sight.left, all.right);
    const up = Math.min(sight.high - sight.low, all.high);
    const left = Math.min(Math.max(sight.left, 0), all.right - across);
    const low = Math.min(Math.max(sight.low, 0), all.high - up);
    sight = { left, right: left + across, low, high: low + up };
    stage.redraw();
  };
  /** @param {number} k bring a tensor into sight, and large when asked so */
  const reveal = (k, isLarge = false) => {
    const isSeen = plan.first[k] < sight.right && plan.last[k] + 1 > sight.left && plan.bottom[k] < sight.high && plan.bottom[k] + plan.nbytes[k] > sight.low;
    if (isSeen && !isLarge) return;
    const steps = isLarge ? Math.max((plan.last[k] - plan.first[k] + 1) * 3, 6) : sight.right - sight.left;
    const bytes = isLarge ? plan.nbytes[k] * 4 : sight.high - sight.low;
    const left = (plan.first[k] + plan.last[k] + 1) / 2 - steps / 2;
    const low = plan.bottom[k] + plan.nbytes[k] / 2 - bytes / 2;
    sight = { left, right: left + steps, low, high: low + bytes };
    clamp();
  };

  // ---- choosing ------------------------------------------------------------------------------

  /** @type {(k: number, isMore: boolean) => void} */
  const choose = (k, isMore) => {
    const next = new Set(isMore ? selected : []);
    if (k >= 0 && !next.delete(k)) next.add(k);
    host.select([...next].map((one) => plan.names[one]));
  };
  /** @param {number} k */
  const walkTo = (k) => {
    if (k < 0) return;
    if (kept.step < plan.first[k] || kept.step > plan.last[k]) goTo(plan.first[k]);
    choose(k, false);
    reveal(k);
  };
  const current = () => [...selected].at(-1) ?? -1;
  const offPointer = listenToPointer(canvas, {
    itemAt: (x, y) => {
      const { across, up } = axes();
      const { left, right, top, bottom } = area();
      const isInside = x >= left && x <= right && y >= top && y <= bottom;
      return { item: isInside ? tensorAt(plan, across.back(x), up.back(y)) : -1, isHandle: false };
    },
    zoom,
    pan,
    toggle: (k) => reveal(k, true),
    setHover: (k) => {
      if (k === hover) return;
      hover = k;
      stage.redraw();
    },
    events: {
      onSelect: (k, isMore) => choose(k, isMore),
      onHover: (k, x, y) => host.hint(x, y, k < 0 ? [] : facts(k), stage.root),
    },
  });
  canvas.addEventListener("click", (event) => {
    const step = Math.floor(axes().across.back(event.offsetX));
    if (event.offsetX > area().left && step !== kept.step) goTo(step);
  });
  stage.root.addEventListener("pointerdown", () => stage.root.focus({ preventScroll: true }));

  host.tools.append(planners.root, alignments.root, compareButton, colours.root, peakButton, fitButton);
  host.body.append(stage.root, alive.root, compared.root, advice.root);
  showLegend(host.legend, kept.colourBy, colouring);
  goTo(kept.step);
  sayPlan();
  const middle = () => [stage.root.clientWidth / 2, stage.root.clientHeight / 2];
  return {
    draw: stage.draw,
    select: (/** @type {string[]} */ names) => {
      selected = new Set(/** @type {number[]} */ (names.map((name) => places.get(name)).filter((k) => k !== undefined)));
      const k = current();
      if (k >= 0) {
        host.say(facts(k).join(", "));
        if (kept.step < plan.first[k] || kept.step > plan.last[k]) goTo(plan.first[k]);
        reveal(k);
      } else sayPlan();
      alive.select(names);
      stage.redraw();
    },
    keys: {
      ArrowRight: () => walkTo(besideInTime(plan, current(), 1)),
      ArrowLeft: () => walkTo(besideInTime(plan, current(), -1)),
      ArrowUp: () => walkTo(besideInMemory(plan, current(), 1, kept.step)),
      ArrowDown: () => walkTo(besideInMemory(plan, current(), -1, kept.step)),
      ".": () => goTo(kept.step + 1),
      ",": () => goTo(kept.step - 1),
      p: () => goTo(content.peakStep),
      f: fit,
      z: () => { if (current() >= 0) reveal(current(), true); },
      "+": () => zoom(1.25, ...(/** @type {[number, number]} */ (middle()))),
      "-": () => zoom(0.8, ...(/** @type {[number, number]} */ (middle()))),
      c: () => colours.list.focus(),
      w: comparePlanners,
    },
    close: () => {
      offPointer();
      stage.close();
    },
  };
}

/** @param {{model: any, el: HTMLElement}} place */
function render(place) {
  return showView(place, {
    name: "etlab-memory",
    label: "Memory plan",
    help: [
      ["← →", "the tensor that begins before or after"],
      ["↑ ↓", "the tensor above or below in memory"],
      [", .", "one step back or on"],
      ["p", "the peak"],
      ["f, z, +, -", "all of it; the selection large; zoom"],
      ["c, w", "colour by; compare planners"],
    ],
    build,
  });
}

export default { render };
