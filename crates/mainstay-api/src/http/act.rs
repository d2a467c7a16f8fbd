//! What people may do: bodies of calls that change something, and what they are answered.

use mainstay_model::{Mode, Person, Reason, RequestKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Virtual seconds in one second: beyond an hour nobody can follow.
pub const SPEED_MAX: u32 = 3_600;

/// It was taken; what comes of it is seen in the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// When, by the fleet's clock.
    pub at: i64,
}

/// Asks something of a node; it stands until it is withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRequest {
    /// What.
    pub kind: AskedKind,
    /// Why.
    pub reason: Reason,
    /// Who.
    pub by: Person,
}

/// What may be asked of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskedKind {
    /// Leave it exactly as it is.
    Hold,
    /// Give it no new work.
    Quarantine,
    /// Move its work away, saving first.
    Drain,
    /// Test it and give it work again.
    Return,
    /// Take it away for good.
    Retire,
}

impl From<AskedKind> for RequestKind {
    fn from(kind: AskedKind) -> Self {
        match kind {
            AskedKind::Hold => Self::Hold,
            AskedKind::Quarantine => Self::Quarantine,
            AskedKind::Drain => Self::Drain,
            AskedKind::Return => Self::Return,
            AskedKind::Retire => Self::Retire,
        }
    }
}

impl From<RequestKind> for AskedKind {
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

/// Says that somebody knows of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledge {
    /// Who.
    pub by: Person,
}

/// Says how far Mainstay may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModeChange {
    /// How far.
    pub mode: Mode,
}

/// Stops every act at once: the mode becomes Observe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Who.
    pub by: Person,
    /// Why.
    pub reason: Reason,
}

/// Changes how a demo's time goes; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DemoChange {
    /// Whether time stands still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Virtual seconds in one second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = SPEED_MAX))]
    pub speed: Option<u32>,
    /// The moment at which time is to stand still again, in milliseconds; a moment that is past is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_at: Option<i64>,
}

/// Plants a fault in a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inject {
    /// Which, by its word.
    pub fault: String,
    /// On which node.
    pub node: String,
}

/// Shows a past moment of a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scrub {
    /// Which; now where absent.
    pub at: Option<i64>,
}

/// What can be planted in a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Faults {
    /// All of it.
    pub items: Vec<Fault>,
}

/// One fault that can be planted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Its word.
    pub fault: String,
    /// The same for people.
    pub title: String,
    /// What it does.
    pub text: String,
}
