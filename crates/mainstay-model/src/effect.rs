//! What adapters are asked to do: each effect idempotent, fenced, with the state it expects and its cause.

use serde::{Deserialize, Serialize};

use crate::{
    CellRecord, Epoch, GangId, NodeName, NodeUid, OrderId, Persisted, Reason, RuleName, Stage, Timestamp, Urgency,
    WaitingOn,
};

/// One thing to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Write down what must survive us: the stage, and the orders to the agent that come with it.
    Record(Box<Persisted>),
    /// Keep new work away from the node.
    Cordon,
    /// Let new work onto the node again.
    Uncordon,
    /// Ask a gang to save.
    AskCheckpoint {
        /// Which one.
        gang: GangId,
        /// For which drain of the node: since when it is Draining.
        drain: Timestamp,
        /// How urgent.
        urgency: Urgency,
        /// Until when it is waited for.
        answer_by: Timestamp,
    },
    /// Stop a gang's work on the node.
    Evict {
        /// Which one.
        gang: GangId,
    },
}

/// Whether an effect is to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Standing {
    /// Not at all: it stands on paper, beside what then happens.
    OnPaper,
    /// When a person approves its action.
    Proposed,
    /// Now.
    Ordered,
}

/// What must still be true of the node when the effect is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The same registration.
    pub uid: NodeUid,
    /// The stage on record.
    pub recorded: Stage,
}

/// One act with its fence and its cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// On which node.
    pub node: NodeName,
    /// What to do.
    pub act: Act,
    /// The action it belongs to: what a person approves, and what an incident lists.
    pub action: OrderId,
    /// Whether to do it.
    pub standing: Standing,
    /// What must still be true.
    pub expected: Expected,
    /// By which leadership.
    pub epoch: Epoch,
    /// The rule that asked for it.
    pub cause: RuleName,
}

/// How one node stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Which node.
    pub node: NodeName,
    /// Where it is in its life.
    pub stage: Stage,
    /// What it waits on.
    pub waiting_on: WaitingOn,
    /// The rule behind it, where there is one.
    pub cause: Option<RuleName>,
    /// The same in a sentence.
    pub message: Reason,
}

/// What the brain wants done, and when to ask again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Decision {
    /// What adapters should do, in order.
    pub effects: Vec<Effect>,
    /// How every node stands that needs or needed attention; a node that is not named is in service and waits on nothing.
    pub report: Vec<Line>,
    /// What the cell's record should say of its rules; none where it says so, or was asked for lately.
    #[serde(default)]
    pub cell: Option<CellRecord>,
    /// Ask again no later than this.
    pub wake_at: Option<Timestamp>,
    /// How many subjects were looked at again.
    pub evaluated: u64,
}
