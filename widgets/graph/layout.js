// From a tree and the set of open groups to a scene: every level is arranged, from the inside out.

import { arrangeRows } from "./level.js";
import { route } from "./routes.js";
import { HEADER, PADDING, boxSize } from "./sizes.js";
import { representatives } from "./tree.js";

/** @typedef {import("./tree.js").Tree} Tree */
/** @typedef {import("./level.js").Level} Level */
/** @typedef {import("./routes.js").Routed} Routed */

const GUTTER = 36;

/**
 * What is drawn. Hulls (open groups) stand before what is in them.
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {Int32Array} items
 * @property {Float32Array} boxes x, y, width, height of every item
 * @property {Uint8Array} isOpen whether an item is an open group
 * @property {Int32Array} edgeMaker item whose value an edge carries
 * @property {Int32Array} edgeTarget item (or open group) where this piece of the way ends
 * @property {Float32Array} points x, y of all edges
 * @property {Uint32Array} pointStart of every edge in `points`, and the end
 */

/**
 * @typedef {object} Room a level while it is built
 * @property {number} group
 * @property {number[]} items
 * @property {Level} level
 * @property {Map<number, number>} local place of an item in the level
 * @property {Map<number, number>} insOf place of a value that comes in
 * @property {Map<number, number>} outsOf
 * @property {number[]} maker of every edge
 * @property {Routed | null} routed
 */

/**
 * @param {Tree} tree
 * @param {Set<number>} open numbers of open groups; 0, the whole graph, always is
 * @returns {Scene}
 */
export function layOut(tree, open) {
  const all = new Set(open).add(0);
  const rooms = connect(tree, all);
  const order = [...rooms.keys()].sort((a, b) => b - a); // children have larger numbers
  for (const group of order) arrange(tree, rooms, /** @type {Room} */ (rooms.get(group)));
  return compose(tree, rooms);
}

/**
 * The levels with their edges; an edge between levels is one piece in each.
 * @param {Tree} tree
 * @param {Set<number>} open
 * @returns {Map<number, Room>}
 */
function connect(tree, open) {
  const { graph, members, depth } = tree;
  const { count, group, groupParent } = graph;
  /** @type {Map<number, Room>} */
  const rooms = new Map();
  const pending = [0];
  while (pending.length) {
    const g = /** @type {number} */ (pending.pop());
    const room = emptyRoom(g, members[g]);
    rooms.set(g, room);
    for (const item of room.items) {
      if (item >= count && open.has(item - count)) pending.push(item - count);
    }
  }
  const stand = representatives(tree, open);
  /** @param {number} item */
  const around = (item) => (item < count ? group[item] : groupParent[item - count]);
  const seen = new Set();
  const items = count + groupParent.length;
  /** @type {(g: number, maker: number, from: number, to: number) => void} */
  const add = (g, maker, from, to) => {
    const key = maker * 2 * items + (to < 0 ? items + g : to);
    if (seen.has(key)) return;
    seen.add(key);
    addEdge(/** @type {Room} */ (rooms.get(g)), maker, from, to);
  };
  for (let e = 0; e < tree.sources.length; e++) {
    const a = stand[tree.sources[e]];
    let to = stand[tree.targets[e]];
    if (a === to) continue;
    let from = a;
    let g = around(from);
    let h = around(to);
    while (g !== h) {
      if (depth[g] >= depth[h]) {
        add(g, a, from, -1);
        from = count + g;
        g = groupParent[g];
      } else {
        add(h, a, -1, to);
        to = count + h;
        h = groupParent[h];
      }
    }
    add(g, a, from, to);
  }
  return rooms;
}

/**
 * @param {number} group
 * @param {number[]} items
 * @returns {Room}
 */
function emptyRoom(group, items) {
  const local = new Map(items.map((item, place) => [item, place]));
  /** @type {Level} */
  const level = {
    count: items.length,
    ins: 0,
    outs: 0,
    width: [],
    height: [],
    from: [],
    to: [],
    fromPort: [],
    toPort: [],
  };
  const room = { group, items, level, local, insOf: new Map(), outsOf: new Map(), maker: [] };
  return { ...room, routed: null };
}

/**
 * One more edge; -1 stands for outside.
 * @param {Room} room
 * @param {number} maker
 * @param {number} from
 * @param {number} to
 */
function addEdge(room, maker, from, to) {
  const { level, local, insOf, outsOf } = room;
  if (from < 0 && !insOf.has(maker)) insOf.set(maker, level.ins++);
  if (to < 0 && !outsOf.has(maker)) outsOf.set(maker, level.outs++);
  room.maker.push(maker);
  // Places of values from outside are moved behind the boxes once all are known.
  level.from.push(from < 0 ? -1 : /** @type {number} */ (local.get(from)));
  level.to.push(to < 0 ? -1 : /** @type {number} */ (local.get(to)));
}

/**
 * @param {Tree} tree
 * @param {Map<number, Room>} rooms
 * @param {Room} room
 */
