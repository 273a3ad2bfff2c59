// Colours of items: what stands behind a class or a number, in light and dark pages.

import { backendColours, CATEGORY_COLOURS, DARK, LIGHT, luminance, MAGNITUDE, mix, number, ramp, SIGNED } from "../view/palette.js";

/** @typedef {import("./tree.js").Tree} Tree */
/** @typedef {import("../view/palette.js").Theme} Theme */

/**
 * @typedef {object} Overlay
 * @property {string} name
 * @property {"category" | "number"} kind
 * @property {string[]} classes of a category
 * @property {ArrayLike<number>} values a node: class (255: none), or number (NaN: none)
 * @property {string[]} colours of the classes
 * @property {"sum" | "min" | "max" | "mean"} combine how a closed group answers for its nodes
 * @property {"linear" | "log"} scale
 * @property {"magnitude" | "signed"} map
 * @property {string} unit
 */

/**
 * @typedef {object} Painted
 * @property {string[]} fills by code; code 0: no value
 * @property {string[]} strong stripe or border by code
 * @property {string[]} inks colour of text by code
 * @property {Uint8Array} code of every item
 * @property {Float64Array} value of every item; NaN without one; the class for categories
 * @property {{label: string, colour: string, count?: number}[]} legend
 */

const STEPS = 32;
const EQUAL_DB = 60; // signals that close look the same: what is above needs no colours of its own

/**
 * @param {Tree} tree
 * @param {Overlay | null} overlay
 * @param {boolean} isDark
 * @returns {Painted}
 */
export function paintItems(tree, overlay, isDark) {
  const theme = isDark ? DARK : LIGHT;
  const none = { fills: [theme.box], strong: [theme.border], inks: [theme.ink], legend: [] };
  if (!overlay) {
    const items = tree.graph.count + tree.first.length;
    return { ...none, code: new Uint8Array(items), value: new Float64Array(items).fill(NaN) };
  }
  const value = overlay.kind === "category" ? classOfItems(tree, overlay) : numbers(tree, overlay);
  return overlay.kind === "category"
    ? paintClasses(overlay, value, theme, isDark)
    : paintNumbers(tree, overlay, value, theme);
}

/**
 * @param {Overlay} overlay
 * @param {Float64Array} value
 * @param {Theme} theme
 * @param {boolean} isDark
 * @returns {Painted}
 */
function paintClasses(overlay, value, theme, isDark) {
  const fills = [theme.box];
  const strong = [theme.border];
  for (const colour of overlay.colours) {
    fills.push(mix(theme.paper, colour, isDark ? 0.34 : 0.2));
    strong.push(colour);
  }
  const counts = overlay.classes.map(() => 0);
  for (let i = 0; i < overlay.values.length; i++) counts[overlay.values[i]]++;
  return {
    fills,
    strong,
    inks: fills.map(() => theme.ink),
    code: Uint8Array.from(value, (v) => (v === v ? v + 1 : 0)),
    value,
    legend: overlay.classes
      .map((label, k) => ({ label, colour: overlay.colours[k], count: counts[k] }))
      .filter((entry) => entry.count > 0),
  };
}

/**
 * The class of every item; a group has the one that most of its nodes have.
 * @param {Tree} tree
 * @param {Overlay} overlay
 */
function classOfItems(tree, overlay) {
  const { graph, hidden, first } = tree;
  const { count, group, groupParent } = graph;
  const kinds = overlay.classes.length;
  const value = new Float64Array(count + first.length).fill(NaN);
  const tally = new Uint32Array(first.length * kinds);
  for (let i = 0; i < count; i++) {
    const own = overlay.values[i];
    if (hidden[i] || own >= kinds) continue;
    value[i] = own;
    tally[group[i] * kinds + own]++;
  }
  for (let g = first.length - 1; g >= 0; g--) {
    let best = -1;
    for (let k = 0; k < kinds; k++) {
      const votes = tally[g * kinds + k];
      if (g > 0) tally[groupParent[g] * kinds + k] += votes;
      if (votes > 0 && (best < 0 || votes > tally[g * kinds + best])) best = k;
    }
    if (best >= 0) value[count + g] = best;
  }
  return value;
}

/**
 * The number of every item. The time of a delegate is that of the call that runs it.
 * @param {Tree} tree
 * @param {Overlay} overlay
 */
function numbers(tree, overlay) {
  const { graph, first } = tree;
  const { count, group, groupParent, groupCall } = graph;
  const value = new Float64Array(count + first.length).fill(NaN);
  const terms = new Uint32Array(first.length);
  const { combine } = overlay;
  /** @type {(g: number, v: number, n: number) => void} */
  const take = (g, v, n) => {
    const old = value[count + g];
    if (old !== old) value[count + g] = v;
    else if (combine === "min") value[count + g] = Math.min(old, v);
    else if (combine === "max") value[count + g] = Math.max(old, v);
    else value[count + g] = old + v;
    terms[g] += n;
  };
  const isGroupCall = new Uint8Array(count);
  for (let g = 0; g < first.length; g++) if (groupCall[g] >= 0) isGroupCall[groupCall[g]] = 1;
  for (let i = 0; i < count; i++) {
    const v = overlay.values[i];
    value[i] = v;
    if (v === v && !isGroupCall[i] && (!tree.hidden[i] || combine === "sum")) take(group[i], v, 1);
  }
  for (let g = first.length - 1; g > 0; g--) {
    const own = groupCall[g] >= 0 ? overlay.values[groupCall[g]] : NaN;
    if (own === own) {
      value[count + g] = own;
      terms[g] = 1;
    }
    if (value[count + g] === value[count + g]) take(groupParent[g], value[count + g], terms[g]);
  }
  if (combine === "mean") {
    for (let g = 0; g < first.length; g++) if (terms[g]) value[count + g] /= terms[g];
  }
  return value;
}

