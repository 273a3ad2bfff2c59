// A canvas with a graph on it: camera, pointer, what is open and what is selected.

import { paintItems } from "./colours.js";
import { element } from "../view/dom.js";
import { DARK, LIGHT } from "../view/palette.js";
import { makeArranger } from "./arranger.js";
import { makeMinimap } from "./minimap.js";
import { paint } from "./paint.js";
import { listenToPointer } from "../view/pointer.js";
import { prepare } from "./tree.js";
import { decode } from "./wire.js";

/** @typedef {import("./tree.js").Tree} Tree */
/** @typedef {import("./layout.js").Scene} Scene */
/** @typedef {import("./colours.js").Overlay} Overlay */
/** @typedef {import("./colours.js").Painted} Painted */

const MOST_SCALE = 2.5;

/**
 * @typedef {object} PaneEvents
 * @property {(item: number, isMore: boolean) => void} onSelect -1: nothing
 * @property {(open: Set<number>) => void} onOpen what is open has changed
 * @property {(item: number, x: number, y: number) => void} onHover
 * @property {(scene: Scene) => void} [onScene]
 * @property {(pane: Pane) => void} [onCamera] the user has moved the camera
 */

/** @typedef {ReturnType<typeof makePane>} Pane */

/**
 * @param {HTMLElement} host
 * @param {DataView} bytes
 * @param {string} source text of this module, for the worker
 * @param {PaneEvents} events
 */
