// A made-up map of any size, for tests.

import type { MapBody } from "../contract";

export interface Size {
  spines: number;
  leaves: number;
  racks: number;
  nodes: number;
  risk?: number[];
}

export function body({ spines, leaves, racks, nodes, risk = [] }: Size): MapBody {
  const total = spines * leaves * racks * nodes;
  const numbered = <T>(many: number, make: (index: number) => T) => Array.from({ length: many }, (_, index) => make(index + 1));
  const zeros = (length: number) => btoa("\0".repeat(length));
  return {
    now: 0,
    gpusPerNode: 8,
    spines: numbered(spines, (s) => ({
      name: `s${s}`,
      leaves: numbered(leaves, (l) => ({
        name: `s${s}l${l}`,
        faulty: null,
        racks: numbered(racks, (r) => ({ name: `s${s}l${l}r${r}`, nodes: numbered(nodes, (n) => `-n${n}`) })),
      })),
    })),
    stages: ["InService", "Quarantined"],
    stage: zeros(total),
    waits: ["Nothing"],
    wait: zeros(total),
    jobs: [{ id: "train-7", name: "train-7", gpus: 16 }],
    job: zeros(2 * total),
    risk: btoa(numbered(total, (node) => word(risk[node - 1] ?? 0)).join("")),
    versions: ["570"],
    version: zeros(total),
    faultyGpus: zeros(total),
    temperature: null,
    power: null,
  };
}

function word(value: number): string {
  return String.fromCharCode(value & 255, value >> 8);
}
