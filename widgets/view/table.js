// A table whose columns sort and whose rows are chosen by mouse or keyboard.

import { element } from "./dom.js";

const MOST_ROWS = 200; // until "show all": more rows than these cost time and help nobody

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {boolean} [isNumeric] stands to the right, sorts by number, the largest first
 * @property {(value: any, row: any[]) => string} [text] what a cell says; the value itself by default
 * @property {(value: any, row: any[]) => string | undefined} [colour] of a cell, as #rrggbb
 */

/**
 * @typedef {object} Table
 * @property {HTMLElement} root
 * @property {(rows: any[][], caption?: string) => void} setRows
 * @property {(keys: Iterable<string>) => void} select rows by key; those that are not shown come in sight
 * @property {any[][]} shown the rows in the order of the screen
 */

/**
 * @param {{
 *   caption: string,
 *   columns: Column[],
 *   rows: any[][],
 *   key: (row: any[]) => string,
 *   onSelect: (key: string, isMore: boolean, row: any[]) => void,
 *   ink?: (fill: string) => string,
 * }} what `ink`: colour of text on a coloured cell
 * @returns {Table}
 */
export function makeTable({ caption, columns, rows, key, onSelect, ink = () => "#000" }) {
  let all = rows;
  /** @type {Set<string>} */
  let chosen = new Set();
  let sorted = -1;
  let isDown = false;
  let isWhole = false;
  let active = 0;
  const body = element("tbody");
  const title = element("caption", {}, [caption]);
  const heads = columns.map((column, k) => {
    const button = element("button", { type: "button" }, [column.label]);
    button.addEventListener("click", () => sortBy(k));
    return element("th", { scope: "col", ...(column.isNumeric ? { class: "etlab-view-right" } : {}) }, [button]);
  });
  const table = element("table", { role: "grid" }, [title, element("thead", {}, [element("tr", {}, heads)]), body]);
  const more = element("div", { class: "etlab-view-more", hidden: "" });
  const root = element("div", { class: "etlab-view-grid" }, [table, more]);
  const moreButton = element("button", { type: "button" });
  moreButton.addEventListener("click", () => {
    isWhole = true;
    show();
  });
  more.append(moreButton);

  /** @type {any[][]} */
  let shown = [];
  const show = () => {
    shown = [...all];
    if (sorted >= 0) shown.sort((a, b) => compareCells(a[sorted], b[sorted]) * (isDown ? -1 : 1));
    const count = isWhole ? shown.length : Math.min(shown.length, MOST_ROWS);
    active = Math.min(active, Math.max(count - 1, 0));
    body.replaceChildren(...shown.slice(0, count).map(rowOf));
    more.hidden = count === shown.length;
    moreButton.textContent = `show all ${shown.length.toLocaleString("en")} rows`;
  };
  /** @type {(row: any[], place: number) => HTMLElement} */
  const rowOf = (row, place) => {
    const cells = columns.map((column, k) => {
      const value = row[k];
      const text = column.text ? column.text(value, row) : value === null || value === undefined ? "" : String(value);
      const cell = element("td", column.isNumeric ? { class: "etlab-view-right" } : {}, [text]);
      const colour = column.colour?.(value, row);
      if (colour) Object.assign(cell.style, { background: colour, color: ink(colour) });
      return cell;
    });
    return element(
      "tr",
      {
        "data-row": String(place),
        tabindex: place === active ? "0" : "-1",
        "aria-selected": String(chosen.has(key(row))),
      },
      cells,
    );
  };
  /** @param {number} k */
  const sortBy = (k) => {
    isDown = sorted === k ? !isDown : Boolean(columns[k].isNumeric);
    sorted = k;
    heads.forEach((head, place) => {
      if (place === k) head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    show();
  };
  /** @param {number} place */
  const moveTo = (place) => {
    const list = /** @type {HTMLElement[]} */ ([...body.children]);
    if (!list.length) return;
    list[active]?.setAttribute("tabindex", "-1");
    active = Math.min(Math.max(place, 0), list.length - 1);
    list[active].setAttribute("tabindex", "0");
    list[active].focus();
  };
  body.addEventListener("click", (event) => {
    const at = /** @type {HTMLElement} */ (event.target).closest("[data-row]");
    if (!at) return;
    moveTo(Number(at.getAttribute("data-row")));
    onSelect(key(shown[active]), event.shiftKey || event.ctrlKey || event.metaKey, shown[active]);
  });
  body.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowDown: () => moveTo(active + 1),
      ArrowUp: () => moveTo(active - 1),
      Home: () => moveTo(0),
      End: () => moveTo(body.children.length - 1),
      Enter: () => onSelect(key(shown[active]), event.shiftKey, shown[active]),
      " ": () => onSelect(key(shown[active]), event.shiftKey, shown[active]),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
  show();
  return {
    root,
    setRows(next, said = title.textContent ?? "") {
      all = next;
      title.textContent = said;
      show();
    },
    select(keys) {
      chosen = new Set(keys);
      const list = /** @type {HTMLElement[]} */ ([...body.children]);
      list.forEach((row, place) => row.setAttribute("aria-selected", String(chosen.has(key(shown[place])))));
      const first = list.find((row) => row.getAttribute("aria-selected") === "true");
      if (!first || root.contains(document.activeElement)) return;
      const [top, bottom] = [first.offsetTop - 26, first.offsetTop + first.offsetHeight];
      if (top < root.scrollTop) root.scrollTop = top;
      else if (bottom > root.scrollTop + root.clientHeight) root.scrollTop = bottom - root.clientHeight;
    },
    get shown() {
      return shown;
    },
  };
}

/**
 * Numbers by size, texts by letters, what is missing at the end of an ascending order.
 * @param {any} a
 * @param {any} b
 */
export function compareCells(a, b) {
  const [isNone, isOther] = [a, b].map((one) => one === null || one === undefined || one !== one);
  if (isNone || isOther) return Number(isNone) - Number(isOther);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}
