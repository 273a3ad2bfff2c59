// What the colours mean.

import { element } from "./dom.js";

/**
 * @param {HTMLElement} host
 * @param {string} name
 * @param {{legend: {label: string, colour: string, count?: number}[]}} painted
 */
export function showLegend(host, name, painted) {
  host.replaceChildren();
  if (!painted.legend.length) return;
  host.append(element("span", { class: "etlab-view-legend-name" }, [name]));
  for (const { label, colour, count } of painted.legend) {
    const swatch = element("span", { class: "etlab-view-swatch", "aria-hidden": "true" });
    swatch.style.background = colour;
    const text = count === undefined ? label : `${label} ${count.toLocaleString("en")}`;
    host.append(element("span", { class: "etlab-view-entry" }, [swatch, text]));
  }
}
