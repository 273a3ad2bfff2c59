// CompareView: graphs side by side, joined node by node. What is selected, searched or looked at in
// one pane is shown in all.

import { builtIn } from "./graph/colours.js";
import { alike, copied, groupMarks, nodeInMiddle, plain } from "./graph/compare.js";
import { compareFrame } from "./graph/compare_frame.js";
import { element, isDarkPage, onThemeChange } from "./view/dom.js";
import { showLegend } from "./view/legend.js";
import { makePane } from "./graph/pane.js";
import { compile } from "./graph/query.js";
import { representatives } from "./graph/tree.js";

/** @typedef {import("./graph/pane.js").Pane} Pane */
/** @typedef {import("./graph/colours.js").Overlay} Overlay */

/**
 * A graph with its pane.
 * @typedef {object} Side
 * @property {Pane} pane
 * @property {Int32Array} links family of every node; -1
 * @property {Uint8Array} marks of every node: 1 added, 2 removed, 3 changed
 * @property {Map<number, number[]>} families nodes of every family
 * @property {HTMLElement} host
 */

const SIGNS = { added: "+", removed: "−", changed: "~" };

/** @param {{model: any, el: HTMLElement}} host */
function render({ model, el }) {
  const source = String(model.get("_esm") ?? "");
  const parts = compareFrame(model.get("titles"));
  const hides = String(model.get("hides") ?? "");
  if (hides) parts.root.append(element("style", {}, [`.${hides} { display: none; }`]));
  el.append(parts.root);
  /** @type {Side[]} */
  const sides = [];
  let family = -1;
  let isSyncing = false;
  let difference = -1;
  /** @type {{status: "added" | "removed" | "changed", families: number[], text: string, at: [number, string]}[]} */
  const differences = model.get("differences");

  model.get("graphs").forEach((/** @type {DataView} */ bytes, /** @type {number} */ k) => {
    const host = parts.stages[k];
    const pane = makePane(host, bytes, source, {
      onSelect: (item) => choose(k, item),
      onOpen: (open) => openAlike(k, open),
      onHover: () => {},
      onScene: () => showFamily(),
      onCamera: () => follow(k),
    });
    const links = new Int32Array(copied(model.get("links")[k]));
    const marks = new Uint8Array(copied(model.get("marks")[k]));
    const families = new Map();
    links.forEach((one, node) => {
      if (one < 0) return;
      const list = families.get(one);
      if (list) list.push(node);
      else families.set(one, [node]);
    });
    sides.push({ pane, links, marks, families, host });
    pane.setMarks(groupMarks(pane, marks));
  });

  // ---- selection -----------------------------------------------------------------------------

  /** @type {(k: number, item: number) => void} */
  const choose = (k, item) => {
    const { pane, links } = sides[k];
    const { count } = pane.tree.graph;
    const node = item >= count ? pane.tree.first[item - count] : item;
    select(node < 0 ? -1 : links[node], k);
    if (item >= 0 && family < 0) pane.select(new Set([item]));
  };
  /** @type {(next: number, from: number) => void} */
  const select = (next, from) => {
    family = next;
    showFamily();
    if (next >= 0) sides.forEach((side, k) => k !== from && bringIn(side));
    const names = sides.map(({ pane, families }) =>
      (families.get(next) ?? []).map((/** @type {number} */ node) => pane.tree.graph.names[node]),
    );
    model.set("selection", names);
    model.save_changes();
    showTable();
    parts.status.textContent = next < 0 ? "nothing selected" : names.map((one) => one.join(" ") || "–").join(" | ");
  };
  /** The boxes that stand for the family, in every pane. */
  const showFamily = () => {
    for (const { pane, families } of sides) {
      const nodes = families.get(family) ?? [];
      const stand = nodes.length ? representatives(pane.tree, pane.open) : [];
      pane.select(new Set(nodes.map((node) => stand[node])));
    }
  };
  /** @param {Side} side */
  const bringIn = ({ pane, families, host }) => {
    const nodes = families.get(family) ?? [];
    if (!nodes.length || !pane.scene) return;
    const stand = representatives(pane.tree, pane.open);
    const at = pane.scene.items.indexOf(stand[nodes[0]]) * 4;
    const [x, y, w, h] = pane.scene.boxes.subarray(at, at + 4);
    const { camera } = pane;
    const right = camera.x + host.clientWidth / camera.scale;
    const bottom = camera.y + host.clientHeight / camera.scale;
    if (x >= camera.x && x + w <= right && y >= camera.y && y + h <= bottom) return;
    centre(pane, host, x + w / 2, y + h / 2);
  };
  /** @type {(pane: Pane, host: HTMLElement, x: number, y: number) => void} */
  const centre = (pane, host, x, y) => {
    pane.camera.x = x - host.clientWidth / pane.camera.scale / 2;
    pane.camera.y = y - host.clientHeight / pane.camera.scale / 2;
    pane.redraw();
  };

  // ---- looking at the same place -------------------------------------------------------------

  /** @param {number} k the pane whose camera has moved */
  const follow = (k) => {
    if (isSyncing || !parts.sync.checked) return;
    const { pane, links, host } = sides[k];
    isSyncing = true;
    sides.forEach((side, other) => {
      const node = other === k ? -1 : nodeInMiddle(pane, host, links, side.families);
      const nodes = node < 0 ? undefined : side.families.get(links[node]);
      if (!nodes || !side.pane.scene) return;
      const stand = representatives(side.pane.tree, side.pane.open);
      const at = side.pane.scene.items.indexOf(stand[nodes[0]]) * 4;
      const [x, y, w, h] = side.pane.scene.boxes.subarray(at, at + 4);
      side.pane.camera.scale = pane.camera.scale;
      centre(side.pane, side.host, x + w / 2, y + h / 2);
    });
    isSyncing = false;
  };
  /** @type {(k: number, open: Set<number>) => void} */
  const openAlike = (k, open) => {
    if (isSyncing || !parts.sync.checked) return;
    const { groupNames } = sides[k].pane.tree.graph;
    const names = new Map(groupNames.map((name, g) => [plain(name), open.has(g)]));
    isSyncing = true;
    sides.forEach(({ pane }, other) => {
      if (other === k) return;
      const next = new Set(pane.open);
      pane.tree.graph.groupNames.forEach((name, g) => {
        const wanted = g > 0 ? names.get(plain(name)) : undefined;
        if (wanted === true) for (let h = g; h > 0; h = pane.tree.graph.groupParent[h]) next.add(h);
        if (wanted === false) next.delete(g);
      });
      pane.setOpen(next);
    });
    isSyncing = false;
  };

  // ---- finding and differences ---------------------------------------------------------------

  const find = () => {
    const query = parts.query.value.trim();
    parts.query.removeAttribute("aria-invalid");
    const counts = [];
    for (const { pane } of sides) {
      const { graph, hidden } = pane.tree;
      if (!query) {
        pane.setHits(null);
        continue;
      }
      try {
        const test = compile(query, graph, null);
        const found = Uint8Array.from(hidden, (isHidden, node) => (!isHidden && test(node) ? 1 : 0));
        counts.push(found.reduce((sum, one) => sum + one, 0));
        pane.setHits(found);
      } catch (error) {
        pane.setHits(null);
        parts.query.setAttribute("aria-invalid", "true");
        parts.found.textContent = error instanceof Error ? error.message : String(error);
        return;
      }
    }
    parts.found.textContent = counts.length ? `${counts.join(" | ")} found` : "";
  };
  /** @param {number} step */
  const nextDifference = (step) => {
    if (!differences.length) return;
    difference = (difference + step + differences.length + (difference < 0 && step < 0 ? 1 : 0)) % differences.length;
    showDifference();
  };
  const showDifference = () => {
    const { at, text } = differences[difference];
    const [k, name] = at;
    const node = sides[k].pane.tree.graph.names.indexOf(name);
    parts.found.textContent = `${difference + 1} of ${differences.length}`;
    select(sides[k].links[node], -1);
    sides[k].pane.reveal(node);
    if (family < 0) sides[k].pane.select(new Set([node]));
    parts.status.textContent = text;
    parts.list.value = String(difference);
  };

  // ---- colours, facts ------------------------------------------------------------------------

  const colour = () => {
    const wanted = model.get("color_by");
    const names = [...builtIn(sides[0].pane.tree).keys()];
    parts.colour.replaceChildren(...["none", ...names].map((name) => element("option", { value: name }, [name])));
    parts.colour.value = names.includes(wanted) ? wanted : "none";
    const overlays = sides.map(({ pane }) => builtIn(pane.tree).get(wanted) ?? null);
    alike(overlays);
    sides.forEach(({ pane }, k) => pane.setOverlay(overlays[k]));
    const fullest = sides.reduce((a, b) => (b.pane.painted.legend.length > a.pane.painted.legend.length ? b : a));
    showLegend(parts.legend, wanted, fullest.pane.painted);
  };
  const theme = () => {
    const isDark = isDarkPage(model.get("theme"));
    parts.root.classList.toggle("etlab-view-dark", isDark);
    for (const { pane } of sides) pane.setDark(isDark);
  };
  const showTable = () => {
    parts.facts.replaceChildren();
    if (family < 0) return;
    const nodes = sides.map(({ families }) => families.get(family) ?? []);
    /** @type {[string, (graph: any, node: number) => string][]} */
    const facts = [
      ["name", (graph, node) => graph.names[node]],
      ["operator", (graph, node) => graph.operators[graph.operator[node]]],
      ["dtype", (graph, node) => graph.dtypes[graph.dtype[node]]],
      ["shape", (graph, node) => graph.shapes[graph.shape[node]]],
      ["backend", (graph, node) => graph.backends[graph.backend[node]]],
      ["module", (graph, node) => graph.modules[graph.module[node]]],
      ["source", (graph, node) => graph.sources[graph.source[node]]],
    ];
    for (const [label, value] of facts) {
      const texts = nodes.map((list, k) => {
        const all = list.map((node) => value(sides[k].pane.tree.graph, node));
        return [...new Set(all)].filter(Boolean).join(", ") || "–";
      });
      const row = element("tr", {}, [element("th", { scope: "row" }, [label])]);
      for (const text of texts) row.append(element("td", {}, [text]));
      if (new Set(texts).size > 1) row.classList.add("etlab-cv-differs");
      parts.facts.append(row);
    }
  };

  /** @type {[HTMLElement, string, any][]} */
  const listeners = [
    [parts.query, "input", find],
    [parts.colour, "change", () => { model.set("color_by", parts.colour.value); model.save_changes(); colour(); }],
    [parts.fitButton, "click", () => sides.forEach(({ pane }) => pane.fit())],
    [parts.backButton, "click", () => nextDifference(-1)],
    [parts.nextButton, "click", () => nextDifference(1)],
    [parts.list, "change", () => { difference = Number(parts.list.value); showDifference(); }],
    [parts.root, "keydown", onKey],
  ];
  parts.stages.forEach((stage) => listeners.push([stage, "pointerdown", () => stage.focus({ preventScroll: true })]));
  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key === "Escape") {
      event.stopPropagation();
      target.blur();
      return;
    }
    if (/^(INPUT|SELECT)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => unknown>} */
    const actions = {
      n: () => nextDifference(1),
      N: () => nextDifference(-1),
      f: () => sides.forEach(({ pane }) => pane.fit()),
      "/": () => parts.query.focus(),
      c: () => parts.colour.focus(),
    };
    const k = parts.stages.indexOf(/** @type {any} */ (target));
    if (k >= 0) {
      const { pane, host } = sides[k];
      Object.assign(actions, {
        ArrowLeft: () => pane.pan(-60, 0),
        ArrowRight: () => pane.pan(60, 0),
        ArrowUp: () => pane.pan(0, -60),
        ArrowDown: () => pane.pan(0, 60),
        "+": () => pane.zoom(1.25, host.clientWidth / 2, host.clientHeight / 2),
        "-": () => pane.zoom(0.8, host.clientWidth / 2, host.clientHeight / 2),
      });
    }
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
  for (const [target, name, listener] of listeners) target.addEventListener(name, listener);
  const takeSelection = () => {
    const wanted = model.get("selection") ?? [];
    for (let k = 0; k < sides.length; k++) {
      const node = sides[k].pane.tree.graph.names.indexOf(wanted[k]?.[0] ?? "");
      if (node < 0) continue;
      if (sides[k].links[node] !== family) select(sides[k].links[node], -1);
      return;
    }
  };
  /** @type {[string, any][]} */
  const changes = [
    ["change:color_by", colour],
    ["change:theme", theme],
    ["change:selection", takeSelection],
  ];
  for (const [name, callback] of changes) model.on(name, callback);
  const offTheme = onThemeChange(theme);
  parts.body.style.height = `${model.get("height")}px`;
  differences.forEach(({ status, text }, k) => {
    parts.list.append(element("option", { value: String(k) }, [`${SIGNS[status]} ${text}`]));
  });
  colour();
  theme();
  isSyncing = true;
  const first = sides.map(({ pane }, k) => {
    const names = new Set(model.get("opened")[k]);
    const open = pane.tree.graph.groupNames.map((name, g) => (names.has(name) ? g : 0));
    return pane.setOpen(new Set(open));
  });
  Promise.all(first).then(() => {
    isSyncing = false;
    takeSelection();
    parts.root.dataset.ready = "true";
  });
  /** @type {any} */ (parts.root).sides = sides;

  return () => {
    for (const [name, callback] of changes) model.off(name, callback);
    for (const [target, name, listener] of listeners) target.removeEventListener(name, listener);
    offTheme();
    for (const { pane } of sides) pane.close();
    parts.root.remove();
  };
}

export default { render };
