// One operator's values on a path and in the reference: histograms, and elements beside each other.

import { makeAxis } from "../view/axes.js";
import { formatShare } from "../view/format.js";
import { number } from "../view/palette.js";
import { svgElement, svgText } from "../view/svg.js";

const PAIR_HEIGHT = 190;
const PAIR_TOP = 14;
const PAIR_BASE = PAIR_HEIGHT - 22;

/**
 * A staircase over bins: the height is the root of the count, so that rare values are seen.
 * @param {number[]} counts
 * @param {number} peak the largest count
 * @param {number} left
 * @param {number} right
 */
export function staircase(counts, peak, left, right) {
  const step = (right - left) / counts.length;
  let path = `M${left} ${PAIR_BASE}`;
  counts.forEach((count, place) => {
    const y = PAIR_BASE - Math.sqrt(count / Math.max(peak, 1)) * (PAIR_BASE - PAIR_TOP);
    path += `V${y.toFixed(1)}H${(left + (place + 1) * step).toFixed(1)}`;
  });
  return `${path}V${PAIR_BASE}`;
}

/**
 * @param {any} tensors what the kernel said
 * @param {string} colour of the path
 * @param {number} width
 * @returns {{height: number, parts: Node[]}}
 */
export function drawCounts(tensors, colour, width) {
  const [left, right] = [10, width - 10];
  const { low, high, actual, expected, clip, beyond } = tensors;
  const peak = Math.max(...actual, ...expected);
  /** @param {number} value */
  const x = (value) => left + ((value - low) / (high - low)) * (right - left);
  const parts = [
    svgElement("path", { d: `${staircase(expected, peak, left, right)}Z`, fill: "#999999", "fill-opacity": 0.5 }),
    svgElement("path", { d: staircase(actual, peak, left, right), fill: "none", stroke: colour, "stroke-width": 1.5 }),
    svgText(left, PAIR_HEIGHT - 6, number(low, ""), "start", "etlab-chart-faint"),
    svgText(right, PAIR_HEIGHT - 6, number(high, ""), "end", "etlab-chart-faint"),
    svgText((left + right) / 2, PAIR_HEIGHT - 6, "height: root of the count", "middle", "etlab-chart-faint"),
  ];
  (clip ?? []).forEach((/** @type {number} */ edge, /** @type {number} */ k) => {
    const at = x(edge);
    const said = `${formatShare(beyond[k])} beyond ${number(edge, "")}`;
    parts.push(
      svgElement("path", { d: `M${at.toFixed(1)} ${PAIR_TOP}V${PAIR_BASE}`, class: "etlab-parity-mark" }),
      svgText(at + (k ? -4 : 4), PAIR_TOP - 3, said, k ? "end" : "start", "etlab-parity-first"),
    );
  });
  return { height: PAIR_HEIGHT, parts };
}

/**
 * @param {any} tensors
 * @param {string} colour
 * @param {number} width
 * @returns {{height: number, parts: Node[]}}
 */
export function drawElements(tensors, colour, width) {
  const [left, right] = [56, width - 12];
  const points = tensors.points.map((/** @type {any[]} */ pair) => pair.map(Number)).filter((/** @type {number[]} */ pair) => pair.every(Number.isFinite));
  const all = points.flat();
  let low = all.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.min(a, b), Infinity);
  let high = all.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, b), -Infinity);
  if (!(high > low)) [low, high] = [(all[0] ?? 0) - 0.5, (all[0] ?? 0) + 0.5];
  const across = makeAxis({ low, high, from: left, to: right, count: 4 });
  const up = makeAxis({ low, high, from: PAIR_BASE, to: PAIR_TOP, count: 4 });
  /** @type {Node[]} */
  const parts = [svgElement("path", { d: `M${left} ${PAIR_BASE}L${right} ${PAIR_TOP}`, class: "etlab-chart-line" })];
  for (const tick of up.ticks) parts.push(svgText(left - 6, up.at(tick) + 4, number(tick, ""), "end", "etlab-chart-faint"));
  for (const tick of across.ticks) parts.push(svgText(across.at(tick), PAIR_HEIGHT - 6, number(tick, ""), "middle", "etlab-chart-faint"));
  for (const edge of tensors.clip ?? []) {
    if (edge < low || edge > high) continue;
    const at = across.at(edge).toFixed(1);
    parts.push(svgElement("path", { d: `M${at} ${PAIR_TOP}V${PAIR_BASE}`, class: "etlab-parity-mark" }));
  }
  for (const [expected, actual] of points) {
    parts.push(svgElement("circle", { cx: across.at(expected).toFixed(1), cy: up.at(actual).toFixed(1), r: 1.8, fill: colour, "fill-opacity": 0.6 }));
  }
  parts.push(svgText(right, PAIR_BASE - 4, tensors.reference, "end", "etlab-chart-faint"), svgText(left + 4, PAIR_TOP + 6, tensors.path, "start", "etlab-chart-faint"));
  return { height: PAIR_HEIGHT, parts };
}
