// The pictures beside the timeline: times of single runs, and the roofline.

import { logTicks, makeAxis, niceTicks } from "../view/axes.js";
import { number } from "../view/palette.js";
import { pickable, svgElement, svgText } from "../view/svg.js";
import { percentile } from "./rows.js";

/** @typedef {import("./rows.js").Profile} Profile */

const HEIGHT = 170;
const MOST_DOTS = 300;

/**
 * Every run of what is selected as a dot, with its median and 90th percentile.
 * @param {number} width
 * @param {string} title
 * @param {number[]} samples seconds
 * @param {number[] | null} before those of the baseline
 * @returns {{height: number, parts: Node[]}}
 */
export function drawRuns(width, title, samples, before) {
  const all = [...samples, ...(before ?? [])];
  const high = Math.max(...all) || 1;
  const low = Math.min(...all);
  const margin = (high - low) * 0.08 || high * 0.1;
  const across = makeAxis({ low: low - margin, high: high + margin, from: 90, to: width - 20, unit: "s" });
  /** @type {Node[]} */
  const parts = [svgText(10, 16, title)];
  for (const tick of niceTicks(low - margin, high + margin, Math.max(3, width / 130))) {
    const x = across.at(tick);
    parts.push(svgElement("path", { d: `M${x} 28V128`, class: "etlab-chart-line" }));
    parts.push(svgText(x, 144, number(tick, "s"), "middle", "etlab-chart-faint"));
  }
  /** @type {(values: number[], y: number, label: string, colour: string) => void} */
  const strip = (values, y, label, colour) => {
    parts.push(svgText(10, y + 4, label, "start", "etlab-chart-faint"));
    values.forEach((value, run) => {
      const dot = svgElement("circle", { cx: across.at(value), cy: y - 8 + (run % 5) * 4, r: 3, fill: colour, "fill-opacity": 0.65 });
      dot.append(svgElement("title", {}, [`run ${run + 1}: ${number(value, "s")}`]));
      parts.push(dot);
    });
    for (const [share, name] of /** @type {[number, string][]} */ ([[0.5, "p50"], [0.9, "p90"]])) {
      const x = across.at(percentile(values, share));
      parts.push(svgElement("path", { d: `M${x} ${y - 18}V${y + 18}`, class: "etlab-chart-mark", "stroke-width": 1.5 }));
      parts.push(svgText(x + 3, y - 12, name, "start", "etlab-chart-over"));
    }
  };
  strip(samples, before ? 54 : 78, `${samples.length} runs`, "#0072B2");
  if (before) strip(before, 104, "baseline", "#E69F00");
  return { height: HEIGHT, parts };
}

/**
 * What rows achieve, over how much they compute with a byte, below the limits of the machine.
 * @param {number} width
 * @param {Profile} profile
 * @param {string[]} colours of every row
 * @param {Set<number>} selected
 * @param {(row: number, isMore: boolean) => void} onPick
 * @returns {{height: number, parts: Node[]}}
 */
export function drawRoofline(width, profile, colours, selected, onPick) {
  const { peak, bandwidth } = profile.facts;
  const dots = profile.leaves.filter((k) => profile.flops[k] && profile.nbytes[k] && profile.p50[k]);
  dots.sort((a, b) => profile.p50[b] - profile.p50[a]);
  if (!peak || !dots.length) {
    return { height: 40, parts: [svgText(10, 24, peak ? "no operator here computes what can be counted" : "this machine's limits were not measured")] };
  }
  const shown = dots.slice(0, MOST_DOTS);
  const intensity = (/** @type {number} */ k) => profile.flops[k] / profile.nbytes[k];
  const speed = (/** @type {number} */ k) => profile.flops[k] / profile.p50[k];
  const ridge = peak / bandwidth;
  const low = Math.min(ridge / 30, ...shown.map(intensity));
  const high = Math.max(ridge * 10, ...shown.map(intensity)) * 1.3;
  const top = Math.max(peak, ...shown.map(speed)) * 1.3;
  const bottom = Math.min(low * bandwidth, ...shown.map(speed)) / 1.5;
  const [left, right, floor] = [70, width - 20, 138];
  const across = makeAxis({ low, high, from: left, to: right, isLog: true });
  const up = makeAxis({ low: bottom, high: top, from: floor, to: 12, isLog: true });
  /** @type {Node[]} */
  const parts = [];
  for (const tick of logTicks(bottom, top).filter((_, k, all) => k % Math.ceil(all.length / 5) === 0)) {
    parts.push(svgElement("path", { d: `M${left} ${up.at(tick)}H${right}`, class: "etlab-chart-line" }));
    parts.push(svgText(left - 6, up.at(tick) + 4, number(tick / 1e9, ""), "end", "etlab-chart-faint"));
  }
  for (const tick of logTicks(low, high).filter((_, k, all) => k % Math.ceil(all.length / 8) === 0)) {
    parts.push(svgText(across.at(tick), floor + 14, number(tick, ""), "middle", "etlab-chart-faint"));
  }
  parts.push(svgText((left + right) / 2, floor + 28, "FLOPs a byte", "middle", "etlab-chart-faint"));
  parts.push(svgText(4, 10, "GFLOP/s", "start", "etlab-chart-faint"));
  const start = Math.max(low, bottom / bandwidth);
  const roof = `M${across.at(start)} ${up.at(start * bandwidth)}L${across.at(ridge)} ${up.at(peak)}H${right}`;
  parts.push(svgElement("path", { d: roof, fill: "none", stroke: "currentColor", "stroke-width": 2 }));
  for (const k of shown) {
    const radius = 3 + 6 * Math.sqrt(profile.p50[k] / profile.p50[shown[0]]);
    const dot = svgElement("circle", {
      cx: across.at(intensity(k)),
      cy: up.at(speed(k)),
      r: radius,
      fill: colours[k],
      "fill-opacity": 0.75,
      stroke: selected.has(k) ? "var(--view-accent)" : "var(--view-ink)",
      "stroke-width": selected.has(k) ? 3 : 0.6,
    });
    const label = `${profile.names[k]}: ${number(speed(k) / 1e9, "GFLOP/s")}, ${number(profile.p50[k], "s")}`;
    parts.push(pickable(dot, profile.names[k], label, selected.has(k), (isMore) => onPick(k, isMore)));
  }
  return { height: HEIGHT, parts };
}
