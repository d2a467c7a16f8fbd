//! The HTTP API `/api/v1`: what the server returns, what the web UI reads and what `-o json` prints. Times are whole
//! milliseconds since the Unix epoch, by the fleet's clock. GPU time is in whole GPU-seconds, shares are in parts per
//! million. Every list is bounded.
//!
//! [`Route`] is the one list of calls: the server routes by it, and [`openapi`] documents it.

mod actions;
mod body;
mod capacity;
mod document;
mod fleet;
mod incident;
mod job;
mod map;
mod node;
mod route;
mod slo;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use actions::{
    AcceptedResponse, AcknowledgeRequest, DemoChange, Fault, Faults, InjectRequest, ModeChange, NodeRequest,
    NodeRequestKind, SPEED_MAX, SeekRequest, StopRequest,
};
pub use body::RequestBody;
pub use capacity::{
    Capacity, GangRoom, GpuUse, INVENTORY_MAX, Inventory, InventoryLine, POOLS_MAX, PoolCapacity, QUEUES_MAX, QueueLine,
};
pub use document::openapi;
pub use fleet::{
    AllowedAction, Breaker, Budget, ClusterAccess, Decision, Demo, Fleet, Need, NeedKind, Plan, PlanItem, ScriptStep,
    Series, SeriesPoint, UnreadableKind, UnreadableReason,
};
pub use incident::{
    Incident, IncidentDetail, IncidentEvent, IncidentEventKind, IncidentRecord, IncidentState, IncidentStateFilter,
    IncidentSubject, Postmortem, SubjectKind,
};
pub use job::{Job, JobAttempt, JobCheckpoint, JobDetail, JobInterruption, JobRecord, JobState};
pub use map::{Map, MapChanges, MapJob, MapLeaf, MapRack, MapSpine};
pub use node::{
    GpuRecord, Lemon, NodeAttempt, NodeDetail, NodeEvidence, NodeExplanation, NodeGpu, NodeLine, NodeOrder, NodeRecord,
    NodeTransition, NotInService, OperatorRequest, PartFinding, Risk, RiskPart, StageFilter,
};
pub use route::{Method, QueryParameter, RequestFormat, ResponseFormat, Route, SchemaFn};
pub use slo::Slo;

/// Largest number of items in one answer, whatever the caller requests.
pub const LIMIT_MAX: usize = 500;
/// Number of items in one answer without a `limit`.
pub const LIMIT_DEFAULT: usize = 100;
/// Largest number of nodes in one stream event. For more, the event is `reload`.
pub const STREAM_NODES_MAX: usize = 200;

/// Why a call failed, for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// What is wrong, in a few words.
    pub what: String,
    /// Details of the problem, as a sentence.
    pub detail: String,
    /// What the caller can do about it.
    pub hint: String,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// Items of the page, at most 500.
    pub items: Vec<T>,
    /// Value for `after` to get the next page. Null on the last page.
    pub next: Option<String>,
}
