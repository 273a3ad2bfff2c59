import assert from "node:assert/strict";
import test from "node:test";
import { bestPoint, boundStops, frontLine, keepsBounds } from "../../../widgets/sweep/front.js";
import { goodness } from "../../../widgets/sweep/parallel.js";

const objectives = [
  { name: "sqnr_db", higher: true, unit: "dB" },
  { name: "size", higher: false, unit: "B" },
];
/** @type {(name: string, ...values: (number | null)[]) => any} */
const point = (name, ...values) => ({ name, values, isFront: false });
const points = [
  point("none", Infinity, 4000),
  point("fp16", 60, 2000),
  point("int8", 40, 1000),
  point("twin", 40, 1000),
  point("worse", 30, 1500),
  point("failed", null, null),
];

test("bounds are kept by what is as good, and never by what has no value", () => {
  assert.ok(keepsBounds(points[1], objectives, { size: 2000, sqnr_db: 60 }));
  assert.ok(!keepsBounds(points[1], objectives, { size: 1999 }));
  assert.ok(keepsBounds(points[5], objectives, {}));
  assert.ok(!keepsBounds(points[5], objectives, { size: 1e9 }));
});

test("the best is the first objective's within bounds, and ties go to the others in turn", () => {
  assert.equal(bestPoint(points, objectives, {}, "sqnr_db"), 0);
  assert.equal(bestPoint(points, objectives, { size: 2000 }, "sqnr_db"), 1);
  assert.equal(bestPoint(points, objectives, {}, "size"), 2);
  assert.equal(bestPoint(points, objectives, { sqnr_db: 50 }, "size"), 1);
  assert.equal(bestPoint(points, objectives, { size: 5 }, "sqnr_db"), -1);
  const tied = [point("a", 40, 1500), point("b", 40, 1000), point("c", 40, null)];
  assert.equal(bestPoint(tied, objectives, {}, "sqnr_db"), 1);
});

test("the line holds what no other point beats in both", () => {
  assert.deepEqual(frontLine(points, objectives, 1, 0), [2, 1, 0]);
  assert.deepEqual(frontLine(points, objectives, 0, 1), [0, 1, 2]);
  assert.deepEqual(frontLine([point("only", null, 3)], objectives, 0, 1), []);
});

test("bounds stand at finite values, the loosest first", () => {
  assert.deepEqual(boundStops(points, objectives, 0), [30, 40, 60]);
  assert.deepEqual(boundStops(points, objectives, 1), [4000, 2000, 1500, 1000]);
});

test("the best of an objective stands at the top, what is infinite at its end", () => {
  const good = goodness(points, objectives[0], 0);
  assert.deepEqual([30, 45, Infinity].map(good), [0, 0.5, 1]);
  assert.equal(goodness(points, objectives[1], 1)(1000), 1);
  assert.equal(goodness([points[1]], objectives[1], 1)(2000), 1);
});
