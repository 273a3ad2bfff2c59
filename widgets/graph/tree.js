// What of a graph is drawn: the tree of boxes and the edges between what can be seen.

import { DELEGATE_CALL, PICK, STATE } from "./wire.js";
/** @typedef {import("./wire.js").Graph} Graph */

/**
 * Items are nodes (their id) and groups (`graph.count` + their number).
 * @typedef {object} Tree
 * @property {Graph} graph
 * @property {Uint8Array} hidden nodes that are not drawn
 * @property {Int32Array} sources of the drawn edges
 * @property {Int32Array} targets of the drawn edges
 * @property {number[][]} members of every group, in order of execution
 * @property {Int32Array} first drawn node of every group; -1 without one
 * @property {Int32Array} calls drawn nodes of every group
 * @property {Int32Array} depth of every group
 */

/**
 * @param {Graph} graph
 * @returns {Tree}
 */
export function prepare(graph) {
  const { count, kind, group, groupParent } = graph;
  const groups = groupParent.length;
  const hidden = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    hidden[i] = kind[i] === STATE || kind[i] === PICK || kind[i] === DELEGATE_CALL ? 1 : 0;
  }
  const first = new Int32Array(groups).fill(-1);
  const calls = new Int32Array(groups);
  const depth = new Int32Array(groups);
  for (let i = count - 1; i >= 0; i--) {
    if (!hidden[i]) {
      first[group[i]] = i;
      calls[group[i]]++;
    }
  }
  for (let g = groups - 1; g > 0; g--) {
    const parent = groupParent[g];
    calls[parent] += calls[g];
    if (first[g] >= 0 && (first[parent] < 0 || first[g] < first[parent])) first[parent] = first[g];
  }
  for (let g = 1; g < groups; g++) depth[g] = depth[groupParent[g]] + 1;
  const [sources, targets] = drawnEdges(graph, hidden);
  const members = /** @type {number[][]} */ (Array.from({ length: groups }, () => []));
  for (let i = 0; i < count; i++) if (!hidden[i]) members[group[i]].push(i);
  for (let g = 1; g < groups; g++) if (calls[g]) members[groupParent[g]].push(count + g);
  /** @param {number} item */
  const place = (item) => (item < count ? item : first[item - count]);
  for (const list of members) list.sort((a, b) => place(a) - place(b) || b - a);
  return { graph, hidden, sources, targets, members, first, calls, depth };
}

/**
 * Edges between drawn nodes; picked results are handed on by who made them.
 * @param {Graph} graph
 * @param {Uint8Array} hidden
 */
function drawnEdges(graph, hidden) {
  const { count, kind, indegree, edges } = graph;
  /** @type {number[]} */
  const sources = [];
  /** @type {number[]} */
  const targets = [];
  /** @type {Map<number, Set<number>>} */
  const behind = new Map();
  for (let node = 0, at = 0; node < count; node++) {
    const end = at + indegree[node];
    if (hidden[node] && kind[node] !== PICK) {
      at = end;
      continue;
    }
    /** @type {Set<number>} */
    const makers = new Set();
    for (; at < end; at++) {
      const maker = edges[at];
      const taken = behind.get(maker);
      if (taken) for (const one of taken) makers.add(one);
      else if (!hidden[maker]) makers.add(maker);
    }
    if (kind[node] === PICK) {
      behind.set(node, makers);
      continue;
    }
    for (const maker of makers) {
      sources.push(maker);
      targets.push(node);
    }
  }
  return [Int32Array.from(sources), Int32Array.from(targets)];
}

/**
 * For every item the item that stands for it: itself, or the outermost closed group around it.
 * @param {Tree} tree
 * @param {Set<number>} open numbers of the groups that are open
 * @returns {Int32Array}
 */
export function representatives(tree, open) {
  const { graph } = tree;
  const { count, group, groupParent } = graph;
  const groups = groupParent.length;
  const result = new Int32Array(count + groups).fill(-1);
  for (let g = 0; g < groups; g++) {
    const outer = g > 0 ? result[count + groupParent[g]] : -1;
    result[count + g] = outer >= 0 ? outer : open.has(g) ? -1 : count + g;
  }
  for (let i = 0; i < count; i++) {
    const outer = result[count + group[i]];
    result[i] = outer >= 0 ? outer : i;
  }
  for (let g = 0; g < groups; g++) if (result[count + g] < 0) result[count + g] = count + g;
  return result;
}