function arrange(tree, rooms, room) {
  const { level, items, maker } = room;
  const { count } = tree.graph;
  for (const item of items) {
    const inner = item >= count ? rooms.get(item - count)?.routed : null;
    const [width, height] = inner ? [inner.width, inner.height] : boxSize(tree, item);
    level.width.push(width);
    level.height.push(height);
  }
  for (let e = 0; e < maker.length; e++) {
    const from = level.from[e];
    const to = level.to[e];
    level.fromPort.push(from < 0 ? NaN : portOf(tree, rooms, items[from], maker[e], false));
    level.toPort.push(to < 0 ? NaN : portOf(tree, rooms, items[to], maker[e], true));
    if (from < 0) level.from[e] = level.count + /** @type {number} */ (room.insOf.get(maker[e]));
    if (to < 0) {
      level.to[e] = level.count + level.ins + /** @type {number} */ (room.outsOf.get(maker[e]));
    }
  }
  room.routed = framed(tree, room, route(level, arrangeRows(level, GUTTER), PADDING + 2));
}

/**
 * The place on an open group's border where a value goes through; NaN for other boxes.
 * @param {Tree} tree
 * @param {Map<number, Room>} rooms
 * @param {number} item
 * @param {number} maker
 * @param {boolean} isIn
 */
function portOf(tree, rooms, item, maker, isIn) {
  const inner = item >= tree.graph.count ? rooms.get(item - tree.graph.count) : undefined;
  if (!inner || !inner.routed) return NaN;
  const place = (isIn ? inner.insOf : inner.outsOf).get(maker);
  if (place === undefined) return NaN;
  return (isIn ? inner.routed.inX : inner.routed.outX)[place];
}

/**
 * The level with the frame and the title of its group around it.
 * @param {Tree} tree
 * @param {Room} room
 * @param {Routed} routed
 * @returns {Routed}
 */
function framed(tree, room, routed) {
  const title = room.group ? boxSize(tree, tree.graph.count + room.group)[0] : 0;
  const least = Math.max(title - 2 * PADDING, 0);
  const dx = PADDING + Math.max(0, (least - routed.width) / 2);
  const dy = room.group ? HEADER : 0;
  const { ins } = room.level;
  const { points, pointStart } = routed;
  for (let e = 0; e + 1 < pointStart.length; e++) {
    const fromOutside = room.level.from[e] >= room.level.count && ins > 0;
    for (let p = pointStart[e]; p < pointStart[e + 1]; p += 2) {
      points[p] += dx;
      points[p + 1] += p === pointStart[e] && fromOutside ? 0 : dy;
    }
  }
  return {
    ...routed,
    width: Math.max(routed.width, least) + 2 * PADDING,
    height: routed.height + dy,
    x: routed.x.map((value) => value + dx),
    y: routed.y.map((value) => value + dy),
    inX: routed.inX.map((value) => value + dx),
    outX: routed.outX.map((value) => value + dx),
  };
}

/**
 * Every level at its place.
 * @param {Tree} tree
 * @param {Map<number, Room>} rooms
 * @returns {Scene}
 */
function compose(tree, rooms) {
  const { count } = tree.graph;
  let boxCount = 0;
  let edgeCount = 0;
  let pointCount = 0;
  for (const room of rooms.values()) {
    boxCount += room.items.length;
    edgeCount += room.maker.length;
    pointCount += room.routed?.points.length ?? 0;
  }
  const whole = /** @type {Routed} */ (/** @type {Room} */ (rooms.get(0)).routed);
  /** @type {Scene} */
  const scene = {
    width: whole.width,
    height: whole.height,
    items: new Int32Array(boxCount),
    boxes: new Float32Array(boxCount * 4),
    isOpen: new Uint8Array(boxCount),
    edgeMaker: new Int32Array(edgeCount),
    edgeTarget: new Int32Array(edgeCount),
    points: new Float32Array(pointCount),
    pointStart: new Uint32Array(edgeCount + 1),
  };
  let box = 0;
  let edge = 0;
  let point = 0;
  /** @type {[number, number, number][]} */
  const pending = [[0, 0, 0]];
  while (pending.length) {
    const [group, left, top] = /** @type {[number, number, number]} */ (pending.pop());
    const room = /** @type {Room} */ (rooms.get(group));
    const routed = /** @type {Routed} */ (room.routed);
    const { level, items } = room;
    for (let i = 0; i < items.length; i++, box++) {
      const x = left + routed.x[i];
      const y = top + routed.y[i];
      scene.items[box] = items[i];
      scene.boxes.set([x, y, level.width[i], level.height[i]], box * 4);
      if (items[i] >= count && rooms.has(items[i] - count)) {
        scene.isOpen[box] = 1;
        pending.push([items[i] - count, x, y]);
      }
    }
    for (let e = 0; e < room.maker.length; e++, edge++) {
      scene.edgeMaker[edge] = room.maker[e];
      scene.edgeTarget[edge] = level.to[e] < level.count ? items[level.to[e]] : count + group;
      scene.pointStart[edge] = point;
      for (let p = routed.pointStart[e]; p < routed.pointStart[e + 1]; p += 2) {
        scene.points[point++] = left + routed.points[p];
        scene.points[point++] = top + routed.points[p + 1];
      }
    }
  }
  scene.pointStart[edge] = point;
  return scene;
}
