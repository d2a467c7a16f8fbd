// The layout of the map, in units of one GPU pitch. A node is a row of GPUs, a rack a stack of nodes, a leaf a block of
// racks, a spine a block of leaves. The number of columns at each level is chosen for the shape of the window. Pixels play
// no other part here.

import type { FleetColumns, Group } from "./columns";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  /** GPUs side by side within a node, and how many such rows. */
  gpuColumns: number;
  gpuRows: number;
  nodeX: Float32Array;
  nodeY: Float32Array;
  racks: Box[];
  leaves: Box[];
  spines: Box[];
  /** Room above a spine for its name. */
  spineHeader: number;
  leafHeader: number;
}

/**
 * Width to height of the layout. There are only a few shapes, so that opening a panel or resizing the window a little does
 * not move everything.
 */
export type Shape = 0.5 | 0.8 | 1.2 | 1.7 | 2.4;
const SHAPES: readonly Shape[] = [0.5, 0.8, 1.2, 1.7, 2.4];

export function shapeOf(width: number, height: number): Shape {
  const wanted = Math.log(Math.max(1, width) / Math.max(1, height));
  return SHAPES.reduce((best, shape) => (Math.abs(Math.log(shape) - wanted) < Math.abs(Math.log(best) - wanted) ? shape : best));
}

const RACK_GAP = 1;
const LEAF_GAP = 2;
const MARGIN = 2;
const STRIP_MAX = 2;

export function layOut(fleet: FleetColumns, shape: Shape): Layout {
  const gpuColumns = fleet.gpusPerNode;
  const header = headerUnits(fleet.names.length * fleet.gpusPerNode);
  const rackSizes = fleet.racks.map((rack) => ({ width: gpuColumns, height: Math.max(1, rack.count) }));
  let best: Arrangement | null = null;
  for (const rackColumns of candidates(most(fleet.leaves.map((leaf) => leaf.racks)))) {
    const leafSizes = fleet.leaves.map((leaf) => {
      const size = gridSize(rackSizes.slice(leaf.firstRack, leaf.firstRack + leaf.racks), rackColumns, RACK_GAP);
      return { width: size.width, height: size.height + header.leaf };
    });
    for (const leafColumns of candidates(most(fleet.spines.map((spine) => spine.leaves)))) {
      const spineSizes = fleet.spines.map((spine) => {
        const inside = leafSizes.slice(spine.firstLeaf, spine.firstLeaf + spine.leaves);
        const size = gridSize(inside, leafColumns, LEAF_GAP);
        return { width: size.width, height: size.height + header.spine };
      });
      for (const spineColumns of candidates(fleet.spines.length)) {
        const size = gridSize(spineSizes, spineColumns, header.spineGap);
        const cost = Math.max(size.width / shape, size.height);
        // A leaf that is a long strip is hard to recognise as one block.
        const first = leafSizes[0] ?? { width: 1, height: 1 };
        const strip = Math.max(first.width / first.height, first.height / first.width);
        const penalised = cost * (strip > STRIP_MAX ? 1 + (strip - STRIP_MAX) * 0.1 : 1);
        if (best === null || penalised < best.cost) {
          best = { cost: penalised, rackColumns, leafColumns, spineColumns, leafSizes, spineSizes };
        }
      }
    }
  }
  return place(fleet, best ?? EMPTY, rackSizes, header);
}

interface Size {
  width: number;
  height: number;
}

interface Arrangement {
  cost: number;
  rackColumns: number;
  leafColumns: number;
  spineColumns: number;
  leafSizes: Size[];
  spineSizes: Size[];
}

const EMPTY: Arrangement = { cost: 0, rackColumns: 1, leafColumns: 1, spineColumns: 1, leafSizes: [], spineSizes: [] };

interface Headers {
  leaf: number;
  spine: number;
  spineGap: number;
}

/** Names need about the same room in pixels in every fleet, and a unit is small in a large one. */
function headerUnits(gpus: number): Headers {
  const pixelsPerUnit = Math.sqrt(900_000 / Math.max(1, gpus * 1.9));
  const name = Math.min(8, Math.max(1, Math.ceil(16 / pixelsPerUnit)));
  // In a large fleet the gap between leaves is enough space for names once they can be read.
  return { leaf: gpus > 20_000 ? 0 : 1, spine: name, spineGap: Math.min(6, Math.max(2, Math.ceil(10 / pixelsPerUnit))) };
}

/** The numbers of columns that differ in their number of rows; the others only leave a row emptier. */
function candidates(items: number): number[] {
  const columns = new Set([1]);
  for (let rows = 1; rows <= items; rows += 1) columns.add(Math.ceil(items / rows));
  return [...columns];
}

function most(values: number[]): number {
  return values.reduce((high, value) => Math.max(high, value), 0);
}

