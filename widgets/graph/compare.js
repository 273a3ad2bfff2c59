// What several graphs side by side need beside their panes.

/** @typedef {import("./pane.js").Pane} Pane */
/** @typedef {import("./colours.js").Overlay} Overlay */

/** @param {DataView} view */
export function copied(view) {
  return /** @type {ArrayBuffer} */ (view.buffer).slice(view.byteOffset, view.byteOffset + view.byteLength);
}

/**
 * The name of a module, whatever delegate it stands in.
 * @param {string} name
 */
export function plain(name) {
  return name.replace(/^[^/]*\//, "");
}

/**
 * Marks of items: a closed group shows that something in it is marked.
 * @param {Pane} pane
 * @param {Uint8Array} marks
 */
export function groupMarks({ tree }, marks) {
  const { count, group, groupParent } = tree.graph;
  const all = new Uint8Array(count + groupParent.length);
  all.set(marks);
  const changed = 3;
  for (let i = 0; i < count; i++) {
    if (!marks[i] || tree.hidden[i]) continue;
    const at = count + group[i];
    all[at] = all[at] && all[at] !== marks[i] ? changed : marks[i];
  }
  for (let g = groupParent.length - 1; g > 0; g--) {
    const at = count + groupParent[g];
    const own = all[count + g];
    if (own) all[at] = all[at] && all[at] !== own ? changed : own;
  }
  return all;
}

/**
 * The node nearest to the middle of a pane that has relatives elsewhere.
 * @param {Pane} pane
 * @param {HTMLElement} host
 * @param {Int32Array} links
 * @param {Map<number, number[]>} elsewhere
 */
export function nodeInMiddle({ tree, scene, camera }, host, links, elsewhere) {
  if (!scene) return -1;
  const x = camera.x + host.clientWidth / camera.scale / 2;
  const y = camera.y + host.clientHeight / camera.scale / 2;
  let best = -1;
  let least = Infinity;
  for (let box = 0, at = 0; box < scene.items.length; box++, at += 4) {
    if (scene.isOpen[box]) continue;
    const dx = scene.boxes[at] + scene.boxes[at + 2] / 2 - x;
    const dy = scene.boxes[at + 1] + scene.boxes[at + 3] / 2 - y;
    const far = dx * dx + dy * dy;
    if (far >= least) continue;
    const item = scene.items[box];
    const node = item < tree.graph.count ? item : tree.first[item - tree.graph.count];
    if (node < 0 || !elsewhere.has(links[node])) continue;
    best = node;
    least = far;
  }
  return best;
}

/**
 * Give equal classes of different graphs equal colours.
 * @param {(Overlay | null)[]} overlays
 */
export function alike(overlays) {
  const categories = overlays.filter((one) => one?.kind === "category");
  /** @type {Map<string, string>} */
  const colours = new Map();
  for (const one of categories) {
    one?.classes.forEach((name, k) => {
      if (!colours.has(name)) colours.set(name, one.colours[k]);
      one.colours[k] = /** @type {string} */ (colours.get(name));
    });
  }
}
