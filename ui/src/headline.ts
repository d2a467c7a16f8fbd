// The headline of the Now page: what is wrong, how much of the fleet is affected, and what operators must do. Pure.

import type { Fleet, Incident, PlanItem } from "./contract";
import { count, counted } from "./format";
import type { FleetColumns } from "./map/columns";

export interface Headline {
  tone: "empty" | "healthy" | "incident";
  sentence: string;
}

/** Uses the sums of the fleet, because the page may have loaded only part of the incidents. */
export function headline(fleet: Fleet): Headline {
  if (fleet.nodes === 0) return { tone: "empty", sentence: "No nodes yet." };
  // A suspect node may still run jobs, so it is counted apart.
  const parts = [
    { gpus: gpusOut(fleet), state: "out of service" },
    { gpus: fleet.gpusByStage.Suspect ?? 0, state: "suspect" },
  ].filter(({ gpus }) => gpus > 0);
  const affected = parts.map(({ gpus, state }, index) => (index === 0 ? `${count(gpus)} of ${count(fleet.gpus)} GPUs ${state}` : `${count(gpus)} ${state}`)).join(", ");
  if (fleet.incidentsOpen === 0) {
    return { tone: "healthy", sentence: affected === "" ? `All ${count(fleet.gpus)} GPUs are in service.` : `No open incidents. ${affected}.` };
  }
  const many = counted(fleet.incidentsOpen, "open incident");
  return { tone: "incident", sentence: affected === "" ? `${many}.` : `${many}: ${affected}.` };
}

/** GPUs of nodes that are out of service by their stage, or that open incidents make unavailable. */
function gpusOut(fleet: Fleet): number {
  const { InService = 0, Suspect = 0 } = fleet.gpusByStage;
  return Math.min(fleet.gpus, Math.max(fleet.gpus - InService - Suspect, fleet.lossRateGpuSecondsPerHour / 3600));
}

/** Items of the plan that only the mode holds back: their nodes wait for a higher mode or for an approval. */
export function heldByMode(plan: readonly PlanItem[], map: FleetColumns | null): PlanItem[] {
  if (map === null) return [];
  const held = new Set(map.names.filter((_, node) => HOLDS_BACK.has(map.waits[map.wait[node] ?? 0] ?? "Nothing")));
  return plan.filter((item) => held.has(item.node));
}

const HOLDS_BACK: ReadonlySet<WaitingOn> = new Set(["Mode", "Approval"]);

/** Sorts by capacity out of service, then by age. */
export function byLossRate(incidents: readonly Incident[]): Incident[] {
  return [...incidents].sort(
    (a, b) => b.lossRateGpuSecondsPerHour - a.lossRateGpuSecondsPerHour || a.openedAt - b.openedAt,
  );
}
