// One level of the drawing: boxes in rows, rows in columns. There are no virtual nodes: an edge over
// many rows costs as much as one over two.

const ROW_GAP = 28;
const BOX_GAP = 18;
const SWEEPS = 6;
const LEAST_COLUMN = 620; // height from which a second column is worth it
const ASPECT = 1.7;
const WIDE = 320;

/**
 * Boxes 0 … count - 1 in order of execution, then the values that come in, then those that go out.
 * @typedef {object} Level
 * @property {number} count boxes
 * @property {number} ins values that come in from outside
 * @property {number} outs values that go out
 * @property {number[]} width of every box
 * @property {number[]} height of every box
 * @property {number[]} from of every edge: box, or count + number of a value that comes in
 * @property {number[]} to of every edge: box, or count + ins + number of a value that goes out
 * @property {number[]} fromPort place on the box's lower border, from its left; NaN: its middle
 * @property {number[]} toPort place on the box's upper border, from its left; NaN: to be found
 */

/**
 * @typedef {object} Rows
 * @property {Int32Array} row of every box
 * @property {number} rows how many
 * @property {Int32Array} start of every row in `order`, and its end
 * @property {Int32Array} order boxes row by row, left to right
 * @property {Int32Array} column of every row
 * @property {number[]} columnStart first row of every column, and the number of rows
 * @property {Float64Array} middle x of every box, by column
 * @property {Float64Array} top of every row
 * @property {Float64Array} bottom of every row
 */

/**
 * @param {Level} level
 * @param {number} gutter room between columns
 * @returns {Rows}
 */
export function arrangeRows(level, gutter) {
  const row = rowOf(level);
  let rows = 0;
  for (let i = 0; i < level.count; i++) rows = Math.max(rows, row[i] + 1);
  const start = new Int32Array(rows + 1);
  for (let i = 0; i < level.count; i++) start[row[i] + 1]++;
  for (let r = 0; r < rows; r++) start[r + 1] += start[r];
  const order = new Int32Array(level.count);
  const next = start.slice();
  for (let i = 0; i < level.count; i++) order[next[row[i]]++] = i;
  const middle = place(level, row, start, order, rows);
  return { row, rows, start, order, middle, ...fold(level, row, rows, start, order, middle, gutter) };
}

/**
 * The row of every box: one below the lowest of those it takes values from.
 * @param {Level} level
 */
function rowOf({ count, from, to }) {
  const row = new Int32Array(count);
  const isFed = new Uint8Array(count);
  const firstUser = new Int32Array(count).fill(-1);
  const edges = byTarget(count, from, to);
  for (const e of edges) {
    const s = from[e];
    const t = to[e];
    if (s >= count) isFed[t] = 1;
    if (s >= t) continue;
    isFed[t] = 1;
    if (row[t] <= row[s]) row[t] = row[s] + 1;
  }
  for (const e of edges) {
    const s = from[e];
    if (s < to[e] && (firstUser[s] < 0 || row[to[e]] < firstUser[s])) firstUser[s] = row[to[e]];
  }
  // What nothing feeds stands right above its first user.
  for (let i = 0; i < count; i++) if (!isFed[i] && firstUser[i] > 0) row[i] = firstUser[i] - 1;
  return row;
}

/**
 * Edges that end at a box, by that box.
 * @param {number} count
 * @param {number[]} from
 * @param {number[]} to
 */
function byTarget(count, from, to) {
  const start = new Int32Array(count + 1);
  let total = 0;
  for (let e = 0; e < to.length; e++) {
    if (to[e] < count) {
      start[to[e] + 1]++;
      total++;
    }
  }
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const edges = new Int32Array(total);
  for (let e = 0; e < to.length; e++) if (to[e] < count) edges[start[to[e]]++] = e;
  return edges;
}

/**
 * The middle of every box, and the order inside of rows: boxes stand under what feeds them and over
 * what uses them, by turns.
 * @param {Level} level
 * @param {Int32Array} row
 * @param {Int32Array} start
 * @param {Int32Array} order
 * @param {number} rows
 */
