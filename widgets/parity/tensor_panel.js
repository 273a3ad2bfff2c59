// The tensors of one operator, which the kernel is asked for; what was asked is kept.

import { element } from "../view/dom.js";
import { makeChart } from "../view/svg.js";
import { drawCounts, drawElements } from "./tensors.js";

/**
 * @param {import("../view/host.js").Host} host
 * @param {Record<string, string>} colours of paths
 */
export function makeTensors(host, colours) {
  /** @type {Map<string, any>} */
  const known = new Map();
  /** @type {any} */
  let shown = null;
  let wanted = "";
  const title = element("div", { class: "etlab-parity-title" });
  const counts = makeChart((width) => (shown ? drawCounts(shown, colours[shown.path], width) : { height: 0, parts: [] }));
  const elements = makeChart((width) => (shown ? drawElements(shown, colours[shown.path], width) : { height: 0, parts: [] }));
  const figures = element("div", { class: "etlab-parity-figures" });
  const charts = element("div", { class: "etlab-parity-charts" }, [
    element("div", {}, [counts.root]),
    element("div", {}, [elements.root]),
  ]);
  const root = element("div", { class: "etlab-parity-tensors", role: "region", "aria-label": "Tensors" }, [title, charts, figures]);
  counts.root.setAttribute("role", "img");
  elements.root.setAttribute("role", "img");

  const draw = () => {
    charts.hidden = figures.hidden = !shown;
    if (!shown) return;
    const how = shown.local ? " alone on the reference's inputs" : "";
    title.textContent = `${shown.operator}: ${shown.path}${how} (line) against ${shown.reference} (filled), [${shown.shape.join(", ")}], sample ${shown.sample}`;
    counts.root.setAttribute("aria-label", `Histograms of ${shown.path} and ${shown.reference}`);
    elements.root.setAttribute("aria-label", `Elements of ${shown.path} over those of ${shown.reference}`);
    const metrics = shown.metrics.map((/** @type {string[]} */ [label, text]) => `${label} ${text}`).join(", ");
    const worst = shown.worst
      .map((/** @type {any[]} */ [index, actual, expected]) => `[${index}]: ${Number(actual).toPrecision(4)} for ${Number(expected).toPrecision(4)}`)
      .join(", ");
    figures.replaceChildren(element("div", {}, [metrics]), element("div", {}, [`farthest: ${worst}`]));
    counts.redraw();
    elements.redraw();
  };
  /** @param {string} text */
  const sayOnly = (text) => {
    shown = null;
    title.textContent = text;
    draw();
  };
  return {
    root,
    draw,
    /**
     * @param {{operator: string, path: string, local: boolean} | null} question
     * @param {string} [reason] why there is nothing to show
     */
    show(question, reason = "") {
      wanted = question ? JSON.stringify(question) : "";
      if (!question) return sayOnly(reason || "Select one operator to see its tensors.");
      const asked = wanted;
      shown = known.get(asked) ?? null;
      if (shown) return draw();
      sayOnly(`Computing ${question.operator} …`);
      const node = [question.operator, question.path, question.local].join(" ");
      host.ask({ type: "tensors", node, ...question }).then(
        (answer) => {
          known.set(asked, answer);
          if (wanted !== asked) return;
          shown = answer;
          draw();
        },
        (error) => wanted === asked && sayOnly(error.message),
      );
    },
    close() {
      counts.close();
      elements.close();
    },
  };
}
