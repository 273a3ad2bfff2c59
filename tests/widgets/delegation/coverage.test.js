import assert from "node:assert/strict";
import test from "node:test";
import { blocksOf, columnsOf } from "../../../widgets/delegation/coverage.js";

/** @type {[number, number][]} */
const owners = [[0, 0], [0, 0], [1, -1], [0, 1], [0, 2], [1, -1], [1, -1]];

test("neighbours of one delegate are one block, two delegates are two", () => {
  assert.deepEqual(
    blocksOf(owners).map(({ start, count, backend }) => [start, count, backend]),
    [[0, 2, 0], [2, 1, 1], [3, 1, 0], [4, 1, 0], [5, 2, 1]],
  );
  assert.deepEqual(blocksOf([]), []);
});

test("columns hold every call once", () => {
  const columns = columnsOf(owners, 3, 2);
  assert.deepEqual(columns.map(({ start, count }) => [start, count]), [[0, 2], [2, 2], [4, 3]]);
  assert.deepEqual(columns.map(({ counts }) => counts), [[2, 0], [1, 1], [1, 2]]);
});
