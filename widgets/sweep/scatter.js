// Two objectives as a scatter: what is not beaten is full, what breaks a bound is faint.

import { makeAxis } from "../view/axes.js";
import { number } from "../view/palette.js";
import { pickable, svgElement, svgText } from "../view/svg.js";
import { frontLine, keepsBounds } from "./front.js";

/** @typedef {import("./front.js").Point} Point */
/** @typedef {import("./front.js").Objective} Objective */

const SCATTER_HEIGHT = 300;
const FIELD = { left: 80, top: 20, bottom: 38, right: 24 };
const LETTER = 6.2; // wide on the average

/**
 * The axis of an objective, with room at both ends; what is infinite stands at the end.
 * @param {Point[]} points
 * @param {Objective} objective
 * @param {number} k
 * @param {number} from
 * @param {number} to
 */
function objectiveAxis(points, { name, unit }, k, from, to) {
  const known = points.map(({ values }) => values[k]).filter((value) => value !== null && Number.isFinite(value));
  const finite = /** @type {number[]} */ (known);
  let low = finite.length ? Math.min(...finite) : 0;
  let high = finite.length ? Math.max(...finite) : 1;
  const room = (high - low) * 0.08 || Math.abs(high) * 0.08 || 1;
  [low, high] = [low - room, high + room];
  const axis = makeAxis({ low, high, from, to, unit, label: name, count: 4 });
  return { ...axis, at: (/** @type {number} */ value) => axis.at(Math.min(Math.max(value, low), high)) };
}

/**
 * @param {object} what
 * @param {number} what.width
 * @param {Point[]} what.points
 * @param {Objective[]} what.objectives
 * @param {number} what.x
 * @param {number} what.y
 * @param {Record<string, number>} what.bounds
 * @param {number} what.best place, -1 for none
 * @param {Set<string>} what.selected
 * @param {(name: string, isMore: boolean) => void} what.onPick
 * @param {(point: Point) => string} what.label
 * @returns {{height: number, parts: Node[]}}
 */
export function drawScatter({ width, points, objectives, x, y, bounds, best, selected, onPick, label }) {
  const bottom = SCATTER_HEIGHT - FIELD.bottom;
  const end = width - FIELD.right;
  const across = objectiveAxis(points, objectives[x], x, FIELD.left, end);
  const up = objectiveAxis(points, objectives[y], y, bottom, FIELD.top);
  /** @type {Node[]} */
  const parts = [];
  for (const tick of up.ticks) {
    parts.push(
      svgElement("path", { d: `M${FIELD.left} ${up.at(tick).toFixed(1)}H${end}`, class: "etlab-chart-line" }),
      svgText(FIELD.left - 6, up.at(tick) + 4, number(tick, up.unit), "end", "etlab-chart-faint"),
    );
  }
  for (const tick of across.ticks) parts.push(svgText(across.at(tick), bottom + 14, number(tick, across.unit), "middle", "etlab-chart-faint"));
  const middle = (FIELD.top + bottom) / 2;
  const title = svgText(12, middle, up.label, "middle");
  title.setAttribute("transform", `rotate(-90 12 ${middle})`);
  parts.push(title, svgText((FIELD.left + end) / 2, SCATTER_HEIGHT - 6, across.label, "middle"));
  /** @type {(place: number) => [number, number]} */
  const at = (place) => [across.at(/** @type {number} */ (points[place].values[x])), up.at(/** @type {number} */ (points[place].values[y]))];
  const line = frontLine(points, objectives, x, y).map(at);
  const path = line.map(([px, py], k) => (k ? `H${px.toFixed(1)}V${py.toFixed(1)}` : `M${px.toFixed(1)} ${py.toFixed(1)}`)).join("");
  parts.push(svgElement("path", { d: path, class: "etlab-sweep-front" }));
  for (const [k, isAcross] of /** @type {[number, boolean][]} */ ([[x, true], [y, false]])) {
    const bound = bounds[objectives[k].name];
    if (bound === undefined) continue;
    const d = isAcross ? `M${across.at(bound).toFixed(1)} ${FIELD.top}V${bottom}` : `M${FIELD.left} ${up.at(bound).toFixed(1)}H${end}`;
    parts.push(svgElement("path", { d, class: "etlab-sweep-bound" }));
  }
  const drawn = [...points.keys()].filter((place) => points[place].values[x] !== null && points[place].values[y] !== null);
  const taken = drawn.map((place) => at(place)).map(([px, py]) => [px - 5, py - 5, px + 5, py + 5]);
  drawn.sort((a, b) => Number(points[a].isFront) - Number(points[b].isFront));
  for (const place of drawn) {
    const point = points[place];
    const [px, py] = at(place);
    const isKept = keepsBounds(point, objectives, bounds);
    if (place === best) parts.push(svgElement("circle", { cx: px, cy: py, r: 10, class: "etlab-sweep-best" }));
    if (selected.has(point.name)) parts.push(svgElement("circle", { cx: px, cy: py, r: 7.5, class: "etlab-chart-mark", "stroke-width": 2 }));
    const mark = svgElement("circle", {
      cx: px,
      cy: py,
      r: 4.5,
      class: `etlab-sweep-point${point.isFront ? " etlab-sweep-full" : ""}${isKept ? "" : " etlab-sweep-out"}`,
    });
    parts.push(pickable(mark, point.name, label(point), selected.has(point.name), (isMore) => onPick(point.name, isMore)));
    if (!point.isFront && place !== best && !selected.has(point.name)) continue;
    const text = point.name.length > 34 ? `${point.name.slice(0, 33)}…` : point.name;
    const wide = text.length * LETTER;
    for (const [left, base] of [[px + 9, py + 4], [px - 9 - wide, py + 4], [px + 5, py - 9], [px + 5, py + 17], [px - wide - 5, py - 9], [px - wide - 5, py + 17]]) {
      const box = [left, base - 10, left + wide, base + 2];
      const isFree = !taken.some((one) => box[0] < one[2] && one[0] < box[2] && box[1] < one[3] && one[1] < box[3]);
      if (box[0] < FIELD.left || box[2] > width || box[1] < 0 || box[3] > bottom || !isFree) continue;
      taken.push(box);
      parts.push(svgText(left, base, text, "start", "etlab-chart-text etlab-sweep-name"));
      break;
    }
  }
  return { height: SCATTER_HEIGHT, parts };
}
