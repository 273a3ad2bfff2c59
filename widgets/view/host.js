// What the views of reports share: toolbar, help, code to copy, legend, status, theme, selection.
// A view builds its body from `content` and is built anew when the kernel sends another report.

import { makeAsk } from "./ask.js";
import { makeCodeToggle } from "./code.js";
import { element, isDarkPage, onThemeChange } from "./dom.js";
import { DARK, LIGHT } from "./palette.js";

/** @typedef {import("./palette.js").Theme} Theme */

/**
 * What a view gets.
 * @typedef {object} Host
 * @property {any} content what Python's `_content()` gave
 * @property {HTMLElement} tools where its buttons and pickers go
 * @property {HTMLElement} body where its charts and tables go
 * @property {HTMLElement} legend
 * @property {Theme} theme colours of the page, at the time of asking
 * @property {boolean} isDark
 * @property {string[]} selection
 * @property {(names: string[]) => void} select tells Python, and calls the view's `select`
 * @property {(text: string) => void} say the status line, read aloud
 * @property {(x: number, y: number, lines: string[], over: HTMLElement) => void} hint beside a place in `over`; no lines: none
 * @property {(question: Record<string, any>) => Promise<any>} ask the kernel; see ask.js
 * @property {any} model
 * @property {Record<string, any>} kept what a view wants to find again when it is built anew
 */

/**
 * What a view gives.
 * @typedef {object} Built
 * @property {() => void} [draw] the theme has changed
 * @property {(names: string[]) => void} [select] the selection has changed, here or in Python
 * @property {Record<string, (event: KeyboardEvent) => void>} [keys] by `event.key`, wherever the focus is but in inputs
 * @property {() => void} [close]
 */

/**
 * @param {{model: any, el: HTMLElement}} place what anywidget hands over
 * @param {{
 *   name: string,
 *   label: string,
 *   help: [string, string][],
 *   build: (host: Host) => Built,
 * }} view `name` is its CSS class, `label` what screen readers call it, `help` keys and what they do
 * @returns {() => void} ends it
 */
