import assert from "node:assert/strict";
import test from "node:test";
import { depthRange } from "../../../widgets/parity/depth.js";
import { closeness, heatOf } from "../../../widgets/parity/heat.js";
import { staircase } from "../../../widgets/parity/tensors.js";
import { luminance } from "../../../widgets/view/palette.js";

const SQNR = { name: "sqnr_db", label: "SQNR (dB)", higher: true, decibel: true };
const COSINE = { name: "cosine", label: "cosine", higher: true, decibel: false };
const LARGEST = { name: "max_abs", label: "max |Δ|", higher: false, decibel: false };

test("what is closer has the larger number, whichever way a metric points", () => {
  assert.ok(closeness(40, SQNR) > closeness(20, SQNR));
  assert.equal(closeness(Infinity, SQNR), closeness(90, SQNR));
  assert.ok(closeness(0.9999, COSINE) > closeness(0.99, COSINE));
  assert.ok(closeness(1e-5, LARGEST) > closeness(1e-2, LARGEST));
  assert.equal(closeness(NaN, SQNR), -Infinity);
});

test("the worst value is the darkest, and values that are all the same have no colour", () => {
  const heat = heatOf([10, 30, null, Infinity], SQNR);
  const [worst, middle, best] = [10, 30, Infinity].map((value) => luminance(/** @type {string} */ (heat(value))));
  assert.ok(worst < middle && middle < best);
  assert.equal(heat(null), undefined);
  assert.equal(heatOf([1, 1], COSINE)(1), undefined);
  assert.equal(heatOf([], SQNR)(null), undefined);
  const broken = heatOf([NaN, 20], SQNR);
  assert.ok(luminance(/** @type {string} */ (broken(NaN))) < luminance(/** @type {string} */ (broken(20))));
});

test("differences over many powers have a logarithmic axis, decibels never", () => {
  /** @type {(line: (number | null)[]) => any} */
  const series = (line) => [{ path: "native", colour: "", dash: "", line, dots: [] }];
  assert.deepEqual(depthRange(series([0, 1e-6, 1, null]), LARGEST), { low: 1e-6, high: 1, isLog: true });
  assert.deepEqual(depthRange(series([1, 500, Infinity]), SQNR), { low: 1, high: 500, isLog: false });
  const { low, high } = depthRange(series([3]), SQNR);
  assert.ok(low < 3 && high > 3);
});

test("bins stand beside each other on one base line", () => {
  assert.equal(staircase([4, 0], 4, 10, 30), "M10 168V14.0H20.0V168.0H30.0V168");
});
