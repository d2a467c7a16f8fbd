// Generated from docs/reference/openapi.json by `UPDATE=1 npm test`; do not edit.

export interface AcceptedResponse {
  at: number;
}

export interface AcknowledgeRequest {
  by: UserName;
}

export type AllowedAction = "Acknowledge" | "Request" | "SetMode";

export interface Breaker {
  flagged: number;
  pool: string;
  rule: string;
  since: number;
  state: BreakerState;
  test: string | null;
  waiting: number;
}

export type BreakerState = "Closed" | "Open" | "HalfOpen";

export interface Budget {
  dryRun: number;
  level: Level | null;
  max: number;
  nodes: number;
  out: number;
  pool: string;
}

export interface Capacity {
  inventory: Inventory | null;
  pools: PoolCapacity[];
  poolsOmitted: number;
  queues: QueueLine[] | null;
  total: GpuUse;
}

export interface ClusterAccess {
  allowedActions: AllowedAction[];
  staleSince: number | null;
  unreadable: UnreadableKind[];
  user: string | null;
}

export interface Decision {
  action: string;
  at: number;
  execution: Execution;
  node: string;
  rule: string | null;
}

export interface DecisionPage {
  items: Decision[];
  next: string | null;
}

export interface Demo {
  at: number | null;
  newestSnapshot: number;
  oldestSnapshot: number;
  paused: boolean;
  script: ScriptStep[];
  seed: number;
  speed: number;
}

export interface DemoChange {
  pauseAt: number | null;
  paused: boolean | null;
  speed: number | null;
}

export type Execution = "DryRun" | "Proposed" | "Ordered";

export interface Fault {
  fault: string;
  text: string;
  title: string;
}

export interface Faults {
  items: Fault[];
}

export interface Fleet {
  breakers: Breaker[];
  budgets: Budget[];
  cluster: ClusterAccess | null;
  demo: Demo | null;
  gpus: number;
  gpusByStage: Record<string, number>;
  gpusOut: number;
  incidentsOpen: number;
  lostGpuSeconds: number | null;
  lostGpuSecondsLastHour: number | null;
  mode: Mode;
  modeInEffect: Mode;
  modeNotice: string | null;
  name: string;
  needs: Need[];
  nodes: number;
  now: number;
  outOfServiceGpuSecondsPerHour: number;
  savedGpuSeconds: number | null;
}

export interface GangRoom {
  gpus: number;
  level: Level | null;
}

export interface GpuRecord {
  findings: PartFinding[];
  incidents: number;
  index: number;
  node: string;
  serial: string;
  uuid: string;
}

export interface GpuRecordPage {
  items: GpuRecord[];
  next: string | null;
}

export interface GpuUse {
  allocated: number | null;
  free: number | null;
  gpus: number;
  heldBack: number | null;
  nodes: number;
  outOfService: number;
  outOfServiceAllocated: number | null;
}

export interface Incident {
  acknowledgedBy: string | null;
  closedAt: number | null;
  doing: string;
  explanation: string;
  gpus: number;
  id: string;
  lostGpuSeconds: number | null;
  nodes: number;
  openedAt: number;
  outOfServiceGpuSecondsPerHour: number;
  rule: string;
  runbook: string | null;
  savedGpuSeconds: number | null;
  state: IncidentState;
  subject: IncidentSubject;
  title: string;
}

export interface IncidentDetail {
  acknowledgedBy: string | null;
  budget: string;
  closedAt: number | null;
  doing: string;
  explanation: string;
  gpus: number;
  id: string;
  jobs: string[];
  lines: string[] | null;
  lostGpuSeconds: number | null;
  nodes: number;
  nodesList: string[];
  openedAt: number;
  otherMode: string;
  outOfServiceGpuSecondsPerHour: number;
  rule: string;
  runbook: string | null;
  savedGpuSeconds: number | null;
  sentence: string;
  state: IncidentState;
  subject: IncidentSubject;
  timeline: IncidentEvent[];
  title: string;
}

export interface IncidentEvent {
  at: number;
  kind: IncidentEventKind;
  node: string | null;
  text: string;
}

export type IncidentEventKind = "Evidence" | "Attributed" | "Breaker" | "CheckpointRequested" | "Saved" | "Decision" | "Lost" | "Drained" | "Repaired" | "Qualified" | "Returned";

export interface IncidentPage {
  items: Incident[];
  next: string | null;
}

