// SizeView: a treemap of what fills a file, its path, and a table of the parts.

import { branchAt, growTree, joinParts, layTree } from "./size/tree.js";
import { element } from "./view/dom.js";
import { counted, formatBytes, formatShare } from "./view/format.js";
import { showLegend } from "./view/legend.js";
import { button, picker, showView } from "./view/host.js";
import { CATEGORY_COLOURS, luminance, mix } from "./view/palette.js";
import { makeChart, pickable, svgElement } from "./view/svg.js";
import { makeTable } from "./view/table.js";

/** @typedef {import("./size/tree.js").Branch} Branch */
/** @typedef {import("./size/tree.js").Entry} Entry */

const GREY = "#999999";
const [SMALLER, LARGER] = ["#0072B2", "#D55E00"];

/** @param {import("./view/host.js").Host} host */
function build(host) {
  const { content, kept } = host;
  /** @type {Entry[]} */
  const entries = content.entries;
  const before = content.before;
  const root = growTree(content.title, entries);
  kept.at ??= [];
  kept.colourBy ??= before ? "change" : "kind";
  /** @type {Set<string>} */
  let selected = new Set();
  const olds = new Map((before?.entries ?? []).map((/** @type {Entry} */ one) => [one.key, one.nbytes]));
  const dtypes = [...new Set(entries.map(({ dtype }) => dtype))].filter(Boolean).sort();

  // ---- colours -------------------------------------------------------------------------------

  /** @param {Branch} one */
  const colourOf = (one) => {
    if (kept.colourBy === "kind") return content.colours[one.kind] ?? GREY;
    if (kept.colourBy === "dtype") {
      const at = one.entry ? dtypes.indexOf(one.entry.dtype) : -1;
      return at < 0 ? GREY : CATEGORY_COLOURS[at % (CATEGORY_COLOURS.length - 1)];
    }
    const old = one.keys.reduce((sum, key) => sum + (olds.get(key) ?? 0), 0);
    if (old === one.nbytes) return GREY;
    return one.nbytes > old ? LARGER : SMALLER;
  };
  const sayColours = () => {
    const words = {
      kind: root.inner.map(({ kind }) => ({ label: kind, colour: content.colours[kind] ?? GREY })),
      dtype: dtypes.map((label, k) => ({ label, colour: CATEGORY_COLOURS[k % (CATEGORY_COLOURS.length - 1)] })),
      change: [
        { label: "larger or new", colour: LARGER },
        { label: "smaller", colour: SMALLER },
        { label: "as before", colour: GREY },
      ],
    };
    showLegend(host.legend, kept.colourBy, { legend: words[/** @type {"kind"} */ (kept.colourBy)] });
  };

  // ---- treemap -------------------------------------------------------------------------------

  const share = (/** @type {number} */ bytes) => formatShare(bytes / (content.total || 1));
  /** @param {Branch} one */
  const words = (one) => {
    const { entry } = one;
    const what = entry ? [entry.dtype, entry.shape].filter(Boolean).join(" ") : `${one.keys.length} parts`;
    const old = before ? changeText(one.nbytes, one.keys.reduce((sum, key) => sum + (olds.get(key) ?? 0), 0)) : "";
    return [
      one.at.slice(1).join(".") || one.name,
      `${formatBytes(one.nbytes)} (${one.nbytes.toLocaleString("en")} B), ${share(one.nbytes)}`,
      what,
      entry?.readers ? `read by ${entry.readers}` : "",
      old,
    ].filter(Boolean);
  };
  const chart = makeChart((width) => {
    const height = Math.max(160, host.model.get("height") - 230);
    const here = branchAt(root, kept.at);
    const parts = layTree(here, { x: 1, y: 1, w: width - 2, h: height - 2 }).map(({ branch, box, isHull, depth }) => {
      const isChosen = branch.keys.length > 0 && branch.keys.every((key) => selected.has(key));
      const colour = colourOf(branch);
      const fill = isHull ? mix(host.theme.paper, colour, 0.12 + 0.06 * depth) : colour;
      const shape = svgElement("rect", {
        x: box.x,
        y: box.y,
        width: Math.max(box.w - 1, 0.5),
        height: Math.max(box.h - 1, 0.5),
        fill,
        stroke: isChosen ? "var(--view-accent)" : isHull ? colour : "var(--view-paper)",
        "stroke-width": isChosen ? 3 : 0.7,
      });
      const made = svgElement("g", {}, [shape]);
      const letters = Math.floor((box.w - 8) / 6.2);
      if (letters >= 4 && box.h >= 14) {
        const text = isHull ? `${branch.name} ${formatBytes(branch.nbytes)}` : branch.name;
        const label = svgElement("text", { x: box.x + 4, y: box.y + 12.5, "pointer-events": "none" }, [
          text.length > letters ? `${text.slice(0, letters - 1)}…` : text,
        ]);
        label.setAttribute("fill", luminance(fill) > 0.179 ? "#000" : "#fff");
        made.append(label);
      }
      made.addEventListener("dblclick", () => goTo(branch.inner.length ? branch.at : branch.at.slice(0, -1)));
      made.addEventListener("keydown", (event) => {
        if (/** @type {KeyboardEvent} */ (event).key !== "z" || !branch.inner.length) return;
        event.preventDefault();
        event.stopPropagation();
        goTo(branch.at);
      });
      return pickable(made, branch.at.join("/"), words(branch).join(", "), isChosen, (isMore) => choose(branch.keys, isMore));
    });
    return { height, parts };
  });

  // ---- where we are --------------------------------------------------------------------------

  const path = element("nav", { class: "etlab-size-path", "aria-label": "Path" });
  /** @param {string[]} at */
  const goTo = (at) => {
    const here = branchAt(root, at);
    const isInside = host.body.contains(document.activeElement);
    kept.at = here.at;
    const steps = [root];
    while (steps.at(-1) !== here) {
      const last = /** @type {Branch} */ (steps.at(-1));
      const next = last.inner.find((one) => one.at.every((name, k) => name === here.at[k]));
      if (!next) break;
      steps.push(next);
    }
    const buttons = steps.map((one, k) => {
      const made = button(`${one.name} ${formatBytes(one.nbytes)}`, `Show what ${one.name} holds`);
      if (k === steps.length - 1) made.setAttribute("aria-current", "location");
      made.addEventListener("click", () => goTo(one.at));
      return made;
    });
    path.replaceChildren(...buttons.flatMap((one, k) => (k ? ["›", one] : [one])));
    chart.redraw();
    // What had the focus is no longer there: it goes to where we are.
    if (isInside) buttons.at(-1)?.focus();
  };

  // ---- table ---------------------------------------------------------------------------------

  const bytesText = (/** @type {number | null} */ value) => (value === null ? "" : value.toLocaleString("en"));
  const signedText = (/** @type {number} */ value) => (value > 0 ? `+${bytesText(value)}` : value < 0 ? `−${bytesText(-value)}` : "0");
  const joined = joinParts(entries, before?.entries ?? []);
  const table = makeTable({
    caption: before ? `parts, and those of ${before.title}` : "parts, the largest first",
    columns: [
      { label: "part" },
      { label: "kind" },
      { label: "dtype" },
      { label: "shape" },
      { label: "bytes", isNumeric: true, text: bytesText },
      { label: "share", isNumeric: true, text: (value) => (value === null ? "" : formatShare(value)) },
      { label: "read by" },
      ...(before ? [{ label: "before", isNumeric: true, text: bytesText }, { label: "Δ", isNumeric: true, text: signedText }] : []),
    ],
    rows: joined.map(({ entry, now, old }) => [
      entry.key,
      entry.kind,
      entry.dtype,
      entry.shape,
      now,
      now === null ? null : now / (content.total || 1),
      entry.readers,
      ...(before ? [old, (now ?? 0) - (old ?? 0)] : []),
    ]),
    key: (row) => row[0],
    onSelect: (key, isMore) => choose([key], isMore),
  });

  // ---- choosing ------------------------------------------------------------------------------

  /** @type {(keys: string[], isMore: boolean) => void} */
  const choose = (keys, isMore) => {
    const next = new Set(isMore ? selected : []);
    const isOff = isMore && keys.every((key) => next.has(key));
    for (const key of keys) isOff ? next.delete(key) : next.add(key);
    host.select([...next]);
  };
  const sayTotal = () => {
    const change = before ? `; ${changeText(content.total, before.total)} against ${before.title}` : "";
    host.say(`${formatBytes(content.total)} (${content.total.toLocaleString("en")} bytes) in ${entries.length} parts${change}`);
  };
  const setColour = (/** @type {string} */ by) => {
    kept.colourBy = by;
    sayColours();
    chart.redraw();
  };
  const colours = picker("colour by", ["kind", "dtype", ...(before ? ["change"] : [])], kept.colourBy, setColour);
  const upButton = button("↑", "Out of this part (u)");
  const up = () => goTo(kept.at.slice(0, -1));
  upButton.addEventListener("click", up);
  host.tools.append(colours.root, upButton);
  host.body.append(path, chart.root, table.root);
  sayColours();
  goTo(kept.at);
  return {
    draw: chart.redraw,
    select: (/** @type {string[]} */ keys) => {
      selected = new Set(keys);
      const sum = entries.reduce((total, one) => total + (selected.has(one.key) ? one.nbytes : 0), 0);
      const what = keys.length > 1 ? counted(keys.length, "part") : keys[0];
      if (what) host.say(`${what}: ${formatBytes(sum)}, ${share(sum)}`);
      else sayTotal();
      table.select(keys);
      chart.redraw();
    },
    keys: { u: up, c: () => colours.list.focus() },
    close: chart.close,
  };
}

/** @type {(now: number, old: number) => string} */
function changeText(now, old) {
  const change = now - old;
  const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
  const by = sign + formatBytes(Math.abs(change));
  return old ? `${by} (${sign}${formatShare(Math.abs(change) / old)})` : by;
}

/** @param {{model: any, el: HTMLElement}} place */
function render(place) {
  return showView(place, {
    name: "etlab-size",
    label: "Size",
    help: [
      ["Tab, Enter", "walk over the parts; select"],
      ["z, u", "into a part; out of it"],
      ["c", "colour by"],
    ],
    build,
  });
}

export default { render };
