// The ways of edges through one level: straight down to the next row, along a rail beside the rows
// they pass, or through the gutter between columns.

import { portShift } from "./level.js";
import { LANE, LANES, RAIL_GAP, planRails, span } from "./rails.js";

/** @typedef {import("./level.js").Level} Level */
/** @typedef {import("./level.js").Rows} Rows */

const STUB = 9; // from a row to the level part of a way
const PORT_GAP = 14;
const ELBOW = 90; // sideways steps from which an edge runs level for a while

/**
 * @typedef {object} Routed
 * @property {number} width
 * @property {number} height
 * @property {Float64Array} x left border of every box
 * @property {Float64Array} y upper border of every box
 * @property {number[]} inX of every value that comes in
 * @property {number[]} outX of every value that goes out
 * @property {number[]} points x, y, x, y, …
 * @property {number[]} pointStart of every edge in `points` (numbers, not pairs), and the end
 */

/**
 * @param {Level} level
 * @param {Rows} rows
 * @param {number} margin room above and below the rows
 * @returns {Routed}
 */
export function route(level, rows, margin) {
  const { count, ins, outs, from, to } = level;
  const columns = rows.columnStart.length - 1;
  const ends = terminals(level, rows, columns);
  const plan = planRails(level, rows, ends);
  const toGutter = gutters(level, rows, ends);
  const { shift, edgeOf, width } = columnPlaces(level, rows, plan, toGutter, columns);
  let tallest = 0;
  for (let r = 0; r < rows.rows; r++) tallest = Math.max(tallest, rows.bottom[r]);
  const lid = margin + (toGutter.overhead ? STUB + LANE * Math.min(toGutter.overhead, 8) : 0);
  const height = tallest + lid + margin;
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const r = rows.row[i];
    x[i] = shift[rows.column[r]] + rows.middle[i] - level.width[i] / 2;
    y[i] = lid + rows.top[r] + (rows.bottom[r] - rows.top[r] - level.height[i]) / 2;
  }
  const railX = plan.rail.map((rail) => (rail ? shift[rail.column] + rail.x : NaN));
  const arrival = ports(level, rows, x, railX, toGutter, edgeOf);
  const inX = new Array(ins).fill(NaN);
  const outX = new Array(outs).fill(NaN);
  for (let v = 0; v < ins; v++) inX[v] = ends.inMiddle[v] + shift[ends.inColumn[v]];
  for (let v = 0; v < outs; v++) outX[v] = ends.outMiddle[v] + shift[ends.outColumn[v]];
  spread(inX);
  spread(outX);
  /** @type {number[]} */
  const points = [];
  const pointStart = [0];
  for (let e = 0; e < from.length; e++) {
    const s = from[e];
    const t = to[e];
    const isIn = s >= count;
    const isOut = t >= count + ins;
    const port = level.fromPort[e] === level.fromPort[e] ? level.fromPort[e] : 0;
    const half = port || isIn ? port : level.width[s] / 2;
    const sx = isIn ? inX[s - count] : x[s] + half;
    const sy = isIn ? 0 : y[s] + level.height[s];
    const tx = isOut ? outX[t - count - ins] : x[t] + arrival[e];
    const ty = isOut ? height : y[t];
    const leave = (isIn ? lid - margin / 2 : lid + rows.bottom[rows.row[s]]) + (isIn ? 0 : STUB);
    const arrive = isOut ? height - margin / 2 : lid + rows.top[rows.row[t]] - STUB;
    const lane = toGutter.lane[e];
    points.push(sx, sy);
    if (lane >= 0) {
      const a = isIn ? ends.inColumn[s - count] : rows.column[rows.row[s]];
      const b = isOut ? ends.outColumn[t - count - ins] : rows.column[rows.row[t]];
      const out = edgeOf(a, lane);
      points.push(sx, leave, out, leave);
      if (b === a + 1) {
        points.push(out, arrive);
      } else {
        const above = lid - margin / 2 - LANE * (lane % 8) - 2;
        const into = edgeOf(b - 1, lane);
        points.push(out, above, into, above, into, arrive);
      }
      points.push(tx, arrive);
    } else if (plan.rail[e]) {
      points.push(sx, leave, railX[e], leave, railX[e], arrive, tx, arrive);
    } else if (Math.abs(sx - tx) > ELBOW) {
      points.push(sx, arrive, tx, arrive);
    }
    points.push(tx, ty);
    pointStart.push(points.length);
  }
  return { width, height, x, y, inX, outX, points, pointStart };
}

/**
 * Where values come in and go out: above their first user, below their maker.
 * @param {Level} level
 * @param {Rows} rows
 * @param {number} columns
 */
function terminals(level, rows, columns) {
  const { count, ins, outs, from, to } = level;
  const inColumn = new Array(ins).fill(-1);
  const inMiddle = new Array(ins).fill(0);
  const inRow = new Array(ins).fill(Infinity);
  const outColumn = new Array(outs).fill(0);
  const outMiddle = new Array(outs).fill(0);
  for (let e = 0; e < from.length; e++) {
    const s = from[e];
    const t = to[e];
    if (s >= count && t < count && rows.row[t] < inRow[s - count]) {
      inRow[s - count] = rows.row[t];
      inColumn[s - count] = rows.column[rows.row[t]];
      inMiddle[s - count] = rows.middle[t] + portShift(level.toPort[e], level.width[t]);
    }
    if (t >= count + ins && s < count) {
      outColumn[t - count - ins] = rows.column[rows.row[s]];
      outMiddle[t - count - ins] = rows.middle[s] + portShift(level.fromPort[e], level.width[s]);
    }
  }
  for (let v = 0; v < ins; v++) if (inColumn[v] < 0) inColumn[v] = 0;
  for (let v = 0; v < outs; v++) outColumn[v] = Math.min(outColumn[v], columns - 1);
  return { inColumn, inMiddle, outColumn, outMiddle };
}

