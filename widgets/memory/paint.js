// One frame of a memory plan: free memory hatched, tensors over it, and the live bytes below.

import { CHART_FONT, drawAxes, makeAxis } from "../view/axes.js";
import { luminance, number } from "../view/palette.js";

/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./plan.js").Colouring} Colouring */
/** @typedef {import("../view/palette.js").Theme} Theme */
/** @typedef {import("../view/axes.js").Axis} Axis */

const LEFT = 74;
const RIGHT = 12;
const LANE = 18;
const CURVE = 56;
const BELOW = 30;

/**
 * What can be seen: steps and bytes.
 * @typedef {{left: number, right: number, low: number, high: number}} Sight
 */

/**
 * @typedef {object} Picture
 * @property {Plan} plan
 * @property {Colouring} colouring
 * @property {Theme} theme
 * @property {Sight} sight
 * @property {Set<number>} selected
 * @property {number} hover -1: none
 * @property {number} step of the cursor
 * @property {number} peakStep
 * @property {[string, number][]} lanes memory that is taken all the time
 */

/**
 * Where the parts of the picture stand, in pixels.
 * @param {number} width
 * @param {number} height
 * @param {number} lanes
 */
export function areas(width, height, lanes) {
  const top = 8 + lanes * LANE;
  const bottom = Math.max(height - CURVE - BELOW - 16, top + 20);
  return { left: LEFT, right: Math.max(width - RIGHT, LEFT + 20), top, bottom, curveTop: height - CURVE, curveBottom: height - 6 };
}

/** @typedef {ReturnType<typeof areas>} Areas */

/**
 * @param {Sight} sight
 * @param {Areas} area
 * @returns {{across: Axis, up: Axis}}
 */
export function axesOf(sight, area) {
  return {
    across: makeAxis({ low: sight.left, high: sight.right, from: area.left, to: area.right, label: "step", count: 8 }),
    up: makeAxis({ low: sight.low, high: sight.high, from: area.bottom, to: area.top, unit: "B", count: 5 }),
  };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} width
 * @param {number} height
 * @param {Picture} picture
 */
export function paintPlan(context, width, height, picture) {
  const { plan, theme, lanes } = picture;
  const area = areas(width, height, lanes.length);
  const { across, up } = axesOf(picture.sight, area);
  across.ticks = across.ticks.filter((tick) => Number.isInteger(tick));
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, width, height);
  drawAxes(context, theme, across, up, area);
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
  context.clip();
  paintFree(context, picture, across, up);
  paintTensors(context, picture, across, up, area);
  paintLevels(context, plan, theme, up, area);
  context.restore();
  paintLanes(context, picture, area);
  paintCurve(context, picture, across, area);
}

/** @type {(context: CanvasRenderingContext2D, picture: Picture, across: Axis, up: Axis) => void} */
function paintFree(context, { plan, theme }, across, up) {
  const x = across.at(0);
  const w = across.at(plan.stepCount) - x;
  context.fillStyle = hatch(context, theme.hullBorder) ?? theme.hull;
  for (const { base, nbytes } of plan.arenas) {
    const y = up.at(base + nbytes);
    context.fillRect(x, y, w, up.at(base) - y);
  }
}

/** @type {Map<string, CanvasPattern | null>} */
const hatches = new Map();

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 */
function hatch(context, colour) {
  const known = hatches.get(colour);
  if (known !== undefined) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const inner = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  inner.strokeStyle = colour;
  inner.beginPath();
  for (const shift of [-8, 0, 8]) {
    inner.moveTo(shift, 8);
    inner.lineTo(shift + 8, 0);
  }
  inner.stroke();
  const made = context.createPattern(tile, "repeat");
  hatches.set(colour, made);
  return made;
}

