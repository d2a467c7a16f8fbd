import { expect, it } from "vitest";
import { packed, PALETTE } from "../palette";
import { bits, colourBy, COLOURINGS, nodeColours } from "./colouring";
import { decodeMap } from "./columns";
import { body } from "./example";
import { gangOf, packing } from "./gang";
import { layOut } from "./layout";
import { paint } from "./paint";

const fleet = decodeMap(body({ spines: 1, leaves: 2, racks: 2, nodes: 2, risk: [0, 6000] }));
fleet.stage[2] = 1;
fleet.faultyGpus[2] = 0b1000;
fleet.job[0] = 1;
fleet.job[7] = 1;

it("every colouring counts every GPU once", () => {
  for (const colouring of COLOURINGS) {
    const coloured = colourBy(fleet, colouring, "light");
    expect(coloured.classes.reduce((sum, found) => sum + found.gpus, 0), colouring).toBe(64);
  }
});

it("a value that the server does not report is unknown", () => {
  expect(colourBy(fleet, "power", "light").known).toBe(false);
});

it("errors are counted by GPU, not by node", () => {
  const open = colourBy(fleet, "errors", "light").classes.find((found) => found.key === "open");
  expect(open?.gpus).toBe(1);
  expect(bits(0b1011)).toBe(3);
});

it("a filter dims the rest", () => {
  const coloured = colourBy(fleet, "stage", "light");
  const { node } = nodeColours(fleet, coloured, { show: new Set(["Quarantined"]), nodes: null }, "light");
  expect(node[2]).toBe(packed(PALETTE.light.stage.Quarantined.fill));
  expect(node[0]).not.toBe(packed(PALETTE.light.stage.InService.fill));
});

it("the nodes of a job are highlighted, and the placement is described", () => {
  const gang = gangOf(fleet, "train-7");
  expect(gang?.nodes).toEqual(new Set([0, 7]));
  expect(gang === null ? "" : packing(gang)).toBe("packed in 2 leaves");
  const { node } = nodeColours(fleet, colourBy(fleet, "stage", "dark"), { show: new Set(), nodes: gang?.nodes ?? null }, "dark");
  expect(node[0]).toBe(packed(PALETTE.dark.lit));
  expect(gangOf(fleet, "no-such-job")).toBeNull();
});

it("paints each GPU at its place, at every scale, also across the edge of the window", () => {
  const layout = layOut(fleet, 1.7);
  const coloured = colourBy(fleet, "errors", "light");
  const colours = nodeColours(fleet, coloured, { show: new Set(), nodes: null }, "light");
  for (const scale of [1, 2, 3, 4, 7, 24]) {
    for (const camera of [{ x: 8, y: 5, scale }, { x: (layout.nodeX[2] ?? 0) + 3.5, y: (layout.nodeY[2] ?? 0) + 0.4, scale }]) {
      const window = { width: 90, height: 60 };
      const words = new Uint32Array(window.width * window.height);
      paint({ ...window, words }, fleet, layout, camera, colours, 1, 2);
      const x = Math.round(window.width / 2 - camera.x * scale) + ((layout.nodeX[2] ?? 0) + 3) * scale;
      const y = Math.round(window.height / 2 - camera.y * scale) + (layout.nodeY[2] ?? 0) * scale;
      if (x < 0 || y < 0 || x >= window.width || y >= window.height) continue;
      expect(words[y * window.width + x], `scale ${scale}`).toBe(packed(PALETTE.light.stage.Quarantined.fill));
    }
  }
});
