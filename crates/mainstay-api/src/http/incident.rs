//! Incidents: the suspected cause, the affected nodes and jobs, and a timeline of what was done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of one incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// Its id, the same as long as it lasts.
    pub id: String,
    /// Part and fault in one line, for example "GPU 7 of r0020n02 fell off the bus (XID 79)".
    pub title: String,
    /// What the fault means, as one sentence; empty for a rule without a text.
    pub explanation: String,
    /// Name of the runbook; none for a rule without a text.
    pub runbook: Option<String>,
    /// Suspected cause of the incident.
    pub subject: IncidentSubject,
    /// Rule that opened the incident.
    pub rule: String,
    /// Whether the incident is open or closed.
    pub state: IncidentState,
    /// Time at which the incident began, in milliseconds since the Unix epoch.
    pub opened_at: i64,
    /// Time at which the incident ended, in milliseconds since the Unix epoch. Null while it is open.
    pub closed_at: Option<i64>,
    /// Number of affected nodes, at its largest.
    pub nodes: u32,
    /// Number of GPUs on the affected nodes.
    pub gpus: u32,
    /// GPU time that jobs lost to the incident, in GPU-seconds. Null where it is not measured.
    pub lost_gpu_seconds: Option<u64>,
    /// GPU time saved by checkpoint requests; absent if it is not measured.
    pub saved_gpu_seconds: Option<u64>,
    /// Capacity of its nodes that are out of service or not ready, in GPU-seconds per hour.
    pub out_of_service_gpu_seconds_per_hour: u64,
    /// What is being done.
    pub doing: String,
    /// Operator who acknowledged the incident. Null while unacknowledged.
    pub acknowledged_by: Option<String>,
}

/// All data about an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentDetail {
    /// Summary of the incident.
    #[serde(flatten)]
    pub incident: Incident,
    /// Details of the incident.
    #[serde(flatten)]
    pub record: IncidentRecord,
}

/// Post-mortem of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Postmortem {
    /// Timeline, evidence, cost and open questions, as Markdown.
    pub markdown: String,
}

/// Details of an incident beyond its summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentRecord {
    /// The incident in one sentence.
    pub sentence: String,
    /// Names of the affected nodes, at most 500.
    pub nodes_list: Vec<String>,
    /// Events of the incident, oldest first, at most 200.
    pub timeline: Vec<IncidentEvent>,
    /// Ids of the affected jobs.
    pub jobs: Vec<String>,
    /// Kernel log lines, at most 64. Null where log lines stay on the nodes.
    pub lines: Option<Vec<String>>,
    /// What the disruption budgets allow, as a sentence.
    pub budget: String,
    /// What would have happened in another mode, as a sentence.
    pub other_mode: String,
}

/// Suspected cause of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentSubject {
    /// Kind of the suspected cause.
    pub kind: SubjectKind,
    /// Name or serial number of the suspected cause.
    pub name: String,
}

/// Kind of a suspected cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SubjectKind {
    /// One node as a whole.
    Node,
    /// One part, named by its serial number.
    Part,
    /// A leaf switch and its nodes.
    Leaf,
    /// A rack and its nodes.
    Rack,
    /// A power distribution unit and its nodes.
    Pdu,
    /// An NVLink domain and its nodes.
    NvlinkDomain,
    /// A spine switch and its nodes.
    Spine,
    /// A GPU driver version.
    Driver,
}

/// Whether an incident is open or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum IncidentState {
    /// The incident still lasts.
    Open,
    /// The incident has ended.
    Closed,
}

/// One event in an incident's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentEvent {
    /// Time of the event, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Kind of the event.
    pub kind: IncidentEventKind,
    /// Node that the event is about.
    pub node: Option<String>,
    /// Description of the event, for display.
    pub text: String,
}

/// Kind of event in an incident, in the order used for events at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum IncidentEventKind {
    /// A node reported evidence of a fault.
    Evidence,
    /// The faults were attributed to a shared cause.
    Attributed,
    /// A circuit breaker changed its state.
    Breaker,
    /// A job was asked to save a checkpoint.
    CheckpointRequested,
    /// A job saved a checkpoint.
    Saved,
    /// The engine made a decision.
    Decision,
    /// A job lost GPU time.
    Lost,
    /// A node has no more work on it.
    Drained,
    /// A node was repaired.
    Repaired,
    /// A node passed its qualification tests.
    Qualified,
    /// A node returned to service.
    Returned,
}

/// Which incidents to list: open, closed or all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IncidentStateFilter {
    /// Only open incidents.
    #[default]
    Open,
    /// Only closed incidents.
    Closed,
    /// Open and closed incidents.
    All,
}