/** @typedef {ReturnType<typeof terminals>} Ends */

/**
 * The edges that change columns, with a lane in the gutter for every maker.
 * @param {Level} level
 * @param {Rows} rows
 * @param {Ends} ends
 */
function gutters(level, rows, ends) {
  const lane = new Int32Array(level.from.length).fill(-1);
  /** @type {Map<number, number>} */
  const known = new Map();
  /** @type {number[]} */
  const used = [];
  let overhead = 0;
  for (let e = 0; e < level.from.length; e++) {
    const { a, b } = span(level, rows, ends, e);
    if (a === b) continue;
    const s = level.from[e];
    if (!known.has(s)) {
      known.set(s, (used[a] ?? 0) % LANES);
      used[a] = (used[a] ?? 0) + 1;
    }
    lane[e] = /** @type {number} */ (known.get(s));
    if (b !== a + 1) overhead++;
  }
  return { lane, used, overhead };
}

/**
 * Where every column stands, with its rails and the gutter to its right.
 * @param {Level} level
 * @param {Rows} rows
 * @param {ReturnType<typeof planRails>} plan
 * @param {ReturnType<typeof gutters>} toGutter
 * @param {number} columns
 */
function columnPlaces(level, rows, plan, toGutter, columns) {
  const least = new Array(columns).fill(Infinity);
  const most = new Array(columns).fill(-Infinity);
  for (let i = 0; i < level.count; i++) {
    const c = rows.column[rows.row[i]];
    least[c] = Math.min(least[c], rows.middle[i] - level.width[i] / 2);
    most[c] = Math.max(most[c], rows.middle[i] + level.width[i] / 2);
  }
  for (const { column, x } of plan.rails) {
    least[column] = Math.min(least[column], x);
    most[column] = Math.max(most[column], x);
  }
  /** @type {number[]} */
  const shift = [];
  const edge = [0];
  let x = toGutter.overhead ? RAIL_GAP + LANE * 2 : 0;
  for (let c = 0; c < columns; c++) {
    shift.push(x - least[c]);
    x += most[c] - least[c];
    edge.push(x);
    if (c + 1 < columns) x += 2 * RAIL_GAP + LANE * Math.min(toGutter.used[c] ?? 0, LANES);
  }
  const width = x + (toGutter.used[columns - 1] ? RAIL_GAP * 2 : 0);
  /** @type {(column: number, lane: number) => number} */
  const edgeOf = (column, lane) => edge[column + 1] + (column < 0 ? LANE : RAIL_GAP + lane * LANE);
  return { shift, edgeOf, width };
}

/**
 * Where on the upper border of its box every edge arrives: the one that comes straight from above in
 * the middle, the others beside it in the order they come from.
 * @param {Level} level
 * @param {Rows} rows
 * @param {Float64Array} x
 * @param {number[]} railX
 * @param {ReturnType<typeof gutters>} toGutter
 * @param {(column: number, lane: number) => number} edgeOf
 */
function ports(level, rows, x, railX, toGutter, edgeOf) {
  const { count, from, to } = level;
  const arrival = new Float64Array(to.length);
  /** @type {Map<number, number[]>} */
  const byBox = new Map();
  for (let e = 0; e < to.length; e++) {
    if (to[e] >= count) continue;
    if (level.toPort[e] === level.toPort[e]) {
      arrival[e] = level.toPort[e];
      continue;
    }
    const list = byBox.get(to[e]);
    if (list) list.push(e);
    else byBox.set(to[e], [e]);
  }
  /** @param {number} e */
  const comesFrom = (e) => {
    const middle = x[to[e]] + level.width[to[e]] / 2;
    if (railX[e] === railX[e]) return railX[e];
    if (toGutter.lane[e] >= 0) return edgeOf(rows.column[rows.row[to[e]]] - 1, toGutter.lane[e]);
    if (from[e] >= count) return middle;
    const port = level.fromPort[e];
    return x[from[e]] + (port === port ? port : level.width[from[e]] / 2);
  };
  for (const [box, edges] of byBox) {
    const half = level.width[box] / 2;
    const sides = edges.map((e) => comesFrom(e) - x[box] - half);
    const sorted = edges.map((_, k) => k).sort((p, q) => sides[p] - sides[q]);
    let main = 0;
    for (let k = 1; k < sorted.length; k++) {
      if (Math.abs(sides[sorted[k]]) < Math.abs(sides[sorted[main]])) main = k;
    }
    const gap = Math.min(PORT_GAP, (half - 8) / Math.max(1, main, sorted.length - 1 - main));
    for (let k = 0; k < sorted.length; k++) arrival[edges[sorted[k]]] = half + (k - main) * gap;
  }
  return arrival;
}

/**
 * Move equal or crowded places apart.
 * @param {number[]} places
 */
function spread(places) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  for (let k = 1; k < order.length; k++) {
    places[order[k]] = Math.max(places[order[k]], places[order[k - 1]] + LANE);
  }
}
