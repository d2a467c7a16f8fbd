//! What adapters are asked to do: each effect idempotent, fenced, with the state it expects and its cause.

use serde::{Deserialize, Serialize};

use crate::{
    Epoch, GangName, Namespace, NodeName, NodeUid, OrderId, Reason, RuleName, Rung, Stage, SuiteName, Timestamp,
    Urgency,
};

/// One thing to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Write a node's stage down.
    Record {
        /// The stage it is in now.
        stage: Stage,
    },
    /// Keep new work away from the node.
    Cordon,
    /// Let new work onto the node again.
    Uncordon,
    /// Ask a gang to save.
    AskCheckpoint {
        /// Where it lives.
        namespace: Namespace,
        /// Which one.
        gang: GangName,
        /// How urgent.
        urgency: Urgency,
        /// Until when it is waited for.
        answer_by: Timestamp,
    },
    /// Move a gang's work off the node.
    Evict {
        /// Where it lives.
        namespace: Namespace,
        /// Which one.
        gang: GangName,
    },
    /// Order the node's agent to carry out a rung.
    Repair {
        /// The order.
        order: OrderId,
        /// What to do.
        rung: Rung,
    },
    /// Order the node's agent to run a suite.
    Qualify {
        /// The order.
        order: OrderId,
        /// Which suite.
        suite: SuiteName,
    },
}

impl Act {
    /// Whether running work can be lost by it.
    #[must_use]
    pub const fn is_destructive(&self) -> bool {
        match self {
            Self::Record { .. } | Self::Cordon | Self::Uncordon | Self::AskCheckpoint { .. } => false,
            Self::Evict { .. } | Self::Repair { .. } | Self::Qualify { .. } => true,
        }
    }
}

/// What must still be true of the node when the effect is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The same registration.
    pub uid: NodeUid,
    /// The same stage.
    pub stage: Stage,
}

/// One act with its fence and its cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// On which node.
    pub node: NodeName,
    /// What to do.
    pub act: Act,
    /// What must still be true.
    pub expected: Expected,
    /// By which leadership.
    pub epoch: Epoch,
    /// The rule that asked for it.
    pub cause: RuleName,
}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectOutcome {
    /// Carried out, or it was so already.
    Done(Effect),
    /// The world was no longer as expected; nothing was done.
    Stale(Effect),
    /// Refused by the backend; nothing was done.
    Refused {
        /// What was refused.
        effect: Effect,
        /// In its words.
        why: Reason,
    },
}
