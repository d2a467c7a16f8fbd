// Everything drawn over the squares: names where there is room, one outline and one label for a suspected leaf, stage
// marks next to nodes, the selection and the keyboard cursor.

import { STAGE_SHAPE } from "../stage";
import type { Stage } from "../contract";
import type { ThemePalette } from "../palette";
import { origin, type Camera, type Window } from "./camera";
import type { FleetColumns } from "./columns";
import type { Box, Layout } from "./layout";

export interface Marks {
  selected: number | null;
  cursor: number | null;
  /** Labels of suspected leaves by incident id. */
  sickLabels: ReadonlyMap<string, string>;
  /** Nodes outlined one by one, such as the subject of an incident. */
  outlined: ReadonlySet<number>;
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const MARK_FROM_CSS_PIXELS = 11;

export function drawOverlay(
  context: CanvasRenderingContext2D,
  window: Window,
  pixelRatio: number,
  fleet: FleetColumns,
  layout: Layout,
  camera: Camera,
  palette: ThemePalette,
  marks: Marks,
): void {
  const { scale } = camera;
  const { left, top } = origin(camera, window);
  const at = (box: Box) => ({
    x: left + box.x * scale,
    y: top + box.y * scale,
    width: box.width * scale,
    height: box.height * scale,
  });
  const seen = (box: Box) => box.x + box.width > 0 && box.y + box.height > 0 && box.x < window.width && box.y < window.height;
  const css = scale / pixelRatio;
  context.textBaseline = "alphabetic";

  const named = (boxes: Box[], groups: { name: string }[], header: number, size: number, weight: number, lift: number) => {
    context.font = `${weight} ${size * pixelRatio}px ${FONT}`;
    context.fillStyle = weight >= 500 ? palette.text : palette.muted;
    boxes.forEach((raw, index) => {
      const box = at(raw);
      const name = groups[index]?.name;
      if (name === undefined || !seen(box)) return;
      const text = shortened(context, name, box.width - 2 * pixelRatio);
      if (text !== "") context.fillText(text, box.x, box.y + header * scale - lift * pixelRatio);
    });
  };

  if (layout.spineHeader * css >= 13) named(layout.spines, fleet.spines, layout.spineHeader, css >= 6 ? 14 : 12, 500, css >= 6 ? 12 : 4);
  // Rack names are in the gap above each rack; where they fit, the leaf name moves up.
  if ((layout.leafHeader + 1) * css >= 15) named(layout.leaves, fleet.leaves, leafNameDrop(css) - 1 + layout.leafHeader, 11, 400, 4);
  if (css >= 22) drawRackNames(context, fleet, layout, at, seen, pixelRatio, palette);
  if (css >= MARK_FROM_CSS_PIXELS) drawStageMarks(context, fleet, layout, left, top, scale, window, palette);
  drawSickLeaves(context, fleet, layout, at, seen, pixelRatio, palette, marks);
  for (const node of marks.outlined) outlineNode(context, layout, node, left, top, scale, pixelRatio, palette.alarm, 2);
  if (marks.cursor !== null) outlineNode(context, layout, marks.cursor, left, top, scale, pixelRatio, palette.text, 1);
  if (marks.selected !== null) outlineNode(context, layout, marks.selected, left, top, scale, pixelRatio, palette.text, 2);
}

type Place = (box: Box) => Box;

/** Distance from the top of a leaf to the end of its name, in units; smaller where racks have names too. */
function leafNameDrop(css: number): number {
  return css >= 22 ? 0.35 : 1;
}

function drawRackNames(
  context: CanvasRenderingContext2D,
  fleet: FleetColumns,
  layout: Layout,
  at: Place,
  seen: (box: Box) => boolean,
  pixelRatio: number,
  palette: ThemePalette,
): void {
  context.font = `400 ${10 * pixelRatio}px ${FONT}`;
  context.fillStyle = palette.muted;
  layout.racks.forEach((raw, index) => {
    const box = at(raw);
    const name = fleet.racks[index]?.name;
    if (name === undefined || !seen(box)) return;
    context.fillText(shortened(context, name, box.width), box.x, box.y - 7 * pixelRatio);
  });
}

const shapes = new Map<Stage, Path2D>();

function shapeOf(stage: Stage): Path2D {
  const known = shapes.get(stage);
  if (known !== undefined) return known;
  const made = new Path2D(STAGE_SHAPE[stage]);
  shapes.set(stage, made);
  return made;
}

/** Draws stage marks left of the node, in the gap between racks, so that no square is covered. */
function drawStageMarks(
  context: CanvasRenderingContext2D,
  fleet: FleetColumns,
  layout: Layout,
  left: number,
  top: number,
  scale: number,
  window: Window,
  palette: ThemePalette,
): void {
  const size = scale * 0.62;
  for (let node = 0; node < fleet.names.length; node += 1) {
    const stage = fleet.stages[fleet.stage[node] ?? 0] ?? "InService";
    if (stage === "InService" || fleet.leaves[fleet.leafOf[node] ?? 0]?.faulty != null) continue;
    const x = left + (layout.nodeX[node] ?? 0) * scale - scale * 0.84;
    const y = top + (layout.nodeY[node] ?? 0) * scale + scale * 0.09;
    if (x < -scale || y < -scale || x > window.width || y > window.height) continue;
    context.save();
    context.translate(x, y);
    context.scale(size / 16, size / 16);
    context.fillStyle = palette.stage[stage].ink;
    context.fill(shapeOf(stage), "evenodd");
    context.restore();
  }
}

function drawSickLeaves(
  context: CanvasRenderingContext2D,
  fleet: FleetColumns,
  layout: Layout,
  at: Place,
  seen: (box: Box) => boolean,
  pixelRatio: number,
  palette: ThemePalette,
  marks: Marks,
): void {
  fleet.leaves.forEach((leaf, index) => {
    const raw = layout.leaves[index];
    if (leaf.faulty === null || raw === undefined) return;
    const box = at(raw);
    if (!seen(box)) return;
    const pad = 3 * pixelRatio;
    context.lineWidth = 2 * pixelRatio;
    context.strokeStyle = palette.alarm;
    context.strokeRect(box.x - pad, box.y - pad, box.width + 2 * pad, box.height + 2 * pad);
    const title = marks.sickLabels.get(leaf.faulty);
    label(context, title === undefined ? `Leaf ${leaf.name}: suspected cause` : title, box, pad, pixelRatio, palette);
  });
}

function label(
  context: CanvasRenderingContext2D,
  text: string,
  box: Box,
  pad: number,
  pixelRatio: number,
  palette: ThemePalette,
): void {
  context.font = `600 ${12 * pixelRatio}px ${FONT}`;
  const room = Math.max(box.width + 2 * pad, 320 * pixelRatio);
  const shown = shortened(context, text, room - 12 * pixelRatio);
  const width = context.measureText(shown).width + 12 * pixelRatio;
  const height = 20 * pixelRatio;
  const above = box.y - pad - height >= 0;
  const x = Math.min(Math.max(0, box.x - pad - pixelRatio), Math.max(0, context.canvas.width - width));
  const y = above ? box.y - pad - height + pixelRatio : box.y + box.height + pad - pixelRatio;
  context.fillStyle = palette.alarm;
  context.fillRect(x, y, width, height);
  context.fillStyle = palette.surface;
  context.fillText(shown, x + 6 * pixelRatio, y + 14.5 * pixelRatio);
}

function outlineNode(
  context: CanvasRenderingContext2D,
  layout: Layout,
  node: number,
  left: number,
  top: number,
  scale: number,
  pixelRatio: number,
  colour: string,
  thick: number,
): void {
  const x = left + (layout.nodeX[node] ?? 0) * scale;
  const y = top + (layout.nodeY[node] ?? 0) * scale;
  const gap = scale >= 4 ? Math.max(1, Math.round(scale * 0.2)) : 0;
  const pad = (scale / pixelRatio < 6 ? 2.5 : 2) * pixelRatio;
  context.lineWidth = thick * pixelRatio;
  context.strokeStyle = colour;
  context.strokeRect(x - pad, y - pad, layout.gpuColumns * scale + 2 * pad - (gap > 0 ? 1 : 0), scale - gap + 2 * pad);
}

/** The text, shortened to the available width. */
function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  for (let keep = text.length - 1; keep > 1; keep -= 1) {
    const cut = `${text.slice(0, keep)}…`;
    if (context.measureText(cut).width <= room) return cut;
  }
  return "";
}
