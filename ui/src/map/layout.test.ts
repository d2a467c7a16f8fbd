import { expect, it } from "vitest";
import { cameraFrom, cameraText, fit, stepScale, toLayout, zoomAt } from "./camera";
import { decodeMap } from "./columns";
import { body } from "./example";
import { layOut, nodeAt, nodeTowards, shapeOf } from "./layout";

const large = decodeMap(body({ spines: 13, leaves: 31, racks: 8, nodes: 4 }));

it("no two racks overlap and every rack is inside its leaf", () => {
  const fleet = decodeMap(body({ spines: 2, leaves: 3, racks: 5, nodes: 4 }));
  const layout = layOut(fleet, 1.7);
  layout.racks.forEach((a, first) => {
    layout.racks.slice(first + 1).forEach((b) => {
      const beside = a.x + a.width <= b.x || b.x + b.width <= a.x;
      const above = a.y + a.height <= b.y || b.y + b.height <= a.y;
      expect(beside || above).toBe(true);
    });
    const leaf = layout.leaves[fleet.leafOf[fleet.racks[first]?.first ?? 0] ?? 0];
    expect(leaf !== undefined && a.x >= leaf.x && a.y >= leaf.y && a.x + a.width <= leaf.x + leaf.width && a.y + a.height <= leaf.y + leaf.height).toBe(true);
  });
});

it("100,000 GPUs fit a laptop's window at two pixels each", () => {
  expect(large.names.length * large.gpusPerNode).toBeGreaterThan(100_000);
  expect(fit(layOut(large, 1.7), { width: 1200, height: 796 }).scale).toBeGreaterThanOrEqual(2);
});

it("100,000 GPUs of the demo, with tall spines, fit as well", () => {
  const demo = decodeMap(body({ spines: 25, leaves: 16, racks: 8, nodes: 4 }));
  expect(fit(layOut(demo, 1.7), { width: 1200, height: 707 }).scale).toBe(2);
});

it("a node is found where it was put", () => {
  const layout = layOut(large, 1.7);
  for (let node = 0; node < large.names.length; node += 97) {
    const at = nodeAt(large, layout, (layout.nodeX[node] ?? 0) + 3.5, (layout.nodeY[node] ?? 0) + 0.5);
    expect(at).toEqual({ node, gpu: 3 });
  }
  expect(nodeAt(large, layout, -1, -1)).toBeNull();
});

it("arrows go to the next node and stop at the edge", () => {
  const layout = layOut(decodeMap(body({ spines: 2, leaves: 1, racks: 8, nodes: 2 })), 2.4);
  expect(nodeTowards(layout, 0, 0, 1)).toBe(1);
  expect(nodeTowards(layout, 0, 0, -1)).toBe(0);
  expect(nodeTowards(layout, 0, -1, 0)).toBe(0);
  const right = nodeTowards(layout, 0, 1, 0);
  expect(layout.nodeX[right]).toBeGreaterThan(layout.nodeX[0] ?? 0);
  expect(layout.nodeY[right]).toBe(layout.nodeY[0]);
});

it("zooming keeps the point under the cursor", () => {
  const window = { width: 1000, height: 800 };
  const before = { x: 50, y: 40, scale: 4 };
  const after = zoomAt(before, window, 9, 120, 700);
  const a = toLayout(before, window, 120, 700);
  const b = toLayout(after, window, 120, 700);
  expect(b.x).toBeCloseTo(a.x);
  expect(b.y).toBeCloseTo(a.y);
});

it("scales are whole and bounded", () => {
  expect(stepScale(2, 1, 2)).toBe(3);
  expect(stepScale(2, -1, 2)).toBe(2);
  expect(stepScale(20, 1, 2)).toBe(25);
  expect(stepScale(60, 20, 2)).toBe(72);
});

it("a camera survives the address bar, also on another screen", () => {
  const layout = layOut(large, 1.7);
  const camera = { x: 100.4, y: 80.2, scale: 12 };
  const text = cameraText(camera, layout, large.names, 2);
  const back = cameraFrom(text, layout, large.names, 1);
  expect(back?.scale).toBe(6);
  expect(Math.abs((back?.x ?? 0) - camera.x)).toBeLessThan(0.1);
  expect(cameraFrom("gone,0,0,4", layout, large.names, 1)).toBeNull();
});

it("a small change of the window size keeps the layout", () => {
  expect(shapeOf(1200, 700)).toBe(shapeOf(1150, 730));
  expect(shapeOf(390, 500)).toBe(0.8);
});
