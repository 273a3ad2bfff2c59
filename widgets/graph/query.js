// The language of the query box. etlab/inspect/graph_query.py understands the same.

import { KINDS } from "./wire.js";

/** @typedef {import("./wire.js").Graph} Graph */
/** @typedef {(node: number) => boolean} Test */

export const HELP = [
  ["conv", "name, operator or module contains conv"],
  ["op:conv", "operator contains conv; op=add is exactly add"],
  ["name:~^add_\\d", "name matches a regular expression"],
  ["dtype:int8", "dtype of the result"],
  ["in:blocks.3", "inside of a module"],
  ["backend:xnnpack", "who runs it; delegated, or not delegated"],
  ["bytes>1M", "size of the result; also <, >=, <="],
  ["source:model.py:12", "made by this line"],
  ["kind:input  shape:224", "kinds: input, state, call, module, output"],
  ["value>0.5", "number of the colouring that is shown"],
  ["a b   a or b   not a   ( )", "and, or, not, groups"],
];

const FIELDS = new Set("name op operator dtype shape in module backend source kind bytes value".split(" "));
const TOKEN = /[^\s()"]*"[^"]*"|\(|\)|[^\s()]+/g;
const TERM = /^([a-z]+)(:~|>=|<=|[:=<>])(.*)$/i;
/** @type {Record<string, number>} */
const UNITS = { "": 1, k: 1e3, m: 1e6, g: 1e9, kib: 1024, mib: 1048576, gib: 1073741824 };

/**
 * @param {string} query
 * @param {Graph} graph
 * @param {ArrayLike<number> | null} values numbers of the colouring that is shown
 * @returns {Test}
 * @throws {Error} with a sentence, when the query can't be understood
 */
export function compile(query, graph, values) {
  const tokens = query.match(TOKEN) ?? [];
  let at = 0;
  /** @returns {Test} */
  const either = () => {
    let left = both();
    while (/^or$/i.test(tokens[at] ?? "")) {
      at++;
      const [a, b] = [left, both()];
      left = (node) => a(node) || b(node);
    }
    return left;
  };
  /** @returns {Test} */
  const both = () => {
    let left = single();
    while (at < tokens.length && tokens[at] !== ")" && !/^or$/i.test(tokens[at])) {
      if (/^and$/i.test(tokens[at])) at++;
      const [a, b] = [left, single()];
      left = (node) => a(node) && b(node);
    }
    return left;
  };
  /** @returns {Test} */
  const single = () => {
    const token = tokens[at++];
    if (token === undefined) throw new Error("the query ends too early");
    if (token === ")") throw new Error("a ')' without its '('");
    if (/^not$/i.test(token)) {
      const inner = single();
      return (node) => !inner(node);
    }
    if (token !== "(") return term(token, graph, values);
    const inner = either();
    if (tokens[at++] !== ")") throw new Error("a '(' without its ')'");
    return inner;
  };
  const test = either();
  if (at < tokens.length) throw new Error("a ')' without its '('");
  return test;
}

/**
 * @param {string} token
 * @param {Graph} graph
 * @param {ArrayLike<number> | null} values
 * @returns {Test}
 */
function term(token, graph, values) {
  const match = TERM.exec(token);
  const plain = token.replaceAll('"', "").toLowerCase();
  if (!match || !FIELDS.has(match[1].toLowerCase())) {
    if (plain === "delegated") return (node) => graph.backends[graph.backend[node]] !== "";
    const operators = found(graph.operators, (text) => text.includes(plain));
    const modules = found(graph.modules, (text) => text.includes(plain));
    return (node) =>
      operators[graph.operator[node]] === 1 ||
      modules[graph.module[node]] === 1 ||
      graph.names[node].toLowerCase().includes(plain);
  }
  const field = match[1].toLowerCase();
  const operation = match[2];
  const value = match[3].replaceAll('"', "");
  if (field === "bytes" || field === "value") return numeric(field, operation, value, graph, values);
  if (/[<>]/.test(operation)) throw new Error(`'${field}' is text: use ${field}:… or ${field}=…`);
  const test = textTest(field, operation, value);
  if (field === "name") return (node) => test(graph.names[node].toLowerCase());
  const [table, column] = columnOf(field, graph);
  const matches = found(table, test);
  return (node) => matches[column[node]] === 1;
}

/**
 * @param {string} field
 * @param {Graph} graph
 * @returns {[string[], ArrayLike<number>]}
 */
function columnOf(field, graph) {
  switch (field) {
    case "dtype":
      return [graph.dtypes, graph.dtype];
    case "shape":
      return [graph.shapes, graph.shape];
    case "backend":
      return [graph.backends, graph.backend];
    case "source":
      return [graph.sources, graph.source];
    case "kind":
      return [KINDS, graph.kind];
    case "in":
    case "module":
      return [graph.modules, graph.module];
    default:
      return [graph.operators, graph.operator];
  }
}

/**
 * @param {string} field
 * @param {string} operation
 * @param {string} value
 * @returns {(text: string) => boolean} of a text in small letters
 */
function textTest(field, operation, value) {
  if (operation === ":~") {
    let pattern = /$^/;
    try {
      pattern = new RegExp(value, "i");
    } catch {
      throw new Error(`'${value}' is no regular expression`);
    }
    return (text) => pattern.test(text);
  }
  const wanted = value.toLowerCase();
  if (operation === "=") return (text) => text === wanted;
  if (field === "in") return (text) => text === wanted || text.startsWith(`${wanted}.`);
  return (text) => text.includes(wanted);
}

/**
 * @param {string} field
 * @param {string} operation
 * @param {string} value
 * @param {Graph} graph
 * @param {ArrayLike<number> | null} values
 * @returns {Test}
 */
function numeric(field, operation, value, graph, values) {
  const match = /^(-?[\d.]+(?:e-?\d+)?)([kmg](?:ib)?)?b?$/i.exec(value);
  if (!match || Number.isNaN(Number(match[1]))) {
    throw new Error(`'${value}' is no number: write ${field}>1000 or ${field}>1M`);
  }
  const limit = Number(match[1]) * UNITS[(match[2] ?? "").toLowerCase()];
  if (field === "value" && !values) throw new Error("the colouring that is shown has no numbers");
  const column = field === "bytes" ? graph.bytes : /** @type {ArrayLike<number>} */ (values);
  const isKnown = (/** @type {number} */ v) => v === v && (field === "value" || v >= 0);
  switch (operation) {
    case ">":
      return (node) => isKnown(column[node]) && column[node] > limit;
    case "<":
      return (node) => isKnown(column[node]) && column[node] < limit;
    case ">=":
      return (node) => isKnown(column[node]) && column[node] >= limit;
    case "<=":
      return (node) => isKnown(column[node]) && column[node] <= limit;
    default:
      return (node) => column[node] === limit;
  }
}

/**
 * The entries of a table that pass a test.
 * @param {string[]} table
 * @param {(text: string) => boolean} test
 */
function found(table, test) {
  return Uint8Array.from(table, (text) => (test(text.toLowerCase()) ? 1 : 0));
}
