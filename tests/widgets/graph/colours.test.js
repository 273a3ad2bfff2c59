import assert from "node:assert/strict";
import test from "node:test";
import { builtIn, paintItems } from "../../../widgets/graph/colours.js";
import { backendColours, luminance, number } from "../../../widgets/view/palette.js";
import { prepare } from "../../../widgets/graph/tree.js";
import { makeGraph } from "./graphs.js";

const graph = makeGraph(
  [
    ["a", "call", "conv2d", []],
    ["b", "call", "relu", [0], 1],
    ["c", "call", "relu", [1], 1],
    ["run", "delegate", "call_delegate", [0]],
    ["d", "call", "add", [2]],
  ],
  [["part", "delegate", 0, "XnnpackBackend", 3]],
);
const tree = prepare(graph);

/** @type {(values: number[], combine: any) => any} */
const numbers = (values, combine) => ({
  name: "values",
  kind: "number",
  classes: [],
  values: Float32Array.from(values),
  colours: [],
  combine,
  scale: "linear",
  map: "magnitude",
  unit: "",
});

test("a closed group adds up, or has the worst, of what is in it", () => {
  const part = graph.count + 1;
  assert.equal(paintItems(tree, numbers([1, 2, 4, NaN, 8], "sum"), false).value[part], 6);
  assert.equal(paintItems(tree, numbers([1, 2, 4, NaN, 8], "min"), false).value[part], 2);
  assert.equal(paintItems(tree, numbers([1, 2, 4, NaN, 8], "max"), true).value[graph.count], 8);
  assert.equal(paintItems(tree, numbers([1, 2, 4, NaN, 8], "mean"), false).value[part], 3);
});

test("a delegate has the value of the call that runs it", () => {
  const painted = paintItems(tree, numbers([1, NaN, NaN, 5, 8], "sum"), false);
  assert.equal(painted.value[graph.count + 1], 5);
  assert.equal(painted.value[graph.count], 14);
});

test("a group has the class that most of its nodes have", () => {
  const painted = paintItems(tree, builtIn(tree).get("operator") ?? null, false);
  assert.deepEqual(painted.legend.map((entry) => [entry.label, entry.count]), [
    ["relu", 2],
    ["add", 1],
    ["conv2d", 1],
  ]);
  assert.equal(painted.code[graph.count + 1], painted.code[1]);
});

test("text stands out from the colour of its box in both themes", () => {
  for (const isDark of [false, true]) {
    for (const overlay of [builtIn(tree).get("operator"), numbers([0, 1, 2, 3, 4], "sum")]) {
      const { fills, inks } = paintItems(tree, overlay ?? null, isDark);
      fills.forEach((fill, code) => {
        const [a, b] = [luminance(fill), luminance(inks[code])];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        assert.ok(contrast >= 4.5, `${inks[code]} on ${fill}: ${contrast.toFixed(2)}`);
      });
    }
  }
});

test("numbers are written short, with their unit", () => {
  assert.equal(number(0.0000123, "s"), "12.3 µs");
  assert.equal(number(1536, "B"), "1.5 KiB");
  assert.equal(number(42, "B"), "42 B");
  assert.equal(number(Infinity, "dB"), "∞");
  assert.equal(number(NaN, ""), "–");
});

test("what is as good as equal needs no colours of its own", () => {
  const overlay = { ...numbers([20, 40, 140, NaN, Infinity], "min"), unit: "dB" };
  const { legend, code } = paintItems(tree, overlay, false);
  assert.deepEqual(legend.map((entry) => entry.label), ["20 dB", "30 dB", "40 dB", "50 dB", "≥ 60 dB"]);
  assert.equal(code[2], code[4]);
  assert.ok(code[0] < code[1] && code[1] < code[2]);
});

test("backends have the colours that the rest of etlab gives them", () => {
  assert.deepEqual(backendColours(["XnnpackBackend"]), ["#CC79A7"]);
});
