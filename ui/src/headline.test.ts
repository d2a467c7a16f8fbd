import { expect, it } from "vitest";
import type { Fleet } from "./contract";
import { headline } from "./headline";

const FLEET = {
  nodes: 64,
  gpus: 512,
  gpusByStage: { InService: 480, Suspect: 32 },
  gpusOut: 32,
  lossRateGpuSecondsPerHour: 32 * 3600,
  lostGpuSecondsLastHour: 0,
  incidentsOpen: 1,
} as unknown as Fleet;
const PRICE = { perGpuHour: 2, currency: "USD" } as unknown as Parameters<typeof headline>[1];

it("capacity out of service is never called lost work", () => {
  const { sentence } = headline(FLEET, PRICE);
  expect(sentence).toContain("1 incident open, 32 of 512 GPUs out of service (32 GPU-hours per hour");
  expect(sentence).not.toContain("lost");
});

it("a fleet without incidents and with every GPU in service has a calm headline", () => {
  const calm = { ...FLEET, gpusByStage: { InService: 512 }, gpusOut: 0, lossRateGpuSecondsPerHour: 0, incidentsOpen: 0 };
  expect(headline(calm as Fleet, PRICE)).toEqual({ tone: "calm", sentence: "All 512 GPUs are in service." });
});
