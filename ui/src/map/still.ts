// Paints the whole fleet once into a small canvas, without camera or selection.

import { PALETTE, packed, type Theme } from "../palette";
import { fit } from "./camera";
import type { NodeColours } from "./colouring";
import type { FleetColumns } from "./columns";
import type { Layout } from "./layout";
import { paint } from "./paint";

export interface StillScene {
  fleet: FleetColumns;
  layout: Layout;
  colours: NodeColours;
  theme: Theme;
  /** Nodes to highlight; null highlights every node that is not in service. */
  lit: ReadonlySet<number> | null;
  rings: boolean;
}

/** Most nodes that get a ring each. */
const RINGS_MAX = 4;

export function drawStill(canvas: HTMLCanvasElement, scene: StillScene): void {
  const { fleet, layout, colours, theme, lit } = scene;
  const ratio = window.devicePixelRatio;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  const context = canvas.getContext("2d", { alpha: false });
  if (context === null || fleet.names.length === 0) return;
  canvas.width = width;
  canvas.height = height;
  // Painted at whole pixels and then scaled down, because 100,000 GPUs need more pixels than the canvas has.
  const camera = fit(layout, { width, height });
  const full = {
    width: Math.max(width, Math.ceil(layout.width * camera.scale)),
    height: Math.max(height, Math.ceil(layout.height * camera.scale)),
  };
  const image = new ImageData(full.width, full.height);
  const palette = PALETTE[theme];
  paint({ ...full, words: new Uint32Array(image.data.buffer) }, fleet, layout, camera, colours, packed(palette.backdrop), packed(palette.rack));
  const sheet = document.createElement("canvas");
  sheet.width = full.width;
  sheet.height = full.height;
  sheet.getContext("2d")?.putImageData(image, 0, 0);
  const shrink = Math.min(width / full.width, height / full.height);
  context.fillStyle = palette.backdrop;
  context.fillRect(0, 0, width, height);
  const left = (width - full.width * shrink) / 2;
  const top = (height - full.height * shrink) / 2;
  context.imageSmoothingQuality = "high";
  context.drawImage(sheet, left, top, full.width * shrink, full.height * shrink);

  const perUnit = camera.scale * shrink;
  const at = (node: number) => ({
    x: left + shrink * (full.width / 2) + ((layout.nodeX[node] ?? 0) - camera.x) * perUnit,
    y: top + shrink * (full.height / 2) + ((layout.nodeY[node] ?? 0) - camera.y) * perUnit,
  });
  if (shrink < 1) {
    // Scaled down, a single node would fade into its neighbours, so highlighted nodes are drawn again at a visible size.
    for (let node = 0; node < fleet.names.length; node += 1) {
      const stage = fleet.stages[fleet.stage[node] ?? 0] ?? "InService";
      if (lit === null ? stage === "InService" : !lit.has(node)) continue;
      const { x, y } = at(node);
      context.fillStyle = lit === null ? palette.stage[stage].fill : palette.lit;
      context.fillRect(x, y, Math.max(2 * ratio, layout.gpuColumns * perUnit), Math.max(ratio, perUnit));
    }
  }
  if (lit === null || !scene.rings || lit.size > RINGS_MAX) return;
  context.strokeStyle = palette.alarm;
  context.lineWidth = 2 * ratio;
  for (const node of lit) {
    const { x, y } = at(node);
    const radius = Math.max(7 * ratio, (layout.gpuColumns * perUnit) / 2 + 3 * ratio);
    context.beginPath();
    context.arc(x + (layout.gpuColumns * perUnit) / 2, y + perUnit / 2, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}
