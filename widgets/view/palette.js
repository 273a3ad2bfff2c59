// Colours that every view shares, and numbers with units.

/** Okabe and Ito's colours, as in etlab/display.py. */
export const CATEGORY_COLOURS = [
  "#0072B2",
  "#E69F00",
  "#009E73",
  "#CC79A7",
  "#56B4E9",
  "#D55E00",
  "#F0E442",
  "#999999",
];

// Nine stops of cividis, and of a map from blue over grey to orange.
export const MAGNITUDE = "00204c 00336f 39486b 575d6d 707173 8a8779 a69d75 c4b56c ffe945".split(" ");
export const SIGNED = "08519c 3182bd 6baed6 bdd7e7 d9d9d9 fdd0a2 fdae6b e6550d a63603".split(" ");

export const LIGHT = {
  paper: "#ffffff",
  ink: "#1f2328",
  faint: "#6a737d",
  box: "#f4f5f7",
  border: "#a9b0b8",
  edge: "#8d96a0",
  hull: "rgba(110,125,145,0.07)",
  hullBorder: "rgba(110,125,145,0.45)",
  accent: "#0b62d6",
  hit: "#b8590a",
};

export const DARK = {
  paper: "#15181c",
  ink: "#e6e9ed",
  faint: "#9aa4af",
  box: "#262b31",
  border: "#59636e",
  edge: "#717b87",
  hull: "rgba(160,180,205,0.07)",
  hullBorder: "rgba(160,180,205,0.35)",
  accent: "#6cb2ff",
  hit: "#ffb454",
};

/** @typedef {typeof LIGHT} Theme */

/** @param {string} colour */
function parts(colour) {
  const n = parseInt(colour.replace("#", ""), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/**
 * @param {string} a
 * @param {string} b
 * @param {number} share of b
 */
export function mix(a, b, share) {
  const p = parts(a);
  const q = parts(b);
  const hex = p.map((v, i) => Math.round(v + (q[i] - v) * share).toString(16).padStart(2, "0"));
  return `#${hex.join("")}`;
}

/** @param {string} colour */
export function luminance(colour) {
  const [r, g, b] = parts(colour).map((v) => {
    const c = v / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * @param {string[]} stops
 * @param {number} at 0 … 1
 */
export function ramp(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(place), stops.length - 2);
  return mix(stops[k], stops[k + 1], place - k);
}

/**
 * A number with its unit, short: 1.5 kB, 320 µs, 12.3 dB.
 * @param {number} value
 * @param {string} unit
 */
export function number(value, unit) {
  if (!Number.isFinite(value)) return value !== value ? "–" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  /** @param {number} v */
  const short = (v) => String(Number(v.toPrecision(3)));
  if (unit === "s") {
    if (size < 1e-3) return `${short(value * 1e6)} µs`;
    return size < 1 ? `${short(value * 1e3)} ms` : `${short(value)} s`;
  }
  if (unit === "B") {
    for (const [limit, name] of /** @type {[number, string][]} */ ([[2 ** 20, "MiB"], [2 ** 10, "KiB"]])) {
      if (size >= limit) return `${short(value / limit)} ${name}`;
    }
  }
  return unit ? `${short(value)} ${unit}` : short(value);
}

/**
 * A colour for every backend, the one that etlab.display.backend_colours gives.
 * @param {string[]} names
 */
export function backendColours(names) {
  const colours = CATEGORY_COLOURS.slice(0, -1);
  /** @type {Map<string, string>} */
  const taken = new Map();
  for (const name of [...new Set(names)].sort()) {
    const start = crc32(new TextEncoder().encode(name)) % colours.length;
    const order = colours.map((_, step) => colours[(start + step) % colours.length]);
    const used = new Set(taken.values());
    taken.set(name, order.find((one) => !used.has(one)) ?? order[0]);
  }
  return names.map((name) => /** @type {string} */ (taken.get(name)));
}

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
