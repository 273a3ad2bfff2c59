import assert from "node:assert/strict";
import test from "node:test";
import { barSections } from "../../../widgets/diff/bars.js";

/** @type {[string, string, string, number, number, string][]} */
const figures = [
  ["bytes", "", "program", 10, 12, ""],
  ["bytes", "", "constant", 900, 100, ""],
  ["bytes", "", "padding", 5, 5, ""],
  ["plan", "forward", "arena 1", 64, 64, ""],
];

test("what differs most stands first, and equal numbers come when they are asked for", () => {
  const [bytes, ...others] = barSections(figures, false, 5);
  assert.deepEqual(bytes.rows.map(([, , what]) => what), ["constant", "program"]);
  assert.equal(bytes.largest, 900);
  assert.deepEqual(others, []);
  assert.deepEqual(barSections(figures, true, 5).map(({ name, rows }) => [name, rows.length]), [["bytes", 3], ["plan", 1]]);
});

test("a section has so many rows and says how many more there are", () => {
  const [bytes] = barSections(figures, true, 1);
  assert.deepEqual([bytes.rows.length, bytes.more], [1, 2]);
});
