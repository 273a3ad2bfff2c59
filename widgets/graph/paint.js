// One frame on a canvas. Far away boxes are pixels, nearer they are plain, at reading size they carry
// text: a frame costs what can be seen, not what there is.

import { blended, paintPixels } from "./pixels.js";
import { labels, isFold, HEADER } from "./sizes.js";
import { DELEGATE_GROUP } from "./wire.js";

/** @typedef {import("./tree.js").Tree} Tree */
/** @typedef {import("./layout.js").Scene} Scene */
/** @typedef {import("./colours.js").Painted} Painted */
/** @typedef {import("./colours.js").Theme} Theme */

export const TEXT_SCALE = 0.5;
const PLAIN_BOXES = 1500; // more than these, small, become pixels
const PIXEL_SCALE = 0.22;
const FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/**
 * @typedef {object} Frame
 * @property {Tree} tree
 * @property {Scene} scene
 * @property {Painted} painted
 * @property {Theme} theme
 * @property {{x: number, y: number, scale: number}} camera left upper corner, and pixels a unit
 * @property {number} width of the canvas in CSS pixels
 * @property {number} height
 * @property {number} ratio device pixels a CSS pixel
 * @property {Set<number>} selected items
 * @property {number} hover item; -1
 * @property {Uint8Array | null} hits items that a query found
 * @property {ArrayLike<number> | null} marks 1 added, 2 removed, 3 changed, of every item
 * @property {Map<string, string>} cut texts that were cut to their box
 */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 */
export function paint(context, frame) {
  const visible = inView(frame);
  const { ratio, width, height, theme, camera } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.paper;
  if (camera.scale < PIXEL_SCALE && visible.length > PLAIN_BOXES) {
    paintPixels(context, frame, visible);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    outlineChosen(context, frame, visible);
    return;
  }
  context.fillRect(0, 0, width, height);
  const s = camera.scale * ratio;
  context.setTransform(s, 0, 0, s, -camera.x * s, -camera.y * s);
  for (const box of visible) if (frame.scene.isOpen[box]) paintHull(context, frame, box);
  paintEdges(context, frame);
  if (camera.scale >= TEXT_SCALE) {
    for (const box of visible) if (!frame.scene.isOpen[box]) paintBox(context, frame, box);
  } else {
    paintPlain(context, frame, visible);
  }
  outlineChosen(context, frame, visible);
}

/**
 * Places in the scene of the boxes that can be seen.
 * @param {Frame} frame
 */
function inView({ scene, camera, width, height }) {
  const right = camera.x + width / camera.scale;
  const bottom = camera.y + height / camera.scale;
  const { boxes } = scene;
  /** @type {number[]} */
  const visible = [];
  for (let box = 0, at = 0; box < scene.items.length; box++, at += 4) {
    if (boxes[at] > right || boxes[at + 1] > bottom) continue;
    if (boxes[at] + boxes[at + 2] < camera.x || boxes[at + 1] + boxes[at + 3] < camera.y) continue;
    visible.push(box);
  }
  return visible;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number} box
 */
function paintHull(context, frame, box) {
  const { scene, tree, theme, camera, painted } = frame;
  const [x, y, w, h] = scene.boxes.subarray(box * 4, box * 4 + 4);
  const item = scene.items[box];
  const g = item - tree.graph.count;
  const isDelegate = tree.graph.groupKind[g] === DELEGATE_GROUP;
  context.fillStyle = theme.hull;
  context.strokeStyle = isDelegate ? painted.strong[painted.code[item]] : theme.hullBorder;
  context.lineWidth = (isDelegate ? 1.6 : 1) / Math.min(1, camera.scale);
  context.beginPath();
  context.roundRect(x, y, w, h, 8);
  context.fill();
  if (isDelegate) context.setLineDash([7, 4]);
  context.stroke();
  context.setLineDash([]);
  if (camera.scale < 0.42) return;
  const [title, second] = labels(tree, item);
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.font = `600 11.5px ${FONT}`;
  context.fillStyle = theme.ink;
  const shown = cutText(context, frame, `− ${title}`, w - 20, "b");
  context.fillText(shown, x + 10, y + HEADER / 2 + 2);
  const used = context.measureText(shown).width;
  context.font = `10.5px ${FONT}`;
  context.fillStyle = theme.faint;
  const rest = w - 34 - used;
  if (rest > 40) context.fillText(cutText(context, frame, second, rest, "s"), x + 18 + used, y + HEADER / 2 + 2);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number} box
 */
