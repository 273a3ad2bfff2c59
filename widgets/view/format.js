// Numbers as etlab's Python writes them, so that a view and a table say the same.

/**
 * With so many digits behind the point; a half goes to the even one, as in Python.
 * @param {number} value
 * @param {number} digits
 */
export function fixed(value, digits) {
  const scaled = Math.abs(value) * 10 ** digits;
  if (scaled % 1 !== 0.5 || scaled > 2 ** 50) return value.toFixed(digits);
  const floor = Math.floor(scaled);
  const even = (floor % 2 ? floor + 1 : floor) / 10 ** digits;
  return (value < 0 ? -even : even).toFixed(digits);
}

/**
 * @param {number | null} count
 * @param {string} [unknown] what is said where there is no number
 */
export function formatBytes(count, unknown = "") {
  if (count === null) return unknown;
  let size = count;
  for (const unit of ["B", "KiB", "MiB"]) {
    if (size < 1024) return unit === "B" ? `${count} B` : `${fixed(size, 1)} ${unit}`;
    size /= 1024;
  }
  return `${fixed(size, 2)} GiB`;
}

/** @param {number | null} count */
export function formatFlops(count) {
  if (count === null) return "";
  let size = count;
  for (const unit of ["", "k", "M", "G"]) {
    if (size < 1000) return unit ? `${fixed(size, 1)} ${unit}` : String(count);
    size /= 1000;
  }
  return `${fixed(size, 1)} T`;
}

/** @param {number | null} seconds */
export function formatSeconds(seconds) {
  if (seconds === null) return "";
  if (seconds >= 1) return `${fixed(seconds, 2)} s`;
  return seconds >= 1e-3 ? `${fixed(seconds * 1e3, 2)} ms` : `${fixed(seconds * 1e6, 1)} µs`;
}

/** @param {number} share */
export function formatShare(share) {
  return `${fixed(share * 100, 1)}%`;
}

/**
 * "1 call", "1,234 calls".
 * @param {number} count
 * @param {string} word
 */
export function counted(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

/**
 * A number that JSON could not carry as one comes as "NaN", "Infinity" or "-Infinity".
 * @param {number | string | null | undefined} value
 * @returns {number | null}
 */
export function readNumber(value) {
  return value === null || value === undefined ? null : Number(value);
}
