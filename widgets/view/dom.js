// Small helpers for elements and for the theme of the page.

/**
 * What anywidget hands over.
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, callback: any) => void} on
 * @property {(event: string, callback: any) => void} off
 * @property {(message: any) => void} send
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} [children]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * Whether the page is dark: as the host says, or else as the system does.
 * @param {string} wish light, dark or auto
 */
export function isDarkPage(wish) {
  if (wish === "light" || wish === "dark") return wish === "dark";
  const { body, documentElement } = document;
  const lab = body.getAttribute("data-jp-theme-light");
  if (lab) return lab === "false";
  if (body.classList.contains("vscode-dark") || body.classList.contains("vscode-high-contrast")) {
    return true;
  }
  if (body.classList.contains("vscode-light")) return false;
  const colab = documentElement.getAttribute("theme");
  if (colab) return colab === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * Calls back when the page may have changed its theme.
 * @param {() => void} callback
 * @returns {() => void} ends it
 */
export function onThemeChange(callback) {
  const media = window.matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", callback);
  const observer = new MutationObserver(callback);
  for (const one of [document.body, document.documentElement]) {
    observer.observe(one, { attributes: true, attributeFilter: ["class", "theme", "data-jp-theme-light"] });
  }
  return () => {
    media.removeEventListener("change", callback);
    observer.disconnect();
  };
}
