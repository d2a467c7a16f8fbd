// The nodes of a job on the map, and whether they are packed into few leaves or spread over many.

import type { FleetColumns } from "./columns";

export interface Gang {
  id: string;
  name: string;
  gpus: number | null;
  nodes: Set<number>;
  leaves: number;
  /** Smallest number of leaves that can hold the nodes. */
  leavesAtBest: number;
}

export function gangOf(fleet: FleetColumns, id: string): Gang | null {
  const place = fleet.jobs.findIndex((job) => job.id === id);
  const job = fleet.jobs[place];
  if (job === undefined) return null;
  const nodes = new Set<number>();
  const leaves = new Set<number>();
  for (let node = 0; node < fleet.job.length; node += 1) {
    if (fleet.job[node] !== place + 1) continue;
    nodes.add(node);
    leaves.add(fleet.leafOf[node] ?? 0);
  }
  return { id, name: job.name, gpus: job.gpus, nodes, leaves: leaves.size, leavesAtBest: fewestLeaves(fleet, nodes.size) };
}

function fewestLeaves(fleet: FleetColumns, nodes: number): number {
  let left = nodes;
  let used = 0;
  for (const size of fleet.leaves.map((leaf) => leaf.count).sort((a, b) => b - a)) {
    if (left <= 0) break;
    left -= size;
    used += 1;
  }
  return used;
}

/** For example "packed in 2 leaves" or "spread over 9 leaves, 2 would be enough". */
export function packing(gang: Gang): string {
  const leaves = `${gang.leaves} ${gang.leaves === 1 ? "leaf" : "leaves"}`;
  if (gang.leaves <= gang.leavesAtBest + 1) return `packed in ${leaves}`;
  return `spread over ${leaves}, ${gang.leavesAtBest} would be enough`;
}
