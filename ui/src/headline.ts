// The first sentence of the first page: is something wrong, how bad, and must the reader do anything. Pure.

import type { Fleet, Incident } from "./contract";
import { count, counted, gpuHours, money, type Price } from "./format";

export interface Headline {
  tone: "empty" | "calm" | "burning";
  sentence: string;
}

/** From the fleet's own sums: the list of incidents may be longer than the part that was read. */
export function headline(fleet: Fleet, price: Price): Headline {
  if (fleet.nodes === 0) return { tone: "empty", sentence: "No nodes yet." };
  const all = count(fleet.gpus);
  const suspect = fleet.gpusByStage.Suspect ?? 0;
  // Capacity out of service is not lost work: the figures below the headline show lost work.
  const rate = fleet.lossRateGpuSecondsPerHour;
  const cost = `${gpuHours(rate)} GPU-hours per hour, ${money(rate, price)}`;
  const out = fleet.gpusOut === 0 ? "" : `${count(fleet.gpusOut)} of ${all} GPUs out of service (${cost})`;
  const suspected = suspect === 0 ? "" : `${count(suspect)} of ${all} GPUs suspect`;
  const parts = [out, suspected].filter((part) => part !== "");
  if (fleet.incidentsOpen === 0) {
    const sentence = parts.length === 0 ? `All ${all} GPUs are in service.` : `No incident is open. ${parts.join(", ")}.`;
    return { tone: "calm", sentence };
  }
  const many = `${counted(fleet.incidentsOpen, "incident")} open`;
  return { tone: "burning", sentence: `${[many, ...parts].join(", ")}.` };
}

/** The worst first; among equals the oldest. */
export function byLossRate(incidents: readonly Incident[]): Incident[] {
  return [...incidents].sort(
    (a, b) => b.lossRateGpuSecondsPerHour - a.lossRateGpuSecondsPerHour || a.openedAt - b.openedAt,
  );
}
