// The whole drawing in a corner, with what can be seen of it: a press goes there.

import { element } from "../view/dom.js";
import { blended } from "./pixels.js";

/** @typedef {import("./paint.js").Frame} Frame */

const MOST = 150; // pixels of its longer side

/**
 * @param {HTMLElement} host
 * @param {(x: number, y: number) => void} go middle of what is to be seen, in units of the drawing
 */
export function makeMinimap(host, go) {
  const map = element("canvas", { class: "etlab-gv-map", "aria-hidden": "true", hidden: "" });
  const picture = element("canvas");
  host.append(map);
  let scale = 1;
  /** @type {unknown[]} */
  let drawn = [];
  /** @param {PointerEvent} event */
  const press = (event) => {
    if (!event.buttons) return;
    event.stopPropagation();
    go(event.offsetX / scale, event.offsetY / scale);
  };
  map.addEventListener("pointerdown", press);
  map.addEventListener("pointermove", press);

  /** @param {Frame} frame */
  const drawWhole = ({ scene, painted, theme }) => {
    scale = MOST / Math.max(scene.width, scene.height);
    for (const one of [map, picture]) {
      one.width = Math.max(8, scene.width * scale);
      one.height = Math.max(8, scene.height * scale);
    }
    const context = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, picture.width, picture.height);
    const { boxes, items, isOpen } = scene;
    for (let box = 0, at = 0; box < items.length; box++, at += 4) {
      context.fillStyle = isOpen[box] ? theme.box : blended(painted, painted.code[items[box]]);
      context.fillRect(boxes[at] * scale, boxes[at + 1] * scale, Math.max(1, boxes[at + 2] * scale), Math.max(1, boxes[at + 3] * scale));
    }
  };

  /** @param {Frame} frame after it was painted */
  return (frame) => {
    const { scene, painted, theme, camera, width, height } = frame;
    const [w, h] = [width / camera.scale, height / camera.scale];
    const isWhole = camera.x <= 0 && camera.y <= 0 && camera.x + w >= scene.width && camera.y + h >= scene.height;
    map.hidden = isWhole || width < 360;
    if (map.hidden) return;
    if (drawn[0] !== scene || drawn[1] !== painted) drawWhole(frame);
    drawn = [scene, painted];
    const context = /** @type {CanvasRenderingContext2D} */ (map.getContext("2d"));
    context.drawImage(picture, 0, 0);
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.strokeRect(camera.x * scale, camera.y * scale, w * scale, h * scale);
  };
}
