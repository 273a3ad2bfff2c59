// A button that shows Python and copies it; the code follows the kernel.

import { makeCodeToggle } from "./view/code.js";
import { element, isDarkPage, onThemeChange } from "./view/dom.js";

/**
 * @param {{model: any, el: HTMLElement}} place
 * @returns {() => void}
 */
function render({ model, el }) {
  const press = element("button", {
    type: "button",
    "aria-pressed": "false",
    title: "Show and copy the Python that does the same",
  });
  const code = element("pre", {
    class: "etlab-view-code",
    role: "region",
    "aria-label": "Code",
    tabindex: "0",
    hidden: "",
  });
  const status = element("span", { class: "etlab-view-status", role: "status", "aria-live": "polite" });
  const bar = element("div", { class: "etlab-view-bar" }, [press, status]);
  const root = element("div", { class: "etlab-view etlab-code", "data-lm-suppress-shortcuts": "true" }, [bar, code]);
  el.append(root);
  const show = () => {
    press.textContent = model.get("label");
    code.textContent = model.get("code");
  };
  const setTheme = () => root.classList.toggle("etlab-view-dark", isDarkPage(model.get("theme")));
  makeCodeToggle(press, code, () => model.get("code"), (text) => { status.textContent = text; });
  const changes = ["change:code", "change:label"];
  for (const event of changes) model.on(event, show);
  const offTheme = onThemeChange(setTheme);
  show();
  setTheme();
  return () => {
    for (const event of changes) model.off(event, show);
    offTheme();
    root.remove();
  };
}

export default { render };
