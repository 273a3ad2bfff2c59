// The elements of a GraphView, without what they do.

import { element } from "../view/dom.js";
import { HELP } from "./query.js";

const KEYS = [
  ["↑ ↓ ← →", "walk the outline; open and close"],
  ["Enter, Space", "open or close; select"],
  ["[ ]", "the box before or after, at the same level"],
  ["Alt+↑, Alt+↓", "go where a value comes from, or where it goes"],
  ["f, +, -", "fit the drawing; zoom"],
  ["/, n, N", "find; next and last hit"],
  ["c, i, g", "colour by; facts; source"],
  ["o, p", "outline; picture as PNG"],
  ["?, Esc", "this help; leave"],
];

/** @param {string} prefix */
export function frame(prefix) {
  /** @type {(text: string, label: string, pressed?: boolean) => HTMLButtonElement} */
  const button = (text, label, pressed) => {
    const made = element("button", { type: "button", "aria-label": label, title: label }, [text]);
    if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
    return made;
  };
  const query = element("input", {
    type: "search",
    placeholder: "find: op:conv dtype:int8 …",
    "aria-label": "Find nodes",
    spellcheck: "false",
  });
  const found = element("span", { class: "etlab-view-found", role: "status" });
  const colour = element("select", { "aria-label": "Colour by" });
  const outlineButton = button("☰", "Outline (o)", true);
  const fitButton = button("⤢", "Fit the drawing (f)");
  const openButton = button("⊞", "Open everything");
  const closeButton = button("⊟", "Close everything");
  const sideButton = button("i", "Facts and source (i)", true);
  const pictureButton = button("PNG", "Save the picture as PNG (p)");
  const codeButton = button("copy as code", "Copy as code", false);
  const helpButton = button("?", "Help (?)", false);
  const bar = element("div", { class: "etlab-view-bar", role: "toolbar", "aria-label": "Graph" }, [
    outlineButton,
    query,
    found,
    element("span", { class: "etlab-view-fill" }),
    element("label", { class: "etlab-view-label" }, ["colour by", colour]),
    fitButton,
    openButton,
    closeButton,
    sideButton,
    pictureButton,
    codeButton,
    helpButton,
  ]);
  const outline = element("div", { class: "etlab-gv-left" });
  const hint = element("div", { class: "etlab-view-hint", hidden: "", "aria-hidden": "true" });
  const stage = element(
    "div",
    { class: "etlab-gv-stage", tabindex: "0", role: "group", "aria-label": "Drawing; the outline says the same in words" },
    [hint],
  );
  const path = element("nav", { class: "etlab-gv-path", "aria-label": "Path" });
  const code = element("pre", { class: "etlab-view-code", hidden: "" });
  const side = element("div", { class: "etlab-gv-right" });
  const body = element("div", { class: "etlab-gv-body" }, [outline, stage, side]);
  const legend = element("div", { class: "etlab-view-legend", role: "group", "aria-label": "Legend" });
  const status = element("div", { class: "etlab-view-status", role: "status", "aria-live": "polite" });
  const foot = element("div", { class: "etlab-view-foot" }, [legend, status]);
  /** @type {(rows: string[][], title: string) => HTMLElement} */
  const helpTable = (rows, title) =>
    element("table", {}, [
      element("caption", {}, [title]),
      ...rows.map(([key, text]) =>
        element("tr", {}, [element("td", {}, [element("code", {}, [key])]), element("td", {}, [text])]),
      ),
    ]);
  const help = element("div", { class: "etlab-view-help", hidden: "", role: "region", "aria-label": "Help" }, [
    helpTable(HELP, "Find"),
    helpTable(KEYS, "Keys"),
  ]);
  const root = element(
    "div",
    { class: "etlab-view etlab-gv", id: prefix, "data-lm-suppress-shortcuts": "true", role: "region", "aria-label": "Graph view" },
    [bar, code, help, path, body, foot],
  );
  return {
    root,
    query,
    found,
    colour,
    outlineButton,
    fitButton,
    openButton,
    closeButton,
    sideButton,
    pictureButton,
    codeButton,
    helpButton,
    code,
    path,
    outline,
    hint,
    stage,
    side,
    body,
    legend,
    status,
    help,
  };
}
