// Pictures made of SVG elements: they follow the page's theme by its CSS variables.

/**
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {(Node | string)[]} [children]
 * @returns {SVGElement}
 */
export function svgElement(tag, attributes = {}, children = []) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/**
 * A text in a picture; `at` is "start", "middle" or "end".
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {string} [at]
 * @param {string} [kind] class
 */
export function svgText(x, y, text, at = "start", kind = "etlab-chart-text") {
  return svgElement("text", { x, y, "text-anchor": at, class: kind }, [text]);
}

/**
 * A picture that is drawn anew for every width of the page.
 * @param {(width: number) => {height: number, parts: Node[]}} draw
 */
export function makeChart(draw) {
  const host = svgElement("svg", { class: "etlab-chart" });
  let width = 0;
  const redraw = () => {
    if (!width) return;
    const { height, parts } = draw(width);
    host.setAttribute("viewBox", `0 0 ${width} ${height}`);
    host.setAttribute("height", String(height));
    const focused = host.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    host.replaceChildren(...parts);
    if (focused) for (const one of host.querySelectorAll("[data-key]")) {
      if (one.getAttribute("data-key") === focused) /** @type {SVGElement} */ (one).focus();
    }
  };
  const watcher = new ResizeObserver(([{ contentRect }]) => {
    const next = Math.max(320, Math.floor(contentRect.width));
    if (next === width || !contentRect.width) return;
    width = next;
    redraw();
  });
  watcher.observe(host);
  return { root: host, redraw, close: () => watcher.disconnect() };
}

/**
 * What the keyboard can reach in a picture, and what a click, Enter or Space does there.
 * @param {SVGElement} part
 * @param {string} key that tells it from the others of its picture
 * @param {string} label
 * @param {boolean} isPressed
 * @param {(isMore: boolean) => void} onPick
 */
export function pickable(part, key, label, isPressed, onPick) {
  part.setAttribute("tabindex", "0");
  part.setAttribute("role", "button");
  part.setAttribute("data-key", key);
  part.setAttribute("aria-label", label);
  part.setAttribute("aria-pressed", String(isPressed));
  part.classList.add("etlab-chart-pick");
  part.append(svgElement("title", {}, [label]));
  part.addEventListener("click", (event) => onPick(event.shiftKey || event.ctrlKey || event.metaKey));
  part.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    onPick(event.shiftKey);
  });
  return part;
}
