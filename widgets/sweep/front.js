// Which configurations keep bounds, which is best, and the line that no other one goes beyond.

/**
 * @typedef {object} Objective
 * @property {string} name
 * @property {boolean} higher whether higher is better
 * @property {string} unit
 */

/**
 * @typedef {object} Point
 * @property {string} name
 * @property {(number | null)[]} values of every objective; null where there is none, or NaN
 * @property {boolean} isFront
 */

/**
 * @param {Objective} objective
 * @param {number} a
 * @param {number} b
 */
export function isBetter({ higher }, a, b) {
  return higher ? a > b : a < b;
}

/**
 * Whether a point keeps all bounds: objective to the worst value that is good enough.
 * @param {Point} point
 * @param {Objective[]} objectives
 * @param {Record<string, number>} bounds
 */
export function keepsBounds(point, objectives, bounds) {
  return objectives.every((one, k) => {
    const bound = bounds[one.name];
    if (bound === undefined) return true;
    const value = point.values[k];
    return value !== null && !isBetter(one, bound, value);
  });
}

/**
 * The place of the best point within the bounds, -1 for none. Of equal ones that which is best in
 * the other objectives in turn, as `Sweep.best` has it.
 * @param {Point[]} points
 * @param {Objective[]} objectives
 * @param {Record<string, number>} bounds
 * @param {string} by
 */
export function bestPoint(points, objectives, bounds, by) {
  const first = objectives.findIndex((one) => one.name === by);
  const order = [first, ...objectives.keys()].filter((k, place, all) => k >= 0 && all.indexOf(k) === place);
  /** @type {(a: Point, b: Point) => boolean} */
  const precedes = (a, b) => {
    for (const k of order) {
      const [left, right] = [a.values[k], b.values[k]];
      if (left === null && right === null) continue;
      if (left === null || right === null) return left !== null;
      if (left !== right) return isBetter(objectives[k], left, right);
    }
    return false;
  };
  let best = -1;
  points.forEach((point, place) => {
    if (point.values[order[0]] === null || !keepsBounds(point, objectives, bounds)) return;
    if (best < 0 || precedes(point, points[best])) best = place;
  });
  return best;
}

/**
 * Places of the points that no other one beats in two objectives, from the best to the worst of the
 * first.
 * @param {Point[]} points
 * @param {Objective[]} objectives
 * @param {number} x
 * @param {number} y
 */
export function frontLine(points, objectives, x, y) {
  /** @type {[number, number, number][]} */
  const whole = [];
  points.forEach(({ values }, place) => {
    const [a, b] = [values[x], values[y]];
    if (a !== null && b !== null) whole.push([a, b, place]);
  });
  /** @type {(k: number, a: number, b: number) => number} */
  const compare = (k, a, b) => (a === b ? 0 : isBetter(objectives[k], a, b) ? -1 : 1);
  whole.sort((p, q) => compare(x, p[0], q[0]) || compare(y, p[1], q[1]) || p[2] - q[2]);
  /** @type {number[]} */
  const line = [];
  let best = NaN;
  for (const [, value, place] of whole) {
    if (line.length && !isBetter(objectives[y], value, best)) continue;
    best = value;
    line.push(place);
  }
  return line;
}

/**
 * The different finite values of an objective, the worst first: where a bound can stand.
 * @param {Point[]} points
 * @param {Objective[]} objectives
 * @param {number} k
 */
export function boundStops(points, objectives, k) {
  const known = points.map(({ values }) => values[k]).filter((value) => value !== null && Number.isFinite(value));
  const sorted = [.../** @type {Set<number>} */ (new Set(known))].sort((a, b) => a - b);
  return objectives[k].higher ? sorted : sorted.reverse();
}