function place(level, row, start, order, rows) {
  const { count, width, from, to, fromPort, toPort } = level;
  const middle = new Float64Array(count);
  const goal = new Float64Array(count);
  const weight = new Float64Array(count);
  for (let r = 0; r < rows; r++) {
    for (let p = start[r]; p < start[r + 1]; p++) goal[order[p]] = 0;
    pack(order, start[r], start[r + 1], goal, weight, width, middle);
  }
  /** @type {number[]} */
  const inner = [];
  for (let e = 0; e < from.length; e++) {
    if (from[e] < count && to[e] < count && row[from[e]] < row[to[e]]) inner.push(e);
  }
  const down = adjacency(count, inner, to);
  const up = adjacency(count, inner, from);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    const [at, edges] = isDown ? down : up;
    for (let step = 0; step < rows; step++) {
      const r = isDown ? step : rows - 1 - step;
      for (let p = start[r]; p < start[r + 1]; p++) {
        const box = order[p];
        let sum = 0;
        let total = 0;
        for (let k = at[box]; k < at[box + 1]; k++) {
          const e = edges[k];
          const other = isDown ? from[e] : to[e];
          const span = row[to[e]] - row[from[e]];
          const w = 1 / (span * span);
          const fromShift = portShift(fromPort[e], width[from[e]]);
          const toShift = portShift(toPort[e], width[to[e]]);
          const shift = isDown ? fromShift - toShift : toShift - fromShift;
          sum += w * (middle[other] + shift);
          total += w;
        }
        goal[box] = total > 0 ? sum / total : middle[box];
        weight[box] = total > 0 ? total : 0.01;
      }
      if (start[r + 1] - start[r] === 1) {
        middle[order[start[r]]] = goal[order[start[r]]];
        continue;
      }
      if (sweep < SWEEPS - 2) sortRow(order, start[r], start[r + 1], goal);
      pack(order, start[r], start[r + 1], goal, weight, width, middle);
    }
  }
  return middle;
}

/**
 * How far a port is from the middle of its box. Wide boxes stand by their middle: aligned by their
 * ports they would make a staircase.
 * @param {number} port
 * @param {number} width
 */
export function portShift(port, width) {
  return port === port && width < WIDE ? port - width / 2 : 0;
}

/**
 * @param {number} count
 * @param {number[]} edges
 * @param {number[]} end
 * @returns {[Int32Array, Int32Array]} where the edges of every box begin, and the edges
 */
function adjacency(count, edges, end) {
  const at = new Int32Array(count + 1);
  for (const e of edges) at[end[e] + 1]++;
  for (let i = 0; i < count; i++) at[i + 1] += at[i];
  const next = at.slice();
  const list = new Int32Array(edges.length);
  for (const e of edges) list[next[end[e]]++] = e;
  return [at, list];
}

/**
 * @param {Int32Array} order
 * @param {number} begin
 * @param {number} end
 * @param {Float64Array} goal
 */
function sortRow(order, begin, end, goal) {
  const boxes = Array.from(order.subarray(begin, end));
  boxes.sort((a, b) => goal[a] - goal[b]); // stable, as Python's
  order.set(boxes, begin);
}

/**
 * The places nearest to the goals (least squares) in which no two boxes touch, by merging
 * neighbours that want to overlap.
 * @param {Int32Array} order
 * @param {number} begin
 * @param {number} end
 * @param {Float64Array} goal
 * @param {Float64Array} weight
 * @param {number[]} width
 * @param {Float64Array} middle
 */
