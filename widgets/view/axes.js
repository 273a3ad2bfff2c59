// Axes of charts: where the ticks stand, and how they are drawn.

import { number } from "./palette.js";

/** @typedef {import("./palette.js").Theme} Theme */

export const CHART_FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/**
 * Round numbers between two ends, about as many as wished.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 * @param {string} [unit] bytes ("B") get powers of two
 * @returns {number[]}
 */
export function niceTicks(low, high, count, unit = "") {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const base = unit === "B" ? 2 : 10;
  const power = base ** Math.floor(Math.log(rough) / Math.log(base) + 1e-9);
  const steps = base === 2 ? [1, 2] : [1, 2, 5, 10];
  const step = power * (steps.find((one) => one * power >= rough * 0.999) ?? base);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step || 0);
  return ticks;
}

/**
 * Powers of ten (and their halves where there are few) between two positive ends.
 * @param {number} low
 * @param {number} high
 * @returns {number[]}
 */
export function logTicks(low, high) {
  const ticks = [];
  const isFew = high / low < 200;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const one of isFew ? [1, 2, 5] : [1]) {
      const tick = one * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/**
 * An axis: values to pixels and back, with its ticks.
 * @typedef {object} Axis
 * @property {(value: number) => number} at pixel of a value
 * @property {(pixel: number) => number} back
 * @property {number[]} ticks
 * @property {string} unit
 * @property {string} label
 */

/**
 * @param {{low: number, high: number, from: number, to: number, label?: string, unit?: string,
 *     isLog?: boolean, count?: number}} what ends in values and in pixels
 * @returns {Axis}
 */
export function makeAxis({ low, high, from, to, label = "", unit = "", isLog = false, count = 5 }) {
  if (!isLog) {
    const span = high - low || 1;
    return {
      at: (value) => from + ((value - low) / span) * (to - from),
      back: (pixel) => low + ((pixel - from) / (to - from)) * span,
      ticks: niceTicks(low, high, count, unit),
      unit,
      label,
    };
  }
  const span = Math.log(high / low) || 1;
  return {
    at: (value) => from + (Math.log(Math.max(value, low / 1e3) / low) / span) * (to - from),
    back: (pixel) => low * Math.exp(((pixel - from) / (to - from)) * span),
    ticks: logTicks(low, high),
    unit,
    label,
  };
}

/**
 * Draw an axis to the left and one below, with faint lines over the chart.
 * @param {CanvasRenderingContext2D} context
 * @param {Theme} theme
 * @param {Axis} across
 * @param {Axis} up
 * @param {{left: number, right: number, top: number, bottom: number}} area in pixels
 */
export function drawAxes(context, theme, across, up, { left, right, top, bottom }) {
  context.font = `10.5px ${CHART_FONT}`;
  context.lineWidth = 1;
  context.fillStyle = theme.faint;
  context.strokeStyle = theme.hullBorder;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.beginPath();
  for (const tick of across.ticks) {
    const x = Math.round(across.at(tick)) + 0.5;
    if (x < left - 1 || x > right + 1) continue;
    context.moveTo(x, bottom);
    context.lineTo(x, bottom + 4);
    context.fillText(number(tick, across.unit), x, bottom + 6);
  }
  if (across.label) context.fillText(across.label, (left + right) / 2, bottom + 20);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of up.ticks) {
    const y = Math.round(up.at(tick)) + 0.5;
    if (y < top - 1 || y > bottom + 1) continue;
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.fillText(number(tick, up.unit), left - 6, y);
  }
  context.stroke();
  context.strokeStyle = theme.border;
  context.strokeRect(left + 0.5, top + 0.5, right - left, bottom - top);
  if (!up.label) return;
  context.save();
  context.translate(10, (top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(up.label, 0, 0);
  context.restore();
}