/** Rows of `columns` things; a row is as high as its highest, so that odd racks do not push others about. */
function gridSize(sizes: Size[], columns: number, gap: number): Size {
  let width = 0;
  let height = 0;
  for (let from = 0; from < sizes.length; from += columns) {
    const row = sizes.slice(from, from + columns);
    width = Math.max(width, row.reduce((sum, size) => sum + size.width, 0) + gap * (row.length - 1));
    height += most(row.map((size) => size.height)) + (from === 0 ? 0 : gap);
  }
  return { width, height };
}

function gridPlaces(sizes: Size[], columns: number, gap: number, x: number, y: number): Box[] {
  const boxes: Box[] = [];
  let top = y;
  for (let from = 0; from < sizes.length; from += columns) {
    const row = sizes.slice(from, from + columns);
    let left = x;
    for (const size of row) {
      boxes.push({ x: left, y: top, width: size.width, height: size.height });
      left += size.width + gap;
    }
    top += most(row.map((size) => size.height)) + gap;
  }
  return boxes;
}

function place(fleet: FleetColumns, plan: Arrangement, rackSizes: Size[], header: Headers): Layout {
  const spines = gridPlaces(plan.spineSizes, plan.spineColumns, header.spineGap, MARGIN, MARGIN);
  const leaves = within(fleet.spines, spines, (spine, box) =>
    gridPlaces(
      plan.leafSizes.slice(spine.firstLeaf, spine.firstLeaf + spine.leaves),
      plan.leafColumns,
      LEAF_GAP,
      box.x,
      box.y + header.spine,
    ),
  );
  const racks = within(fleet.leaves, leaves, (leaf, box) =>
    gridPlaces(
      rackSizes.slice(leaf.firstRack, leaf.firstRack + leaf.racks),
      plan.rackColumns,
      RACK_GAP,
      box.x,
      box.y + header.leaf,
    ),
  );
  const nodeX = new Float32Array(fleet.names.length);
  const nodeY = new Float32Array(fleet.names.length);
  fleet.racks.forEach((rack, index) => {
    const box = racks[index];
    if (box === undefined) return;
    for (let slot = 0; slot < rack.count; slot += 1) {
      nodeX[rack.first + slot] = box.x;
      nodeY[rack.first + slot] = box.y + slot;
    }
  });
  return {
    width: MARGIN + most(spines.map((box) => box.x + box.width)),
    height: MARGIN + most(spines.map((box) => box.y + box.height)),
    gpuColumns: fleet.gpusPerNode,
    gpuRows: 1,
    nodeX,
    nodeY,
    racks,
    leaves,
    spines,
    spineHeader: header.spine,
    leafHeader: header.leaf,
  };
}

function within<G extends Group>(groups: G[], boxes: Box[], inside: (group: G, box: Box) => Box[]): Box[] {
  return groups.flatMap((group, index) => {
    const box = boxes[index];
    return box === undefined ? [] : inside(group, box);
  });
}

/** The node and GPU at a point; null between racks. */
export function nodeAt(fleet: FleetColumns, layout: Layout, x: number, y: number): { node: number; gpu: number } | null {
  for (let leaf = 0; leaf < layout.leaves.length; leaf += 1) {
    const box = layout.leaves[leaf];
    const group = fleet.leaves[leaf];
    if (box === undefined || group === undefined || !holds(box, x, y)) continue;
    for (let rack = group.firstRack; rack < group.firstRack + group.racks; rack += 1) {
      const rackBox = layout.racks[rack];
      const rackGroup = fleet.racks[rack];
      if (rackBox === undefined || rackGroup === undefined || !holds(rackBox, x, y)) continue;
      const slot = Math.floor(y - rackBox.y);
      if (slot >= rackGroup.count) return null;
      return { node: rackGroup.first + slot, gpu: Math.min(layout.gpuColumns - 1, Math.floor(x - rackBox.x)) };
    }
  }
  return null;
}

export function holds(box: Box, x: number, y: number): boolean {
  return x >= box.x && y >= box.y && x < box.x + box.width && y < box.y + box.height;
}

/** The next node in a direction, for the keyboard: the nearest one, with little sideways offset. */
export function nodeTowards(layout: Layout, from: number, dx: number, dy: number): number {
  const x = layout.nodeX[from] ?? 0;
  const y = layout.nodeY[from] ?? 0;
  let best = from;
  let bestCost = Infinity;
  for (let node = 0; node < layout.nodeX.length; node += 1) {
    const right = (layout.nodeX[node] ?? 0) - x;
    const down = (layout.nodeY[node] ?? 0) - y;
    const along = right * dx + down * dy;
    if (along <= 0) continue;
    const cost = along + 4 * Math.abs(right * dy) + 4 * Math.abs(down * dx);
    if (cost < bestCost) {
      bestCost = cost;
      best = node;
    }
  }
  return best;
}
