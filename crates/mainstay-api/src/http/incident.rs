//! Incidents: one thing that is wrong, everybody it concerns, and what was done about it, in order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// Its id, the same as long as it lasts.
    pub id: String,
    /// Part and fault in one line, for example "GPU 7 of r0020n02 fell off the bus (XID 79)".
    pub title: String,
    /// What the fault means, as one sentence; empty for a rule without a text.
    pub explanation: String,
    /// Who is blamed.
    pub subject: IncidentSubject,
    /// By which rule.
    pub rule: String,
    /// Whether it is over.
    pub state: IncidentState,
    /// When it began.
    pub opened_at: i64,
    /// When it ended.
    pub closed_at: Option<i64>,
    /// How many nodes it concerns, or did at most.
    pub nodes: u32,
    /// And GPUs.
    pub gpus: u32,
    /// GPU time that jobs lost to it; none where nobody counts it.
    pub lost_gpu_seconds: Option<u64>,
    /// GPU time that asking them first has kept; none where nobody counts it.
    pub saved_gpu_seconds: Option<u64>,
    /// Capacity of its nodes that are out of service or not ready, in GPU-seconds per hour.
    pub loss_rate_gpu_seconds_per_hour: u64,
    /// What is being done.
    pub doing: String,
    /// Who said that they know.
    pub acknowledged_by: Option<String>,
}

/// Everything about an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentDetail {
    /// It in short.
    #[serde(flatten)]
    pub incident: Incident,
    /// And the rest.
    #[serde(flatten)]
    pub record: IncidentRecord,
}

/// What there is to an incident beside its line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentRecord {
    /// It in a sentence.
    pub sentence: String,
    /// The nodes, at most 500.
    pub nodes_list: Vec<String>,
    /// What happened, oldest first, at most 200.
    pub timeline: Vec<IncidentEvent>,
    /// The jobs it concerns.
    pub jobs: Vec<String>,
    /// What the machines printed, at most 64 lines; none where it stays with the machines.
    pub lines: Option<Vec<String>>,
    /// What the budgets allow.
    pub budget: String,
    /// What would have been in another mode.
    pub other_mode: String,
}

/// Who is blamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentSubject {
    /// What kind of thing.
    pub kind: SubjectKind,
    /// Which one.
    pub name: String,
}

/// What can be blamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SubjectKind {
    /// A node.
    Node,
    /// A part, by its serial.
    Part,
    /// A leaf.
    Leaf,
    /// A rack.
    Rack,
    /// A power feed.
    Pdu,
    /// An NVLink domain.
    NvlinkDomain,
    /// A spine.
    Spine,
    /// A driver version.
    Driver,
}

/// Whether an incident is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum IncidentState {
    /// It is not.
    Open,
    /// It is.
    Closed,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentEvent {
    /// When.
    pub at: i64,
    /// What kind of thing.
    pub kind: IncidentEventKind,
    /// On which node.
    pub node: Option<String>,
    /// What, for people.
    pub text: String,
}

/// What can happen in an incident, in the order in which it is told where it happened at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum IncidentEventKind {
    /// A machine said something.
    Evidence,
    /// A place that many share is blamed.
    Blamed,
    /// A breaker moved.
    Breaker,
    /// A job was asked to save.
    Asked,
    /// It saved.
    Saved,
    /// Something was decided.
    Decision,
    /// A job lost work.
    Lost,
    /// A node is empty.
    Drained,
    /// A node is repaired.
    Repaired,
    /// A node passed its tests.
    Qualified,
    /// A node takes work again.
    Returned,
}

/// Which incidents are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IncidentsIn {
    /// Those that go on.
    #[default]
    Open,
    /// Those that are over.
    Closed,
    /// Both.
    All,
}
