// Mouse, touch and keyboard on the map. One finger or the left button drags, two fingers or the wheel zoom, arrows move
// from node to node, Shift and arrows move the map.

import { zoomAt } from "./camera";
import type { Surface } from "./surface";

/** A press that moves less than this is a click. */
const CLICK_PIXELS = 4;
/** Wheel travel per step of zoom; a notch of a common wheel is 100 to 120. */
const WHEEL_PER_STEP = 90;

export function attachInput(surface: Surface): () => void {
  const { canvas } = surface;
  const pointers = new Map<number, { x: number; y: number }>();
  let dragged = 0;
  let wheel = 0;
  let pinch: { distance: number; scale: number } | null = null;

  const place = (event: PointerEvent | WheelEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return a === undefined || b === undefined ? 0 : Math.hypot(a.x - b.x, a.y - b.y);
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    if (pointers.size === 1) dragged = 0;
    if (pointers.size === 2) pinch = { distance: spread(), scale: surface.camera.scale };
  };
  const move = (event: PointerEvent) => {
    const at = place(event);
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType === "mouse") surface.hover(at.x, at.y);
      return;
    }
    pointers.set(event.pointerId, at);
    if (pointers.size === 2 && pinch !== null) {
      pinchTo(pinch);
      return;
    }
    dragged += Math.hypot(at.x - before.x, at.y - before.y);
    if (dragged < CLICK_PIXELS) return;
    surface.leave();
    surface.pan((at.x - before.x) * surface.pixelRatio, (at.y - before.y) * surface.pixelRatio);
  };
  const pinchTo = (from: { distance: number; scale: number }) => {
    const [a, b] = [...pointers.values()];
    if (a === undefined || b === undefined || from.distance === 0) return;
    dragged = CLICK_PIXELS;
    const wanted = Math.max(1, Math.round((from.scale * spread()) / from.distance));
    const middle = { x: ((a.x + b.x) / 2) * surface.pixelRatio, y: ((a.y + b.y) / 2) * surface.pixelRatio };
    if (wanted !== surface.camera.scale) surface.look(zoomAt(surface.camera, surface.window, Math.min(72, wanted), middle.x, middle.y));
  };
  const up = (event: PointerEvent) => {
    const at = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (pointers.size < 2) pinch = null;
    if (at !== undefined && event.type === "pointerup" && dragged < CLICK_PIXELS) surface.click(at.x, at.y);
  };
  const out = () => surface.leave();
  const rolled = (event: WheelEvent) => {
    event.preventDefault();
    const at = place(event);
    wheel -= event.deltaY * (event.deltaMode === 1 ? 33 : 1) * (event.ctrlKey ? 4 : 1);
    const steps = Math.trunc(wheel / WHEEL_PER_STEP);
    if (steps === 0) return;
    wheel -= steps * WHEEL_PER_STEP;
    surface.zoom(steps, at.x * surface.pixelRatio, at.y * surface.pixelRatio);
    surface.hover(at.x, at.y);
  };
  const key = (event: KeyboardEvent) => {
    if (pressed(surface, event)) event.preventDefault();
  };

  const focus = () => surface.soon();
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", out);
  canvas.addEventListener("wheel", rolled, { passive: false });
  canvas.addEventListener("keydown", key);
  canvas.addEventListener("focus", focus);
  canvas.addEventListener("blur", focus);
  return () => {
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
    canvas.removeEventListener("pointerleave", out);
    canvas.removeEventListener("wheel", rolled);
    canvas.removeEventListener("keydown", key);
    canvas.removeEventListener("focus", focus);
    canvas.removeEventListener("blur", focus);
  };
}

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** True if the map handles the key. */
function pressed(surface: Surface, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const arrow = ARROWS[event.key];
  if (arrow !== undefined) {
    const [dx, dy] = arrow;
    const far = 96 * surface.pixelRatio;
    if (event.shiftKey) surface.pan(-dx * far, -dy * far);
    else surface.step(dx, dy);
    return true;
  }
  switch (event.key) {
    case "+":
    case "=":
      surface.zoom(1);
      return true;
    case "-":
      surface.zoom(-1);
      return true;
    case "0":
      surface.whole();
      return true;
    case "Enter":
      surface.enter();
      return true;
    case "Escape":
      surface.escape();
      return true;
    default:
      return false;
  }
}