export type IncidentState = "Open" | "Closed";

export type IncidentStateFilter = "Open" | "Closed" | "All";

export interface IncidentSubject {
  kind: SubjectKind;
  name: string;
}

export interface InjectRequest {
  fault: string;
  node: string;
}

export interface Inventory {
  omittedGpus: number;
  rows: InventoryLine[];
  unlistedGpus: number;
}

export interface InventoryLine {
  driver: string | null;
  driversOfModel: number;
  firmware: string | null;
  gpus: number;
  model: string | null;
}

export interface Job {
  attempts: number | null;
  gpus: number | null;
  id: string;
  lastCheckpointAt: number | null;
  lostGpuSeconds: number | null;
  name: string;
  nodes: number;
  savedGpuSeconds: number | null;
  startedAt: number | null;
  state: JobState;
}

export interface JobAttempt {
  ended: string | null;
  endedAt: number | null;
  lostGpuSeconds: number;
  nodes: number;
  startedAt: number;
}

export interface JobCheckpoint {
  at: number;
  step: number;
}

export interface JobDetail {
  attempts: number | null;
  attemptsList: JobAttempt[];
  checkpoints: JobCheckpoint[];
  gpus: number | null;
  id: string;
  interruptions: JobInterruption[];
  lastCheckpointAt: number | null;
  lostGpuSeconds: number | null;
  name: string;
  nodes: number;
  nodesList: string[];
  savedGpuSeconds: number | null;
  startedAt: number | null;
  state: JobState;
}

export interface JobInterruption {
  at: number;
  incident: string | null;
  lostGpuSeconds: number;
  text: string;
}

export interface JobPage {
  items: Job[];
  next: string | null;
}

export type JobState = "Waiting" | "Running" | "Saving" | "Done";

export type Lemon = "Yes" | "No";

export type Level = "NvlinkDomain" | "Rack" | "Pdu" | "Leaf" | "Spine";

export interface Map {
  faultyGpus: string;
  gpusPerNode: number;
  job: string;
  jobs: MapJob[];
  now: number;
  power: string | null;
  risk: string;
  spines: MapSpine[];
  stage: string;
  stages: Stage[];
  temperature: string | null;
  version: string;
  versions: string[];
  wait: string;
  waits: WaitingOn[];
}

export interface MapChanges {
  changed: [number, number, number, number, number][];
}

export interface MapJob {
  gpus: number | null;
  id: string;
  name: string;
}

export interface MapLeaf {
  faulty: string | null;
  name: string;
  racks: MapRack[];
}

export interface MapRack {
  name: string;
  nodes: string[];
}

export interface MapSpine {
  leaves: MapLeaf[];
  name: string;
}

export type Mode = "Observe" | "Propose" | "Act";

export interface ModeChange {
  mode: Mode;
}

export interface Need {
  command: string;
  kind: NeedKind;
  subject: string | null;
  what: string;
}

export type NeedKind = "Installation" | "Leader" | "Invariant" | "Breaker" | "Incident" | "Node" | "Agents" | "Remediator";

export interface NodeAttempt {
  at: number;
  device: string | null;
  rule: string;
  step: RepairStep;
}

export interface NodeDetail {
  attempts: NodeAttempt[];
  bootId: string | null;
  domains: Record<string, string>;
  driver: string | null;
  evidence: NodeEvidence[];
  gpus: number;
  gpusList: NodeGpu[];
  incident: string | null;
  job: string | null;
  leaf: string;
  message: string;
  name: string;
  orders: NodeOrder[];
  pool: string;
  product: string | null;
  rack: string;
  request: OperatorRequest | null;
  risk: Risk;
  riskPpm: number;
  rule: string | null;
  since: number;
  stage: Stage;
  timeline: NodeTransition[];
  uid: string;
  waitingOn: WaitingOn;
  why: NodeExplanation;
}

export interface NodeEvidence {
  code: string;
  count: number;
  detail: string | null;
  device: string | null;
  firstAt: number;
  lastAt: number;
}

export interface NodeExplanation {
  action: string | null;
  evidence: string[];
  explanation: string | null;
  next: string;
  problem: string | null;
  runbook: string | null;
  sentence: string;
  since: number;
  sooner: string | null;
  unrecognised: string[];
  until: number | null;
  waiting: string;
}

export interface NodeGpu {
  findings: PartFinding[];
  index: number;
  pci: string;
  serial: string;
  uuid: string;
}

