import { expect, test } from "vitest";
import { barText, byModel, partsOf, roomWord, shareOf } from "./capacity";
import type { GpuUse } from "./contract";

const use: GpuUse = { nodes: 5, gpus: 40, allocated: 11, free: 13, heldBack: 8, outOfService: 8, outOfServiceAllocated: 0 };
const unread: GpuUse = { ...use, allocated: null, free: null, heldBack: null, outOfServiceAllocated: null };

test("the parts of a bar add up to all GPUs", () => {
  for (const one of [use, unread]) expect(partsOf(one).reduce((sum, { gpus }) => sum + gpus, 0)).toBe(40);
  expect(barText(use)).toBe("40 GPUs: 11 allocated to jobs, 13 free, 8 held back, 8 out of service");
});

test("what pods would tell is not known without them, and not zero", () => {
  expect(partsOf(unread).map(({ kind, gpus }) => [kind, gpus])).toEqual([["unknown", 32], ["outOfService", 8]]);
  expect(barText(unread)).toBe("40 GPUs: 32 in service, allocation not known, 8 out of service");
});

test("a share needs GPUs", () => {
  expect(shareOf(11, 40)).toBe("28 %");
  expect(shareOf(0, 40)).toBe("0 %");
  expect(shareOf(0, 0)).toBe("–");
});

test("a gang fits in a pool or in one domain", () => {
  expect(roomWord({ level: null, gpus: 8 })).toBe("in the pool");
  expect(roomWord({ level: "NvlinkDomain", gpus: 8 })).toBe("in one NVLink domain");
});

test("rows of one model are together, with the number of its drivers", () => {
  const row = (model: string | null, driver: string, driversOfModel: number) => ({ model, driver, firmware: null, gpus: 8, driversOfModel });
  const models = byModel([row("B200", "580.2", 1), row("H100", "580.1", 2), row("H100", "580.2", 2), row(null, "580.2", 1)]);
  expect(models.map(({ model, drivers, rows }) => [model, drivers, rows.length])).toEqual([
    ["B200", 1, 1],
    ["H100", 2, 2],
    [null, 1, 1],
  ]);
});
