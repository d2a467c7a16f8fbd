// The headline of the Now page: what is wrong and how much of the fleet is affected. Pure.

import type { Fleet, Incident, PlanItem } from "./contract";
import { count, counted } from "./format";

export interface Headline {
  tone: "empty" | "healthy" | "incident";
  sentence: string;
}

/** Uses the sums of the fleet, because the page may have loaded only part of the incidents. */
export function headline(fleet: Fleet): Headline {
  if (fleet.nodes === 0) return { tone: "empty", sentence: "No nodes yet." };
  // A suspect node may still run jobs, so it is counted apart.
  const parts = [
    { gpus: fleet.gpusOut, state: "out of service" },
    { gpus: fleet.gpusByStage.Suspect ?? 0, state: "suspect" },
  ].filter(({ gpus }) => gpus > 0);
  const affected = parts.map(({ gpus, state }, index) => (index === 0 ? `${count(gpus)} of ${count(fleet.gpus)} GPUs ${state}` : `${count(gpus)} ${state}`)).join(", ");
  if (fleet.incidentsOpen === 0) {
    return { tone: "healthy", sentence: affected === "" ? `All ${count(fleet.gpus)} GPUs are in service.` : `No open incidents. ${affected}.` };
  }
  const many = counted(fleet.incidentsOpen, "open incident");
  return { tone: "incident", sentence: affected === "" ? `${many}.` : `${many}: ${affected}.` };
}

/** Items of the plan that only the mode holds back: their nodes wait for a higher mode or for an approval. */
export function heldByMode(plan: readonly PlanItem[]): PlanItem[] {
  return plan.filter(({ waitingOn }) => waitingOn === "Mode" || waitingOn === "Approval");
}

/** Sorts by capacity out of service, then by age. */
export function byLossRate(incidents: readonly Incident[]): Incident[] {
  return [...incidents].sort(
    (a, b) => b.outOfServiceGpuSecondsPerHour - a.outOfServiceGpuSecondsPerHour || a.openedAt - b.openedAt,
  );
}
