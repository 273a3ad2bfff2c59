// ProfileView: a timeline, the runs or the roofline beside it, and a table by what rows share.

import { drawRoofline, drawRuns } from "./profile/charts.js";
import { FLAME_HEIGHT, flameRowAt, flameScale, paintFlame } from "./profile/flame.js";
import { groupRows, readProfile, samplesOf, timeline } from "./profile/rows.js";
import { showLegend } from "./view/legend.js";
import { button, picker, showView } from "./view/host.js";
import { CATEGORY_COLOURS, number } from "./view/palette.js";
import { listenToPointer } from "./view/pointer.js";
import { makeStage } from "./view/stage.js";
import { makeChart } from "./view/svg.js";
import { makeTable } from "./view/table.js";

const GROUPINGS = ["node", "operator", "module", "source", "backend"];
const CHARTS = ["runs", "roofline"];

/** @param {import("./view/host.js").Host} host */
function build(host) {
  const { kept } = host;
  const profile = readProfile(host.content.report);
  const before = host.content.baseline ? readProfile(host.content.baseline) : null;
  const { facts } = profile;
  const line = timeline(profile);
  kept.by ??= host.content.by;
  kept.chart ??= "runs";
  const whole = () => ({ left: 0, right: line.total || 1 });
  let sight = whole();
  /** @type {Set<number>} */
  let selected = new Set();
  let hover = -1;
  const places = new Map(profile.names.map((name, k) => [name, k]));

  // The operators with the most time have colours of their own, as in the report's picture.
  const ranked = groupRows(profile, "operator");
  const most = CATEGORY_COLOURS.length - 1;
  const byOperator = new Map(ranked.slice(0, most).map(({ name }, k) => [name, CATEGORY_COLOURS[k]]));
  const colours = profile.names.map((_, k) => byOperator.get(profile.operator.at(k)) ?? CATEGORY_COLOURS[most]);
  const legend = ranked.slice(0, most).map(({ name, rows }, k) => ({ label: name, colour: CATEGORY_COLOURS[k], count: rows.length }));
  const rest = ranked.slice(most).reduce((sum, { rows }) => sum + rows.length, 0);
  if (rest) legend.push({ label: "other", colour: CATEGORY_COLOURS[most], count: rest });
  showLegend(host.legend, "operator", { legend });

  // ---- pictures ------------------------------------------------------------------------------

  const flame = () => ({ profile, line, colours, theme: host.theme, sight, selected, hover });
  const stage = makeStage("Timeline of a run; the table below says the same in words", FLAME_HEIGHT, (context, width, height) =>
    paintFlame(context, width, height, flame()),
  );
  const current = () => [...selected].at(-1) ?? -1;
  const chart = makeChart((width) => {
    if (kept.chart === "roofline") return drawRoofline(width, profile, colours, selected, choose);
    const rows = [...selected].filter((k) => !selected.has(profile.parent[k]));
    if (!rows.length) return drawRuns(width, facts.estimated ? "estimated, not measured" : "end to end, calls without tracing", facts.endToEnd.seconds, before?.facts.endToEnd.seconds ?? null);
    const names = rows.map((k) => profile.names[k]);
    const olds = before ? before.names.flatMap((name, k) => (names.includes(name) ? [k] : [])) : [];
    const title = names.length > 1 ? `${names.length} rows together` : names[0];
    return drawRuns(width, `${title}, ${facts.estimated ? "estimated" : "traced"}`, samplesOf(profile, rows), before && olds.length ? samplesOf(before, olds) : null);
  });

  // ---- table ---------------------------------------------------------------------------------

  const ms = (/** @type {number} */ value) => (value === value && value !== null ? (value * 1e3).toFixed(4) : "");
  const plain = (/** @type {number} */ digits) => (/** @type {number} */ value) => (value === value && value !== null ? value.toFixed(digits) : "");
  const percent = (/** @type {number} */ value) => (value === value && value !== null ? `${(value * 100).toFixed(1)}%` : "");
  const signed = (/** @type {number} */ value) => (value > 0 ? `+${percent(value)}` : percent(value));
  const columns = [
    { label: "name" },
    { label: "rows", isNumeric: true },
    { label: "p50 ms", isNumeric: true, text: ms },
    { label: "p90 ms", isNumeric: true, text: ms },
    { label: "share", isNumeric: true, text: percent },
    { label: "GFLOP/s", isNumeric: true, text: plain(1) },
    { label: "GB/s", isNumeric: true, text: plain(1) },
    { label: "of roof", isNumeric: true, text: percent },
    ...(before ? [{ label: "baseline ms", isNumeric: true, text: ms }, { label: "Δ", isNumeric: true, text: signed }] : []),
  ];
  /** @type {Map<string, number[]>} */
  let members = new Map();
  const table = makeTable({
    caption: "",
    columns,
    rows: [],
    key: (row) => row[0],
    onSelect: (name, isMore) => {
      const rows = members.get(name) ?? [];
      const next = new Set(isMore ? selected : []);
      const isOff = isMore && rows.every((k) => next.has(k));
      for (const k of rows) isOff ? next.delete(k) : next.add(k);
      tell(next);
    },
  });
  /** @param {string} by */
  const group = (by) => {
    kept.by = by;
    const groups = groupRows(profile, by);
    members = new Map(groups.map(({ name, rows }) => [name, rows]));
    const olds = new Map(before ? groupRows(before, by).map((one) => [one.name, one.p50]) : []);
    const rows = groups.map(({ name, rows: own, p50, p90, share, flops, nbytes, roof }) => {
      const old = olds.get(name) ?? NaN;
      const beside = before ? [old, p50 / old - 1] : [];
      return [name, own.length, p50, p90, share, flops / p50 / 1e9, nbytes / p50 / 1e9, roof / p50, ...beside];
    });
    const source = facts.estimated ? "estimated, not measured" : `medians of ${facts.runs} traced runs, not end to end`;
    table.setRows(rows, `time by ${by}, the most first: ${source}`);
    markRows();
  };
  const markRows = () => {
    table.select([...members].filter(([, rows]) => rows.length && rows.every((k) => selected.has(k))).map(([name]) => name));
  };

  // ---- choosing ------------------------------------------------------------------------------

  /** @param {Set<number>} next */
  const tell = (next) => host.select([...next].map((k) => profile.names[k]));
  /** @type {(k: number, isMore: boolean) => void} */
  const choose = (k, isMore) => {
    const next = new Set(isMore ? selected : []);
    if (k >= 0 && !next.delete(k)) next.add(k);
    tell(next);
  };
  /** @param {number} k */
  const words = (k) => {
    const samples = samplesOf(profile, [k]);
    const speed = profile.flops[k] ? number(profile.flops[k] / profile.p50[k] / 1e9, "GFLOP/s") : "";
    const roof = profile.roof[k] && profile.p50[k] ? `${percent(profile.roof[k] / profile.p50[k])} of roof` : "";
    return [
      profile.names[k],
      profile.calls[k] > 1 ? `${profile.operator.at(k)}, ${profile.calls[k]} calls a run` : profile.operator.at(k),
      `p50 ${number(profile.p50[k], "s")}, from ${number(Math.min(...samples), "s")} to ${number(Math.max(...samples), "s")}`,
      [speed, roof].filter(Boolean).join(", "),
      profile.backend.at(k),
      profile.module.at(k),
      profile.source.at(k),
    ].filter(Boolean);
  };
  const sayWhole = () => {
    if (facts.estimated) {
      host.say(`not measured: ${facts.estimated}; ${number(facts.endToEnd.p50, "s")}`);
      return;
    }
    const old = before ? `; baseline ${number(before.facts.endToEnd.p50, "s")}, ${signed(facts.endToEnd.p50 / before.facts.endToEnd.p50 - 1)}` : "";
    host.say(
      `end to end p50 ${number(facts.endToEnd.p50, "s")}, p90 ${number(facts.endToEnd.p90, "s")}; instructions sum to ${number(facts.sum.p50, "s")}` +
        ` in traced runs; ${facts.runs} runs, ${facts.threads} thread${facts.threads === 1 ? "" : "s"}${old}`,
    );
  };
  /** @type {(depth: number, step: number) => void} */
  const walk = (depth, step) => {
    const rows = profile.names.map((_, k) => k).filter((k) => line.depth[k] === depth);
    const at = rows.indexOf(current());
    const next = at < 0 ? rows[step > 0 ? 0 : rows.length - 1] : rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
    if (next !== undefined) choose(next, false);
  };
  const into = () => {
    const child = profile.parent.indexOf(current());
    if (current() >= 0 && child >= 0) choose(child, false);
  };
  const outOf = () => {
    const outer = current() < 0 ? -1 : profile.parent[current()];
    if (outer >= 0) choose(outer, false);
  };

  // ---- looking -------------------------------------------------------------------------------

  const fit = () => {
    sight = whole();
    stage.redraw();
  };
  /** @type {(factor: number, x: number) => void} */
  const zoom = (factor, x) => {
    const at = flameScale(sight, stage.root.clientWidth).back(x);
    const all = whole();
    const span = Math.min((sight.right - sight.left) / factor, all.right);
    const left = Math.min(Math.max(at - ((at - sight.left) * span) / (sight.right - sight.left), 0), all.right - span);
    sight = { left, right: left + span };
    stage.redraw();
  };
  const pan = (/** @type {number} */ dx) => {
    const { back } = flameScale(sight, stage.root.clientWidth);
    const span = sight.right - sight.left;
    const left = Math.min(Math.max(sight.left + back(dx) - back(0), 0), whole().right - span);
    sight = { left, right: left + span };
    stage.redraw();
  };
  /** @param {number} k */
  const reveal = (k) => {
    const [from, to] = [line.begin[k], line.begin[k] + line.width[k]];
    if (to > sight.left && from < sight.right) return;
    const span = sight.right - sight.left;
    const left = Math.min(Math.max((from + to - span) / 2, 0), whole().right - span);
    sight = { left, right: left + span };
  };
  const offPointer = listenToPointer(stage.canvas, {
    itemAt: (x, y) => ({ item: flameRowAt(flame(), x, y, stage.root.clientWidth), isHandle: false }),
    zoom,
    pan,
    toggle: (k) => {
      const margin = line.width[k] * 0.1;
      sight = { left: Math.max(0, line.begin[k] - margin), right: Math.min(whole().right, line.begin[k] + line.width[k] + margin) };
      stage.redraw();
    },
    setHover: (k) => {
      if (k === hover) return;
      hover = k;
      stage.redraw();
    },
    events: {
      onSelect: choose,
      onHover: (k, x, y) => host.hint(x, y, k < 0 ? [] : words(k), stage.root),
    },
  });
  stage.root.addEventListener("pointerdown", () => stage.root.focus({ preventScroll: true }));
  const groupings = picker("by", GROUPINGS, kept.by, group);
  const setChart = (/** @type {string} */ name) => {
    kept.chart = name;
    charts.list.value = name;
    chart.redraw();
  };
  const charts = picker("chart", CHARTS, kept.chart, setChart);
  const fitButton = button("⤢", "The whole run (f)");
  fitButton.addEventListener("click", fit);
  host.tools.append(groupings.root, charts.root, fitButton);
  host.body.append(stage.root, chart.root, table.root);
  group(kept.by);
  return {
    draw: () => {
      stage.draw();
      chart.redraw();
    },
    select: (/** @type {string[]} */ names) => {
      selected = new Set(/** @type {number[]} */ (names.map((name) => places.get(name)).filter((k) => k !== undefined)));
      const k = current();
      if (k < 0) sayWhole();
      else {
        reveal(k);
        host.say(selected.size > 1 ? `${selected.size} rows selected` : words(k).join(", "));
      }
      markRows();
      stage.redraw();
      chart.redraw();
    },
    keys: {
      ArrowRight: () => walk(current() < 0 ? 0 : line.depth[current()], 1),
      ArrowLeft: () => walk(current() < 0 ? 0 : line.depth[current()], -1),
      ArrowDown: into,
      ArrowUp: outOf,
      f: fit,
      b: () => groupings.list.focus(),
      t: () => setChart(kept.chart === "runs" ? "roofline" : "runs"),
      "+": () => zoom(1.3, stage.root.clientWidth / 2),
      "-": () => zoom(1 / 1.3, stage.root.clientWidth / 2),
    },
    close: () => {
      offPointer();
      stage.close();
      chart.close();
    },
  };
}

/** @param {{model: any, el: HTMLElement}} place */
function render(place) {
  return showView(place, {
    name: "etlab-profile",
    label: "Profile",
    help: [
      ["← →", "the instruction or node before or after"],
      ["↓ ↑", "into a delegate; back to its call"],
      ["f, +, -", "the whole run; zoom"],
      ["b", "what the table is by"],
      ["t", "runs or roofline"],
    ],
    build,
  });
}

export default { render };
