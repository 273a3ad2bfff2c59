// A profile as columns: times of rows and of groups of rows, and where they stand in a timeline.

import { bufferOf, readCoded } from "../view/columns.js";

/** @typedef {import("../view/columns.js").Coded} Coded */

/**
 * @typedef {object} Profile
 * @property {number} count rows
 * @property {number} runs
 * @property {string[]} names
 * @property {Coded} operator
 * @property {Coded} kind
 * @property {Coded} backend
 * @property {Coded} module
 * @property {Coded} source
 * @property {Int32Array} parent row of the delegate's call; -1
 * @property {Int32Array} calls
 * @property {Float64Array} seconds row by row, one a run
 * @property {Float64Array} flops NaN: unknown
 * @property {Float64Array} nbytes
 * @property {Float64Array} roof least possible seconds
 * @property {Float64Array} p50 of every row, seconds
 * @property {number[]} leaves rows that do not overlap
 * @property {any} facts the rest of what the kernel sent
 */

/** @param {any} content */
export function readProfile(content) {
  const seconds = new Float64Array(bufferOf(content.seconds));
  const parent = new Int32Array(bufferOf(content.parent));
  const count = content.names.length;
  const told = new Set(parent);
  const kind = readCoded(content.kind);
  const leaves = [];
  for (let k = 0; k < count; k++) if (kind.at(k) !== "delegate" || !told.has(k)) leaves.push(k);
  /** @type {Profile} */
  const profile = {
    count,
    runs: content.runs,
    names: content.names,
    operator: readCoded(content.operator),
    kind,
    backend: readCoded(content.backend),
    module: readCoded(content.module),
    source: readCoded(content.source),
    parent,
    calls: new Int32Array(bufferOf(content.calls)),
    seconds,
    flops: new Float64Array(bufferOf(content.flops)),
    nbytes: new Float64Array(bufferOf(content.nbytes)),
    roof: new Float64Array(bufferOf(content.roof)),
    p50: new Float64Array(count),
    leaves,
    facts: content,
  };
  for (let k = 0; k < count; k++) profile.p50[k] = percentile(samplesOf(profile, [k]), 0.5);
  return profile;
}

/**
 * Between neighbours where it falls between, as etlab.inspect.profile.percentile.
 * @param {number[]} values
 * @param {number} share
 */
export function percentile(values, share) {
  const ordered = [...values].sort((a, b) => a - b);
  const place = share * (ordered.length - 1);
  const low = Math.floor(place);
  const high = Math.min(low + 1, ordered.length - 1);
  return ordered[low] + (place - low) * (ordered[high] - ordered[low]);
}

/**
 * The sums over rows, run by run.
 * @param {Profile} profile
 * @param {number[]} rows
 */
export function samplesOf({ runs, seconds }, rows) {
  const sums = new Array(runs).fill(0);
  for (const k of rows) for (let run = 0; run < runs; run++) sums[run] += seconds[k * runs + run];
  return sums;
}

/**
 * @typedef {object} Group
 * @property {string} name
 * @property {number[]} rows
 * @property {number} p50 of the sums, seconds
 * @property {number} p90
 * @property {number} share of the sum over everything that does not overlap
 * @property {number} flops NaN: unknown
 * @property {number} nbytes
 * @property {number} roof
 */

/**
 * The rows that do not overlap, by what they share; the most time first.
 * @param {Profile} profile
 * @param {string} by "node", "operator", "module", "source" or "backend"
 * @returns {Group[]}
 */
export function groupRows(profile, by) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  for (const k of profile.leaves) {
    const name = nameOfGroup(profile, k, by);
    const list = found.get(name);
    if (list) list.push(k);
    else found.set(name, [k]);
  }
  const total = percentile(samplesOf(profile, profile.leaves), 0.5) || 1;
  const groups = [...found].map(([name, rows]) => {
    const samples = samplesOf(profile, rows);
    const p50 = percentile(samples, 0.5);
    return {
      name,
      rows,
      p50,
      p90: percentile(samples, 0.9),
      share: p50 / total,
      flops: known(profile.flops, rows),
      nbytes: known(profile.nbytes, rows),
      roof: known(profile.roof, rows),
    };
  });
  return groups.sort((a, b) => b.p50 - a.p50 || (a.name < b.name ? -1 : 1));
}

/** @type {(profile: Profile, k: number, by: string) => string} */
function nameOfGroup(profile, k, by) {
  if (by === "operator") return profile.operator.at(k);
  if (by === "module") return profile.module.at(k) || "(top)";
  if (by === "source") return profile.source.at(k) || "(unknown)";
  if (by === "backend") return profile.backend.at(k) || "own kernels";
  return profile.names[k];
}

/**
 * The sum of what is known; NaN when nothing is.
 * @param {Float64Array} column
 * @param {number[]} rows
 */
function known(column, rows) {
  const values = rows.map((k) => column[k]).filter((value) => value === value);
  return values.length ? values.reduce((a, b) => a + b) : NaN;
}

/**
 * Where every row stands in a timeline of medians: begin and width in seconds, and its depth.
 * @param {Profile} profile
 * @returns {{begin: Float64Array, width: Float64Array, depth: Uint8Array, total: number}}
 */
export function timeline(profile) {
  const { count, parent, p50 } = profile;
  const begin = new Float64Array(count);
  const width = Float64Array.from(p50);
  const depth = new Uint8Array(count);
  const inside = new Float64Array(count);
  for (let k = 0; k < count; k++) if (parent[k] >= 0) inside[parent[k]] += p50[k];
  const filled = new Float64Array(count);
  let total = 0;
  for (let k = 0; k < count; k++) {
    const outer = parent[k];
    if (outer < 0) {
      begin[k] = total;
      total += width[k];
      continue;
    }
    // The medians of nodes may add up to more than the median of their call: they share its room.
    width[k] *= inside[outer] > p50[outer] ? p50[outer] / inside[outer] : 1;
    begin[k] = begin[outer] + filled[outer];
    filled[outer] += width[k];
    depth[k] = 1;
  }
  return { begin, width, depth, total };
}
