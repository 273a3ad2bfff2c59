// The timeline of a run: instructions above, the nodes of delegates below them.

import { CHART_FONT, niceTicks } from "../view/axes.js";
import { luminance, number } from "../view/palette.js";

/** @typedef {import("./rows.js").Profile} Profile */
/** @typedef {import("../view/palette.js").Theme} Theme */

const BAR = 30;
const TOP = 24;
const SIDE = 10;

/**
 * @typedef {object} Flame
 * @property {Profile} profile
 * @property {ReturnType<typeof import("./rows.js").timeline>} line
 * @property {string[]} colours of every row
 * @property {Theme} theme
 * @property {{left: number, right: number}} sight seconds that can be seen
 * @property {Set<number>} selected
 * @property {number} hover
 */

/** Height that the timeline needs, in pixels. */
export const FLAME_HEIGHT = TOP + 2 * BAR + 16;

/**
 * @param {{left: number, right: number}} sight
 * @param {number} width
 */
export function flameScale({ left, right }, width) {
  const scale = (width - 2 * SIDE) / (right - left);
  return {
    at: (/** @type {number} */ seconds) => SIDE + (seconds - left) * scale,
    back: (/** @type {number} */ x) => left + (x - SIDE) / scale,
  };
}

/**
 * The row at a place; -1: none.
 * @param {Flame} flame
 * @param {number} x
 * @param {number} y
 * @param {number} canvasWidth
 */
export function flameRowAt({ profile, line, sight }, x, y, canvasWidth) {
  const depth = Math.floor((y - TOP) / BAR);
  const seconds = flameScale(sight, canvasWidth).back(x);
  for (let k = 0; k < profile.count; k++) {
    if (line.depth[k] === depth && seconds >= line.begin[k] && seconds < line.begin[k] + line.width[k]) return k;
  }
  return -1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} canvasWidth
 * @param {number} canvasHeight
 * @param {Flame} flame
 */
export function paintFlame(context, canvasWidth, canvasHeight, { profile, line, colours, theme, sight, selected, hover }) {
  const scale = flameScale(sight, canvasWidth);
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, canvasWidth, canvasHeight);
  context.font = `10.5px ${CHART_FONT}`;
  context.textBaseline = "middle";
  context.fillStyle = theme.faint;
  context.strokeStyle = theme.hullBorder;
  context.lineWidth = 1;
  context.textAlign = "center";
  context.beginPath();
  for (const tick of niceTicks(sight.left, sight.right, 8)) {
    const x = Math.round(scale.at(tick)) + 0.5;
    context.moveTo(x, TOP - 6);
    context.lineTo(x, TOP + 2 * BAR + 4);
    context.fillText(number(tick, "s"), x, 9);
  }
  context.stroke();
  context.textAlign = "left";
  for (let k = 0; k < profile.count; k++) {
    const x = scale.at(line.begin[k]);
    const w = Math.max(line.width[k] * (scale.at(1) - scale.at(0)), 0.4);
    if (x > canvasWidth || x + w < 0) continue;
    const y = TOP + line.depth[k] * BAR;
    context.fillStyle = colours[k];
    context.fillRect(x, y, w, BAR - 3);
    if (w > 5) {
      context.strokeStyle = theme.paper;
      context.strokeRect(x, y, w, BAR - 3);
    }
    const left = Math.max(x, 0);
    const letters = Math.floor((Math.min(x + w, canvasWidth) - left - 8) / 6);
    if (letters < 4) continue;
    const name = profile.operator.at(k);
    context.fillStyle = luminance(colours[k]) > 0.179 ? "#000" : "#fff";
    context.fillText(name.length > letters ? `${name.slice(0, letters - 1)}…` : name, left + 4, y + BAR / 2 - 1);
  }
  for (const k of [hover, ...selected]) {
    if (k < 0) continue;
    context.strokeStyle = selected.has(k) ? theme.accent : theme.ink;
    context.lineWidth = selected.has(k) ? 3 : 1.5;
    const w = Math.max(line.width[k] * (scale.at(1) - scale.at(0)), 2);
    context.strokeRect(scale.at(line.begin[k]), TOP + line.depth[k] * BAR, w, BAR - 3);
  }
}
