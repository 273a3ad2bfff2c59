// What is known of the selected item, and the source it came from.

import { element } from "../view/dom.js";
import { KINDS } from "./wire.js";

/** @typedef {import("./tree.js").Tree} Tree */

/**
 * @typedef {object} SourceText
 * @property {string} name of the file
 * @property {number} first number of the first line
 * @property {string[]} lines
 * @property {string} problem in words, when there is no text
 */

/**
 * @param {Tree} tree
 * @param {{onLine: (source: string) => void}} events a line of the source was chosen
 */
export function makePanel(tree, events) {
  const { graph } = tree;
  const facts = element("dl", { class: "etlab-gv-facts" });
  const code = element("div", { class: "etlab-gv-code", role: "group", "aria-label": "Source" });
  const root = element("div", { class: "etlab-gv-panel" }, [facts, code]);
  const made = new Set(graph.sources);

  /** @type {(label: string, value: string) => void} */
  const fact = (label, value) => {
    if (value !== "") facts.append(element("dt", {}, [label]), element("dd", {}, [value]));
  };

  return {
    root,
    /**
     * @param {number} item -1: nothing is selected
     * @param {[string, string][]} more what the kernel or the colouring says of it
     */
    show(item, more) {
      facts.replaceChildren();
      if (item < 0) {
        facts.append(element("dd", {}, ["Select a box to see its facts and its source."]));
        return;
      }
      if (item >= graph.count) {
        const g = item - graph.count;
        fact("group", graph.groupNames[g] || graph.title);
        fact("is", graph.groupTypes[g]);
        fact("holds", `${tree.calls[g]} operators`);
      } else {
        const bytes = graph.bytes[item];
        fact("name", graph.names[item]);
        fact("operator", graph.operators[graph.operator[item]]);
        fact("kind", KINDS[graph.kind[item]]);
        fact("module", graph.modules[graph.module[item]]);
        fact("result", `${graph.dtypes[graph.dtype[item]]} ${graph.shapes[graph.shape[item]]}`.trim());
        fact("size", bytes >= 0 ? `${bytes.toLocaleString("en")} B` : "");
        fact("backend", graph.backends[graph.backend[item]]);
        fact("source", graph.sources[graph.source[item]]);
      }
      for (const [label, value] of more) fact(label, value);
    },
    /**
     * @param {SourceText | null} text
     * @param {number} line that is meant
     */
    showSource(text, line) {
      code.replaceChildren();
      if (!text) return;
      if (text.problem) {
        code.append(element("p", {}, [text.problem]));
        return;
      }
      code.append(element("div", { class: "etlab-gv-file" }, [text.name]));
      let meant = null;
      text.lines.forEach((content, k) => {
        const number = text.first + k;
        const source = `${text.name}:${number}`;
        const row = element("div", { class: "etlab-gv-line" }, [
          element("span", { class: "etlab-gv-number", "aria-hidden": "true" }, [String(number)]),
          element("span", {}, [content || " "]),
        ]);
        if (made.has(source)) {
          row.classList.add("etlab-gv-made");
          row.setAttribute("role", "button");
          row.setAttribute("tabindex", "0");
          row.title = "select what this line made";
          row.addEventListener("click", () => events.onLine(source));
          row.addEventListener("keydown", (event) => {
            if (event.key === "Enter" || event.key === " ") {
              event.preventDefault();
              event.stopPropagation();
              events.onLine(source);
            }
          });
        }
        if (number === line) {
          row.classList.add("etlab-gv-meant");
          row.setAttribute("aria-current", "true");
          meant = row;
        }
        code.append(row);
      });
      const chosen = /** @type {HTMLElement | null} */ (meant);
      if (chosen) code.scrollTop = chosen.offsetTop - code.clientHeight / 2;
    },
  };
}
