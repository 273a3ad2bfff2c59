// What a reader must know before the numbers: data, warnings, how much was compared.

import { element } from "../view/dom.js";

/** @param {any} content */
export function notesOf(content) {
  const noise = content.noise ? `; noise floor, the reference run twice: ${content.noise}` : "";
  const lines = [
    element("div", { class: "etlab-parity-title" }, [content.title]),
    element("div", { class: "etlab-parity-data" }, [
      `on ${content.data}${noise}`,
    ]),
    ...content.warnings.map((/** @type {string} */ text) => element("div", { class: "etlab-view-note" }, [text])),
  ];
  const strips = content.coverage.map((/** @type {any[]} */ [path, compared, local, total, reasons, sentence]) => {
    const colour = content.paths.find((/** @type {string[]} */ one) => one[0] === path)?.[1] ?? "#999999";
    const fill = element("span", { class: "etlab-parity-fill" });
    fill.style.width = `${total ? (100 * compared) / total : 0}%`;
    fill.style.background = colour;
    const why = reasons.map((/** @type {[string, number]} */ [reason, count]) => `${count} ${reason}`).join("; ");
    const missing = why ? `; not compared: ${why}` : "";
    return element("div", { class: "etlab-parity-strip", title: sentence }, [
      element("span", { class: "etlab-parity-path" }, [path]),
      element("span", { class: "etlab-parity-bar", "aria-hidden": "true" }, [fill]),
      element("span", {}, [
        `${compared} of ${total} operators compared, ${local} of them alone${missing}`,
      ]),
    ]);
  });
  return { root: element("div", { class: "etlab-parity-notes" }, [...lines, ...strips]) };
}
