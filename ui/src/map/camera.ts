// The camera of the map: the layout point in the middle of the window, and the device pixels per GPU pitch. Scales are
// whole numbers of pixels, so that all squares have the same size and sharp edges.

import type { Layout } from "./layout";

export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Window {
  width: number;
  height: number;
}

export const SCALE_MAX = 72;

export function fit(layout: Layout, window: Window): Camera {
  // The margin around the layout may be cut for one more pixel per GPU.
  const scale = Math.floor(Math.min(window.width / (layout.width - 2), window.height / (layout.height - 2)));
  return { x: layout.width / 2, y: layout.height / 2, scale: Math.min(Math.max(1, scale), 48) };
}

/** Zooms by steps: small scales change by a pixel, larger ones by about a quarter. */
export function stepScale(scale: number, steps: number, least: number): number {
  let next = scale;
  for (let step = 0; step < Math.abs(steps); step += 1) {
    const by = Math.max(1, Math.round(next * 0.25));
    next = steps > 0 ? next + by : next - Math.max(1, Math.round(next * 0.2));
  }
  return Math.min(SCALE_MAX, Math.max(least, next));
}

/** Zooms so that the point under the cursor stays where it is. */
export function zoomAt(camera: Camera, window: Window, scale: number, px: number, py: number): Camera {
  const { x, y } = toLayout(camera, window, px, py);
  return { scale, x: x - (px - window.width / 2) / scale, y: y - (py - window.height / 2) / scale };
}

export function toLayout(camera: Camera, window: Window, px: number, py: number): { x: number; y: number } {
  return { x: camera.x + (px - window.width / 2) / camera.scale, y: camera.y + (py - window.height / 2) / camera.scale };
}

/** Device pixels of the layout origin; whole numbers, for sharp edges. */
export function origin(camera: Camera, window: Window): { left: number; top: number } {
  return {
    left: Math.round(window.width / 2 - camera.x * camera.scale),
    top: Math.round(window.height / 2 - camera.y * camera.scale),
  };
}

/** Keeps the map in the window: a smaller map stays centred, a larger one cannot be dragged away. */
export function within(camera: Camera, layout: Layout, window: Window): Camera {
  const clamp = (at: number, size: number, pixels: number) => {
    const half = pixels / camera.scale / 2;
    if (size <= half * 2) return size / 2;
    const slack = Math.min(half, 8);
    return Math.min(Math.max(at, half - slack), size - half + slack);
  };
  return {
    scale: camera.scale,
    x: clamp(camera.x, layout.width, window.width),
    y: clamp(camera.y, layout.height, window.height),
  };
}

/** The camera for the address bar: the node nearest to the middle, the offset from it, and CSS pixels per pitch. */
export function cameraText(camera: Camera, layout: Layout, names: string[], pixelRatio: number): string {
  let nearest = -1;
  let least = Infinity;
  for (let node = 0; node < names.length; node += 1) {
    const far = Math.abs((layout.nodeX[node] ?? 0) - camera.x) + Math.abs((layout.nodeY[node] ?? 0) - camera.y);
    if (far < least) {
      least = far;
      nearest = node;
    }
  }
  if (nearest === -1) return "";
  const off = (value: number) => `${Math.round(value * 10) / 10}`;
  const dx = off(camera.x - (layout.nodeX[nearest] ?? 0));
  const dy = off(camera.y - (layout.nodeY[nearest] ?? 0));
  return `${names[nearest]},${dx},${dy},${Math.round((camera.scale / pixelRatio) * 10) / 10}`;
}

export function cameraFrom(text: string, layout: Layout, names: string[], pixelRatio: number): Camera | null {
  const [name = "", dx = "0", dy = "0", zoom = ""] = text.split(",");
  const node = names.indexOf(name);
  const scale = Math.round(Number(zoom) * pixelRatio);
  if (node === -1 || !(scale >= 1)) return null;
  return {
    x: (layout.nodeX[node] ?? 0) + (Number(dx) || 0),
    y: (layout.nodeY[node] ?? 0) + (Number(dy) || 0),
    scale: Math.min(SCALE_MAX, scale),
  };
}