/**
 * @param {Tree} tree
 * @param {Overlay} overlay
 * @param {Float64Array} value
 * @param {Theme} theme
 * @returns {Painted}
 */
function paintNumbers(tree, overlay, value, theme) {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < tree.graph.count; i++) {
    const v = value[i];
    if (v !== v || !Number.isFinite(v)) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (low > high) low = high = 0;
  const isCapped = overlay.unit === "dB" && high > EQUAL_DB && low < EQUAL_DB;
  if (isCapped) high = EQUAL_DB;
  const stops = overlay.map === "signed" ? SIGNED : MAGNITUDE;
  if (overlay.map === "signed") low = -(high = Math.max(Math.abs(low), Math.abs(high)));
  const isLog = overlay.scale === "log" && high > 0;
  const base = isLog ? Math.max(low, high / 1e6) : low;
  /** @param {number} v */
  const share = (v) => {
    if (high === base) return 0.5;
    return isLog ? Math.log(Math.max(v, base) / base) / Math.log(high / base) : (v - base) / (high - base);
  };
  /** @param {number} at */
  const back = (at) => (isLog ? base * (high / base) ** at : base + at * (high - base));
  const fills = [theme.box];
  for (let k = 0; k < STEPS; k++) fills.push(ramp(stops, k / (STEPS - 1)));
  const legend = [0, 0.25, 0.5, 0.75, 1].map((at) => ({
    label: (isCapped && at === 1 ? "≥ " : "") + number(back(at), overlay.unit),
    colour: ramp(stops, at),
  }));
  return {
    fills,
    strong: fills.map((fill) => mix(fill, theme.ink, 0.3)),
    inks: fills.map((fill, k) => (k === 0 ? theme.ink : luminance(fill) > 0.179 ? "#000000" : "#ffffff")),
    code: Uint8Array.from(value, (v) =>
      v === v ? 1 + Math.round(Math.min(Math.max(share(v), 0), 1) * (STEPS - 1)) : 0,
    ),
    value,
    legend,
  };
}

/**
 * The overlays that every graph has.
 * @param {Tree} tree
 * @returns {Map<string, Overlay>}
 */
export function builtIn(tree) {
  const { graph } = tree;
  /** @type {(name: string, table: string[], column: ArrayLike<number>) => Overlay} */
  const category = (name, table, column) => classes(tree, name, table, column);
  const bytes = Float32Array.from(graph.bytes, (v, i) => (v < 0 || tree.hidden[i] ? NaN : v));
  /** @type {Overlay} */
  const size = {
    name: "bytes",
    kind: "number",
    classes: [],
    values: bytes,
    colours: [],
    combine: "sum",
    scale: "log",
    map: "magnitude",
    unit: "B",
  };
  return new Map([
    ["backend", category("backend", graph.backends, graph.backend)],
    ["dtype", category("dtype", graph.dtypes, graph.dtype)],
    ["operator", category("operator", graph.operators, graph.operator)],
    ["bytes", size],
  ]);
}

/**
 * The seven commonest values as classes, the rest as one.
 * @param {Tree} tree
 * @param {string} name
 * @param {string[]} table
 * @param {ArrayLike<number>} column
 * @returns {Overlay}
 */
function classes(tree, name, table, column) {
  const { count, kind } = tree.graph;
  const counts = new Array(table.length).fill(0);
  const isCounted = (/** @type {number} */ i) => !tree.hidden[i] && kind[i] !== 0 && kind[i] !== 6;
  for (let i = 0; i < count; i++) if (isCounted(i)) counts[column[i]]++;
  const ranked = table.map((_, k) => k).filter((k) => counts[k] > 0 && table[k] !== "");
  ranked.sort((a, b) => counts[b] - counts[a] || (table[a] < table[b] ? -1 : 1));
  const most = CATEGORY_COLOURS.length - 1;
  const shown = ranked.slice(0, most);
  const names = shown.map((k) => table[k]);
  const colours = name === "backend" ? backendColours(names) : CATEGORY_COLOURS.slice(0, names.length);
  const place = new Map(shown.map((k, at) => [k, at]));
  if (ranked.length > most) {
    names.push("other");
    colours.push(CATEGORY_COLOURS[most]);
    for (const k of ranked.slice(most)) place.set(k, most);
  }
  const values = new Uint8Array(count).fill(255);
  for (let i = 0; i < count; i++) if (isCounted(i)) values[i] = place.get(column[i]) ?? 255;
  if (name === "backend" && names.length === 0) names.length = colours.length = 0;
  return {
    name,
    kind: "category",
    classes: names,
    values,
    colours,
    combine: "max",
    scale: "linear",
    map: "magnitude",
    unit: "",
  };
}
