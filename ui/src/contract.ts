// The HTTP API `/api/v1` as this page speaks of it. The types are generated from the API's own document, so they cannot
// drift from it; here are the names and the orders that only a page needs. Moments are milliseconds of the fleet's clock,
// GPU time is in GPU-seconds, shares are parts per million.

import type { AskedKind, Mode, Stage } from "./schema";

export type {
  Act,
  Breaker,
  Budget,
  ClusterSeen,
  Decision,
  Demo,
  Fault,
  Fleet,
  GpuRecord,
  Incident,
  IncidentDetail,
  IncidentEvent,
  IncidentEventKind,
  Job,
  JobDetail,
  Map as MapBody,
  MapChanges,
  Mode,
  Need,
  NodeDetail,
  NodeEvidence as Evidence,
  NodeGpu,
  NodeLine,
  PartFinding,
  PlanItem,
  Problem as ProblemBody,
  Series,
  SeriesPoint,
  Stage,
  Standing,
  StoryStep,
  WaitingOn,
  Why,
} from "./schema";
export type MapChange = [number, number, number, number, number];
export type RequestKind = AskedKind;

export interface Page<T> {
  items: T[];
  next?: string | null;
}

/** From calm to gone, as legends and lists show them. */
export const STAGES = Object.keys({
  InService: 0,
  Suspect: 0,
  Quarantined: 0,
  Draining: 0,
  Repairing: 0,
  Qualifying: 0,
  Maintenance: 0,
  Upgrading: 0,
  Held: 0,
  Bootstrapping: 0,
  Retired: 0,
} satisfies Record<Stage, 0>) as Stage[];

/** From careful to free. */
export const MODES = Object.keys({ Observe: 0, Propose: 0, Act: 0 } satisfies Record<Mode, 0>) as Mode[];
