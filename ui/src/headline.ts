// The first sentence of the first page: is something wrong, how bad, and must the reader do anything. Pure.

import type { Fleet, Incident, WaitingOn } from "./contract";
import { count, counted, gpuHours, money, type Price } from "./format";
import type { FleetColumns } from "./map/columns";

export interface Headline {
  tone: "empty" | "calm" | "burning";
  sentence: string;
}

/** From the fleet's own sums: a list of incidents may be longer than what was read of it. */
export function headline(fleet: Fleet, price: Price): Headline {
  if (fleet.nodes === 0) return { tone: "empty", sentence: "No nodes yet." };
  const out = fleet.gpus - (fleet.gpusByStage.InService ?? 0);
  if (fleet.incidentsOpen === 0) {
    const sentence =
      out === 0
        ? `All ${count(fleet.gpus)} GPUs are in service.`
        : `No incident is open. ${count(out)} of ${count(fleet.gpus)} GPUs are out of service.`;
    return { tone: "calm", sentence };
  }
  const rate = fleet.lossRateGpuSecondsPerHour;
  const many = counted(fleet.incidentsOpen, "incident");
  const costing = `${gpuHours(rate)} GPU-hours (${money(rate, price)}) are lost per hour`;
  if (fleet.cluster !== null) {
    // In a real cluster a suspect node still takes work, and what work is lost is not known: neither is said.
    const suspect = fleet.gpusByStage.Suspect ?? 0;
    const suspected = suspect === 0 ? "" : `, ${count(suspect)} of ${count(fleet.gpus)} GPUs suspect`;
    const outside = out - suspect === 0 ? "" : `, ${count(out - suspect)} of ${count(fleet.gpus)} GPUs out of service`;
    return { tone: "burning", sentence: `${many} open${suspected}${outside}${rate === 0 ? "" : `, ${costing}`}.` };
  }
  return {
    tone: "burning",
    sentence: `${many} open, ${count(out)} of ${count(fleet.gpus)} GPUs out of service, ${rate === 0 ? "nothing is being lost" : costing}.`,
  };
}

/** Waits that only an operator can end. */
const NEEDED: readonly WaitingOn[] = ["Approval", "Operator"];

/** How many nodes wait on each thing that only a person can give. */
export function needed(map: FleetColumns | null): { wait: WaitingOn; nodes: number }[] {
  if (map === null) return [];
  const totals = new Map<WaitingOn, number>();
  for (const index of map.wait) {
    const wait = map.waits[index];
    if (wait !== undefined && NEEDED.includes(wait)) totals.set(wait, (totals.get(wait) ?? 0) + 1);
  }
  return [...totals].map(([wait, nodes]) => ({ wait, nodes }));
}

/** The worst first; among equals the oldest. */
export function byLossRate(incidents: readonly Incident[]): Incident[] {
  return [...incidents].sort(
    (a, b) => b.lossRateGpuSecondsPerHour - a.lossRateGpuSecondsPerHour || a.openedAt - b.openedAt,
  );
}
