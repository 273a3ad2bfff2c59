// Tabs: one of several panels is shown; arrows move between them.

import { element } from "./dom.js";

let tabSets = 0;

/**
 * @param {string} label
 * @param {{name: string, label: string, panel: HTMLElement}[]} tabs
 * @param {Record<string, any>} [kept] keeps under `tab` which is shown
 */
export function makeTabs(label, tabs, kept = {}) {
  const prefix = `etlab-tabs${++tabSets}`;
  const buttons = tabs.map((tab, k) => {
    const made = element("button", { type: "button", role: "tab", id: `${prefix}-${k}`, "aria-controls": `${prefix}-${k}-panel` }, [tab.label]);
    made.addEventListener("click", () => show(tab.name));
    tab.panel.id = `${prefix}-${k}-panel`;
    tab.panel.setAttribute("role", "tabpanel");
    tab.panel.setAttribute("aria-labelledby", made.id);
    return made;
  });
  const list = element("div", { class: "etlab-tabs", role: "tablist", "aria-label": label }, buttons);
  const root = element("div", {}, [list, ...tabs.map(({ panel }) => panel)]);
  let shown = "";
  /** @param {string} name */
  const show = (name) => {
    shown = tabs.some((tab) => tab.name === name) ? name : (tabs[0]?.name ?? "");
    tabs.forEach((tab, k) => {
      const isShown = tab.name === shown;
      tab.panel.hidden = !isShown;
      buttons[k].setAttribute("aria-selected", String(isShown));
      buttons[k].setAttribute("tabindex", isShown ? "0" : "-1");
    });
    kept.tab = shown;
  };
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const place = tabs.findIndex((tab) => tab.name === shown);
    const next = (place + step + tabs.length) % tabs.length;
    show(tabs[next].name);
    buttons[next].focus();
  });
  show(kept.tab ?? "");
  return {
    root,
    show,
    get shown() {
      return shown;
    },
  };
}
