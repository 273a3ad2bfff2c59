import assert from "node:assert/strict";
import test from "node:test";
import { logTicks, makeAxis, niceTicks } from "../../../widgets/view/axes.js";
import { compareCells } from "../../../widgets/view/table.js";

test("ticks are round numbers between the ends", () => {
  assert.deepEqual(niceTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(niceTicks(-0.3, 0.3, 3), [-0.2, 0, 0.2]);
  assert.deepEqual(niceTicks(0, 3 * 2 ** 20, 3, "B"), [0, 2 ** 20, 2 ** 21, 3 * 2 ** 20]);
  assert.deepEqual(niceTicks(7, 7, 5), [7]);
  assert.deepEqual(niceTicks(0, Infinity, 5), [0]);
});

test("logarithmic ticks are powers of ten, with halves where there is room", () => {
  assert.deepEqual(logTicks(1, 1000), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks(1, 20), [1, 2, 5, 10, 20]);
});

test("an axis goes from values to pixels and back", () => {
  for (const isLog of [false, true]) {
    const axis = makeAxis({ low: 1, high: 100, from: 300, to: 20, isLog });
    assert.equal(axis.at(1), 300);
    assert.ok(Math.abs(axis.at(100) - 20) < 1e-9);
    assert.ok(Math.abs(axis.back(axis.at(30)) - 30) < 1e-9);
  }
  const empty = makeAxis({ low: 5, high: 5, from: 0, to: 10 });
  assert.equal(empty.at(5), 0);
});

test("cells sort by size or by letters, what is missing comes last", () => {
  assert.deepEqual([10, null, 9, NaN].sort(compareCells).slice(0, 2), [9, 10]);
  assert.deepEqual(["b", "a", undefined].sort(compareCells), ["a", "b", undefined]);
});