export function makePane(host, bytes, source, events) {
  const tree = prepare(decode(bytes));
  const arranger = makeArranger(tree, bytes, source);
  const canvas = element("canvas", { class: "etlab-gv-canvas", "aria-hidden": "true" });
  host.append(canvas);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  const camera = { x: 0, y: 0, scale: 1 };
  /** @type {Set<number>} */
  let open = new Set([0]);
  /** @type {Scene | null} */
  let scene = null;
  let isDark = false;
  /** @type {Overlay | null} */
  let overlay = null;
  /** @type {Painted} */
  let painted = paintItems(tree, null, false);
  /** @type {Set<number>} */
  let selected = new Set();
  /** @type {Uint8Array | null} */
  let hits = null;
  /** @type {ArrayLike<number> | null} */
  let marks = null;
  let hover = -1;
  let asked = 0;
  let request = 0;
  /** @type {Map<string, string>} */
  const cut = new Map();
  const size = { width: 0, height: 0, ratio: 1 };

  const draw = () => {
    request = 0;
    if (!scene || !size.width) return;
    const theme = isDark ? DARK : LIGHT;
    if (cut.size > 5000) cut.clear();
    const frame = { tree, scene, painted, theme, camera, ...size, selected, hover, hits, marks, cut };
    paint(context, frame);
    drawMap(frame);
  };
  const drawMap = makeMinimap(host, (x, y) => {
    camera.x = x - size.width / camera.scale / 2;
    camera.y = y - size.height / camera.scale / 2;
    pan(0, 0);
  });
  const redraw = () => {
    if (!request) request = requestAnimationFrame(draw);
  };

  const resize = () => {
    const { clientWidth: width, clientHeight: height } = host;
    const ratio = window.devicePixelRatio || 1;
    if (width === size.width && height === size.height && ratio === size.ratio) return;
    const isFirst = size.width === 0;
    Object.assign(size, { width, height, ratio });
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    if (isFirst) fit();
    draw();
  };
  const watcher = new ResizeObserver(resize);
  watcher.observe(host);

  const fit = () => {
    if (!scene || !size.width) return;
    const margin = 16;
    const across = (size.width - margin) / scene.width;
    const down = (size.height - margin) / scene.height;
    camera.scale = Math.min(1.15, across, down);
    camera.x = (scene.width - size.width / camera.scale) / 2;
    camera.y = (scene.height - size.height / camera.scale) / 2;
    redraw();
  };
  /** At first: all of it if that can be read, or else its beginning. */
  const welcome = () => {
    fit();
    if (!scene || camera.scale >= 0.55) return;
    if (scene.items.length > 400) return;
    camera.scale = Math.max(0.62, Math.min(0.9, (size.width - 16) / scene.width));
    camera.x = (scene.width - size.width / camera.scale) / 2;
    if (scene.width * camera.scale > size.width) camera.x = -10;
    camera.y = -10;
    redraw();
  };

  /** @param {number} item */
  const boxOf = (item) => (scene ? scene.items.indexOf(item) : -1);

  /**
   * @param {Set<number>} next
   * @param {number} [anchor] item that keeps its place on the screen
   */
  const setOpen = async (next, anchor = -1) => {
    const number = ++asked;
    open = new Set(next).add(0);
    const made = await arranger.arrange(open);
    if (number !== asked) return;
    const old = boxOf(anchor);
    const before = scene && old >= 0 ? scene.boxes.slice(old * 4, old * 4 + 4) : null;
    const isFirst = scene === null;
    scene = made;
    if (isFirst) welcome();
    else if (before) keepPlace(before, boxOf(anchor));
    else clampCamera();
    draw();
    events.onScene?.(made);
  };
  /** @type {(before: Float32Array, box: number) => void} */
  const keepPlace = (before, box) => {
    if (!scene || box < 0) return;
    const [x, y, w] = scene.boxes.subarray(box * 4, box * 4 + 3);
    camera.x += x + w / 2 - before[0] - before[2] / 2;
    camera.y += y - before[1];
    clampCamera();
  };
  /** Some of the drawing stays in sight. */
  const clampCamera = () => {
    if (!scene) return;
    const w = size.width / camera.scale;
    const h = size.height / camera.scale;
    camera.x = Math.min(Math.max(camera.x, 60 - w), scene.width - 60);
    camera.y = Math.min(Math.max(camera.y, 60 - h), scene.height - 60);
  };

  /** @param {number} item */
  const toggle = (item) => {
    const g = item - tree.graph.count;
    if (g <= 0) return;
    const next = new Set(open);
    if (!next.delete(g)) next.add(g);
    events.onOpen(next);
    return setOpen(next, item);
  };

  /**
   * Open what hides an item, and bring it into the middle.
   * @param {number} item
   */
  const reveal = async (item) => {
    const { count, group, groupParent } = tree.graph;
    const next = new Set(open);
    for (let g = item < count ? group[item] : groupParent[item - count]; g > 0; g = groupParent[g]) {
      next.add(g);
    }
    if (next.size !== open.size) {
      events.onOpen(next);
      await setOpen(next, item);
    }
    const box = boxOf(item);
    if (!scene || box < 0) return;
    const [x, y, w, h] = scene.boxes.subarray(box * 4, box * 4 + 4);
    camera.scale = Math.max(camera.scale, 0.7);
    camera.x = x + Math.min(w, 300) / 2 - size.width / camera.scale / 2;
    camera.y = y + Math.min(h, 200) / 2 - size.height / camera.scale / 2;
    redraw();
    events.onCamera?.(pane);
  };

  /** @type {(x: number, y: number) => {item: number, isHandle: boolean}} */
  const itemAt = (x, y) => {
    if (!scene) return { item: -1, isHandle: false };
    const px = camera.x + x / camera.scale;
    const py = camera.y + y / camera.scale;
    for (let box = scene.items.length - 1; box >= 0; box--) {
      const at = box * 4;
      const [left, top] = [scene.boxes[at], scene.boxes[at + 1]];
      if (px < left || py < top || px > left + scene.boxes[at + 2] || py > top + scene.boxes[at + 3]) continue;
      const isGroup = scene.items[box] >= tree.graph.count;
      const isHandle = scene.isOpen[box] ? px < left + 22 && py < top + 26 : isGroup && px > left + scene.boxes[at + 2] - 24;
      return { item: scene.items[box], isHandle };
    }
    return { item: -1, isHandle: false };
  };

  /** @type {(factor: number, x: number, y: number) => void} */
  const zoom = (factor, x, y) => {
    const least = scene ? Math.min(0.5, size.width / scene.width / 3, size.height / scene.height / 3) : 0.01;
    const next = Math.min(MOST_SCALE, Math.max(least, camera.scale * factor));
    camera.x += x / camera.scale - x / next;
    camera.y += y / camera.scale - y / next;
    camera.scale = next;
    clampCamera();
    redraw();
    events.onCamera?.(pane);
  };
  /** @type {(dx: number, dy: number) => void} */
  const pan = (dx, dy) => {
    camera.x += dx / camera.scale;
    camera.y += dy / camera.scale;
    clampCamera();
    redraw();
    events.onCamera?.(pane);
  };

  const offPointer = listenToPointer(canvas, { itemAt, zoom, pan, toggle, events, setHover });
  /** @param {number} item */
  function setHover(item) {
    if (item === hover) return;
    hover = item;
    redraw();
  }

  const pane = {
    tree,
    canvas,
    camera,
    fit,
    reveal,
    toggle,
    zoom,
    pan,
    redraw,
    setOpen,
    /** Paints at once; for measurements. */
    draw,
    get open() {
      return open;
    },
    get scene() {
      return scene;
    },
    get painted() {
      return painted;
    },
    /** @param {Overlay | null} next */
    setOverlay(next) {
      overlay = next;
      painted = paintItems(tree, overlay, isDark);
      redraw();
    },
    /** @param {boolean} next */
    setDark(next) {
      isDark = next;
      painted = paintItems(tree, overlay, isDark);
      redraw();
    },
    /** @param {Set<number>} items */
    select(items) {
      selected = items;
      redraw();
    },
    /** @param {Uint8Array | null} found nodes that a query found */
    setHits(found) {
      hits = found ? withGroups(tree, found) : null;
      redraw();
    },
    /** @param {ArrayLike<number> | null} next */
    setMarks(next) {
      marks = next;
      redraw();
    },
    close() {
      watcher.disconnect();
      offPointer();
      arranger.close();
      if (request) cancelAnimationFrame(request);
      canvas.remove();
    },
  };
  resize();
  return pane;
}

/**
 * A group counts as found when something in it is.
 * @param {Tree} tree
 * @param {Uint8Array} found
 */
function withGroups(tree, found) {
  const { count, group, groupParent } = tree.graph;
  const all = new Uint8Array(count + groupParent.length);
  all.set(found);
  for (let i = 0; i < count; i++) if (found[i] && !tree.hidden[i]) all[count + group[i]] = 1;
  for (let g = groupParent.length - 1; g > 0; g--) {
    if (all[count + g]) all[count + groupParent[g]] = 1;
  }
  return all;
}
