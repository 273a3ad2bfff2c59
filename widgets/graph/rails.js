// Rails: where an edge over several rows runs beside the boxes that it passes.

/** @typedef {import("./level.js").Level} Level */
/** @typedef {import("./level.js").Rows} Rows */
/** @typedef {import("./routes.js").Ends} Ends */

export const RAIL_GAP = 12;
export const LANE = 6;
export const LANES = 40;
const LOOK_AHEAD = 6; // rows that a straight edge may pass without a rail

/**
 * The column and row at both ends of an edge; a value that comes in stands above its column.
 * @param {Level} level
 * @param {Rows} rows
 * @param {Ends} ends
 * @param {number} e
 */
export function span(level, rows, ends, e) {
  const { count, ins, from, to } = level;
  const s = from[e];
  const t = to[e];
  const inside = t >= count + ins ? ends.outColumn[t - count - ins] : rows.column[rows.row[t]];
  const a = s >= count ? ends.inColumn[s - count] : rows.column[rows.row[s]];
  const first = s >= count ? rows.columnStart[a] - 1 : rows.row[s];
  const last = t >= count + ins ? rows.columnStart[inside + 1] : rows.row[t];
  return { a, b: inside, first, last };
}

/**
 * @typedef {object} Rail what the edges of one maker in one column share
 * @property {number} column
 * @property {number} first row
 * @property {number} last row
 * @property {number} side 1 right, -1 left
 * @property {number} x by column
 * @property {number} wish the mean place of both ends
 */

/**
 * The edges that need a rail, and where it runs.
 * @param {Level} level
 * @param {Rows} rows
 * @param {Ends} ends
 */
export function planRails(level, rows, ends) {
  const { count, ins, from, to } = level;
  const extent = extents(level, rows);
  /** @type {(Rail | null)[]} */
  const rail = new Array(from.length).fill(null);
  /** @type {Map<number, Rail>} */
  const known = new Map();
  /** @type {Rail[]} */
  const rails = [];
  for (let e = 0; e < from.length; e++) {
    const { a, b, first, last } = span(level, rows, ends, e);
    const sx = from[e] >= count ? ends.inMiddle[from[e] - count] : rows.middle[from[e]];
    const tx = to[e] >= count + ins ? ends.outMiddle[to[e] - count - ins] : rows.middle[to[e]];
    if (a !== b || last === first + 1 || isClear(level, rows, first, last, sx, tx)) continue;
    const key = from[e] * 2 + (last > first ? 1 : 0);
    let one = known.get(key);
    if (!one) {
      one = { column: a, first, last, side: 1, x: 0, wish: (sx + tx) / 2 };
      known.set(key, one);
      rails.push(one);
    }
    one.first = Math.min(one.first, first, last);
    one.last = Math.max(one.last, first, last);
    rail[e] = one;
  }
  rails.sort((p, q) => p.first - q.first || p.last - q.last);
  /** @type {Map<number, number[]>} */
  const lanes = new Map();
  for (const one of rails) {
    const begin = rows.columnStart[one.column];
    const end = rows.columnStart[one.column + 1] - 1;
    const passed = one.last - one.first > 1 ? 1 : 0; // the rows between, or those of the ends
    const lowest = Math.min(Math.max(one.first + passed, begin), end);
    const highest = Math.max(Math.min(one.last - passed, end), lowest);
    const right = extent.right(lowest, highest);
    const left = extent.left(lowest, highest);
    one.side = one.wish - left < right - one.wish ? -1 : 1;
    const key = one.column * 2 + (one.side > 0 ? 1 : 0);
    let ends_ = lanes.get(key);
    if (!ends_) lanes.set(key, (ends_ = []));
    let lane = ends_.findIndex((end) => end <= one.first);
    if (lane < 0) lane = ends_.length < LANES ? ends_.length : one.first % LANES;
    ends_[lane] = one.last;
    one.x = one.side > 0 ? right + RAIL_GAP + lane * LANE : left - RAIL_GAP - lane * LANE;
  }
  return { rail, rails };
}

/**
 * Whether a straight way from row to row meets no box.
 * @param {Level} level
 * @param {Rows} rows
 * @param {number} first
 * @param {number} last
 * @param {number} sx
 * @param {number} tx
 */
function isClear(level, rows, first, last, sx, tx) {
  if (last <= first || last - first > LOOK_AHEAD) return false;
  const left = Math.min(sx, tx) - RAIL_GAP;
  const right = Math.max(sx, tx) + RAIL_GAP;
  for (let p = rows.start[first + 1]; p < rows.start[last]; p++) {
    const box = rows.order[p];
    const half = level.width[box] / 2;
    if (rows.middle[box] - half < right && rows.middle[box] + half > left) return false;
  }
  return true;
}

/**
 * The outermost borders of the boxes in a range of rows, by doubling.
 * @param {Level} level
 * @param {Rows} rows
 */
function extents(level, rows) {
  const right = new Float64Array(rows.rows);
  const left = new Float64Array(rows.rows);
  for (let r = 0; r < rows.rows; r++) {
    right[r] = -Infinity;
    left[r] = -Infinity;
    for (let p = rows.start[r]; p < rows.start[r + 1]; p++) {
      const box = rows.order[p];
      right[r] = Math.max(right[r], rows.middle[box] + level.width[box] / 2);
      left[r] = Math.max(left[r], level.width[box] / 2 - rows.middle[box]);
    }
  }
  const tables = [doubled(right), doubled(left)];
  /** @type {(table: Float64Array[], first: number, last: number) => number} */
  const most = (table, first, last) => {
    const step = 31 - Math.clz32(last - first + 1);
    return Math.max(table[step][first], table[step][last - (1 << step) + 1]);
  };
  return {
    /** @type {(first: number, last: number) => number} */
    right: (first, last) => most(tables[0], first, last),
    /** @type {(first: number, last: number) => number} */
    left: (first, last) => -most(tables[1], first, last),
  };
}

/** @param {Float64Array} values */
function doubled(values) {
  const table = [values];
  for (let step = 1; step * 2 <= values.length; step *= 2) {
    const last = table[table.length - 1];
    const next = new Float64Array(values.length - step * 2 + 1);
    for (let i = 0; i < next.length; i++) next[i] = Math.max(last[i], last[i + step]);
    table.push(next);
  }
  return table;
}

