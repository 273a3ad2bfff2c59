// Small graphs for the tests, in the form that wire.js decodes to.

import { GROUP_KINDS, KINDS } from "../../../widgets/graph/wire.js";

/**
 * @param {[string, string, string, number[], number?][]} nodes name, kind, operator, producers, group
 * @param {[string, string, number, string?, number?][]} [groups] name, kind, parent, type, call
 */
export function makeGraph(nodes, groups = []) {
  const all = [["", "model", -1, ""], ...groups];
  const operators = [...new Set(nodes.map((node) => node[2]))];
  const count = nodes.length;
  return {
    title: "toy",
    stage: "",
    count,
    names: nodes.map((node) => node[0]),
    operators,
    dtypes: ["float32", "int8"],
    shapes: ["3×5"],
    sources: ["model.py:3", "model.py:4"],
    backends: ["", "XnnpackBackend"],
    modules: ["", "blocks.0", "blocks.01"],
    kind: Uint8Array.from(nodes, (node) => KINDS.indexOf(node[1])),
    operator: Uint8Array.from(nodes, (node) => operators.indexOf(node[2])),
    dtype: new Uint8Array(count),
    shape: new Uint8Array(count),
    source: new Uint8Array(count),
    backend: new Uint8Array(count),
    module: new Uint8Array(count),
    bytes: new Float64Array(count).fill(60),
    group: Uint32Array.from(nodes, (node) => node[4] ?? 0),
    indegree: Uint32Array.from(nodes, (node) => node[3].length),
    edges: Uint32Array.from(nodes.flatMap((node) => node[3])),
    groupParent: Int32Array.from(all, (group) => group[2]),
    groupKind: Uint8Array.from(all, (group) => GROUP_KINDS.indexOf(group[1])),
    groupCall: Int32Array.from(all, (group) => group[4] ?? -1),
    groupNames: all.map((group) => group[0]),
    groupLabels: all.map((group) => group[0]),
    groupTypes: all.map((group) => group[3] ?? ""),
  };
}

/**
 * A chain with edges that skip ahead.
 * @param {number} count
 */
export function makeChain(count) {
  const nodes = [];
  for (let i = 0; i < count; i++) {
    const producers = i ? [i - 1] : [];
    if (i % 7 === 6) producers.push(i - 5);
    if (i % 97 === 96) producers.push(0);
    nodes.push([`n${i}`, i ? "call" : "input", i % 7 === 6 ? "add" : "relu", producers.sort((a, b) => a - b)]);
  }
  return makeGraph(/** @type {any} */ (nodes));
}
