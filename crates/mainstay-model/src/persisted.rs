//! The status of a node that must survive a restart. The CRDs mirror it; restoring it gives the same next decision.

use serde::{Deserialize, Serialize};

use crate::{
    BootId, Bounded, Code, Epoch, Grant, NewOrder, Nonce, OrderId, RepairStep, Resolution, RuleName, Serial, Source,
    Stage, SuiteName, Timestamp, Urgency,
};

/// Arrivals of one kind of evidence, counted per hour and per day by the controller's clock, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// The source of the evidence.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// Serial of the affected part; the whole node if absent.
    pub device: Option<Serial>,
    /// How much of the agent's count in this boot is counted here already.
    pub counted: u64,
    /// `counted` when the node entered its last qualification, in this boot. What arrived since counts against it.
    #[serde(default)]
    pub before_tests: u64,
    /// The hour of the newest bucket: whole hours since the Unix epoch.
    pub newest_hour: u32,
    /// Counts of the last 24 hours since the node last returned, newest first.
    pub hours: Bounded<u32, 24>,
    /// Counts of the last 7 days, newest first. They survive a return, because they reveal a lemon.
    pub days: Bounded<u32, 7>,
}

/// One attempt of a repair step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The rule whose repair plan it belongs to.
    pub rule: RuleName,
    /// The repair step.
    pub rung: RepairStep,
    /// Serial of the treated part; the whole node if absent.
    pub device: Option<Serial>,
    /// Time of the order.
    pub ordered_at: Timestamp,
}

/// Maximum number of attempts in a status.
pub const ATTEMPTS_KEPT: usize = 16;

/// What an order asks the agent to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Execute a repair step.
    Rung(RepairStep),
    /// Run a qualification suite.
    Suite(SuiteName),
}

/// An order to the node's agent that is still open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Id of the order.
    pub id: OrderId,
    /// Epoch of the leader that gave it.
    pub epoch: Epoch,
    /// The boot that it is for; the agent of another boot refuses it.
    pub boot_id: BootId,
    /// The value that a qualification result must return.
    pub nonce: Nonce,
    /// The task.
    pub task: Task,
    /// Serial of the part to treat; the whole node if absent.
    pub device: Option<Serial>,
    /// After this time it must not be started.
    pub start_by: Timestamp,
    /// After this time the engine no longer waits for it.
    pub done_by: Timestamp,
}

/// One change of stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// The new stage.
    pub to: Stage,
    /// Time of the change.
    pub at: Timestamp,
    /// The rule behind the change.
    pub rule: RuleName,
    /// What was known by then about the finding: an operator said so, or the part was replaced.
    #[serde(default)]
    pub word: Option<Resolution>,
}

/// A removal of the node by a rule that led to a repair, or a dry-run removal. Operators' requests, shared causes and alarms
/// that a test refuted do not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastIncident {
    /// Serial of the faulty part. If the whole node was faulty, the serial of its board, if known.
    pub serial: Option<Serial>,
    /// The rule that removed the node.
    pub rule: RuleName,
    /// Time of the removal.
    pub at: Timestamp,
}

/// Why a node was removed from service. It is kept whole, because a reboot clears the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The rule, or `request` for an operator's request.
    pub rule: RuleName,
    /// The time that running jobs get.
    pub urgency: Urgency,
    /// Serial of the faulty part; the whole node if absent.
    pub device: Option<Serial>,
    /// The repair plan.
    pub rungs: Bounded<RepairStep, 8>,
}

/// What happened on the node after a decision that was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ProposalOutcome {
    /// Nothing happened yet.
    Pending,
    /// The evidence cleared by itself.
    Recovered,
    /// Another actor removed the node.
    RemovedByOthers,
    /// The node became unreachable.
    NodeLost,
    /// The mode was raised or an operator approved, and the decision was executed.
    Executed,
    /// An operator held or retired the node, or planned work began, before the decision was executed.
    Superseded,
}

/// A decision that was not executed (dry run, or waiting for an approval), and what then happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The action that an operator can approve.
    pub action: OrderId,
    /// The rule behind the decision.
    pub rule: RuleName,
    /// Time of the decision.
    pub decided_at: Timestamp,
    /// What happened to the node.
    pub happened: ProposalOutcome,
    /// Time at which it happened; none while nothing did.
    #[serde(default)]
    pub happened_at: Option<Timestamp>,
}

/// Who repairs a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Repairer {
    /// Mainstay, or no repair is needed.
    #[default]
    Mainstay,
    /// A technician: no automatic repair step is left, or an operator had the node drained.
    Technician,
}

