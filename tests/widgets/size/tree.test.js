import assert from "node:assert/strict";
import test from "node:test";
import { branchAt, growTree, joinParts, layTree, squarify } from "../../../widgets/size/tree.js";

/** @type {(key: string, nbytes: number, kind?: string) => any} */
const entry = (key, nbytes, kind = "constant") => ({
  key, kind, path: kind === "constant" ? key.split(".") : [key], dtype: "", shape: "", nbytes, readers: "",
});
const entries = [
  entry("body.conv.weight", 600),
  entry("body.conv.bias", 100),
  entry("head.fc.weight", 200),
  entry("delegate X", 50, "delegate"),
  entry("nothing", 0),
];

test("areas are as the weights and fill the whole", () => {
  const weights = [6, 6, 4, 3, 2, 2, 1];
  const boxes = squarify(weights, { x: 0, y: 0, w: 600, h: 400 });
  const areas = boxes.map(({ w, h }) => w * h);
  weights.forEach((weight, k) => assert.ok(Math.abs(areas[k] - weight * 10000) < 1e-6));
  const ratios = boxes.map(({ w, h }) => Math.max(w / h, h / w));
  assert.ok(Math.max(...ratios) < 3.5);
  assert.deepEqual(squarify([0, 0], { x: 0, y: 0, w: 5, h: 5 }).map(({ w }) => w), [0, 0]);
});

test("names are a tree below their kind, lonely branches are one", () => {
  const root = growTree("toy", entries);
  assert.equal(root.nbytes, 950);
  const [constants, delegates] = root.inner;
  assert.deepEqual([constants.name, constants.nbytes], ["constant", 900]);
  assert.deepEqual(constants.inner.map(({ name, nbytes }) => [name, nbytes]), [["body.conv", 700], ["head.fc.weight", 200]]);
  assert.deepEqual(constants.inner[0].inner.map(({ name }) => name), ["weight", "bias"]);
  assert.deepEqual(constants.inner[0].keys, ["body.conv.weight", "body.conv.bias"]);
  assert.equal(delegates.inner[0].entry?.key, "delegate X");
  assert.equal(branchAt(root, ["constant", "body", "conv"]).name, "body.conv");
  assert.equal(branchAt(root, ["constant", "no such"]).name, "constant");
  assert.equal(branchAt(root, []), root);
});

test("boxes lie within their hulls", () => {
  const laid = layTree(growTree("toy", entries), { x: 0, y: 0, w: 800, h: 400 });
  const hull = laid.find(({ branch }) => branch.name === "body.conv");
  const leaf = laid.find(({ branch }) => branch.entry?.key === "body.conv.bias");
  assert.ok(hull?.isHull && leaf && !leaf.isHull);
  assert.ok(leaf.box.x >= hull.box.x && leaf.box.x + leaf.box.w <= hull.box.x + hull.box.w);
});

test("parts of two files are joined by key", () => {
  const rows = joinParts([entry("a", 3), entry("b", 4)], [entry("a", 1), entry("c", 2)]);
  assert.deepEqual(rows.map(({ entry: { key }, now, old }) => [key, now, old]), [["a", 3, 1], ["b", 4, null], ["c", null, 2]]);
});
