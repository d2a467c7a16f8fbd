// The HTTP API `/api/v1` as the page uses it. The types are generated from the OpenAPI document; this file adds the names
// and orders that only the page needs. Times are milliseconds of the fleet's clock, GPU time is in GPU-seconds, shares are
// parts per million.

import type { NodeRequestKind, Mode, Stage } from "./schema";

export type {
  AllowedAction,
  Breaker,
  Budget,
  Capacity,
  ClusterAccess,
  Decision,
  Demo,
  Fault,
  Fleet,
  GangRoom,
  GpuRecord,
  GpuUse,
  Incident,
  IncidentDetail,
  IncidentEvent,
  IncidentEventKind,
  Inventory,
  InventoryLine,
  Job,
  JobDetail,
  Map as MapBody,
  MapChanges,
  Mode,
  Need,
  NodeAttempt,
  NodeDetail,
  NodeEvidence as Evidence,
  NodeGpu,
  NodeLine,
  NodeOrder,
  PartFinding,
  PlanItem,
  PoolCapacity,
  Postmortem,
  Problem as ProblemBody,
  QueueLine,
  Series,
  SeriesPoint,
  Slo,
  Stage,
  Execution,
  ScriptStep,
  WaitingOn,
  NodeExplanation,
} from "./schema";
export type MapChange = [number, number, number, number, number];
export type RequestKind = NodeRequestKind;

export interface Page<T> {
  items: T[];
  next?: string | null;
}

/** Stages in the order of legends and lists, from in service to retired. */
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

/** Modes, from the most to the least restrictive. */
export const MODES = Object.keys({ Observe: 0, Propose: 0, Act: 0 } satisfies Record<Mode, 0>) as Mode[];
