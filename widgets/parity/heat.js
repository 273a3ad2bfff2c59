// How bad a value of a metric is among others, as a colour.

import { MAGNITUDE, ramp } from "../view/palette.js";

/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} label
 * @property {boolean} higher whether higher is better
 * @property {boolean} decibel
 */

const EQUAL_DB = 60; // signals that close look the same: what is above needs no colours of its own
const LEAST = 1e-12;

/**
 * A value as one that grows with closeness, in steps that look alike.
 * @param {number} value
 * @param {Metric} metric
 */
export function closeness(value, { higher, decibel }) {
  if (value !== value) return -Infinity;
  if (decibel) return Math.min(value, EQUAL_DB);
  return -Math.log10(Math.max(higher ? 1 - value : Math.abs(value), LEAST));
}

/**
 * A function from values to colours: the worst are dark, what is not a number is darkest.
 * @param {(number | null)[]} values
 * @param {Metric} metric
 * @returns {(value: number | null) => string | undefined} none where all are the same
 */
export function heatOf(values, metric) {
  const known = values.filter((value) => value !== null).map((value) => closeness(value, metric));
  const finite = known.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  if (low >= high && known.length === finite.length) return () => undefined;
  return (value) => {
    if (value === null) return undefined;
    const place = closeness(value, metric);
    return ramp(MAGNITUDE, high > low ? (place - low) / (high - low) : place > -Infinity ? 1 : 0);
  };
}
