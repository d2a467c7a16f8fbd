import { expect, it } from "vitest";
import { applyChanges, decodeMap } from "./columns";
import { body } from "./example";

it("the columns follow the order of the tree", () => {
  const fleet = decodeMap(body({ spines: 2, leaves: 2, racks: 2, nodes: 2 }));
  expect(fleet.names).toHaveLength(16);
  expect(fleet.names[0]).toBe("s1l1r1-n1");
  expect(fleet.racks[fleet.rackOf[5] ?? 0]?.name).toBe("s1l2r1");
  expect(fleet.leaves[fleet.leafOf[15] ?? 0]?.name).toBe("s2l2");
  expect(fleet.spines.map((spine) => spine.count)).toEqual([8, 8]);
});

it("words are little-endian and risk is in steps of sixteen", () => {
  const fleet = decodeMap(body({ spines: 1, leaves: 1, racks: 1, nodes: 2, risk: [1, 300] }));
  expect([...fleet.riskPpm]).toEqual([16, 4800]);
});

it("columns that are too short or point nowhere do no harm", () => {
  const fleet = decodeMap({ ...body({ spines: 1, leaves: 1, racks: 1, nodes: 3 }), stage: btoa("\x63"), job: "" });
  expect([...fleet.stage]).toEqual([0, 0, 0]);
  expect([...fleet.job]).toEqual([0, 0, 0]);
});

it("changes are applied in place, and refused when they are of another map", () => {
  const fleet = decodeMap(body({ spines: 1, leaves: 1, racks: 1, nodes: 2 }));
  expect(applyChanges(fleet, [[1, 1, 0, 0, 8]])).toBe(true);
  expect(fleet.stages[fleet.stage[1] ?? 0]).toBe("Quarantined");
  expect(fleet.faultyGpus[1]).toBe(8);
  expect(applyChanges(fleet, [[2, 0, 0, 0, 0]])).toBe(false);
  expect(applyChanges(fleet, [[0, 0, 0, 9, 0]])).toBe(false);
});
