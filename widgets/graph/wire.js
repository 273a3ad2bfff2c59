// The graph as it comes over the wire: columns of numbers and tables of strings in one buffer.
// The writer is etlab/inspect/graph_wire.py.

const MAGIC = 0x31475445; // "ETG1"

/** @typedef {Int8Array|Uint8Array|Uint16Array|Uint32Array|Int32Array|Float32Array|Float64Array} Column */

/**
 * @typedef {object} Graph
 * @property {string} title
 * @property {string} stage
 * @property {number} count nodes
 * @property {string[]} names
 * @property {string[]} operators
 * @property {string[]} dtypes
 * @property {string[]} shapes
 * @property {string[]} sources
 * @property {string[]} backends
 * @property {string[]} modules
 * @property {Column} kind index into KINDS
 * @property {Column} operator
 * @property {Column} dtype
 * @property {Column} shape
 * @property {Column} source
 * @property {Column} backend
 * @property {Column} module
 * @property {Column} bytes of all results; -1 unknown
 * @property {Column} group
 * @property {Column} indegree
 * @property {Column} edges producers of node 0, then of node 1, …
 * @property {Column} groupParent
 * @property {Column} groupKind index into GROUP_KINDS
 * @property {Column} groupCall node that runs a delegate; -1
 * @property {string[]} groupNames
 * @property {string[]} groupLabels
 * @property {string[]} groupTypes
 */

export const KINDS = ["input", "state", "call", "delegate", "module", "pick", "output"];
export const GROUP_KINDS = ["model", "module", "delegate", "body", "fold", "section"];
export const INPUT = 0;
export const STATE = 1;
export const DELEGATE_CALL = 3;
export const PICK = 5;
export const OUTPUT = 6;
export const DELEGATE_GROUP = 2;
export const FOLD_GROUP = 4;

/** @type {Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => Column>} */
const COLUMNS = {
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};

/**
 * @param {DataView} view as anywidget hands it over
 * @returns {Graph}
 */
export function decode(view) {
  // A copy begins at offset 0, which the typed arrays need to be aligned.
  const buffer = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  const data = new DataView(/** @type {ArrayBuffer} */ (buffer));
  if (data.getUint32(0, true) !== MAGIC) throw new Error("GraphView: these bytes are no graph");
  const text = new TextDecoder();
  const head = JSON.parse(text.decode(new Uint8Array(data.buffer, 8, data.getUint32(4, true))));
  /** @type {any} */
  const graph = { title: head.title, stage: head.stage, count: head.count };
  for (const [name, type, offset, length] of head.sections) {
    if (type === "text") {
      const joined = text.decode(new Uint8Array(data.buffer, offset, length));
      graph[name] = joined.split("\n");
    } else {
      graph[name] = new COLUMNS[type](data.buffer, offset, length);
    }
  }
  return graph;
}
