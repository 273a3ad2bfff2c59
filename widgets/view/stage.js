// A canvas that fills its element, sharp on every screen, painted once a frame at most.

import { element } from "./dom.js";

/**
 * @typedef {object} Stage
 * @property {HTMLElement} root
 * @property {HTMLCanvasElement} canvas
 * @property {() => void} redraw paints in the next frame
 * @property {() => void} draw paints now
 * @property {() => void} close
 */

/**
 * @param {string} label what a screen reader says of it
 * @param {number} height in CSS pixels
 * @param {(context: CanvasRenderingContext2D, width: number, height: number) => void} paintStage
 *     draws in CSS pixels; the canvas is clear before
 * @returns {Stage}
 */
export function makeStage(label, height, paintStage) {
  const canvas = element("canvas", { class: "etlab-view-canvas", "aria-hidden": "true" });
  const root = element("div", { class: "etlab-view-stage", tabindex: "0", role: "group", "aria-label": label }, [canvas]);
  root.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  let request = 0;
  const draw = () => {
    if (request) cancelAnimationFrame(request);
    request = 0;
    const { clientWidth, clientHeight } = root;
    if (!clientWidth || !clientHeight) return;
    const ratio = window.devicePixelRatio || 1;
    const across = Math.round(clientWidth * ratio);
    const down = Math.round(clientHeight * ratio);
    if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, clientWidth, clientHeight);
    paintStage(context, clientWidth, clientHeight);
  };
  const watcher = new ResizeObserver(draw);
  watcher.observe(root);
  return {
    root,
    canvas,
    draw,
    redraw: () => {
      if (!request) request = requestAnimationFrame(draw);
    },
    close: () => {
      watcher.disconnect();
      if (request) cancelAnimationFrame(request);
    },
  };
}
