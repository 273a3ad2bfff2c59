// A far away graph as pixels: tens of thousands of boxes in a few milliseconds.

/** @typedef {import("./paint.js").Frame} Frame */
/** @typedef {import("./colours.js").Painted} Painted */

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
  const width = context.canvas.width;
  const height = context.canvas.height;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill(packed(theme.paper));
  const s = camera.scale * ratio;
  /** @type {(x0: number, y0: number, x1: number, y1: number, colour: number) => void} */
  const fill = (x0, y0, x1, y1, colour) => {
    const left = Math.max(0, Math.round((x0 - camera.x) * s));
    const right = Math.min(width, Math.max(left + 1, Math.round((x1 - camera.x) * s)));
    const top = Math.max(0, Math.round((y0 - camera.y) * s));
    const bottom = Math.min(height, Math.max(top + 1, Math.round((y1 - camera.y) * s)));
    for (let y = top; y < bottom; y++) pixels.fill(colour, y * width + left, y * width + right);
  };
  const hull = packed(theme.box);
  for (const box of visible) {
    if (!scene.isOpen[box]) continue;
    const [x, y, w, h] = scene.boxes.subarray(box * 4, box * 4 + 4);
    fill(x, y, x + w, y + h, hull);
  }
  if (s > 0.02) {
    const line = packed(theme.edge);
    const { points, pointStart } = scene;
    for (let e = 0; e < scene.edgeMaker.length; e++) {
      for (let p = pointStart[e]; p < pointStart[e + 1] - 2; p += 2) {
        const [x0, x1] = [points[p], points[p + 2]];
        const [y0, y1] = [points[p + 1], points[p + 3]];
        if (x0 !== x1 && y0 !== y1) continue;
        fill(Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1), line);
      }
    }
  }
  const colours = painted.fills.map((_, code) => packed(blended(painted, code)));
  const faded = packed(theme.box);
  for (const box of visible) {
    if (scene.isOpen[box]) continue;
    const at = box * 4;
    const item = scene.items[box];
    const [x, y] = [scene.boxes[at], scene.boxes[at + 1]];
    const colour = hits && !hits[item] ? faded : colours[painted.code[item]];
    fill(x, y, x + scene.boxes[at + 2], y + scene.boxes[at + 3], colour);
  }
  context.putImageData(image, 0, 0);
}

/** @param {string} colour as #rrggbb */
function packed(colour) {
  const n = parseInt(colour.slice(1), 16);
  return (0xff000000 | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}