function paintBox(context, frame, box) {
  const { scene, tree, painted, theme, hits } = frame;
  const [x, y, w, h] = scene.boxes.subarray(box * 4, box * 4 + 4);
  const item = scene.items[box];
  const isGroup = item >= tree.graph.count;
  const code = painted.code[item];
  context.globalAlpha = hits && !hits[item] ? 0.3 : 1;
  context.lineWidth = 1;
  context.strokeStyle = code ? painted.strong[code] : theme.border;
  if (isFold(tree, item)) {
    context.fillStyle = theme.paper;
    for (const shift of [6, 3]) {
      context.beginPath();
      context.roundRect(x + shift, y + shift, w, h, 6);
      context.fill();
      context.stroke();
    }
  }
  context.fillStyle = painted.fills[code];
  context.beginPath();
  context.roundRect(x, y, w, h, isGroup ? 6 : 4);
  context.fill();
  context.stroke();
  if (code) {
    context.fillStyle = painted.strong[code];
    context.fillRect(x + 0.5, y + 5, 3, h - 10);
  }
  const [title, second] = labels(tree, item);
  const inset = isGroup ? 30 : 16;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = painted.inks[code];
  context.font = `${isGroup ? "600 " : ""}11.5px ${FONT}`;
  const middle = y + h / 2;
  const textX = x + 9;
  const main = cutText(context, frame, title, w - inset, isGroup ? "b" : "n");
  context.fillText(main, textX, second ? middle - 7 : middle);
  if (second) {
    context.globalAlpha *= 0.78;
    context.font = `10px ${FONT}`;
    context.fillText(cutText(context, frame, second, w - inset, "s"), textX, middle + 8);
  }
  context.globalAlpha = hits && !hits[item] ? 0.3 : 1;
  if (isGroup) {
    context.strokeStyle = painted.inks[code];
    context.lineWidth = 1.4;
    context.beginPath();
    context.moveTo(x + w - 18, middle);
    context.lineTo(x + w - 9, middle);
    context.moveTo(x + w - 13.5, middle - 4.5);
    context.lineTo(x + w - 13.5, middle + 4.5);
    context.stroke();
  }
  context.globalAlpha = 1;
}

/**
 * Boxes without text, one path a colour.
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number[]} visible
 */
