// A memory plan as columns: what is where, what is beside it, and what colour it has.

import { CATEGORY_COLOURS, MAGNITUDE, ramp } from "../view/palette.js";
import { bufferOf, readCoded } from "../view/columns.js";

/** @typedef {import("../view/columns.js").Coded} Coded */

/**
 * @typedef {object} Arena
 * @property {number} id
 * @property {string} name
 * @property {number} nbytes
 * @property {number} bound the most bytes alive at one step
 * @property {number | null} capacity
 * @property {number} base where it begins in the drawing, bytes
 */

/**
 * @typedef {object} Plan
 * @property {number} count tensors
 * @property {string[]} names
 * @property {Coded} operator
 * @property {Coded} module
 * @property {Coded} dtype
 * @property {Coded} source
 * @property {Coded} shape
 * @property {Int32Array} arena
 * @property {Int32Array} first
 * @property {Int32Array} last inclusive
 * @property {Float64Array} offset
 * @property {Float64Array} nbytes
 * @property {Float64Array} bottom offset in the drawing, where arenas stand on top of each other
 * @property {Float64Array} live bytes alive at each step
 * @property {Coded} steps
 * @property {number} stepCount at least 1
 * @property {Arena[]} arenas
 * @property {number} top of the drawing, bytes
 * @property {Int32Array} order tensors by first use, then offset
 */

const GAP = 0.03; // between arenas, of all bytes

/** @param {any} content */
export function readPlan(content) {
  const names = content.names;
  const count = names.length;
  const total = content.arenas.reduce((/** @type {number} */ sum, /** @type {Arena} */ one) => sum + one.nbytes, 0);
  let top = 0;
  const arenas = content.arenas.map((/** @type {Arena} */ one) => {
    const base = top;
    top += one.nbytes + total * GAP;
    return { ...one, base };
  });
  top = Math.max(top - total * GAP, 1);
  const bases = new Map(arenas.map((/** @type {Arena} */ one) => [one.id, one.base]));
  const arena = new Int32Array(bufferOf(content.arena));
  const offset = new Float64Array(bufferOf(content.offset));
  const first = new Int32Array(bufferOf(content.first));
  const bottom = Float64Array.from(offset, (at, k) => at + (bases.get(arena[k]) ?? 0));
  const steps = readCoded(content.steps);
  const order = Int32Array.from(names, (_, k) => k);
  order.sort((a, b) => first[a] - first[b] || bottom[a] - bottom[b]);
  /** @type {Plan} */
  const plan = {
    count,
    names,
    operator: readCoded(content.operator),
    module: readCoded(content.module),
    dtype: readCoded(content.dtype),
    source: readCoded(content.source),
    shape: readCoded(content.shape),
    arena,
    first,
    last: new Int32Array(bufferOf(content.last)),
    offset,
    nbytes: new Float64Array(bufferOf(content.nbytes)),
    bottom,
    live: new Float64Array(bufferOf(content.live)),
    steps,
    stepCount: Math.max(steps.codes.length, 1),
    arenas,
    top,
    order,
  };
  return plan;
}

/**
 * The tensor at a place of the drawing; -1: none.
 * @param {Plan} plan
 * @param {number} step
 * @param {number} bytes
 */
export function tensorAt(plan, step, bytes) {
  const { first, last, bottom, nbytes } = plan;
  for (let k = 0; k < plan.count; k++) {
    if (step >= first[k] && step < last[k] + 1 && bytes >= bottom[k] && bytes < bottom[k] + nbytes[k]) return k;
  }
  return -1;
}

/**
 * The tensors alive at a step, from below upwards.
 * @param {Plan} plan
 * @param {number} step
 */
export function aliveAt(plan, step) {
  const alive = [];
  for (let k = 0; k < plan.count; k++) if (plan.first[k] <= step && step <= plan.last[k]) alive.push(k);
  return alive.sort((a, b) => plan.bottom[a] - plan.bottom[b]);
}

/**
 * The tensor that begins before or after another; the first one for -1.
 * @param {Plan} plan
 * @param {number} tensor
 * @param {number} direction 1 or -1
 */
export function besideInTime(plan, tensor, direction) {
  const at = tensor < 0 ? -1 : plan.order.indexOf(tensor);
  if (at < 0) return plan.count ? plan.order[direction > 0 ? 0 : plan.count - 1] : -1;
  return plan.order[Math.min(Math.max(at + direction, 0), plan.count - 1)];
}

/**
 * The tensor above or below another at a step; without one that is alive there, the lowest.
 * @param {Plan} plan
 * @param {number} tensor
 * @param {number} direction 1: above
 * @param {number} step
 */
export function besideInMemory(plan, tensor, direction, step) {
  const alive = aliveAt(plan, step);
  const at = alive.indexOf(tensor);
  if (at < 0) return alive[0] ?? -1;
  return alive[Math.min(Math.max(at + direction, 0), alive.length - 1)];
}

/**
 * @typedef {object} Colouring
 * @property {Uint8Array} code of every tensor
 * @property {string[]} colours by code
 * @property {{label: string, colour: string, count?: number}[]} legend
 */

/**
 * @param {Plan} plan
 * @param {string} by "operator", "module", "dtype" or "lifetime"
 * @returns {Colouring}
 */
export function colourTensors(plan, by) {
  if (by === "lifetime") return byLifetime(plan);
  const column = by === "module" ? plan.module : by === "dtype" ? plan.dtype : plan.operator;
  const weight = new Float64Array(column.table.length);
  const counts = new Uint32Array(column.table.length);
  column.codes.forEach((code, k) => {
    weight[code] += plan.nbytes[k];
    counts[code]++;
  });
  const ranked = column.table.map((_, code) => code);
  ranked.sort((a, b) => weight[b] - weight[a] || (column.table[a] < column.table[b] ? -1 : 1));
  const most = CATEGORY_COLOURS.length - 1;
  const place = new Uint8Array(column.table.length).fill(most);
  ranked.slice(0, most).forEach((code, at) => (place[code] = at));
  const legend = ranked.slice(0, most).map((code, at) => ({
    label: column.table[code] || "(top)",
    colour: CATEGORY_COLOURS[at],
    count: counts[code],
  }));
  const rest = ranked.slice(most).reduce((sum, code) => sum + counts[code], 0);
  if (rest) legend.push({ label: "other", colour: CATEGORY_COLOURS[most], count: rest });
  return { code: Uint8Array.from(column.codes, (code) => place[code]), colours: CATEGORY_COLOURS, legend };
}

const SHADES = 9;

/** @param {Plan} plan */
function byLifetime(plan) {
  const most = Math.log(plan.stepCount + 1);
  const colours = Array.from({ length: SHADES }, (_, k) => ramp(MAGNITUDE, k / (SHADES - 1)));
  /** @param {number} steps */
  const shade = (steps) => Math.round((Math.log(steps + 1) / most) * (SHADES - 1));
  const code = Uint8Array.from(plan.names, (_, k) => shade(plan.last[k] - plan.first[k] + 1));
  const marks = [...new Set([1, Math.round(Math.sqrt(plan.stepCount)), plan.stepCount])];
  const legend = marks.map((steps) => ({
    label: `${steps} step${steps === 1 ? "" : "s"}`,
    colour: colours[shade(steps)],
  }));
  return { code, colours, legend };
}
