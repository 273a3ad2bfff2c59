// Layouts, in a worker where the graph is large and the page allows workers, in the page otherwise.

import { layOut } from "./layout.js";
import { prepare } from "./tree.js";
import { decode } from "./wire.js";

/** @typedef {import("./tree.js").Tree} Tree */
/** @typedef {import("./layout.js").Scene} Scene */

const FAR = 3000; // nodes from which a layout may hold up the page

/**
 * @param {Tree} tree
 * @param {DataView} bytes the graph as it came
 * @param {string} source text of this very module; empty when unknown
 */
export function makeArranger(tree, bytes, source) {
  /** @type {Worker | null} */
  let worker = null;
  let last = 0;
  /** @type {Map<number, (scene: Scene) => void>} */
  const waiting = new Map();
  /** @type {Map<number, number[]>} */
  const asked = new Map();
  if (tree.graph.count > FAR && source) {
    try {
      const text = `${source}\nserveLayouts(self);`;
      const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      worker = new Worker(address, { type: "module" });
      URL.revokeObjectURL(address);
      worker.onmessage = ({ data }) => answer(data.id, data.scene);
      worker.onerror = () => abandon();
      worker.postMessage({ graph: bytes });
    } catch {
      worker = null;
    }
  }
  /** @type {(id: number, scene: Scene) => void} */
  const answer = (id, scene) => {
    waiting.get(id)?.(scene);
    waiting.delete(id);
    asked.delete(id);
  };
  const abandon = () => {
    worker?.terminate();
    worker = null;
    for (const [id, open] of asked) answer(id, layOut(tree, new Set(open)));
  };
  return {
    /** @type {(open: Set<number>) => Promise<Scene>} */
    arrange(open) {
      if (!worker) return Promise.resolve(layOut(tree, open));
      const id = ++last;
      asked.set(id, [...open]);
      worker.postMessage({ id, open: [...open] });
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    close() {
      worker?.terminate();
      worker = null;
    },
  };
}

/**
 * The worker's side.
 * @param {any} port
 */
export function serveLayouts(port) {
  /** @type {Tree | null} */
  let tree = null;
  port.onmessage = (/** @type {MessageEvent} */ { data }) => {
    if (data.graph) {
      tree = prepare(decode(data.graph));
      return;
    }
    if (!tree) return;
    const scene = layOut(tree, new Set(data.open));
    const parts = [scene.items, scene.boxes, scene.isOpen, scene.edgeMaker, scene.edgeTarget];
    const buffers = [...parts, scene.points, scene.pointStart].map((part) => part.buffer);
    port.postMessage({ id: data.id, scene }, buffers);
  };
}