function paintPlain(context, frame, visible) {
  const { scene, painted, hits } = frame;
  /** @type {Map<number, number[]>} */
  const byCode = new Map();
  for (const box of visible) {
    if (scene.isOpen[box]) continue;
    const item = scene.items[box];
    const key = painted.code[item] * 2 + (hits && !hits[item] ? 1 : 0);
    const list = byCode.get(key);
    if (list) list.push(box);
    else byCode.set(key, [box]);
  }
  for (const [key, list] of byCode) {
    context.globalAlpha = key % 2 ? 0.3 : 1;
    context.fillStyle = blended(painted, key >> 1);
    for (const box of list) {
      const at = box * 4;
      context.fillRect(scene.boxes[at], scene.boxes[at + 1], scene.boxes[at + 2], scene.boxes[at + 3]);
    }
  }
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 */
function paintEdges(context, frame) {
  const { scene, camera, width, height, theme, selected } = frame;
  const right = camera.x + width / camera.scale;
  const bottom = camera.y + height / camera.scale;
  /** @type {number[]} */
  const lit = [];
  const isNear = camera.scale >= TEXT_SCALE;
  context.beginPath();
  for (let e = 0; e < scene.edgeMaker.length; e++) {
    if (!edgeInView(scene, e, camera.x, camera.y, right, bottom)) continue;
    if (selected.size && (selected.has(scene.edgeMaker[e]) || selected.has(scene.edgeTarget[e]))) {
      lit.push(e);
    } else {
      trace(context, scene, e, isNear);
    }
  }
  context.strokeStyle = theme.edge;
  context.lineWidth = isNear ? 1.1 : 0.9 / camera.scale;
  context.stroke();
  if (isNear) arrows(context, frame, right, bottom);
  if (!lit.length) return;
  context.beginPath();
  for (const e of lit) trace(context, scene, e, isNear);
  context.strokeStyle = theme.accent;
  context.lineWidth = 2 / Math.min(1, camera.scale);
  context.stroke();
}

/**
 * @param {Scene} scene
 * @param {number} e
 * @param {number} left
 * @param {number} top
 * @param {number} right
 * @param {number} bottom
 */
function edgeInView({ points, pointStart }, e, left, top, right, bottom) {
  const begin = pointStart[e];
  const end = pointStart[e + 1];
  let x0 = Infinity;
  let x1 = -Infinity;
  let y0 = Infinity;
  let y1 = -Infinity;
  for (let p = begin; p < end; p += 2) {
    if (points[p] < x0) x0 = points[p];
    if (points[p] > x1) x1 = points[p];
    if (points[p + 1] < y0) y0 = points[p + 1];
    if (points[p + 1] > y1) y1 = points[p + 1];
  }
  return x1 >= left && x0 <= right && y1 >= top && y0 <= bottom;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {number} e
 * @param {boolean} isRound
 */
function trace(context, { points, pointStart }, e, isRound) {
  const begin = pointStart[e];
  const end = pointStart[e + 1];
  const x0 = points[begin];
  const y0 = points[begin + 1];
  context.moveTo(x0, y0);
  if (end - begin === 4) {
    const x1 = points[begin + 2];
    const y1 = points[begin + 3];
    if (!isRound || Math.abs(x1 - x0) < 1) context.lineTo(x1, y1);
    else context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
    return;
  }
  for (let p = begin + 2; p < end - 2; p += 2) {
    if (isRound) context.arcTo(points[p], points[p + 1], points[p + 2], points[p + 3], 7);
    else context.lineTo(points[p], points[p + 1]);
  }
  context.lineTo(points[end - 2], points[end - 1]);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number} right
 * @param {number} bottom
 */
function arrows(context, { scene, camera, theme }, right, bottom) {
  const { points, pointStart } = scene;
  context.beginPath();
  for (let e = 0; e < scene.edgeMaker.length; e++) {
    const x = points[pointStart[e + 1] - 2];
    const y = points[pointStart[e + 1] - 1];
    if (x < camera.x || x > right || y < camera.y || y > bottom + 10) continue;
    context.moveTo(x, y);
    context.lineTo(x - 3.4, y - 6);
    context.lineTo(x + 3.4, y - 6);
  }
  context.fillStyle = theme.edge;
  context.fill();
}

/**
 * Borders around what is selected, found, changed or under the pointer.
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number[]} visible
 */
function outlineChosen(context, frame, visible) {
  const { scene, camera, ratio, theme, selected, hits, hover, marks } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const s = camera.scale;
  for (const box of visible) {
    const item = scene.items[box];
    const isSelected = selected.has(item);
    const mark = marks && !scene.isOpen[box] ? marks[item] : 0;
    const isHit = hits !== null && hits[item] === 1 && !scene.isOpen[box];
    if (!isSelected && !mark && !isHit && item !== hover) continue;
    const at = box * 4;
    const x = (scene.boxes[at] - camera.x) * s;
    const y = (scene.boxes[at + 1] - camera.y) * s;
    const w = Math.max(3, scene.boxes[at + 2] * s);
    const h = Math.max(3, scene.boxes[at + 3] * s);
    const colour = isSelected ? theme.accent : isHit ? theme.hit : mark ? MARKS[mark] : theme.ink;
    context.strokeStyle = colour;
    context.lineWidth = isSelected ? 3 : isHit || mark ? 2 : 1;
    context.beginPath();
    context.roundRect(x - 1.5, y - 1.5, w + 3, h + 3, 5 * Math.min(1, s));
    context.stroke();
    if (mark && s >= TEXT_SCALE) {
      context.fillStyle = MARKS[mark];
      context.font = `700 14px ${FONT}`;
      context.textAlign = "left";
      context.fillText(GLYPHS[mark], x - 12, y + h / 2);
    }
  }
}

const MARKS = ["", "#009E73", "#D55E00", "#0072B2"];
const GLYPHS = ["", "+", "−", "~"];

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {string} text
 * @param {number} room
 * @param {string} font key of the font that is set
 */
function cutText(context, frame, text, room, font) {
  const key = `${font}${Math.round(room)} ${text}`;
  const known = frame.cut.get(key);
  if (known !== undefined) return known;
  let shown = text;
  if (context.measureText(text).width > room) {
    let low = 0;
    let high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    shown = `${text.slice(0, low)}…`;
  }
  frame.cut.set(key, shown);
  return shown;
}
