// The HTTP API `/api/v1` as types. Moments are milliseconds of the fleet's clock, GPU time is in GPU-seconds, shares
// are parts per million. Nothing here is computed; unknown fields are ignored.

export const STAGES = [
  "InService",
  "Suspect",
  "Quarantined",
  "Draining",
  "Repairing",
  "Qualifying",
  "Maintenance",
  "Upgrading",
  "Held",
  "Bootstrapping",
  "Retired",
] as const;
export type Stage = (typeof STAGES)[number];

export type WaitingOn =
  | "Nothing"
  | "Witness"
  | "Domain"
  | "Breaker"
  | "Budget"
  | "Mode"
  | "Approval"
  | "Leadership"
  | "FreshView"
  | "Checkpoint"
  | "Drain"
  | "Order"
  | "Qualification"
  | "Report"
  | "Person";

export const MODES = ["Observe", "Propose", "Act"] as const;
export type Mode = (typeof MODES)[number];
export type RequestKind = "hold" | "quarantine" | "drain" | "return";
export type Standing = "Ordered" | "Proposed" | "OnPaper";

export interface Budget {
  pool: string;
  level: string | null;
  most: number;
  out: number;
  nodes: number;
}

export interface Breaker {
  pool: string;
  rule: string;
  state: "Open" | "HalfOpen";
  since: number;
  condemned: number;
  waiting: number;
  test: string | null;
}

export interface StoryStep {
  at: number;
  title: string;
  text: string;
  done?: boolean;
}

export interface Demo {
  seed: number;
  speed: number;
  paused: boolean;
  story: StoryStep[];
  oldestSnapshot: number;
  newestSnapshot: number;
  at: number | null;
}

export interface Fleet {
  name: string;
  now: number;
  mode: Mode;
  gpus: number;
  nodes: number;
  gpusByStage: Partial<Record<Stage, number>>;
  lostGpuSeconds: number;
  savedGpuSeconds: number;
  lostGpuSecondsLastHour: number;
  incidentsOpen: number;
  budgets: Budget[];
  breakers: Breaker[];
  demo: Demo | null;
}

export interface MapRack {
  name: string;
  nodes: string[];
}
export interface MapLeaf {
  name: string;
  sick: string | null;
  racks: MapRack[];
}
export interface MapSpine {
  name: string;
  leaves: MapLeaf[];
}

/** The map as it travels: a tree of names, and one column per property in the order of that tree. */
export interface MapBody {
  now: number;
  gpusPerNode: number;
  spines: MapSpine[];
  stages: Stage[];
  stage: string;
  waits: WaitingOn[];
  wait: string;
  jobs: { id: string; name: string; gpus: number }[];
  job: string;
  risk: string;
  versions: string[];
  version: string;
  sickGpus: string;
  temperature?: string;
  power?: string;
}

/** `[node, stage, wait, job, sickGpus]`, each an index or a mask as in the columns of the map. */
export type MapChange = [number, number, number, number, number];

export interface NodeLine {
  name: string;
  stage: Stage;
  since: number;
  waitingOn: WaitingOn;
  rule: string | null;
  message: string;
  job: string | null;
  riskPpm: number;
  rack: string;
  leaf: string;
  gpus: number;
}

export interface Why {
  sentence: string;
  evidence: string[];
  since: number;
  until: number | null;
  next: string;
  sooner: string | null;
}

export interface PartFinding {
  rule: string;
  severity?: string;
  response?: string;
  urgency: "Now" | "Minutes" | "NextCheckpoint";
}

export interface NodeGpu {
  index: number;
  serial: string;
  uuid: string;
  pci: string;
  findings: PartFinding[];
}

export interface Evidence {
  code: string;
  device: string | null;
  count: number;
  firstAt: number;
  lastAt: number;
  detail: string | null;
}

export interface NodeDetail extends NodeLine {
  why: Why;
  pool: string;
  domains: Record<string, string>;
  uid: string;
  bootId: string | null;
  driver: string | null;
  product: string | null;
  gpusList: NodeGpu[];
  evidence: Evidence[];
  timeline: { at: number; to: Stage; rule: string | null }[];
  attempts: { at: number; rung: string; rule: string; device: string | null }[];
  orders: { id: string; task: string; expiresAt: number }[];
  risk: { ppm: number; lemon: "Yes" | "No"; parts: { what: string; ppm: number }[] };
  request: { kind: string; by: string; reason: string } | null;
  incident: string | null;
}

export interface GpuRecord {
  serial: string;
  uuid: string;
  node: string;
  index: number;
  findings: PartFinding[];
  incidents: number;
}

export interface Incident {
  id: string;
  title: string;
  subject: { kind: string; name: string };
  rule: string;
  state: "Open" | "Closed";
  openedAt: number;
  closedAt: number | null;
  nodes: number;
  gpus: number;
  lostGpuSeconds: number;
  savedGpuSeconds: number;
  lossRateGpuSecondsPerHour: number;
  doing: string;
  acknowledgedBy: string | null;
}

export type IncidentEventKind =
  | "Evidence"
  | "Decision"
  | "Asked"
  | "Saved"
  | "Drained"
  | "Repaired"
  | "Qualified"
  | "Returned"
  | "Lost"
  | "Blamed"
  | "Breaker";

export interface IncidentEvent {
  at: number;
  kind: IncidentEventKind;
  node: string | null;
  text: string;
}

export interface IncidentDetail extends Incident {
  sentence: string;
  nodesList: string[];
  timeline: IncidentEvent[];
  jobs: string[];
  lines: string[];
  budget: string;
  otherMode: string;
}

export interface Job {
  id: string;
  name: string;
  gpus: number;
  nodes: number;
  state: "Waiting" | "Running" | "Saving" | "Done";
  startedAt: number | null;
  attempts: number;
  lostGpuSeconds: number;
  savedGpuSeconds: number;
  lastCheckpointAt: number | null;
}

export interface JobDetail extends Job {
  nodesList: string[];
  attemptsList: {
    startedAt: number;
    endedAt: number | null;
    ended: string | null;
    nodes: number;
    lostGpuSeconds: number;
  }[];
  checkpoints: { at: number; step: number }[];
  interruptions: { at: number; incident: string | null; text: string; lostGpuSeconds: number }[];
}

export interface Decision {
  at: number;
  node: string;
  act: string;
  standing: Standing;
  rule: string | null;
}

export interface PlanItem {
  node: string;
  act: string;
  rule: string;
  standing: Standing;
  why: string;
}

export interface Fault {
  fault: string;
  title: string;
  text: string;
}

export interface Page<T> {
  items: T[];
  next?: string | null;
}

/** How the server refuses: what, detail, hint. */
export interface ProblemBody {
  what: string;
  detail: string;
  hint: string;
}