export function showView({ model, el }, { name, label, help, build }) {
  const { ask, close: closeAsk } = makeAsk(model);
  const tools = element("span", { class: "etlab-view-tools" });
  const codeButton = button("copy as code", "Show and copy the Python that does the same", false);
  const helpButton = button("?", "Help (?)", false);
  const bar = element("div", { class: "etlab-view-bar", role: "toolbar", "aria-label": label }, [
    tools,
    element("span", { class: "etlab-view-fill" }),
    codeButton,
    helpButton,
  ]);
  const code = element("pre", { class: "etlab-view-code", role: "region", "aria-label": "Code", tabindex: "0", hidden: "" });
  const body = element("div", { class: "etlab-view-body", tabindex: "-1" });
  const legend = element("div", { class: "etlab-view-legend", role: "group", "aria-label": "Legend" });
  const status = element("div", { class: "etlab-view-status", role: "status", "aria-live": "polite" });
  const hintBox = element("div", { class: "etlab-view-hint", hidden: "", "aria-hidden": "true" });
  /** @type {[string, string][]} */
  const keys = [...help, ["?, Esc", "this help; leave"]];
  const helpBox = element("div", { class: "etlab-view-help", hidden: "", role: "region", "aria-label": "Help" }, [
    element("table", {}, [
      element("caption", {}, ["Keys"]),
      ...keys.map(([key, text]) =>
        element("tr", {}, [element("td", {}, [element("code", {}, [key])]), element("td", {}, [text])]),
      ),
    ]),
  ]);
  const root = element(
    "div",
    { class: `etlab-view ${name}`, "data-lm-suppress-shortcuts": "true", role: "region", "aria-label": label },
    [bar, code, helpBox, body, element("div", { class: "etlab-view-foot" }, [legend, status]), hintBox],
  );
  const hides = String(model.get("hides") ?? "");
  if (hides) root.append(element("style", {}, [`.${hides} { display: none; }`]));
  el.append(root);

  /** @type {Built} */
  let built = {};
  let isDark = false;
  /** @type {Host} */
  const host = {
    content: null,
    tools,
    body,
    legend,
    model,
    ask,
    kept: {},
    get theme() {
      return isDark ? DARK : LIGHT;
    },
    get isDark() {
      return isDark;
    },
    get selection() {
      return model.get("selection") ?? [];
    },
    select(names) {
      model.set("selection", names);
      model.save_changes();
      built.select?.(names);
    },
    say(text) {
      status.textContent = text;
      status.title = text;
    },
    hint(x, y, lines, over) {
      hintBox.hidden = !lines.length;
      if (!lines.length) return;
      hintBox.replaceChildren(...lines.map((line) => element("div", {}, [line])));
      const [outer, inner] = [root.getBoundingClientRect(), over.getBoundingClientRect()];
      const left = inner.left - outer.left + x + 14;
      const top = inner.top - outer.top + y + 14;
      hintBox.style.left = `${Math.max(4, Math.min(left, outer.width - hintBox.offsetWidth - 6))}px`;
      hintBox.style.top = `${Math.max(4, Math.min(top, outer.height - hintBox.offsetHeight - 6))}px`;
    },
  };

  const setTheme = () => {
    isDark = isDarkPage(model.get("theme"));
    root.classList.toggle("etlab-view-dark", isDark);
  };
  const rebuild = () => {
    const hasFocus = body.contains(document.activeElement) || tools.contains(document.activeElement);
    built.close?.();
    for (const one of [tools, body, legend]) one.replaceChildren();
    host.content = model.get("content");
    host.hint(0, 0, [], body);
    built = build(host);
    built.select?.(host.selection);
    root.dataset.ready = "true";
    if (hasFocus && !root.contains(document.activeElement)) body.focus({ preventScroll: true });
  };
  const toggleCode = makeCodeToggle(codeButton, code, () => model.get("code"), host.say);
  const toggleHelp = () => {
    helpBox.hidden = !helpBox.hidden;
    helpButton.setAttribute("aria-pressed", String(!helpBox.hidden));
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key === "Escape") {
      event.stopPropagation();
      if (!helpBox.hidden) toggleHelp();
      else if (!code.hidden) toggleCode();
      else target.blur();
      return;
    }
    const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
    const isPressing = target.tagName === "BUTTON" && (event.key === " " || event.key === "Enter");
    if (isTyping || isPressing || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = event.key === "?" ? toggleHelp : built.keys?.[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action(event);
  };
  helpButton.addEventListener("click", toggleHelp);
  root.addEventListener("keydown", onKey);
  const setHeight = () => {
    body.style.height = `${model.get("height")}px`;
  };
  const redraw = () => {
    setTheme();
    built.draw?.();
  };
  /** @type {[string, any][]} */
  const changes = [
    ["change:content", rebuild],
    ["change:selection", () => built.select?.(host.selection)],
    ["change:theme", redraw],
    ["change:height", setHeight],
    ["change:code", () => { code.textContent = model.get("code"); }],
  ];
  for (const [event, callback] of changes) model.on(event, callback);
  const offTheme = onThemeChange(redraw);
  setTheme();
  setHeight();
  rebuild();
  return () => {
    for (const [event, callback] of changes) model.off(event, callback);
    offTheme();
    built.close?.();
    closeAsk();
    root.remove();
  };
}

/**
 * @param {string} text
 * @param {string} label
 * @param {boolean} [pressed]
 */
export function button(text, label, pressed) {
  const made = element("button", { type: "button", title: label }, [text]);
  if (text.length < 3) made.setAttribute("aria-label", label);
  if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
  return made;
}

/**
 * A picker with its label.
 * @param {string} label
 * @param {readonly string[]} choices
 * @param {string} value
 * @param {(value: string) => void} onPick
 */
export function picker(label, choices, value, onPick) {
  const list = element("select", { "aria-label": label }, choices.map((one) => element("option", { value: one }, [one])));
  list.value = value;
  list.addEventListener("change", () => onPick(list.value));
  const root = element("label", { class: "etlab-view-label" }, [label, list]);
  return { root, list };
}
