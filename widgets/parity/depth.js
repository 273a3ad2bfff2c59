// A metric along the depth of a model: a line a path, dots for operators run alone.

import { makeAxis } from "../view/axes.js";
import { number } from "../view/palette.js";
import { svgElement, svgText } from "../view/svg.js";

/** @typedef {import("./heat.js").Metric} Metric */

/**
 * @typedef {object} Series
 * @property {string} path
 * @property {string} colour
 * @property {string} dash as SVG has it
 * @property {(number | null)[]} line of every operator, on own values
 * @property {(number | null)[]} dots alone on the reference's inputs
 */

const DEPTH_LEFT = 64;
const DEPTH_RIGHT = 12;
const DEPTH_TOP = 14;
const DEPTH_BOTTOM = 22;
const DEPTH_HEIGHT = 190;

/**
 * The ends of an axis for all values that are finite, and whether it is logarithmic.
 * @param {Series[]} series
 * @param {Metric} metric
 */
export function depthRange(series, { higher }) {
  const all = series.flatMap(({ line, dots }) => [...line, ...dots]).filter((value) => value !== null && Number.isFinite(value));
  const values = /** @type {number[]} */ (all);
  const positive = values.filter((value) => value > 0);
  const least = positive.reduce((a, b) => Math.min(a, b), Infinity);
  let low = values.reduce((a, b) => Math.min(a, b), Infinity);
  let high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!values.length) [low, high] = [0, 1];
  const isLog = !higher && high > 100 * least;
  if (isLog) low = least;
  if (low === high) [low, high] = [low - Math.abs(low) * 0.1 - 0.5, high + Math.abs(high) * 0.1 + 0.5];
  return { low, high, isLog };
}

/**
 * @param {object} what
 * @param {number} what.width
 * @param {number} what.count of operators
 * @param {Series[]} what.series
 * @param {Metric} what.metric
 * @param {[number, string] | null} what.first the operator that diverges first: place and name
 * @param {number[]} what.selected places
 * @param {(place: number, isMore: boolean) => void} what.onPick
 * @param {(place: number, x: number, y: number) => void} what.onHover -1: nothing
 * @returns {{height: number, parts: Node[]}}
 */
export function drawDepth({ width, count, series, metric, first, selected, onPick, onHover }) {
  const bottom = DEPTH_HEIGHT - DEPTH_BOTTOM;
  const { low, high, isLog } = depthRange(series, metric);
  const up = makeAxis({ low, high, from: bottom, to: DEPTH_TOP, isLog, unit: metric.decibel ? "dB" : "", count: 4 });
  const step = count > 1 ? (width - DEPTH_LEFT - DEPTH_RIGHT) / (count - 1) : 0;
  /** @param {number} place */
  const x = (place) => (count > 1 ? DEPTH_LEFT + place * step : (DEPTH_LEFT + width - DEPTH_RIGHT) / 2);
  /** @param {number} value what is exact stands at the edge, what is broken at the other */
  const y = (value) => {
    if (value !== value) return metric.higher ? bottom : DEPTH_TOP;
    return up.at(Math.min(Math.max(value, low), high));
  };
  /** @type {Node[]} */
  const parts = [];
  for (const tick of up.ticks) {
    const at = up.at(tick);
    if (at < DEPTH_TOP - 1 || at > bottom + 1) continue;
    parts.push(
      svgElement("path", { d: `M${DEPTH_LEFT} ${at.toFixed(1)}H${width - DEPTH_RIGHT}`, class: "etlab-chart-line" }),
      svgText(DEPTH_LEFT - 6, at + 4, number(tick, ""), "end", "etlab-chart-faint"),
    );
  }
  const middle = (DEPTH_TOP + bottom) / 2;
  const label = svgText(12, middle, metric.label, "middle");
  label.setAttribute("transform", `rotate(-90 12 ${middle})`);
  parts.push(
    label,
    svgText(DEPTH_LEFT, DEPTH_HEIGHT - 6, "first operator", "start", "etlab-chart-faint"),
    svgText(width - DEPTH_RIGHT, DEPTH_HEIGHT - 6, `last of ${count}`, "end", "etlab-chart-faint"),
  );
  for (const { colour, dash, line, dots } of series) {
    let path = "";
    for (const [place, value] of line.entries()) {
      if (value === null) continue; // what is computed within another step is no gap
      path += `${path ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
    }
    parts.push(svgElement("path", { d: path, fill: "none", stroke: colour, "stroke-width": 1.7, "stroke-dasharray": dash }));
    for (const [place, value] of dots.entries()) {
      if (value !== null) parts.push(svgElement("circle", { cx: x(place).toFixed(1), cy: y(value).toFixed(1), r: 2.2, fill: colour, "fill-opacity": 0.6 }));
    }
  }
  if (first) {
    const at = x(first[0]);
    const isRight = at > width / 2;
    const name = svgText(at + (isRight ? -5 : 5), DEPTH_TOP + 9, `≠ ${first[1]}`, isRight ? "end" : "start", "etlab-parity-first");
    parts.push(svgElement("path", { d: `M${at.toFixed(1)} ${DEPTH_TOP}V${bottom}`, class: "etlab-parity-mark" }), name);
  }
  for (const place of selected) {
    parts.push(svgElement("path", { d: `M${x(place).toFixed(1)} ${DEPTH_TOP}V${bottom}`, class: "etlab-chart-mark", "stroke-width": 1.5 }));
  }
  const cover = svgElement("rect", { x: DEPTH_LEFT - 4, y: DEPTH_TOP, width: width - DEPTH_LEFT - DEPTH_RIGHT + 8, height: bottom - DEPTH_TOP, class: "etlab-parity-cover" });
  /** @param {MouseEvent} event */
  const placeOf = (event) => {
    const { left } = /** @type {SVGElement} */ (cover).getBoundingClientRect();
    const at = event.clientX - left - 4;
    return Math.min(Math.max(step ? Math.round(at / step) : 0, 0), count - 1);
  };
  cover.addEventListener("click", (event) => onPick(placeOf(event), event.shiftKey || event.ctrlKey || event.metaKey));
  cover.addEventListener("mousemove", (event) => {
    const place = placeOf(event);
    onHover(place, x(place), event.offsetY);
  });
  cover.addEventListener("mouseleave", () => onHover(-1, 0, 0));
  parts.push(cover);
  return { height: DEPTH_HEIGHT, parts };
}