function pack(order, begin, end, goal, weight, width, middle) {
  /** @type {number[]} */
  const values = [];
  /** @type {number[]} */
  const weights = [];
  /** @type {number[]} */
  const sizes = [];
  let offset = 0;
  for (let p = begin; p < end; p++) {
    const box = order[p];
    if (p > begin) offset += (width[order[p - 1]] + width[box]) / 2 + BOX_GAP;
    let value = goal[box] - offset;
    let w = weight[box] || 1;
    let size = 1;
    while (values.length && values[values.length - 1] > value) {
      const other = /** @type {number} */ (weights.pop());
      value = (value * w + /** @type {number} */ (values.pop()) * other) / (w + other);
      w += other;
      size += /** @type {number} */ (sizes.pop());
    }
    values.push(value);
    weights.push(w);
    sizes.push(size);
  }
  offset = 0;
  let block = 0;
  let left = sizes[0];
  for (let p = begin; p < end; p++) {
    const box = order[p];
    if (p > begin) offset += (width[order[p - 1]] + width[box]) / 2 + BOX_GAP;
    if (left === 0) left = sizes[++block];
    left--;
    middle[box] = values[block] + offset;
  }
}

/**
 * Cut a tall stack of rows into columns, where the fewest edges cross, and find the rows' heights.
 * @param {Level} level
 * @param {Int32Array} row
 * @param {number} rows
 * @param {Int32Array} start
 * @param {Int32Array} order
 * @param {Float64Array} middle
 * @param {number} gutter
 */
function fold(level, row, rows, start, order, middle, gutter) {
  const tall = new Float64Array(rows);
  let total = 0;
  let least = Infinity;
  let most = -Infinity;
  for (let r = 0; r < rows; r++) {
    for (let p = start[r]; p < start[r + 1]; p++) {
      const box = order[p];
      tall[r] = Math.max(tall[r], level.height[box]);
      least = Math.min(least, middle[box] - level.width[box] / 2);
      most = Math.max(most, middle[box] + level.width[box] / 2);
    }
    total += tall[r] + ROW_GAP;
  }
  const wanted = Math.floor(Math.sqrt((ASPECT * total) / (most - least + gutter)));
  const columns = Math.max(1, Math.min(wanted, Math.floor(total / LEAST_COLUMN)));
  const columnStart = breaks(level, row, rows, tall, total, columns);
  const column = new Int32Array(rows);
  const top = new Float64Array(rows);
  const bottom = new Float64Array(rows);
  for (let c = 0; c + 1 < columnStart.length; c++) {
    let y = 0;
    for (let r = columnStart[c]; r < columnStart[c + 1]; r++) {
      column[r] = c;
      top[r] = y;
      bottom[r] = y + tall[r];
      y += tall[r] + ROW_GAP;
    }
  }
  return { column, columnStart, top, bottom };
}

/**
 * @param {Level} level
 * @param {Int32Array} row
 * @param {number} rows
 * @param {Float64Array} tall
 * @param {number} total
 * @param {number} columns
 */
function breaks({ count, from, to }, row, rows, tall, total, columns) {
  const crossing = new Int32Array(rows + 1);
  for (let e = 0; e < from.length; e++) {
    if (from[e] >= count || to[e] >= count) continue;
    const a = row[from[e]];
    const b = row[to[e]];
    crossing[Math.min(a, b) + 1]++;
    crossing[Math.max(a, b) + 1]--;
  }
  const columnStart = [0];
  let height = 0;
  let best = -1;
  let bestCost = Infinity;
  let open = 0;
  for (let r = 0; r < rows && columnStart.length < columns; r++) {
    open += crossing[r];
    const share = total / columns;
    const goal = share * columnStart.length;
    const distance = Math.abs(height - goal) / share;
    if (r > columnStart[columnStart.length - 1] && distance < 0.2) {
      const cost = open + 8 * distance;
      if (cost < bestCost) {
        bestCost = cost;
        best = r;
      }
    } else if (best < 0 && height >= goal) {
      best = r;
    }
    if (best >= 0 && height >= goal + 0.2 * share) {
      columnStart.push(best);
      best = -1;
      bestCost = Infinity;
    }
    height += tall[r] + ROW_GAP;
  }
  if (best > columnStart[columnStart.length - 1] && columnStart.length < columns) {
    columnStart.push(best);
  }
  columnStart.push(rows);
  return columnStart;
}
