// Who computes what: a bar for each weight, and the calls in order of execution.

import { formatShare } from "../view/format.js";
import { pickable, svgElement, svgText } from "../view/svg.js";

const LEFT = 62;
const RIGHT = 10;
const BAR = 20;
const GAP = 7;
const MOST_BLOCKS = 256; // more neighbours than these are drawn as columns that show their shares

/**
 * Neighbouring calls that the same delegate or our kernels run.
 * @param {[number, number][]} owners of every call in order: backend and part
 * @returns {{start: number, count: number, backend: number}[]}
 */
export function blocksOf(owners) {
  /** @type {{start: number, count: number, backend: number}[]} */
  const blocks = [];
  owners.forEach(([backend, part], place) => {
    const last = place ? owners[place - 1] : null;
    if (last && last[0] === backend && last[1] === part) blocks[blocks.length - 1].count++;
    else blocks.push({ start: place, count: 1, backend });
  });
  return blocks;
}

/**
 * The calls in so many columns, each with how many calls every backend has there.
 * @param {[number, number][]} owners
 * @param {number} columns
 * @param {number} backends
 */
export function columnsOf(owners, columns, backends) {
  return Array.from({ length: columns }, (_, k) => {
    const start = Math.floor((k * owners.length) / columns);
    const end = Math.floor(((k + 1) * owners.length) / columns);
    const counts = new Array(backends).fill(0);
    for (let place = start; place < end; place++) counts[owners[place][0]]++;
    return { start, count: end - start, counts };
  });
}

/**
 * @param {object} what
 * @param {number} what.width
 * @param {[string, number[]][]} what.shares
 * @param {string[]} what.backends the last one: our own kernels
 * @param {string[]} what.fills of them
 * @param {[number, number][]} what.owners
 * @param {number[]} what.selected places of calls
 * @param {number} what.pressed backend all of whose calls are selected, and no other; -1 for none
 * @param {(backend: number, isMore: boolean) => void} what.onBackend
 * @param {(start: number, count: number, isMore: boolean) => void} what.onCalls
 * @returns {{height: number, parts: Node[]}}
 */
export function drawCoverage({ width, shares, backends, fills, owners, selected, pressed, onBackend, onCalls }) {
  const room = width - LEFT - RIGHT;
  /** @type {Node[]} */
  const parts = [];
  let top = 6;
  for (const [weight, amounts] of shares) {
    parts.push(svgText(LEFT - 8, top + 14, weight, "end"));
    let left = LEFT;
    amounts.forEach((share, backend) => {
      if (!share) return;
      const wide = share * room;
      const block = svgElement("rect", { x: left, y: top, width: Math.max(wide, 0.5), height: BAR, fill: fills[backend] });
      const label = `${weight}: ${backends[backend]} ${formatShare(share)}`;
      parts.push(pickable(block, `${weight} ${backend}`, label, backend === pressed, (isMore) => onBackend(backend, isMore)));
      if (wide > 44) parts.push(svgText(left + wide / 2, top + 14, formatShare(share), "middle", "etlab-chart-over"));
      left += wide;
    });
    top += BAR + GAP;
  }
  if (!owners.length) return { height: top, parts };
  parts.push(svgText(LEFT - 8, top + 14, "order", "end"));
  const step = room / owners.length;
  const blocks = blocksOf(owners);
  /** @type {(start: number, count: number, y: number, height: number, fill: string) => void} */
  const draw = (start, count, y, height, fill) => {
    const block = svgElement("rect", { x: LEFT + start * step, y, width: Math.max(count * step - 0.4, 0.4), height, fill, class: "etlab-chart-pick" });
    block.addEventListener("click", (event) => onCalls(start, count, event.shiftKey || event.ctrlKey || event.metaKey));
    parts.push(block);
  };
  if (blocks.length <= MOST_BLOCKS) for (const { start, count, backend } of blocks) draw(start, count, top, BAR, fills[backend]);
  else
    for (const { start, count, counts } of columnsOf(owners, MOST_BLOCKS, backends.length)) {
      let y = top;
      counts.forEach((own, backend) => {
        if (own) draw(start, count, y, (BAR * own) / count, fills[backend]);
        y += (BAR * own) / count;
      });
    }
  const marks = selected.map((place) => `M${(LEFT + (place + 0.5) * step).toFixed(1)} ${top + BAR + 1}v5`).join("");
  parts.push(
    svgElement("path", { d: marks, class: "etlab-chart-mark", "stroke-width": Math.max(1.5, Math.min(step, 6)) }),
    svgText(LEFT, top + BAR + 18, "first call", "start", "etlab-chart-faint"),
    svgText(width - RIGHT, top + BAR + 18, `last of ${owners.length}`, "end", "etlab-chart-faint"),
  );
  return { height: top + BAR + 24, parts };
}