/** @type {(context: CanvasRenderingContext2D, picture: Picture, across: Axis, up: Axis, area: Areas) => void} */
function paintTensors(context, picture, across, up, area) {
  const { plan, colouring, theme, sight, selected, hover } = picture;
  const { first, last, bottom, nbytes } = plan;
  /** @type {(k: number) => [number, number, number, number]} */
  const box = (k) => {
    const x = across.at(first[k]);
    const y = up.at(bottom[k] + nbytes[k]);
    return [x, y, Math.max(across.at(last[k] + 1) - x, 0.7), Math.max(up.at(bottom[k]) - y, 0.7)];
  };
  /** @type {number[]} */
  const named = [];
  context.lineWidth = 0.6;
  context.strokeStyle = theme.paper;
  colouring.colours.forEach((colour, code) => {
    context.fillStyle = colour;
    for (let k = 0; k < plan.count; k++) {
      if (colouring.code[k] !== code || first[k] > sight.right || last[k] + 1 < sight.left) continue;
      if (bottom[k] > sight.high || bottom[k] + nbytes[k] < sight.low) continue;
      const [x, y, w, h] = box(k);
      context.fillRect(x, y, w, h);
      if (w > 4 && h > 4) context.strokeRect(x, y, w, h);
      if (w > 48 && h > 13) named.push(k);
    }
  });
  context.font = `10.5px ${CHART_FONT}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const k of named.slice(0, 400)) {
    const [x, y, w, h] = box(k);
    const left = Math.max(x, area.left);
    const letters = Math.floor((Math.min(x + w, area.right) - left - 8) / 5.6);
    if (letters < 4) continue;
    const name = plan.names[k];
    context.fillStyle = luminance(colouring.colours[colouring.code[k]]) > 0.179 ? "#000" : "#fff";
    context.fillText(name.length > letters ? `${name.slice(0, letters - 1)}…` : name, left + 4, y + h / 2);
  }
  for (const k of [hover, ...selected]) {
    if (k < 0) continue;
    const [x, y, w, h] = box(k);
    context.strokeStyle = selected.has(k) ? theme.accent : theme.ink;
    context.lineWidth = selected.has(k) ? 3 : 1.5;
    context.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }
}

/** @type {(context: CanvasRenderingContext2D, plan: Plan, theme: Theme, up: Axis, area: Areas) => void} */
function paintLevels(context, plan, theme, up, { left, right }) {
  context.font = `600 10.5px ${CHART_FONT}`;
  context.textAlign = "right";
  context.lineWidth = 1.2;
  const isOne = plan.arenas.length === 1;
  for (const { name, base, nbytes, bound, capacity } of plan.arenas) {
    const title = isOne ? "" : `${name}: `;
    const share = nbytes && bound < nbytes ? `, ${number((1 - bound / nbytes) * 100, "%")} fragmentation` : "";
    line(context, theme, up.at(base + nbytes), left, right, [], `${title}peak ${number(nbytes, "B")}${share}`, 8);
    if (bound < nbytes) line(context, theme, up.at(base + bound), left, right, [5, 3], `lower bound ${number(bound, "B")}`, 8);
    if (capacity && capacity > nbytes) line(context, theme, up.at(base + capacity), left, right, [2, 2], `${title}capacity ${number(capacity, "B")}`, 8);
  }
}

/** @type {(context: CanvasRenderingContext2D, theme: Theme, y: number, left: number, right: number, dash: number[], text: string, below: number) => void} */
function line(context, theme, y, left, right, dash, text, below) {
  context.strokeStyle = theme.ink;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(left, y);
  context.lineTo(right, y);
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 3;
  context.strokeStyle = theme.paper;
  context.strokeText(text, right - 6, y + below);
  context.fillStyle = theme.ink;
  context.fillText(text, right - 6, y + below);
  context.lineWidth = 1.2;
}

/** @type {(context: CanvasRenderingContext2D, picture: Picture, area: Areas) => void} */
function paintLanes(context, { lanes, theme }, { left, right }) {
  context.font = `10.5px ${CHART_FONT}`;
  context.textBaseline = "middle";
  lanes.forEach(([name, nbytes], k) => {
    const y = 4 + k * LANE;
    context.fillStyle = theme.box;
    context.strokeStyle = theme.border;
    context.lineWidth = 1;
    context.fillRect(left, y, right - left, LANE - 4);
    context.strokeRect(left + 0.5, y + 0.5, right - left - 1, LANE - 5);
    context.fillStyle = theme.ink;
    context.textAlign = "left";
    context.fillText(`${name} ${number(nbytes, "B")}, all the time (not to scale)`, left + 6, y + LANE / 2 - 1);
  });
}

/** @type {(context: CanvasRenderingContext2D, picture: Picture, across: Axis, area: Areas) => void} */
function paintCurve(context, { plan, theme, step, peakStep, sight }, across, area) {
  const { live } = plan;
  const { left, right, curveTop, curveBottom } = area;
  let most = 1;
  for (const one of live) if (one > most) most = one;
  const y = (/** @type {number} */ bytes) => curveBottom - ((curveBottom - curveTop) * bytes) / most;
  context.save();
  context.beginPath();
  context.rect(left, curveTop - 2, right - left, curveBottom - curveTop + 4);
  context.clip();
  context.beginPath();
  context.moveTo(left, curveBottom);
  for (let x = left; x < right; x++) {
    const from = Math.max(0, Math.floor(across.back(x)));
    const to = Math.max(from + 1, Math.floor(across.back(x + 1)));
    let level = 0;
    for (let k = from; k < to && k < live.length; k++) if (live[k] > level) level = live[k];
    context.lineTo(x, y(level));
    context.lineTo(x + 1, y(level));
  }
  context.lineTo(right, curveBottom);
  context.fillStyle = theme.hullBorder;
  context.fill();
  context.restore();
  context.font = `10.5px ${CHART_FONT}`;
  context.textAlign = "right";
  context.textBaseline = "top";
  context.fillStyle = theme.faint;
  context.fillText("alive", left - 6, curveTop - 2);
  context.fillText(number(most, "B"), left - 6, curveTop + 11);
  for (const [at, colour, dash] of /** @type {[number, string, number[]][]} */ ([[peakStep, theme.hit, [2, 3]], [step, theme.accent, []]])) {
    if (at < sight.left - 1 || at > sight.right) continue;
    const x = across.at(at + 0.5);
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, area.top);
    context.lineTo(x, curveBottom);
    context.stroke();
    context.setLineDash([]);
  }
}
