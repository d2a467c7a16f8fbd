// Numbers of the Fleet page: what the parts of a bar are, and which rows of the inventory belong together. Pure.

import type { GangRoom, GpuUse, InventoryLine } from "./contract";
import { counted, kindWord, share } from "./format";

export type PartKind = "allocated" | "free" | "heldBack" | "unknown" | "outOfService";

/** One part of a bar. */
export interface Part {
  kind: PartKind;
  word: string;
  gpus: number;
}

const WORDS: Record<PartKind, string> = {
  allocated: "Allocated to jobs",
  free: "Free",
  heldBack: "Held back",
  unknown: "In service, allocation not known",
  outOfService: "Out of service",
};

/** The parts of a bar in their order. They add up to all GPUs, and a part that cannot be known is never shown as zero. */
export function partsOf(use: GpuUse): Part[] {
  const part = (kind: PartKind, gpus: number): Part => ({ kind, word: WORDS[kind], gpus });
  const out = part("outOfService", use.outOfService);
  if (use.allocated === null || use.free === null || use.heldBack === null) return [part("unknown", use.gpus - use.outOfService), out];
  return [part("allocated", use.allocated), part("free", use.free), part("heldBack", use.heldBack), out];
}

/** A bar in words, for screen readers. */
export function barText(use: GpuUse): string {
  const parts = partsOf(use).filter(({ gpus }) => gpus > 0);
  return `${counted(use.gpus, "GPU")}: ${parts.map(({ word, gpus }) => `${gpus} ${word.charAt(0).toLowerCase()}${word.slice(1)}`).join(", ")}`;
}

/** A part as a share of all GPUs. Without GPUs there is none. */
export function shareOf(gpus: number, all: number): string {
  return all === 0 ? "–" : share(Math.round((gpus / all) * 1_000_000));
}

/** Where a gang of that size would be: "in the pool", "in one rack". */
export function roomWord({ level }: GangRoom): string {
  return level === null ? "in the pool" : `in one ${kindWord(level)}`;
}

/** The rows of one GPU model. */
export interface ModelRows {
  model: string | null;
  /** More than one: GPUs of this model run different drivers. */
  drivers: number;
  rows: InventoryLine[];
}

/** Rows that follow each other and have the same model. */
export function byModel(rows: readonly InventoryLine[]): ModelRows[] {
  const models: ModelRows[] = [];
  for (const row of rows) {
    const last = models.at(-1);
    if (last !== undefined && last.model === row.model) last.rows.push(row);
    else models.push({ model: row.model, drivers: row.driversOfModel, rows: [row] });
  }
  return models;
}
