import assert from "node:assert/strict";
import test from "node:test";
import { counted, fixed, formatBytes, formatFlops, formatSeconds, formatShare, readNumber } from "../../../widgets/view/format.js";

test("a half goes to the even digit, as in Python", () => {
  assert.equal(fixed(2.25, 1), "2.2");
  assert.equal(fixed(2.75, 1), "2.8");
  assert.equal(fixed(-0.5, 0), "0");
  assert.equal(fixed(1.005, 2), "1.00");
  assert.equal(fixed(1e21, 1), "1e+21");
});

test("amounts have the units of etlab's tables", () => {
  assert.equal(formatBytes(17825792), "17.0 MiB");
  assert.equal(formatBytes(2304), "2.2 KiB");
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(3 * 2 ** 30), "3.00 GiB");
  assert.equal(formatBytes(null, "dynamic"), "dynamic");
  assert.equal(formatFlops(771000000), "771.0 M");
  assert.equal(formatFlops(0), "0");
  assert.equal(formatFlops(5e15), "5000.0 T");
  assert.equal(formatSeconds(0.00213), "2.13 ms");
  assert.equal(formatSeconds(0.0000471), "47.1 µs");
  assert.equal(formatSeconds(2.5), "2.50 s");
  assert.equal(formatShare(0.6858), "68.6%");
  assert.equal(counted(1, "call"), "1 call");
  assert.equal(counted(1234, "call"), "1,234 calls");
});

test("numbers that JSON has no word for come back", () => {
  assert.equal(readNumber("Infinity"), Infinity);
  assert.ok(Number.isNaN(readNumber("NaN")));
  assert.equal(readNumber(2.5), 2.5);
  assert.equal(readNumber(null), null);
});
