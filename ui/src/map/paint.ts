// Paints the squares of the map directly into pixels: one pass over the racks in the window, one run of values per pixel
// row of a node. 100,000 calls of a drawing API would take longer than a frame.

import type { Camera, Window } from "./camera";
import { origin } from "./camera";
import type { NodeColours } from "./colouring";
import type { FleetColumns } from "./columns";
import type { Box, Layout } from "./layout";

export interface Pixels extends Window {
  words: Uint32Array;
}

/** Below this many pixels per pitch squares touch, so that colour is not thinned out by gaps. */
const GAP_FROM = 4;
const RACK_FROM = 4;

export function paint(
  pixels: Pixels,
  fleet: FleetColumns,
  layout: Layout,
  camera: Camera,
  colours: NodeColours,
  backdrop: number,
  rackColour: number,
): void {
  pixels.words.fill(backdrop);
  const { scale } = camera;
  const { left, top } = origin(camera, pixels);
  const seen = (box: Box) =>
    left + (box.x + box.width) * scale > 0 &&
    left + box.x * scale < pixels.width &&
    top + (box.y + box.height) * scale > 0 &&
    top + box.y * scale < pixels.height;
  const gap = scale >= GAP_FROM ? Math.max(1, Math.round(scale * 0.08)) : 0;
  // A wider gap between nodes than between the GPUs of one makes rows of a rack readable without lines.
  const nodeGap = scale >= GAP_FROM ? Math.max(1, Math.round(scale * 0.2)) : 0;
  fleet.leaves.forEach((leaf, leafIndex) => {
    const leafBox = layout.leaves[leafIndex];
    if (leafBox === undefined || !seen(leafBox)) return;
    for (let rack = leaf.firstRack; rack < leaf.firstRack + leaf.racks; rack += 1) {
      const box = layout.racks[rack];
      const group = fleet.racks[rack];
      if (box === undefined || group === undefined || !seen(box)) continue;
      if (scale >= RACK_FROM) {
        const pad = Math.max(1, Math.round(scale * 0.15));
        fill(pixels, left + box.x * scale - pad, top + box.y * scale - pad, box.width * scale + 2 * pad - gap, box.height * scale + 2 * pad - nodeGap, rackColour);
      }
      for (let node = group.first; node < group.first + group.count; node += 1) {
        paintNode(pixels, layout, colours, node, fleet.faultyGpus[node] ?? 0, left, top, scale, gap, nodeGap);
      }
    }
  });
}

function paintNode(
  pixels: Pixels,
  layout: Layout,
  colours: NodeColours,
  node: number,
  mask: number,
  left: number,
  top: number,
  scale: number,
  gap: number,
  nodeGap: number,
): void {
  const x = left + (layout.nodeX[node] ?? 0) * scale;
  const y = top + (layout.nodeY[node] ?? 0) * scale;
  const own = colours.node[node] ?? 0;
  const sick = colours.sick[node] ?? 0;
  if (gap === 0) {
    fill(pixels, x, y, layout.gpuColumns * scale, scale, own);
    if (mask === 0 || own === sick) return;
  }
  const width = layout.gpuColumns * scale - gap;
  const inside = gap > 0 && x >= 0 && y >= 0 && x + width <= pixels.width && y + scale <= pixels.height;
  // Squares are written once, in the node's first row of pixels; the other rows are copies of it.
  const rows = inside ? 1 : scale - nodeGap;
  for (let gpu = 0; gpu < layout.gpuColumns; gpu += 1) {
    const ill = (mask & (1 << gpu)) !== 0;
    if (gap === 0 && !ill) continue;
    fill(pixels, x + gpu * scale, y, scale - gap, gap === 0 ? scale : rows, ill ? sick : own);
  }
  if (!inside) return;
  const first = y * pixels.width + x;
  for (let row = 1; row < scale - nodeGap; row += 1) {
    pixels.words.copyWithin(first + row * pixels.width, first, first + width);
  }
}

/** Runs shorter than this are faster written one by one than by a call. */
const SHORT_RUN = 24;

function fill(pixels: Pixels, x: number, y: number, width: number, height: number, colour: number): void {
  const from = Math.max(0, x);
  const to = Math.min(pixels.width, x + width);
  if (from >= to) return;
  const { words } = pixels;
  const last = Math.min(pixels.height, y + height);
  for (let row = Math.max(0, y); row < last; row += 1) {
    const begin = row * pixels.width + from;
    const end = begin + to - from;
    if (to - from < SHORT_RUN) for (let at = begin; at < end; at += 1) words[at] = colour;
    else words.fill(colour, begin, end);
  }
}
