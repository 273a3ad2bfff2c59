// GraphView: a toolbar, the outline, the canvas, and what is known of the selection.

import { builtIn } from "./graph/colours.js";
import { makeCrumbs } from "./graph/crumbs.js";
import { makeCodeToggle } from "./view/code.js";
import { element, isDarkPage, onThemeChange } from "./view/dom.js";
import { frame } from "./graph/frame.js";
import { showLegend } from "./view/legend.js";
import { number } from "./view/palette.js";
import { makeOutline } from "./graph/outline.js";
import { makePane } from "./graph/pane.js";
import { makePanel } from "./graph/panel.js";
import { makePicture } from "./graph/picture.js";
import { compile } from "./graph/query.js";
import { labels } from "./graph/sizes.js";

/** @typedef {import("./graph/colours.js").Overlay} Overlay */
/** @typedef {import("./view/dom.js").Model} Model */

const PATIENCE = 8000; // milliseconds until a silent kernel is called silent

let views = 0;

/** @param {{model: Model, el: HTMLElement}} host */
function render({ model, el }) {
  const prefix = `etlab-gv${++views}`;
  const source = String(model.get("_esm") ?? "");
  const parts = frame(prefix);
  const hides = String(model.get("hides") ?? "");
  if (hides) parts.root.append(element("style", {}, [`.${hides} { display: none; }`]));
  el.append(parts.root);

  const pane = makePane(parts.stage, model.get("graph"), source, {
    onSelect: (item, isMore) => choose(item, isMore),
    onOpen: (open) => sayOpen(open),
    onHover: (item, x, y) => hint(item, x, y),
  });
  const { tree } = pane;
  const { graph } = tree;
  const panel = makePanel(tree, { onLine: (line) => chooseLine(line) });
  parts.side.append(panel.root);
  const outline = makeOutline(tree, prefix, {
    onFocus: (item) => setSelection(new Set([item])),
    onSelect: (item, isMore) => choose(item, isMore),
    onToggle: (item) => pane.toggle(item),
  });
  parts.outline.append(outline.root);
  const showPath = makeCrumbs(parts.path, tree, (item) => {
    setSelection(new Set([item]));
    pane.reveal(item);
  });

  const places = new Map(graph.names.map((name, node) => [name, node]));
  graph.groupNames.forEach((name, g) => {
    if (g > 0 && !places.has(name)) places.set(name, graph.count + g);
  });
  /** @param {number} item */
  const nameOf = (item) => (item < graph.count ? graph.names[item] : graph.groupNames[item - graph.count]);
  const common = builtIn(tree);
  /** @type {Set<number>} */
  let selection = new Set();
  /** @type {number[]} */
  let hits = [];
  let hit = -1;
  /** @type {Map<string, [string, string][]>} */
  const details = new Map();
  /** @type {Map<string, import("./graph/panel.js").SourceText>} */
  const texts = new Map();

  // ---- colours -------------------------------------------------------------------------------

  /** @returns {Map<string, Overlay>} */
  const overlays = () => {
    const all = new Map(common);
    for (const [name, one] of Object.entries(model.get("overlays") ?? {})) {
      const view = /** @type {DataView} */ (one.values);
      const copy = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
      const values = one.kind === "category" ? new Uint8Array(copy) : new Float32Array(copy);
      all.set(name, { ...one, name, values });
    }
    return all;
  };
  /** @type {Overlay | null} */
  let overlay = null;
  const colour = () => {
    const all = overlays();
    const wanted = model.get("color_by");
    overlay = all.get(wanted) ?? null;
    parts.colour.replaceChildren(
      ...["none", ...all.keys()].map((name) => element("option", { value: name }, [name])),
    );
    parts.colour.value = overlay ? wanted : "none";
    pane.setOverlay(overlay);
    outline.setNote(overlay?.kind === "number" ? valueText : () => "");
    showLegend(parts.legend, wanted, pane.painted);
    find();
  };
  /** @param {number} item */
  const valueText = (item) => {
    const value = pane.painted.value[item];
    if (!overlay || value !== value) return "";
    return overlay.kind === "category" ? overlay.classes[value] : number(value, overlay.unit);
  };
  const theme = () => {
    const isDark = isDarkPage(model.get("theme"));
    parts.root.classList.toggle("etlab-view-dark", isDark);
    pane.setDark(isDark);
    showLegend(parts.legend, model.get("color_by"), pane.painted);
  };

  // ---- selection -----------------------------------------------------------------------------

  /** @type {(item: number, isMore: boolean) => void} */
  const choose = (item, isMore) => {
    const next = new Set(isMore ? selection : []);
    if (item >= 0 && !next.delete(item)) next.add(item);
    setSelection(next);
  };
  const setSelection = (/** @type {Set<number>} */ next) => {
    showSelection(next);
    model.set("selection", [...next].map(nameOf));
    model.save_changes();
  };
  /** @param {Set<number>} next */
  const showSelection = (next) => {
    selection = next;
    pane.select(next);
    outline.select(next);
    const item = next.size ? [...next][next.size - 1] : -1;
    showFacts(item);
    showPath(item);
    const [title, second] = item < 0 ? ["", ""] : labels(tree, item);
    const others = next.size > 1 ? ` and ${next.size - 1} more` : "";
    parts.status.textContent =
      item < 0 ? "nothing selected" : [nameOf(item), title, second, valueText(item)].join(", ") + others;
  };
  /** @param {number} item */
  const showFacts = (item) => {
    const name = item < 0 ? "" : nameOf(item);
    /** @type {[string, string][]} */
    const more = [];
    if (item >= 0 && overlay && !common.has(overlay.name) && valueText(item)) more.push([overlay.name, valueText(item)]);
    panel.show(item, [...more, ...(details.get(name) ?? [])]);
    const node = item >= graph.count ? tree.first[item - graph.count] : item;
    const place = node < 0 ? "" : graph.sources[graph.source[node]];
    showSource(place);
    if (item < 0 || item >= graph.count || details.has(name)) return;
    model.send({ type: "details", node: name });
  };
  let patience = 0;
  /** @param {string} place as `file.py:12` */
  const showSource = (place) => {
    const cut = place.lastIndexOf(":");
    const file = place.slice(0, cut);
    if (cut < 0) return panel.showSource(null, 0);
    const text = texts.get(file);
    if (text) return panel.showSource(text, Number(place.slice(cut + 1)));
    /** @param {string} problem */
    const say = (problem) => panel.showSource({ name: file, first: 0, lines: [], problem }, 0);
    say("Asking the kernel for the source …");
    model.send({ type: "source", source: place });
    clearTimeout(patience);
    patience = setTimeout(() => texts.has(file) || say("The kernel does not answer."), PATIENCE);
  };
  /** @param {string} line */
  const chooseLine = (line) => {
    const at = graph.sources.indexOf(line);
    const next = new Set();
    for (let i = 0; i < graph.count; i++) if (graph.source[i] === at && !tree.hidden[i]) next.add(i);
    setSelection(next);
    const [first] = next;
    if (first !== undefined) pane.reveal(first);
  };
  const takeSelection = () => {
    const items = (model.get("selection") ?? []).map((/** @type {string} */ name) => places.get(name));
    const next = new Set(/** @type {number[]} */ (items.filter((/** @type {any} */ i) => i !== undefined)));
    if (next.size === selection.size && [...next].every((item) => selection.has(item))) return;
    showSelection(next);
    if (next.size) pane.reveal([...next][next.size - 1]);
  };
  const picture = makePicture(model, pane.canvas, (text) => (parts.status.textContent = text));
  /** @type {(message: any, buffers?: BlobPart[]) => void} */
  const onMessage = (message, buffers) => {
    if (message.id) return picture.take(message.id, buffers?.[0]);
    if (message.type === "details") details.set(message.node, message.rows);
    if (message.type === "source") texts.set(message.text.name, message.text);
    if (selection.size) showFacts([...selection][selection.size - 1]);
  };

  // ---- what is open --------------------------------------------------------------------------

  /** @param {Set<number>} open */
  const sayOpen = (open) => {
    outline.setOpen(open);
    model.set("opened", [...open].filter((g) => g > 0).map((g) => graph.groupNames[g]));
    model.save_changes();
  };
  const takeOpen = () => {
    const names = new Set(model.get("opened") ?? []);
    const open = new Set([0]);
    graph.groupNames.forEach((name, g) => names.has(name) && open.add(g));
    if (pane.scene && open.size === pane.open.size && [...open].every((g) => pane.open.has(g))) return;
    outline.setOpen(open);
    return pane.setOpen(open);
  };
  /** @param {boolean} isOpen */
  const openAll = (isOpen) => {
    const groups = isOpen ? graph.groupNames.map((_, g) => g) : [0];
    const open = new Set(groups);
    sayOpen(open);
    pane.setOpen(open).then(() => pane.fit());
  };

  // ---- finding -------------------------------------------------------------------------------

  const find = () => {
    const query = parts.query.value.trim();
    parts.query.removeAttribute("aria-invalid");
    hits = [];
    hit = -1;
    if (!query) {
      pane.setHits(null);
      parts.found.textContent = "";
      return;
    }
    try {
      const values = overlay && overlay.kind === "number" ? overlay.values : null;
      const test = compile(query, graph, values);
      const found = new Uint8Array(graph.count);
      for (let i = 0; i < graph.count; i++) {
        if (tree.hidden[i] || !test(i)) continue;
        found[i] = 1;
        hits.push(i);
      }
      pane.setHits(found);
      parts.found.textContent = `${hits.length.toLocaleString("en")} found`;
    } catch (error) {
      pane.setHits(null);
      parts.query.setAttribute("aria-invalid", "true");
      parts.found.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  /** @param {number} step */
  const nextHit = (step) => {
    if (!hits.length) return;
    hit = (hit + step + hits.length + (hit < 0 && step < 0 ? 1 : 0)) % hits.length;
    parts.found.textContent = `${hit + 1} of ${hits.length.toLocaleString("en")}`;
    setSelection(new Set([hits[hit]]));
    pane.reveal(hits[hit]);
  };
  /** @param {number} step -1: to the first source, 1: to the first user */
  const flow = (step) => {
    const item = selection.size ? [...selection][selection.size - 1] : -1;
    if (item < 0 || !pane.scene) return;
    const { sources, targets } = tree;
    for (let e = 0; e < sources.length; e++) {
      const [here, there] = step < 0 ? [targets[e], sources[e]] : [sources[e], targets[e]];
      if (here !== item) continue;
      setSelection(new Set([there]));
      return pane.reveal(there);
    }
  };
  /** @type {(item: number, x: number, y: number) => void} */
  const hint = (item, x, y) => {
    parts.hint.hidden = item < 0;
    if (item < 0) return;
    const [title, second] = labels(tree, item);
    const dtype = item < graph.count ? graph.dtypes[graph.dtype[item]] : "";
    parts.hint.textContent = [nameOf(item), title, `${dtype} ${second}`.trim(), valueText(item)]
      .filter(Boolean)
      .join(" · ");
    parts.hint.style.left = `${Math.min(x + 14, Math.max(0, parts.stage.clientWidth - 260))}px`;
    parts.hint.style.top = `${y + 16}px`;
  };

  // ---- the frame -----------------------------------------------------------------------------

  /** @type {(part: HTMLElement, button: HTMLElement, isShown: boolean) => void} */
  const showPart = (part, button, isShown) => {
    part.hidden = !isShown;
    button.setAttribute("aria-pressed", String(isShown));
  };
  const toggleOutline = () => showPart(parts.outline, parts.outlineButton, parts.outline.hidden);
  const toggleSide = () => showPart(parts.side, parts.sideButton, parts.side.hidden);
  const toggleHelp = () => showPart(parts.help, parts.helpButton, parts.help.hidden);

  makeCodeToggle(parts.codeButton, parts.code, () => model.get("code"), (text) => (parts.status.textContent = text));

  /** @type {[HTMLElement, string, any][]} */
  const listeners = [
    [parts.query, "input", () => { model.set("query", parts.query.value); model.save_changes(); find(); }],
    [parts.query, "keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
    }],
    [parts.colour, "change", () => { model.set("color_by", parts.colour.value); model.save_changes(); colour(); }],
    [parts.fitButton, "click", pane.fit],
    [parts.openButton, "click", () => openAll(true)],
    [parts.closeButton, "click", () => openAll(false)],
    [parts.outlineButton, "click", toggleOutline],
    [parts.sideButton, "click", toggleSide],
    [parts.pictureButton, "click", picture.ask],
    [parts.helpButton, "click", toggleHelp],
    [parts.root, "keydown", onKey],
    [parts.stage, "pointerdown", () => parts.stage.focus({ preventScroll: true })],
  ];
  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyping = target === parts.query || target === parts.colour;
    if (event.key === "Escape") {
      event.stopPropagation();
      if (!parts.help.hidden) toggleHelp();
      else if (isTyping) outline.root.focus();
      else target.blur();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey) return;
    /** @type {Record<string, () => unknown>} */
    const actions = event.altKey
      ? { ArrowUp: () => flow(-1), ArrowDown: () => flow(1) }
      : {
          f: pane.fit,
          "/": () => parts.query.focus(),
          n: () => nextHit(1),
          N: () => nextHit(-1),
          c: () => parts.colour.focus(),
          i: toggleSide,
          g: () => { if (parts.side.hidden) toggleSide(); },
          o: toggleOutline,
          p: picture.ask,
          "?": toggleHelp,
          "+": () => pane.zoom(1.25, parts.stage.clientWidth / 2, parts.stage.clientHeight / 2),
          "-": () => pane.zoom(0.8, parts.stage.clientWidth / 2, parts.stage.clientHeight / 2),
        };
    if (target === parts.stage && !event.altKey) {
      Object.assign(actions, {
        ArrowLeft: () => pane.pan(-60, 0),
        ArrowRight: () => pane.pan(60, 0),
        ArrowUp: () => pane.pan(0, -60),
        ArrowDown: () => pane.pan(0, 60),
      });
    }
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
  for (const [target, name, listener] of listeners) target.addEventListener(name, listener);

  /** @type {[string, any][]} */
  const changes = [
    ["change:selection", takeSelection],
    ["change:opened", takeOpen],
    ["change:color_by", colour],
    ["change:overlays", colour],
    ["change:theme", theme],
    ["change:height", () => setHeight()],
    ["change:query", () => {
      if (parts.query.value === model.get("query")) return;
      parts.query.value = model.get("query");
      find();
    }],
    ["msg:custom", onMessage],
  ];
  for (const [name, callback] of changes) model.on(name, callback);
  const offTheme = onThemeChange(theme);
  const setHeight = () => (parts.body.style.height = `${model.get("height")}px`);
  setHeight();
  parts.query.value = model.get("query") ?? "";
  theme();
  colour();
  // Where there is little room the drawing gets it; the width is known once the page shows us.
  const firstWidth = new ResizeObserver(() => {
    if (!el.clientWidth) return;
    firstWidth.disconnect();
    if (el.clientWidth < 900) toggleSide();
    if (el.clientWidth < 640) toggleOutline();
  });
  firstWidth.observe(el);
  Promise.resolve(takeOpen()).then(() => {
    takeSelection();
    parts.root.dataset.ready = "true";
  });
  showFacts(-1);
  /** @type {any} */ (parts.root).pane = pane;

  return () => {
    for (const [name, callback] of changes) model.off(name, callback);
    for (const [target, name, listener] of listeners) target.removeEventListener(name, listener);
    offTheme();
    firstWidth.disconnect();
    clearTimeout(patience);
    outline.close();
    pane.close();
    parts.root.remove();
  };
}

export default { render };
