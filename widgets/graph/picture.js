// The picture as a PNG file: the kernel draws all of it; without a kernel it is what is in sight.

import { element } from "../view/dom.js";

const KEPT = 10_000; // milliseconds that the page has to take the file

/**
 * @param {import("../view/dom.js").Model} model
 * @param {HTMLCanvasElement} canvas
 * @param {(text: string) => void} say
 */
export function makePicture(model, canvas, say) {
  let asked = 0;
  const ask = () => {
    say("drawing …");
    model.send({ type: "picture", id: ++asked });
  };
  /** @type {(id: number, bytes?: BlobPart) => void} the answer; `bytes` are missing without a kernel */
  const take = (id, bytes) => {
    if (id !== asked) return;
    const address = bytes ? URL.createObjectURL(new Blob([bytes], { type: "image/png" })) : canvas.toDataURL();
    element("a", { href: address, download: "graph.png" }).click();
    say("saved graph.png");
    setTimeout(() => URL.revokeObjectURL(address), KEPT);
  };
  return { ask, take };
}
