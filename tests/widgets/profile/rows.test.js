import assert from "node:assert/strict";
import test from "node:test";
import { groupRows, percentile, readProfile, samplesOf, timeline } from "../../../widgets/profile/rows.js";

/** @type {(values: ArrayLike<number>, Kind: any) => DataView} */
const bytes = (values, Kind) => new DataView(Kind.from(values).buffer);
/** @param {string[]} values */
const coded = (values) => {
  const table = [...new Set(values)];
  return { table, codes: bytes(values.map((one) => table.indexOf(one)), Int32Array) };
};
const { NaN: none } = Number;
const profile = readProfile({
  runs: 3,
  names: ["call", "call/conv", "call/add", "relu"],
  operator: coded(["XnnpackBackend", "conv", "add", "relu"]),
  kind: coded(["delegate", "delegate node", "delegate node", "operator"]),
  backend: coded(["XnnpackBackend", "XnnpackBackend", "XnnpackBackend", ""]),
  module: coded(["", "a", "", "a"]),
  source: coded(["", "m.py:1", "m.py:2", "m.py:1"]),
  parent: bytes([-1, 0, 0, -1], Int32Array),
  calls: bytes([1, 1, 1, 2], Int32Array),
  seconds: bytes([10, 20, 30, 6, 12, 18, 9, 9, 9, 1, 2, 3], Float64Array),
  flops: bytes([none, 100, none, none], Float64Array),
  nbytes: bytes([none, 50, 20, none], Float64Array),
  roof: bytes([none, 3, none, none], Float64Array),
});

test("a call whose nodes are known is no leaf", () => {
  assert.deepEqual(profile.leaves, [1, 2, 3]);
  assert.deepEqual([...profile.p50], [20, 12, 9, 2]);
});

test("percentiles fall between neighbours", () => {
  assert.equal(percentile([4, 1, 2], 0.5), 2);
  assert.ok(Math.abs(percentile([1, 2], 0.9) - 1.9) < 1e-12);
});

test("groups sum their rows run by run", () => {
  assert.deepEqual(samplesOf(profile, [1, 3]), [7, 14, 21]);
  const [module, top] = groupRows(profile, "module");
  assert.deepEqual([module.name, module.rows, module.p50, module.flops], ["a", [1, 3], 14, 100]);
  assert.ok(Math.abs(module.p90 - 19.6) < 1e-9);
  assert.equal(top.name, "(top)");
  assert.ok(Number.isNaN(top.flops));
  assert.deepEqual(groupRows(profile, "backend").map((one) => one.name), ["XnnpackBackend", "own kernels"]);
});

test("nodes of a delegate stand within its call", () => {
  const { begin, width, depth, total } = timeline(profile);
  assert.equal(total, 22);
  assert.deepEqual([...depth], [0, 1, 1, 0]);
  assert.deepEqual([...begin].map((one) => Math.round(one * 100) / 100), [0, 0, 11.43, 20]);
  assert.ok(Math.abs(width[1] + width[2] - 20) < 1e-9);
});
