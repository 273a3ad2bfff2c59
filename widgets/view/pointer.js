// Mouse, pen and touch on the canvas.

/**
 * @typedef {object} PointerEvents
 * @property {(item: number, isMore: boolean) => void} onSelect -1: nothing
 * @property {(item: number, x: number, y: number) => void} onHover
 */

const DRAG = 4; // pixels from which a press is a drag

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{
 *   itemAt: (x: number, y: number) => {item: number, isHandle: boolean},
 *   zoom: (factor: number, x: number, y: number) => void,
 *   pan: (dx: number, dy: number) => void,
 *   toggle: (item: number) => unknown,
 *   setHover: (item: number) => void,
 *   events: PointerEvents,
 * }} on
 */
export function listenToPointer(canvas, { itemAt, zoom, pan, toggle, setHover, events }) {
  /** @type {Map<number, PointerEvent>} */
  const down = new Map();
  let moved = 0;
  /** @param {PointerEvent} event */
  const onDown = (event) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, event);
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
  };
  /** @param {PointerEvent} event */
  const onMove = (event) => {
    const last = down.get(event.pointerId);
    if (!last) {
      const { item } = itemAt(event.offsetX, event.offsetY);
      setHover(item);
      events.onHover(item, event.offsetX, event.offsetY);
      return;
    }
    const [dx, dy] = [event.offsetX - last.offsetX, event.offsetY - last.offsetY];
    moved += Math.abs(dx) + Math.abs(dy);
    const others = [...down.values()].filter((one) => one.pointerId !== event.pointerId);
    if (others.length === 1) pinch(last, event, others[0]);
    else if (moved > DRAG) pan(-dx, -dy);
    down.set(event.pointerId, event);
  };
  /** @type {(before: PointerEvent, now: PointerEvent, other: PointerEvent) => void} */
  const pinch = (before, now, other) => {
    const far = (/** @type {PointerEvent} */ one) =>
      Math.hypot(one.offsetX - other.offsetX, one.offsetY - other.offsetY) || 1;
    zoom(far(now) / far(before), (now.offsetX + other.offsetX) / 2, (now.offsetY + other.offsetY) / 2);
  };
  /** @param {PointerEvent} event */
  const onUp = (event) => {
    if (!down.delete(event.pointerId) || moved > DRAG) return;
    const { item, isHandle } = itemAt(event.offsetX, event.offsetY);
    if (isHandle) toggle(item);
    else events.onSelect(item, event.shiftKey || event.ctrlKey || event.metaKey);
  };
  /** @param {MouseEvent} event */
  const onDouble = (event) => {
    const { item, isHandle } = itemAt(event.offsetX, event.offsetY);
    if (item >= 0 && !isHandle) toggle(item);
  };
  /** @param {WheelEvent} event */
  const onWheel = (event) => {
    // The page keeps its wheel until the view has the focus; a pinch arrives as wheel with ctrl.
    const hasFocus = canvas.closest(".etlab-view")?.contains(canvas.ownerDocument.activeElement);
    if (!event.ctrlKey && !hasFocus && !inShadow(canvas)) return;
    event.preventDefault();
    const step = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) pan((event.deltaY || event.deltaX) * step, 0);
    else zoom(Math.exp(-event.deltaY * step * (event.ctrlKey ? 0.01 : 0.0016)), event.offsetX, event.offsetY);
  };
  const onLeave = () => {
    setHover(-1);
    events.onHover(-1, 0, 0);
  };
  /** @type {[string, any][]} */
  const listeners = [
    ["pointerdown", onDown],
    ["pointermove", onMove],
    ["pointerup", onUp],
    ["pointercancel", (/** @type {PointerEvent} */ event) => down.delete(event.pointerId)],
    ["pointerleave", onLeave],
    ["dblclick", onDouble],
  ];
  for (const [name, listener] of listeners) canvas.addEventListener(name, listener);
  canvas.addEventListener("wheel", onWheel, { passive: false });
  return () => {
    for (const [name, listener] of listeners) canvas.removeEventListener(name, listener);
    canvas.removeEventListener("wheel", onWheel);
  };
}

/**
 * Whether the focus is in the view although the page can't see it, behind a shadow root.
 * @param {HTMLCanvasElement} canvas
 */
function inShadow(canvas) {
  const root = canvas.getRootNode();
  if (!(root instanceof ShadowRoot)) return false;
  return Boolean(canvas.closest(".etlab-view")?.contains(root.activeElement));
}
