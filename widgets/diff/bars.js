// Two bars for every number of two programs.

import { pickable, svgElement, svgText } from "../view/svg.js";

const BAR_ROW = 21;
const BAR_HEAD = 24;
const THICK = 7;

/** @typedef {[string, string, string, number, number, string]} Figure section, method, what, before, after, in words */

/**
 * Figures by section, in order; of each those that differ most come first.
 * @param {Figure[]} figures
 * @param {boolean} withEqual
 * @param {number} most of a section
 */
export function barSections(figures, withEqual, most) {
  /** @type {Map<string, Figure[]>} */
  const sections = new Map();
  for (const figure of figures) sections.set(figure[0], [...(sections.get(figure[0]) ?? []), figure]);
  return [...sections].flatMap(([name, all]) => {
    const shown = all.filter(([, , , before, after]) => withEqual || before !== after);
    shown.sort((a, b) => Math.abs(b[4] - b[3]) - Math.abs(a[4] - a[3]));
    const largest = Math.max(1, ...all.map(([, , , before, after]) => Math.max(before, after)));
    return shown.length ? [{ name, largest, rows: shown.slice(0, most), more: Math.max(0, shown.length - most) }] : [];
  });
}

/**
 * @param {object} what
 * @param {number} what.width
 * @param {ReturnType<typeof barSections>} what.sections
 * @param {Set<string>} what.selected names of differences
 * @param {(figure: Figure) => string} what.nameOf
 * @param {(name: string, isMore: boolean) => void} what.onPick
 * @returns {{height: number, parts: Node[]}}
 */
export function drawBars({ width, sections, selected, nameOf, onPick }) {
  const left = Math.min(260, width * 0.36);
  const right = Math.min(200, width * 0.28);
  const letters = Math.floor((left - 16) / 6.2);
  /** @type {Node[]} */
  const parts = [];
  let top = 4;
  for (const { name, largest, rows, more } of sections) {
    const head = svgText(8, top + 15, name);
    head.setAttribute("font-weight", "600");
    parts.push(head);
    top += BAR_HEAD;
    for (const figure of rows) {
      const [, method, what, before, after, words] = figure;
      const label = method ? `${method}, ${what}` : what;
      const key = nameOf(figure);
      const isChosen = selected.has(key);
      /** @type {(place: number, count: number) => SVGElement} */
      const bar = (place, count) =>
        svgElement("rect", {
          x: left,
          y: top + place * (THICK + 1),
          width: (((width - left - right) * count) / largest).toFixed(1),
          height: THICK,
          class: place ? "etlab-diff-after" : "etlab-diff-before",
        });
      const group = svgElement("g", {}, [
        svgElement("rect", { x: 2, y: top - 3, width: width - 4, height: BAR_ROW - 1, class: isChosen ? "etlab-diff-chosen" : "etlab-diff-row" }),
        svgText(left - 8, top + 11, label.length > letters ? `${label.slice(0, letters - 1)}…` : label, "end"),
        bar(0, before),
        bar(1, after),
        svgText(width - right + 8, top + 11, words, "start", "etlab-chart-faint"),
      ]);
      parts.push(before === after ? group : pickable(group, key, `${name}: ${label} ${words}`, isChosen, (isMore) => onPick(key, isMore)));
      top += BAR_ROW;
    }
    if (more) {
      parts.push(svgText(left, top + 11, `and ${more} more`, "start", "etlab-chart-faint"));
      top += BAR_ROW;
    }
  }
  return { height: top + 6, parts };
}
