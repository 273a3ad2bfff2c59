// A far away graph as pixels: tens of thousands of boxes in a few milliseconds.

/** @typedef {import("./paint.js").Frame} Frame */
/** @typedef {import("./colours.js").Painted} Painted */

const LINE_SCALE = 0.02; // pixels a unit from which edges can be told apart

/**
 * Small boxes need the strong colour to be seen.
 * @param {Painted} painted
 * @param {number} code
 */
export function blended(painted, code) {
  return painted.legend.length && painted.legend[0].count === undefined && code
    ? painted.fills[code]
    : painted.strong[code];
}

/**
 * Everything as pixels: fills, and the level and upright parts of edges.
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number[]} visible
 */
export function paintPixels(context, frame, visible) {
  const { scene, painted, theme, camera, ratio, hits } = frame;
  const { boxes, points, pointStart } = scene;
  const { width, height } = context.canvas;
  const image = imageFor(context, width, height);
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill(packed(theme.paper));
  const s = camera.scale * ratio;
  const dx = camera.x * s;
  const dy = camera.y * s;
  /** @type {(x0: number, y0: number, x1: number, y1: number, colour: number) => void} */
  const fill = (x0, y0, x1, y1, colour) => {
    let left = Math.round(x0 * s - dx);
    let top = Math.round(y0 * s - dy);
    let right = Math.round(x1 * s - dx);
    let bottom = Math.round(y1 * s - dy);
    if (right <= left) right = left + 1;
    if (bottom <= top) bottom = top + 1;
    if (left < 0) left = 0;
    if (top < 0) top = 0;
    if (right > width) right = width;
    if (bottom > height) bottom = height;
    for (let y = top; y < bottom; y++) {
      for (let at = y * width + left, end = y * width + right; at < end; at++) pixels[at] = colour;
    }
  };
  const hull = packed(theme.box);
  for (const box of visible) {
    const at = box * 4;
    if (!scene.isOpen[box]) continue;
    fill(boxes[at], boxes[at + 1], boxes[at] + boxes[at + 2], boxes[at + 1] + boxes[at + 3], hull);
  }
  const line = packed(theme.edge);
  for (let e = 0; s > LINE_SCALE && e < scene.edgeMaker.length; e++) {
    for (let p = pointStart[e], last = pointStart[e + 1] - 2; p < last; p += 2) {
      const x0 = points[p];
      const y0 = points[p + 1];
      const x1 = points[p + 2];
      const y1 = points[p + 3];
      if (x0 !== x1 && y0 !== y1) continue;
      fill(x0 < x1 ? x0 : x1, y0 < y1 ? y0 : y1, x0 < x1 ? x1 : x0, y0 < y1 ? y1 : y0, line);
    }
  }
  const colours = painted.fills.map((_, code) => packed(blended(painted, code)));
  for (const box of visible) {
    if (scene.isOpen[box]) continue;
    const at = box * 4;
    const item = scene.items[box];
    const colour = hits && !hits[item] ? hull : colours[painted.code[item]];
    fill(boxes[at], boxes[at + 1], boxes[at] + boxes[at + 2], boxes[at + 1] + boxes[at + 3], colour);
  }
  context.putImageData(image, 0, 0);
}

/** @type {WeakMap<HTMLCanvasElement, ImageData>} */
const images = new WeakMap();

/**
 * The pixels of a canvas, made once a size.
 * @param {CanvasRenderingContext2D} context
 * @param {number} width
 * @param {number} height
 */
function imageFor(context, width, height) {
  const known = images.get(context.canvas);
  if (known && known.width === width && known.height === height) return known;
  const made = context.createImageData(width, height);
  images.set(context.canvas, made);
  return made;
}

/** @param {string} colour as #rrggbb */
function packed(colour) {
  const n = parseInt(colour.slice(1), 16);
  return (0xff000000 | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}
