//! What must survive a restart, per node. The CRDs mirror it; restoring it gives the same next decision.

use serde::{Deserialize, Serialize};

use crate::{
    BootId, Bounded, Code, Epoch, Nonce, OrderId, RuleName, Rung, Serial, Source, Stage, SuiteName, Timestamp,
};

/// When evidence of one kind arrived, counted into buckets by the controller's clock, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Who said it.
    pub source: Source,
    /// In which words.
    pub code: Code,
    /// Of which part; the node where absent.
    pub device: Option<Serial>,
    /// The hour of the newest bucket: whole hours since the Unix epoch.
    pub newest_hour: u32,
    /// Counts of the last 24 hours, newest first; trailing zeros are left out.
    pub hours: Bounded<u32, 24>,
    /// Counts of the last 7 days, newest first; trailing zeros are left out.
    pub days: Bounded<u32, 7>,
}

/// One try of one rung.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Of which rule's ladder.
    pub rule: RuleName,
    /// Which rung.
    pub rung: Rung,
    /// On which part; the node where absent.
    pub device: Option<Serial>,
    /// When it was ordered.
    pub ordered_at: Timestamp,
}

/// An order to the node's agent that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// Which leadership gave it.
    pub epoch: Epoch,
    /// For which boot; an agent of another boot refuses it.
    pub boot_id: BootId,
    /// What a qualification's result must carry back.
    pub nonce: Nonce,
    /// The rung to carry out; a suite to run where absent.
    pub rung: Option<Rung>,
    /// The suite to run.
    pub suite: Option<SuiteName>,
    /// On which part; the node where absent.
    pub device: Option<Serial>,
    /// After which it must not be started.
    pub expires_at: Timestamp,
}

/// One change of stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Into which stage.
    pub to: Stage,
    /// When.
    pub at: Timestamp,
    /// By which rule.
    pub rule: RuleName,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    /// Where the node is in its life.
    pub stage: Stage,
    /// Since when.
    pub since: Timestamp,
    /// When what arrived.
    pub arrivals: Bounded<Arrivals, 16>,
    /// What was tried.
    pub attempts: Bounded<Attempt, 16>,
    /// What was ordered and has not ended.
    pub orders: Bounded<Order, 4>,
    /// The latest changes of stage, oldest first.
    pub history: Bounded<Transition, 16>,
}
