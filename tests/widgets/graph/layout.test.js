import assert from "node:assert/strict";
import test from "node:test";
import { layOut } from "../../../widgets/graph/layout.js";
import { prepare } from "../../../widgets/graph/tree.js";
import { makeChain, makeGraph } from "./graphs.js";

/** @typedef {import("../../../widgets/graph/layout.js").Scene} Scene */

/** A model with a block of three, a delegate in it, a picked result and a skip over the block. */
const nested = makeGraph(
  [
    ["x", "input", "", []],
    ["w", "state", "", []],
    ["a", "call", "conv2d", [0, 1], 1],
    ["b", "call", "relu", [2], 2],
    ["c", "call", "split", [3], 2],
    ["run", "delegate", "call_delegate", [2], 1],
    ["p", "pick", "", [4, 5], 1],
    ["d", "call", "mul", [6], 1],
    ["e", "call", "add", [0, 7]],
    ["y", "output", "", [8]],
  ],
  [
    ["block", "module", 0, "Block"],
    ["part", "delegate", 1, "XnnpackBackend", 5],
  ],
);

/** @type {(scene: Scene, item: number) => number[]} */
const boxOf = (scene, item) => {
  const at = scene.items.indexOf(item);
  return [...scene.boxes.subarray(at * 4, at * 4 + 4)];
};
/** @type {(outer: number[], inner: number[]) => boolean} */
const holds = ([x, y, w, h], [a, b, c, d]) => a >= x && b >= y && a + c <= x + w && b + d <= y + h;

test("closed groups stand for what is in them", () => {
  const tree = prepare(nested);
  const scene = layOut(tree, new Set([0]));
  assert.deepEqual([...scene.items], [0, 11, 8, 9]);
  assert.deepEqual([...scene.edgeMaker].map((m, e) => [m, scene.edgeTarget[e]]), [
    [0, 11],
    [0, 8],
    [11, 8],
    [8, 9],
  ]);
});

test("open groups hold their boxes, and edges pass their borders in pieces", () => {
  const tree = prepare(nested);
  const scene = layOut(tree, new Set([0, 1, 2]));
  assert.ok(holds(boxOf(scene, 11), boxOf(scene, 12)));
  for (const inner of [3, 4]) assert.ok(holds(boxOf(scene, 12), boxOf(scene, inner)));
  assert.ok(!holds(boxOf(scene, 12), boxOf(scene, 2)));
  const pieces = [...scene.edgeMaker].map((m, e) => `${m}>${scene.edgeTarget[e]}`).sort();
  // 4 > 7 goes out of the delegate (12) and on inside of the block.
  assert.deepEqual(pieces, ["0>11", "0>2", "0>8", "2>12", "2>3", "3>4", "4>12", "4>7", "7>11", "7>8", "8>9"]);
});

test("pieces of an edge meet at the border", () => {
  const scene = layOut(prepare(nested), new Set([0, 1, 2]));
  /** @type {(maker: number, target: number) => number[]} */
  const way = (maker, target) => {
    const e = scene.edgeMaker.findIndex((m, k) => m === maker && scene.edgeTarget[k] === target);
    return [...scene.points.subarray(scene.pointStart[e], scene.pointStart[e + 1])];
  };
  const [out, on] = [way(4, 12), way(4, 7)];
  assert.deepEqual(out.slice(-2), on.slice(0, 2));
  const [into, inside] = [way(0, 11), way(0, 2)];
  assert.deepEqual(into.slice(-2), inside.slice(0, 2));
});

test("no two boxes of a level touch, and straight edges go down", () => {
  const tree = prepare(makeChain(400));
  const scene = layOut(tree, new Set([0]));
  for (let i = 0; i < 400; i++) {
    const [x, y, w, h] = boxOf(scene, i);
    assert.ok(x >= 0 && y >= 0 && x + w <= scene.width && y + h <= scene.height);
    for (let k = 0; k < i; k++) {
      const [a, b, c, d] = boxOf(scene, k);
      assert.ok(x >= a + c || a >= x + w || y >= b + d || b >= y + h, `${k} and ${i} touch`);
    }
  }
});

test("edges run through no box but their own", () => {
  const scene = layOut(prepare(makeChain(300)), new Set([0]));
  for (let e = 0; e < scene.edgeMaker.length; e++) {
    const points = scene.points.subarray(scene.pointStart[e], scene.pointStart[e + 1]);
    if (points.length === 4) continue; // to the next row
    for (let p = 0; p + 3 < points.length; p += 2) {
      const [x0, y0, x1, y1] = points.subarray(p, p + 4);
      for (let box = 0; box < scene.items.length; box++) {
        const item = scene.items[box];
        if (item === scene.edgeMaker[e] || item === scene.edgeTarget[e]) continue;
        const [x, y, w, h] = scene.boxes.subarray(box * 4, box * 4 + 4);
        const isApart = Math.max(x0, x1) <= x || Math.min(x0, x1) >= x + w || Math.max(y0, y1) <= y || Math.min(y0, y1) >= y + h;
        assert.ok(isApart, `edge ${scene.edgeMaker[e]} > ${scene.edgeTarget[e]} crosses ${item}`);
      }
    }
  }
});

test("a tall graph is folded into columns", () => {
  const scene = layOut(prepare(makeChain(400)), new Set([0]));
  assert.ok(scene.width > scene.height / 2 && scene.width < scene.height * 4);
});

test("a layout is the same every time", () => {
  const tree = prepare(makeChain(200));
  const [one, two] = [layOut(tree, new Set([0])), layOut(tree, new Set([0]))];
  assert.deepEqual(one, two);
});

test("graphs with a cycle between groups, and empty ones, are drawn", () => {
  const cycle = makeGraph(
    [
      ["a", "call", "relu", [], 1],
      ["b", "call", "relu", [0], 2],
      ["c", "call", "relu", [1], 1],
    ],
    [
      ["one", "module", 0],
      ["two", "module", 0],
    ],
  );
  const scene = layOut(prepare(cycle), new Set([0]));
  assert.deepEqual([...scene.items], [4, 5]);
  assert.ok([...scene.points].every(Number.isFinite));
  assert.equal(layOut(prepare(makeGraph([])), new Set([0])).items.length, 0);
});