export interface NodeLine {
  gpus: number;
  job: string | null;
  leaf: string;
  message: string;
  name: string;
  rack: string;
  riskPpm: number;
  rule: string | null;
  since: number;
  stage: Stage;
  waitingOn: WaitingOn;
}

export interface NodeLinePage {
  items: NodeLine[];
  next: string | null;
}

export interface NodeOrder {
  doneBy: number;
  id: string;
  task: string;
}

export interface NodeRequest {
  by: UserName;
  kind: NodeRequestKind;
  reason: Reason;
}

export type NodeRequestKind = "hold" | "quarantine" | "drain" | "return" | "retire";

export interface NodeTransition {
  at: number;
  rule: string | null;
  to: Stage;
}

export type NotInService = "NotInService";

export interface OperatorRequest {
  by: string;
  kind: NodeRequestKind;
  reason: string;
}

export interface PartFinding {
  response: Response;
  rule: string;
  urgency: Urgency;
}

export interface Plan {
  items: PlanItem[];
}

export interface PlanItem {
  action: string;
  execution: Execution | null;
  node: string;
  rule: string;
  waitingOn: WaitingOn;
  why: string;
}

export interface PoolCapacity {
  allocated: number | null;
  free: number | null;
  gpus: number;
  heldBack: number | null;
  largestGangs: GangRoom[] | null;
  nodes: number;
  outOfService: number;
  outOfServiceAllocated: number | null;
  pool: string;
}

export interface Postmortem {
  markdown: string;
}

export interface Problem {
  detail: string;
  hint: string;
  what: string;
}

export interface QueueLine {
  gpus: number;
  jobs: number;
  pods: number | null;
  queue: string;
  waitingSince: number;
}

export type Reason = string;

export type RepairStep = "Capture" | "RestartService" | "ResetGpu" | "Reboot" | "PowerCycle" | "Replace";

export type Response = "Note" | "Watch" | "Remove";

export interface Risk {
  lemon: Lemon;
  parts: RiskPart[];
  ppm: number;
}

export interface RiskPart {
  ppm: number;
  what: string;
}

export interface ScriptStep {
  at: number;
  done: boolean;
  text: string;
  title: string;
}

export interface SeekRequest {
  at: number | null;
}

export interface Series {
  items: SeriesPoint[];
}

export interface SeriesPoint {
  at: number;
  gpusOut: number;
  lostGpuSeconds: number | null;
}

export interface Slo {
  allowedBadEventsMilli: number;
  badEventsMilli: number;
  budgetLeftPpm: number | null;
  budgetState: SloBudgetState | null;
  burnDownPpm: number[];
  burnRateMilli: number | null;
  consumers: SloConsumer[];
  goodEvents: string;
  hoursMissing: number;
  name: string;
  objectivePpm: number;
  observedAt: number | null;
  owner: string;
  problem: string | null;
  runbookUrl: string;
  severity: SloSeverity;
  windowDays: number;
}

export type SloBudgetState = "Spent" | "Left";

export interface SloConsumer {
  badEventsMilli: number;
  incident: string | null;
  sharePpm: number;
}

export interface SloPage {
  items: Slo[];
  next: string | null;
}

export type SloSeverity = "Ticket" | "Page";

export type Stage = "Bootstrapping" | "InService" | "Suspect" | "Quarantined" | "Draining" | "Repairing" | "Qualifying" | "Maintenance" | "Upgrading" | "Held" | "Retired";

export type StageFilter = Stage | NotInService;

export interface StopRequest {
  by: UserName;
  reason: Reason;
}

export type SubjectKind = "Node" | "Part" | "Leaf" | "Rack" | "Pdu" | "NvlinkDomain" | "Spine" | "Driver";

export interface UnreadableKind {
  kind: string;
  why: UnreadableReason;
}

export type UnreadableReason = "Forbidden" | "NotInstalled";

export type Urgency = "Now" | "Minutes" | "NextCheckpoint";

export type UserName = string;

export type WaitingOn = "Nothing" | "Approval" | "Breaker" | "Budget" | "CapacityFloor" | "Checkpoint" | "Drain" | "Freeze" | "Leadership" | "Mode" | "Operator" | "Order" | "Qualification" | "RateLimit" | "Report" | "SecondSignal" | "SharedCause" | "WatchSync" | "Window";
