//! Calls that change something: their bodies and their response.

use mainstay_model::{Mode, Reason, RequestKind, UserName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Highest demo speed, in virtual seconds per second: one hour per second.
pub const SPEED_MAX: u32 = 3_600;

/// The call was accepted, and its effect appears in the fleet's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedResponse {
    /// Time at which the call was accepted, by the fleet's clock, in milliseconds since the Unix epoch.
    pub at: i64,
}

/// A request for one node. It stays open until it is withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRequest {
    /// What the caller requests for the node.
    pub kind: NodeRequestKind,
    /// Why the caller requests it, in one sentence.
    pub reason: Reason,
    /// Name of the caller. A real cluster records the authenticated user instead.
    pub by: UserName,
}

/// What a caller can request for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeRequestKind {
    /// Leave the node exactly as it is.
    Hold,
    /// Schedule no new work on the node.
    Quarantine,
    /// Stop the jobs on the node after a checkpoint.
    Drain,
    /// Test the node and return it to service.
    Return,
    /// Drain the node and remove it permanently.
    Retire,
}

impl From<NodeRequestKind> for RequestKind {
    fn from(kind: NodeRequestKind) -> Self {
        match kind {
            NodeRequestKind::Hold => Self::Hold,
            NodeRequestKind::Quarantine => Self::Quarantine,
            NodeRequestKind::Drain => Self::Drain,
            NodeRequestKind::Return => Self::Return,
            NodeRequestKind::Retire => Self::Retire,
        }
    }
}

impl From<RequestKind> for NodeRequestKind {
    fn from(kind: RequestKind) -> Self {
        match kind {
            RequestKind::Hold => Self::Hold,
            RequestKind::Quarantine => Self::Quarantine,
            RequestKind::Drain => Self::Drain,
            RequestKind::Return => Self::Return,
            RequestKind::Retire => Self::Retire,
        }
    }
}

/// Acknowledges an incident in the name of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcknowledgeRequest {
    /// Name of the caller. A real cluster records the authenticated user instead.
    pub by: UserName,
}

/// Sets the mode of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModeChange {
    /// Mode to set. On a cluster, this version accepts every mode but acts as in Observe: it changes no node or job.
    pub mode: Mode,
}

/// Kill switch: sets the mode to Observe, so no new action starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopRequest {
    /// Name of the caller who stops the actions.
    pub by: UserName,
    /// Why the actions are stopped, in one sentence.
    pub reason: Reason,
}

/// Changes the clock of a demo. Absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DemoChange {
    /// Whether the demo's clock is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Speed of the demo's clock, in virtual seconds per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = SPEED_MAX))]
    pub speed: Option<u32>,
    /// Virtual time at which the clock pauses again, in milliseconds since the Unix epoch. A past time pauses it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_at: Option<i64>,
}

/// Injects a fault into one node of a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InjectRequest {
    /// Name of the fault, from GET /api/v1/demo/faults.
    pub fault: String,
    /// Name of the node that gets the fault.
    pub node: String,
}

/// Shows a past state of a demo, or the current state again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeekRequest {
    /// Time of the state to show, in milliseconds since the Unix epoch. Absent: the current state.
    pub at: Option<i64>,
}

/// Faults that can be injected into a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Faults {
    /// List of all faults.
    pub items: Vec<Fault>,
}

/// One fault that can be injected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Name of the fault, as the API takes it.
    pub fault: String,
    /// Title of the fault, for display.
    pub title: String,
    /// What the fault does to the node.
    pub text: String,
}
