// The decoded map: names and typed columns in one order, nodes grouped by rack, leaf and spine. Input is not trusted:
// every column is cut or padded to the number of nodes and every index is checked once, here.

import type { Incident, MapBody, MapChange, Stage, WaitingOn } from "../contract";

/** A rack, leaf or spine: its name and its range of nodes. */
export interface Group {
  name: string;
  first: number;
  count: number;
}

export interface LeafGroup extends Group {
  faulty: string | null;
  firstRack: number;
  racks: number;
}

export interface SpineGroup extends Group {
  firstLeaf: number;
  leaves: number;
}

export interface FleetColumns {
  now: number;
  gpusPerNode: number;
  names: string[];
  racks: Group[];
  leaves: LeafGroup[];
  spines: SpineGroup[];
  rackOf: Uint32Array;
  leafOf: Uint32Array;
  stages: Stage[];
  stage: Uint8Array;
  waits: WaitingOn[];
  wait: Uint8Array;
  jobs: { id: string; name: string; gpus: number | null }[];
  /** 0 is none, else one more than the place in `jobs`. */
  job: Uint16Array;
  riskPpm: Uint32Array;
  versions: string[];
  version: Uint8Array;
  faultyGpus: Uint8Array;
  celsius: Uint8Array | null;
  /** Tens of watts per GPU. */
  decawatts: Uint8Array | null;
}

export const UNKNOWN_CELSIUS = 255;
const PPM_PER_STEP = 16;

export function decodeMap(body: MapBody): FleetColumns {
  const tree = flatten(body);
  const nodes = tree.names.length;
  const steps = words(body.risk, nodes);
  return {
    now: body.now,
    gpusPerNode: Math.min(Math.max(1, body.gpusPerNode), 8),
    ...tree,
    stages: body.stages,
    stage: bounded(bytes(body.stage, nodes), body.stages.length),
    waits: body.waits,
    wait: bounded(bytes(body.wait, nodes), body.waits.length),
    jobs: body.jobs,
    job: bounded(words(body.job, nodes), body.jobs.length + 1),
    riskPpm: Uint32Array.from(steps, (step) => step * PPM_PER_STEP),
    versions: body.versions,
    version: bounded(bytes(body.version, nodes), body.versions.length),
    faultyGpus: bytes(body.faultyGpus, nodes),
    celsius: body.temperature == null ? null : bytes(body.temperature, nodes),
    decawatts: body.power == null ? null : bytes(body.power, nodes),
  };
}

/** Applies changes from the stream; false if they do not fit this map, which must then be read again. */
export function applyChanges(columns: FleetColumns, changes: MapChange[]): boolean {
  for (const [node, stage, wait, job, sick] of changes) {
    const fits =
      node < columns.names.length &&
      stage < columns.stages.length &&
      wait < columns.waits.length &&
      job <= columns.jobs.length;
    if (!fits) return false;
    columns.stage[node] = stage;
    columns.wait[node] = wait;
    columns.job[node] = job;
    columns.faultyGpus[node] = sick;
  }
  return true;
}

/** Marks the leaves that are the suspected cause of an open incident; true if a mark changed. */
export function markSuspectedLeaves(columns: FleetColumns, open: readonly Incident[]): boolean {
  const suspected = new Map(open.filter(({ subject }) => subject.kind === "Leaf").map(({ subject, id }) => [subject.name, id]));
  let changed = false;
  for (const leaf of columns.leaves) {
    const sick = suspected.get(leaf.name) ?? null;
    changed ||= leaf.faulty !== sick;
    leaf.faulty = sick;
  }
  return changed;
}

type Tree = Pick<FleetColumns, "names" | "racks" | "leaves" | "spines" | "rackOf" | "leafOf">;

function flatten(body: MapBody): Tree {
  const names: string[] = [];
  const racks: Group[] = [];
  const leaves: LeafGroup[] = [];
  const spines: SpineGroup[] = [];
  for (const spine of body.spines) {
    const inSpine = { name: spine.name, first: names.length, firstLeaf: leaves.length };
    for (const leaf of spine.leaves) {
      const inLeaf = { name: leaf.name, first: names.length, firstRack: racks.length, faulty: leaf.faulty };
      for (const rack of leaf.racks) {
        racks.push({ name: rack.name, first: names.length, count: rack.nodes.length });
        for (const node of rack.nodes) names.push(fullName(rack.name, node));
      }
      leaves.push({ ...inLeaf, count: names.length - inLeaf.first, racks: racks.length - inLeaf.firstRack });
    }
    spines.push({ ...inSpine, count: names.length - inSpine.first, leaves: leaves.length - inSpine.firstLeaf });
  }
  return { names, racks, leaves, spines, rackOf: owners(racks, names.length), leafOf: owners(leaves, names.length) };
}

/** A name that begins with a hyphen is appended to the name of its rack. */
function fullName(rack: string, node: string): string {
  return node.startsWith("-") ? `${rack}${node}` : node;
}

function owners(groups: Group[], nodes: number): Uint32Array {
  const owner = new Uint32Array(nodes);
  groups.forEach((group, index) => owner.fill(index, group.first, group.first + group.count));
  return owner;
}

function bytes(base64: string, length: number): Uint8Array {
  const text = atob(base64);
  const column = new Uint8Array(length);
  const known = Math.min(length, text.length);
  for (let index = 0; index < known; index += 1) column[index] = text.charCodeAt(index);
  return column;
}

function words(base64: string, length: number): Uint16Array {
  const low = bytes(base64, length * 2);
  const column = new Uint16Array(length);
  for (let index = 0; index < length; index += 1) {
    column[index] = (low[2 * index] ?? 0) | ((low[2 * index + 1] ?? 0) << 8);
  }
  return column;
}

function bounded<Column extends Uint8Array | Uint16Array>(column: Column, below: number): Column {
  for (let index = 0; index < column.length; index += 1) {
    if ((column[index] ?? 0) >= below) column[index] = 0;
  }
  return column;
}
