import assert from "node:assert/strict";
import test from "node:test";
import { compile } from "../../../widgets/graph/query.js";
import { makeGraph } from "./graphs.js";

const graph = makeGraph([
  ["x", "input", "", []],
  ["conv2d_1", "call", "conv2d", [0]],
  ["add_3", "call", "add", [1]],
  ["odd(name", "call", "quantized_decomposed::add", [2]],
]);
graph.dtype[3] = 1;
graph.backend[1] = 1;
graph.module.set([0, 1, 2, 0]);
graph.bytes.set([-1, 2e6, 100, 0]);

/** @type {(query: string, values?: number[]) => string} */
const found = (query, values) => {
  const fits = compile(query, graph, values ?? null);
  return graph.names.map((_, node) => (fits(node) ? node : "")).join("");
};

test("a word is looked for in names, operators and modules", () => {
  assert.equal(found("ADD"), "23");
  assert.equal(found("blocks"), "12");
});

test("fields compare by part, exactly, by expression and by size", () => {
  assert.equal(found("op:add"), "23");
  assert.equal(found("op=add"), "2");
  assert.equal(found("name:~_\\d$"), "12");
  assert.equal(found("dtype:int8"), "3");
  assert.equal(found("kind:input"), "0");
  assert.equal(found("bytes>1M"), "1");
  assert.equal(found("bytes<=100B"), "23");
  assert.equal(found("value>0.5", [NaN, 1, 0, 0.6]), "13");
});

test("in: is about whole parts of a module's path", () => {
  assert.equal(found("in:blocks.0"), "1");
  assert.equal(found("module:blocks.0"), "12");
});

test("words combine with and, or, not and groups", () => {
  assert.equal(found("op:add dtype:int8"), "3");
  assert.equal(found("op:conv or op=add"), "12");
  assert.equal(found("not (op:conv or op=add)"), "03");
  assert.equal(found("delegated"), "1");
  assert.equal(found("op:conv and not delegated"), "");
  assert.equal(found('name:"odd(name"'), "3");
});

test("what can't be understood is refused in words", () => {
  for (const [query, message] of [
    ["(a", /without its '\)'/],
    ["a)", /without its '\('/],
    ["not", /too early/],
    ['name:~"("', /regular expression/],
    ["bytes>many", /is no number/],
    ["dtype>3", /is text/],
    ["value>3", /has no numbers/],
  ]) {
    assert.throws(() => found(/** @type {string} */ (query)), { message: /** @type {RegExp} */ (message) });
  }
});
