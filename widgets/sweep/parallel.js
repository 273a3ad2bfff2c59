// More than two objectives: a line a configuration over one axis an objective, the best at the top.

import { svgElement, svgText } from "../view/svg.js";
import { keepsBounds } from "./front.js";

/** @typedef {import("./front.js").Point} Point */
/** @typedef {import("./front.js").Objective} Objective */

const PARALLEL_HEIGHT = 190;
const RAIL = { top: 30, bottom: 168, side: 60 };

/**
 * Where values stand between the worst (0) and the best (1) of all.
 * @param {Point[]} points
 * @param {Objective} objective
 * @param {number} k
 * @returns {(value: number) => number}
 */
export function goodness(points, { higher }, k) {
  const known = points.map(({ values }) => values[k]).filter((value) => value !== null && Number.isFinite(value));
  const finite = /** @type {number[]} */ (known);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  return (value) => {
    if (!(high > low)) return Number.isFinite(value) || value > 0 === higher ? 1 : 0;
    const share = (Math.min(Math.max(value, low), high) - low) / (high - low);
    return higher ? share : 1 - share;
  };
}

/**
 * @param {object} what
 * @param {number} what.width
 * @param {Point[]} what.points
 * @param {Objective[]} what.objectives
 * @param {string[][]} what.ends texts of the worst and the best value of every objective
 * @param {Record<string, number>} what.bounds
 * @param {Set<string>} what.selected
 * @param {(name: string, isMore: boolean) => void} what.onPick
 * @returns {{height: number, parts: Node[]}}
 */
export function drawParallel({ width, points, objectives, ends, bounds, selected, onPick }) {
  const step = (width - 2 * RAIL.side) / (objectives.length - 1);
  const scales = objectives.map((one, k) => goodness(points, one, k));
  /** @param {number} k */
  const x = (k) => RAIL.side + k * step;
  /** @type {Node[]} */
  const parts = [];
  objectives.forEach(({ name }, k) => {
    parts.push(
      svgElement("path", { d: `M${x(k).toFixed(1)} ${RAIL.top}V${RAIL.bottom}`, class: "etlab-chart-line" }),
      svgText(x(k), 12, name, "middle"),
      svgText(x(k), 25, ends[k][1], "middle", "etlab-chart-faint"),
      svgText(x(k), RAIL.bottom + 15, ends[k][0], "middle", "etlab-chart-faint"),
    );
  });
  const order = [...points.keys()].sort((a, b) => rank(points[a], selected) - rank(points[b], selected));
  for (const place of order) {
    const point = points[place];
    let path = "";
    let isJoined = false;
    point.values.forEach((value, k) => {
      if (value !== null) {
        const y = RAIL.bottom - scales[k](value) * (RAIL.bottom - RAIL.top);
        path += `${isJoined ? "L" : "M"}${x(k).toFixed(1)} ${y.toFixed(1)}`;
      }
      isJoined = value !== null;
    });
    const isKept = keepsBounds(point, objectives, bounds);
    const kind = `etlab-sweep-line${point.isFront ? " etlab-sweep-full" : ""}${isKept ? "" : " etlab-sweep-out"}`;
    const line = svgElement("path", { d: path, class: kind + (selected.has(point.name) ? " etlab-sweep-chosen" : "") });
    const wide = svgElement("path", { d: path, class: "etlab-sweep-reach" }, [svgElement("title", {}, [point.name])]);
    wide.addEventListener("click", (event) => onPick(point.name, event.shiftKey || event.ctrlKey || event.metaKey));
    parts.push(line, wide);
  }
  return { height: PARALLEL_HEIGHT, parts };
}

/**
 * What is drawn last lies above.
 * @param {Point} point
 * @param {Set<string>} selected
 */
function rank(point, selected) {
  return selected.has(point.name) ? 2 : Number(point.isFront);
}
