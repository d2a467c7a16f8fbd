//! The HTTP API `/api/v1`: what the server answers, what the web page reads and what `-o json` prints. Moments are whole
//! milliseconds of the fleet's clock, GPU time is in whole GPU-seconds, shares are parts per million. Every list is
//! bounded.
//!
//! [`Route`] is the one list of what can be called: the server routes by it, and [`openapi`] documents it.

mod act;
mod document;
mod fleet;
mod incident;
mod job;
mod map;
mod node;
mod route;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use act::{
    Accepted, Acknowledge, AskedKind, DemoChange, Fault, Faults, Inject, ModeChange, NodeRequest, SPEED_MAX, Scrub,
    Stop,
};
pub use document::openapi;
pub use fleet::{
    Act, Breaker, Budget, ClusterSeen, Decision, Demo, Fleet, Need, NeedKind, Plan, PlanItem, Series, SeriesPoint,
    StoryStep, Unread, UnreadWhy,
};
pub use incident::{
    Incident, IncidentDetail, IncidentEvent, IncidentEventKind, IncidentRecord, IncidentState, IncidentSubject,
    IncidentsIn, SubjectKind,
};
pub use job::{Job, JobAttempt, JobCheckpoint, JobDetail, JobInterruption, JobRecord, JobState};
pub use map::{Map, MapChanges, MapJob, MapLeaf, MapRack, MapSpine};
pub use node::{
    Asked, GpuRecord, Lemon, NodeAttempt, NodeDetail, NodeEvidence, NodeGpu, NodeLine, NodeOrder, NodeRecord,
    NodeTransition, NotInService, PartFinding, Risk, RiskPart, StagesIn, Why,
};
pub use route::{Described, Gives, Method, Route, Takes, Word};

/// Items of one answer at most, whatever is asked for.
pub const LIMIT_MAX: usize = 500;
/// Items of one answer where nothing is asked for.
pub const LIMIT_DEFAULT: usize = 100;
/// Nodes that one event of the stream names; beyond that it says `reload`.
pub const STREAM_NODES_MAX: usize = 200;

/// What could not be done, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// More about it.
    pub detail: String,
    /// What to do about it.
    pub hint: String,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The items, at most 500.
    pub items: Vec<T>,
    /// What to ask for with `after`, where there are more.
    pub next: Option<String>,
}