impl Repairer {
    /// Returns whether a technician has to act.
    #[must_use]
    pub const fn is_technician(&self) -> bool {
        matches!(self, Self::Technician)
    }

    /// Returns whether Mainstay goes on by itself.
    #[must_use]
    pub const fn is_mainstay(&self) -> bool {
        matches!(self, Self::Mainstay)
    }
}

/// The status of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    /// Lifecycle stage of the node.
    pub stage: Stage,
    /// Start of the stage.
    pub since: Timestamp,
    /// Why the node is not in normal service; none where it is.
    pub cause: Option<Box<Cause>>,
    /// The arbiter's permission to treat the node; none where Mainstay does not treat it.
    #[serde(default)]
    pub grant: Option<Box<Grant>>,
    /// Who repairs the node.
    #[serde(default)]
    pub repairer: Repairer,
    /// How often the node was removed: part of every action's id, so that it differs from older ones.
    pub round: u32,
    /// The boot that arrivals were counted in.
    pub boot_id: Option<BootId>,
    /// Arrivals of evidence, by kind.
    pub arrivals: Bounded<Arrivals, 16>,
    /// Attempted repair steps.
    pub attempts: Bounded<Attempt, ATTEMPTS_KEPT>,
    /// Open orders to the agent.
    pub orders: Bounded<Order, 4>,
    /// The latest changes of stage, oldest first.
    pub history: Bounded<Transition, 16>,
    /// The latest decisions that were not executed, oldest first.
    pub proposals: Bounded<Proposal, 8>,
    /// The latest incidents, oldest first. They outlive the history, because they reveal a lemon.
    pub incidents: Bounded<PastIncident, 8>,
}

impl Persisted {
    /// The status of a new node.
    #[must_use]
    pub fn new(stage: Stage, since: Timestamp) -> Self {
        Self {
            stage,
            since,
            cause: None,
            grant: None,
            repairer: Repairer::Mainstay,
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

    /// Adds an order and its attempt. Returns the order that left a full list. The engine fills none, but a status that
    /// was read may be full.
    pub fn add_order(&mut self, new: &NewOrder) -> Option<Order> {
        new.attempt.iter().for_each(|attempt| self.attempts.push_forgetting_oldest(attempt.clone()));
        if self.orders.try_push(new.order.clone()).is_ok() {
            return None;
        }
        let oldest = self.orders.as_slice().first().cloned();
        self.orders.push_forgetting_oldest(new.order.clone());
        oldest
    }

    /// Whether it has this order.
    #[must_use]
    pub fn has_order(&self, nonce: &Nonce) -> bool {
        self.orders.as_slice().iter().any(|order| order.nonce == *nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    #[test]
    fn an_order_is_found_by_its_nonce_and_a_repair_step_counts_as_an_attempt() {
        let mut persisted = Persisted::new(Stage::Repairing, Timestamp(0));
        let rule = RuleName::parse("gpu-off-the-bus").unwrap();
        let rung = RepairStep::Reboot;
        let order = |nonce: &str| Order {
            id: OrderId::parse("reboot-n1-1").unwrap(),
            epoch: Epoch(3),
            boot_id: BootId::parse("boot-1").unwrap(),
            nonce: Nonce::parse(nonce).unwrap(),
            task: Task::Rung(rung),
            device: None,
            start_by: Timestamp(1),
            done_by: Timestamp(2),
        };
        let attempt = Attempt { rule, rung, device: None, ordered_at: Timestamp(0) };
        persisted.add_order(&NewOrder { order: order("3-a"), attempt: Some(attempt.clone()) });
        persisted.add_order(&NewOrder { order: order("3-b"), attempt: None });
        let has = |nonce: &str| persisted.has_order(&Nonce::parse(nonce).unwrap());
        assert_eq!(["3-a", "3-b", "3-c"].map(has), [true, true, false]);
        assert_eq!(persisted.attempts.as_slice(), [attempt]);
        let mut add = |nonce: &str| persisted.add_order(&NewOrder { order: order(nonce), attempt: None });
        assert_eq!(
            ["3-c", "3-d", "3-e"].map(&mut add),
            [None, None, Some(order("3-a"))],
            "the oldest leaves a full list"
        );
    }

    #[test]
    fn a_node_is_repaired_by_mainstay_or_by_a_technician() {
        assert!(Repairer::Mainstay.is_mainstay() && !Repairer::Mainstay.is_technician());
        assert!(Repairer::Technician.is_technician() && !Repairer::Technician.is_mainstay());
    }
}
