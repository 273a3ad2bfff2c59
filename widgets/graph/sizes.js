// Sizes of boxes, in units of the drawing, and what stands on them. The static picture
// (etlab/inspect/graph_layout.py) uses the same numbers.

import { FOLD_GROUP, INPUT, OUTPUT } from "./wire.js";
/** @typedef {import("./tree.js").Tree} Tree */

export const NODE_HEIGHT = 34;
export const GROUP_HEIGHT = 40;
export const PADDING = 12;
export const HEADER = 24;
const LEAST_WIDTH = 76;
const MOST_WIDTH = 188;
const LETTER = 7;

/**
 * Title and second line of an item.
 * @param {Tree} tree
 * @param {number} item
 * @returns {[string, string]}
 */
export function labels(tree, item) {
  const { graph, calls } = tree;
  if (item >= graph.count) {
    const g = item - graph.count;
    const type = graph.groupTypes[g].replace(" x ", " × ");
    const count = calls[g] === 1 ? "1 op" : `${calls[g]} ops`;
    return [graph.groupLabels[g], type ? `${type} · ${count}` : count];
  }
  const shape = graph.shapes[graph.shape[item]];
  const kind = graph.kind[item];
  const title =
    kind === INPUT || kind === OUTPUT
      ? graph.names[item]
      : operatorName(graph.operators[graph.operator[item]]) || graph.names[item];
  return [title, shape];
}

/**
 * Without the namespace, which says little and needs much room.
 * @param {string} operator
 */
export function operatorName(operator) {
  return operator.slice(operator.lastIndexOf(":") + 1);
}

/**
 * Width and height of a closed group or a node.
 * @param {Tree} tree
 * @param {number} item
 * @returns {[number, number]}
 */
export function boxSize(tree, item) {
  const [title, second] = labels(tree, item);
  const isGroup = item >= tree.graph.count;
  const wide = Math.max(title.length * LETTER, second.length * LETTER * 0.94) + (isGroup ? 36 : 22);
  const width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, Math.ceil(wide)));
  return [width, isGroup ? GROUP_HEIGHT : NODE_HEIGHT];
}

/**
 * @param {Tree} tree
 * @param {number} item
 */
export function isFold(tree, item) {
  const { graph } = tree;
  if (item < graph.count) return false;
  const g = item - graph.count;
  return graph.groupKind[g] === FOLD_GROUP || / x /.test(graph.groupTypes[g]);
}
