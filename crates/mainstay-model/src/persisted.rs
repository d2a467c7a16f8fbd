//! What must survive a restart, per node. The CRDs mirror it; restoring it gives the same next decision.

use serde::{Deserialize, Serialize};

use crate::{
    BootId, Bounded, Code, Epoch, Nonce, OrderId, RepairStep, Resolution, RuleName, Serial, Source, Stage, SuiteName,
    Timestamp, Urgency,
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
    /// How much of the agent's cumulative count of this boot is in the buckets already.
    pub counted: u64,
    /// The hour of the newest bucket: whole hours since the Unix epoch.
    pub newest_hour: u32,
    /// Counts of the last 24 hours since the node last returned, newest first.
    pub hours: Bounded<u32, 24>,
    /// Counts of the last 7 days, newest first; these survive a return, because a lemon is known by them.
    pub days: Bounded<u32, 7>,
}

/// One try of one rung.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Of which rule's ladder.
    pub rule: RuleName,
    /// Which rung.
    pub rung: RepairStep,
    /// On which part; the node where absent.
    pub device: Option<Serial>,
    /// When it was ordered.
    pub ordered_at: Timestamp,
}

/// What an order asks of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Carry out a rung.
    Rung(RepairStep),
    /// Run a suite.
    Suite(SuiteName),
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
    /// What to do.
    pub task: Task,
    /// On which part; the node where absent.
    pub device: Option<Serial>,
    /// After which it must not be started, and is no longer waited for.
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
    /// What was said by then of what had been found: by a person, or by a part that was replaced.
    #[serde(default)]
    pub word: Option<Resolution>,
}

/// A time that a rule took the node out and it went into repair, or would have taken it out where nothing may be done. What
/// a person asked for is none, nor what a domain or a driver version was blamed for, nor an alarm that a test refuted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastIncident {
    /// The part it was about; the board where it was the node as a whole, and none where nobody knew the board.
    pub serial: Option<Serial>,
    /// The rule.
    pub rule: RuleName,
    /// When the node was taken out.
    pub at: Timestamp,
}

/// Why a node was taken out. Kept whole, because a reboot takes the evidence away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The rule, or `request` where a person asked.
    pub rule: RuleName,
    /// How long running work may be waited for.
    pub urgency: Urgency,
    /// The part it is about; the node as a whole where absent.
    pub device: Option<Serial>,
    /// What to try.
    pub rungs: Bounded<RepairStep, 8>,
}

/// What happened on the node after a decision that was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ProposalOutcome {
    /// Nothing yet.
    Pending,
    /// The evidence went away by itself.
    Recovered,
    /// Somebody else took the node out.
    RemovedByOthers,
    /// The node stopped answering.
    NodeLost,
    /// The mode was raised, or a person approved, and it was carried out.
    Executed,
}

/// A decision that stands on paper or waits for a person, beside what then happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The action; what a person approves.
    pub action: OrderId,
    /// The rule behind it.
    pub rule: RuleName,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// What happened.
    pub happened: ProposalOutcome,
    /// When; none where nothing did yet.
    #[serde(default)]
    pub happened_at: Option<Timestamp>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    /// Where the node is in its life.
    pub stage: Stage,
    /// Since when.
    pub since: Timestamp,
    /// Why it is not simply in service; none where it is.
    pub cause: Option<Cause>,
    /// How often it was taken out: part of every action's id, so that none is mistaken for an older one.
    pub round: u32,
    /// The boot that arrivals were counted in.
    pub boot_id: Option<BootId>,
    /// When what arrived.
    pub arrivals: Bounded<Arrivals, 16>,
    /// What was tried.
    pub attempts: Bounded<Attempt, 16>,
    /// What was ordered and has not ended.
    pub orders: Bounded<Order, 4>,
    /// The latest changes of stage, oldest first.
    pub history: Bounded<Transition, 16>,
    /// The latest decisions that were not carried out, oldest first.
    pub proposals: Bounded<Proposal, 8>,
    /// The latest incidents, oldest first: they outlive the history, because a lemon is known by them.
    pub incidents: Bounded<PastIncident, 8>,
}

impl Persisted {
    /// A node nobody knows anything about yet.
    #[must_use]
    pub fn new(stage: Stage, since: Timestamp) -> Self {
        Self {
            stage,
            since,
            cause: None,
            round: 0,
            boot_id: None,
            arrivals: Bounded::new(),
            attempts: Bounded::new(),
            orders: Bounded::new(),
            history: Bounded::new(),
            proposals: Bounded::new(),
            incidents: Bounded::new(),
        }
    }
}
