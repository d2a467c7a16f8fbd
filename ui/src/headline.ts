// The first sentence of the first page: is something wrong, how bad, and must the reader do anything. Pure.

import type { Fleet, Incident, WaitingOn } from "./contract";
import { count, counted, gpuHours, money, type Price } from "./format";
import type { FleetColumns } from "./map/columns";
import { NEEDS_A_PERSON } from "./stage";

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
  // What work is lost is not known of a cluster, so that nothing is said where no node is out.
  const nothing = fleet.cluster === null ? ", nothing is being lost" : "";
  const costing = rate === 0 ? nothing : `, ${gpuHours(rate)} GPU-hours (${money(rate, price)}) are lost per hour`;
  return {
    tone: "burning",
    sentence: `${many} open, ${count(out)} of ${count(fleet.gpus)} GPUs out of service${costing}.`,
  };
}

/** How many nodes wait on each thing that only a person can give. */
export function needed(map: FleetColumns | null): { wait: WaitingOn; nodes: number }[] {
  if (map === null) return [];
  const totals = new Map<WaitingOn, number>();
  for (const index of map.wait) {
    const wait = map.waits[index];
    if (wait !== undefined && NEEDS_A_PERSON.includes(wait)) totals.set(wait, (totals.get(wait) ?? 0) + 1);
  }
  return [...totals].map(([wait, nodes]) => ({ wait, nodes }));
}

/** The worst first; among equals the oldest. */
export function byLossRate(incidents: readonly Incident[]): Incident[] {
  return [...incidents].sort(
    (a, b) => b.lossRateGpuSecondsPerHour - a.lossRateGpuSecondsPerHour || a.openedAt - b.openedAt,
  );
}
