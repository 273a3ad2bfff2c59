// The graph as a tree of text: what the keyboard walks and screen readers read. Only the rows that
// can be seen are in the page.

import { element } from "../view/dom.js";
import { labels } from "./sizes.js";

/** @typedef {import("./tree.js").Tree} Tree */

const ROW = 24;
const SPARE = 6; // rows that are kept above and below the visible ones

/**
 * @typedef {object} OutlineEvents
 * @property {(item: number) => void} onFocus the active row has changed
 * @property {(item: number, isMore: boolean) => void} onSelect
 * @property {(item: number, isOpen: boolean) => void} onToggle
 */

/**
 * @typedef {object} Row
 * @property {number} item
 * @property {number} level from 1
 * @property {number} place among its siblings, from 1
 * @property {number} siblings
 */

/**
 * @param {Tree} tree
 * @param {string} prefix of ids, unique in the page
 * @param {OutlineEvents} events
 */
export function makeOutline(tree, prefix, events) {
  const { count } = tree.graph;
  const space = element("div", { class: "etlab-gv-space", role: "presentation" });
  const root = element(
    "div",
    {
      class: "etlab-gv-outline",
      role: "tree",
      tabindex: "0",
      "aria-label": `Modules and operators of ${tree.graph.title}`,
      "aria-multiselectable": "true",
    },
    [space],
  );
  /** @type {Row[]} */
  let rows = [];
  /** @type {Set<number>} */
  let open = new Set([0]);
  /** @type {Set<number>} */
  let selected = new Set();
  let active = 0;
  /** @type {(item: number) => string} */
  let note = () => "";

  /** @type {(item: number) => boolean} */
  const isGroup = (item) => item >= count;

  const flatten = () => {
    const activeItem = rows[active]?.item ?? -1;
    rows = [];
    /** @type {(group: number, level: number) => void} */
    const add = (group, level) => {
      const list = tree.members[group];
      list.forEach((item, k) => {
        rows.push({ item, level, place: k + 1, siblings: list.length });
        if (isGroup(item) && open.has(item - count)) add(item - count, level + 1);
      });
    };
    add(0, 1);
    active = Math.max(0, rows.findIndex((row) => row.item === activeItem));
    space.style.height = `${rows.length * ROW}px`;
    show();
  };

  const show = () => {
    const first = Math.max(0, Math.floor(root.scrollTop / ROW) - SPARE);
    const last = Math.min(rows.length, Math.ceil((root.scrollTop + root.clientHeight) / ROW) + SPARE);
    const shown = [];
    for (let k = first; k < last; k++) shown.push(rowElement(k));
    if (active < first || active >= last) if (rows[active]) shown.push(rowElement(active));
    space.replaceChildren(...shown);
    if (rows[active]) root.setAttribute("aria-activedescendant", `${prefix}-${rows[active].item}`);
    else root.removeAttribute("aria-activedescendant");
  };

  /** @param {number} k */
  const rowElement = (k) => {
    const { item, level, place, siblings } = rows[k];
    const [title, second] = labels(tree, item);
    const row = element("div", {
      id: `${prefix}-${item}`,
      role: "treeitem",
      class: "etlab-gv-row",
      "aria-level": String(level),
      "aria-posinset": String(place),
      "aria-setsize": String(siblings),
      "aria-selected": String(selected.has(item)),
      "data-row": String(k),
    });
    row.style.top = `${k * ROW}px`;
    row.style.paddingLeft = `${6 + (level - 1) * 14}px`;
    if (k === active) row.classList.add("etlab-gv-active");
    const twist = element("span", { class: "etlab-gv-twist", "aria-hidden": "true" });
    if (isGroup(item)) {
      const isOpen = open.has(item - count);
      row.setAttribute("aria-expanded", String(isOpen));
      twist.textContent = isOpen ? "▾" : "▸";
    }
    const name = isGroup(item) ? title : tree.graph.names[item];
    const detail = isGroup(item) ? second : name === title ? second : `${title} ${second}`;
    const extra = note(item);
    row.setAttribute("aria-label", [name, detail, extra].filter(Boolean).join(", "));
    row.append(twist, element("span", { class: "etlab-gv-name" }, [name]));
    row.append(element("span", { class: "etlab-gv-second" }, [extra ? `${detail} · ${extra}` : detail]));
    return row;
  };

  /** @param {number} k */
  const moveTo = (k) => {
    if (!rows.length) return;
    active = Math.min(Math.max(k, 0), rows.length - 1);
    const top = active * ROW;
    if (top < root.scrollTop) root.scrollTop = top;
    else if (top + ROW > root.scrollTop + root.clientHeight) root.scrollTop = top + ROW - root.clientHeight;
    show();
    events.onFocus(rows[active].item);
  };

  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = rows[active];
    if (!row) return;
    const isOpen = isGroup(row.item) && open.has(row.item - count);
    const page = Math.max(1, Math.floor(root.clientHeight / ROW) - 1);
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowDown: () => moveTo(active + 1),
      ArrowUp: () => moveTo(active - 1),
      PageDown: () => moveTo(active + page),
      PageUp: () => moveTo(active - page),
      Home: () => moveTo(0),
      End: () => moveTo(rows.length - 1),
      ArrowRight: () => {
        if (isOpen) moveTo(active + 1);
        else if (isGroup(row.item)) events.onToggle(row.item, true);
      },
      ArrowLeft: () => {
        if (isOpen) events.onToggle(row.item, false);
        else for (let k = active - 1; k >= 0; k--) if (rows[k].level < row.level) return moveTo(k);
      },
      Enter: () => (isGroup(row.item) ? events.onToggle(row.item, !isOpen) : events.onSelect(row.item, false)),
      " ": () => events.onSelect(row.item, event.shiftKey),
      "]": () => siblingOf(1),
      "[": () => siblingOf(-1),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  /** @param {number} step */
  const siblingOf = (step) => {
    const { level } = rows[active];
    for (let k = active + step; k >= 0 && k < rows.length && rows[k].level >= level; k += step) {
      if (rows[k].level === level) return moveTo(k);
    }
  };

  /** Bring the row of the selected item into sight. */
  const follow = () => {
    const [only] = selected;
    const at = selected.size === 1 ? rows.findIndex((row) => row.item === only) : -1;
    if (at >= 0) {
      active = at;
      const top = at * ROW;
      const isSeen = top >= root.scrollTop && top + ROW <= root.scrollTop + root.clientHeight;
      if (!isSeen) root.scrollTop = top - root.clientHeight / 2;
    }
    show();
  };

  /** @param {MouseEvent} event */
  const onClick = (event) => {
    const at = /** @type {HTMLElement} */ (event.target).closest("[data-row]");
    if (!at) return;
    active = Number(at.getAttribute("data-row"));
    const { item } = rows[active];
    const isTwist = /** @type {HTMLElement} */ (event.target).classList.contains("etlab-gv-twist");
    if (isTwist && isGroup(item)) events.onToggle(item, !open.has(item - count));
    else events.onSelect(item, event.shiftKey || event.ctrlKey || event.metaKey);
    show();
  };

  root.addEventListener("keydown", onKey);
  root.addEventListener("click", onClick);
  root.addEventListener("scroll", show, { passive: true });
  const watcher = new ResizeObserver(show);
  watcher.observe(root);

  return {
    root,
    /** @param {Set<number>} next */
    setOpen(next) {
      open = next;
      flatten();
      follow();
    },
    /** @param {Set<number>} items */
    select(items) {
      selected = items;
      follow();
    },
    /** @param {(item: number) => string} next what else is said of an item */
    setNote(next) {
      note = next;
      show();
    },
    close() {
      watcher.disconnect();
    },
  };
}
