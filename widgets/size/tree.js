// The parts of a file as a tree, and a tree as rectangles whose areas are bytes.

/**
 * @typedef {object} Entry
 * @property {string} key
 * @property {string} kind
 * @property {string[]} path
 * @property {string} dtype
 * @property {string} shape
 * @property {number} nbytes
 * @property {string} readers
 */

/**
 * @typedef {object} Branch
 * @property {string} name
 * @property {string[]} at names from the root
 * @property {number} nbytes of all in it
 * @property {string} kind
 * @property {Branch[]} inner the largest first
 * @property {Entry | null} entry of a leaf
 * @property {string[]} keys of all leaves in it
 */

/**
 * Kinds, then the modules that names stand for, then the parts. A branch with one branch in it and
 * nothing else is one with it.
 * @param {string} title
 * @param {Entry[]} entries
 * @returns {Branch}
 */
export function growTree(title, entries) {
  const root = branch(title, [], "");
  for (const entry of entries) {
    if (!entry.nbytes) continue;
    let at = root;
    at.nbytes += entry.nbytes;
    at.keys.push(entry.key);
    for (const name of [entry.kind, ...entry.path]) {
      let next = at.inner.find((one) => one.name === name && !one.entry);
      if (!next) at.inner.push((next = branch(name, [...at.at, name], entry.kind)));
      at = next;
      at.nbytes += entry.nbytes;
      at.keys.push(entry.key);
    }
    at.entry = entry;
  }
  tidy(root);
  return root;
}

/** @type {(name: string, at: string[], kind: string) => Branch} */
function branch(name, at, kind) {
  return { name, at, nbytes: 0, kind, inner: [], entry: null, keys: [] };
}

/** @param {Branch} one */
function tidy(one) {
  for (let k = 0; k < one.inner.length; k++) {
    let child = one.inner[k];
    while (one.at.length && child.inner.length === 1) {
      const [only] = child.inner;
      child = { ...only, name: `${child.name}.${only.name}` };
    }
    one.inner[k] = child;
    tidy(child);
  }
  one.inner.sort((a, b) => b.nbytes - a.nbytes || (a.name < b.name ? -1 : 1));
}

/**
 * The branch at a path; the deepest that exists.
 * @param {Branch} root
 * @param {string[]} at
 */
export function branchAt(root, at) {
  let here = root;
  for (;;) {
    const next = here.inner.find((one) => one.inner.length && one.at.length <= at.length && one.at.every((name, k) => name === at[k]));
    if (!next) return here;
    here = next;
  }
}

/** @typedef {{x: number, y: number, w: number, h: number}} Box */

/**
 * Rectangles whose areas are as the weights, none needlessly thin, as etlab.inspect.size_picture.
 * @param {number[]} weights the largest first
 * @param {Box} area
 * @returns {Box[]}
 */
export function squarify(weights, { x, y, w, h }) {
  /** @type {Box[]} */
  const found = [];
  let total = weights.reduce((a, b) => a + b, 0);
  let begin = 0;
  while (begin < weights.length) {
    if (total <= 0 || w <= 0 || h <= 0) {
      found.push({ x, y, w: 0, h: 0 });
      begin++;
      continue;
    }
    const short = Math.min(w, h);
    const scale = (w * h) / total;
    let end = begin + 1;
    while (end < weights.length && worst(weights.slice(begin, end + 1), short, scale) <= worst(weights.slice(begin, end), short, scale)) end++;
    const row = weights.slice(begin, end);
    const sum = row.reduce((a, b) => a + b, 0);
    const thick = (sum * scale) / short;
    let along = 0;
    for (const weight of row) {
      const length = thick ? (weight * scale) / thick : 0;
      found.push(w >= h ? { x, y: y + along, w: thick, h: length } : { x: x + along, y, w: length, h: thick });
      along += length;
    }
    if (w >= h) {
      x += thick;
      w -= thick;
    } else {
      y += thick;
      h -= thick;
    }
    total -= sum;
    begin = end;
  }
  return found;
}

/** @type {(row: number[], short: number, scale: number) => number} */
function worst(row, short, scale) {
  const total = row.reduce((a, b) => a + b, 0) * scale;
  const least = Math.min(...row);
  if (!total || !least) return Infinity;
  return Math.max((short ** 2 * Math.max(...row) * scale) / total ** 2, total ** 2 / (short ** 2 * least * scale));
}

const HEADER = 17;
const MOST_BOXES = 700;

/**
 * What can be drawn of a branch: hulls of branches and boxes of leaves, outer ones first.
 * @param {Branch} root
 * @param {Box} area
 * @returns {{branch: Branch, box: Box, isHull: boolean, depth: number}[]}
 */
export function layTree(root, area) {
  /** @type {{branch: Branch, box: Box, isHull: boolean, depth: number}[]} */
  const found = [];
  /** @type {(one: Branch, box: Box, depth: number) => void} */
  const lay = (one, box, depth) => {
    const places = squarify(one.inner.map((child) => child.nbytes), box);
    one.inner.forEach((child, k) => {
      const place = places[k];
      if (place.w < 1.5 || place.h < 1.5 || found.length >= MOST_BOXES) return;
      const isHull = child.inner.length > 0 && place.w > 46 && place.h > 40 && depth < 6;
      found.push({ branch: child, box: place, isHull, depth });
      if (isHull) lay(child, { x: place.x + 2, y: place.y + HEADER, w: place.w - 4, h: place.h - HEADER - 2 }, depth + 1);
    });
  };
  lay(root, area, 0);
  return found;
}

/**
 * Parts of two files by key: bytes in each, null where it is not.
 * @param {Entry[]} entries
 * @param {Entry[]} before
 * @returns {{entry: Entry, now: number | null, old: number | null}[]}
 */
export function joinParts(entries, before) {
  const olds = new Map(before.map((entry) => [entry.key, entry]));
  /** @type {{entry: Entry, now: number | null, old: number | null}[]} */
  const rows = entries.map((entry) => ({ entry, now: entry.nbytes, old: olds.get(entry.key)?.nbytes ?? null }));
  const keys = new Set(entries.map(({ key }) => key));
  for (const entry of before) if (!keys.has(entry.key)) rows.push({ entry, now: null, old: entry.nbytes });
  return rows;
}
