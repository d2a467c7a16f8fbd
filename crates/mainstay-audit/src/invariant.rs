//! The list of invariants with number, name and explanation, and the type of a violation. The checks are in `check`.

use std::fmt;

use mainstay_model::NodeName;

/// A safety rule that every decision must satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// Mainstay never exceeds a disruption budget.
    BudgetKept,
    /// Every destructive effect has a cause, a fence and a fresh view.
    CausedAndFenced,
    /// A job gets a checkpoint request before it is stopped.
    AskedBeforeStopped,
    /// A node passes its qualification before it returns to service.
    QualifiedBeforeReturn,
    /// A node with unknown state is never reported as healthy.
    UnknownIsNotHealthy,
    /// The engine orders only actions that the mode allows.
    NothingAboveTheMode,
    /// The controller stores the intent before it acts.
    IntentBeforeAct,
    /// A decision has fixed maximum sizes.
    Bounded,
    /// A node that an operator holds is not changed.
    HoldKept,
    /// A node runs no jobs before its agent gets an order.
    EmptyBeforeOrder,
    /// Rule counters never decrease.
    CountsKept,
    /// Every action has a stored grant for its claim.
    Granted,
    /// A pool keeps its floor of nodes in service.
    FloorKept,
    /// A pool loses no more nodes within a time than its rate limit allows.
    RateKept,
    /// A gang is asked once and stopped once, however many of its nodes are claimed.
    GangDisturbedOnce,
    /// A repair step has a limit of attempts.
    AttemptsCapped,
    /// A node has Mainstay's quarantine taint before it gets an order.
    QuarantinedBeforeOrder,
    /// One rule does not empty a pool.
    BreakerKept,
    /// Power is turned off and pods are released only where the machine runs nothing any more.
    PowerConfirmed,
    /// The status of a node is deleted only after the node is gone and nothing of it is needed.
    GoneBeforeForgotten,
}

/// One violation of an invariant by a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The invariant that is violated.
    pub invariant: Invariant,
    /// The affected node; `None` if the decision as a whole is wrong.
    pub node: Option<NodeName>,
    /// Explains what is wrong, for the log.
    pub detail: String,
}

// === impl Invariant ===

impl Invariant {
    /// All invariants, sorted by number.
    pub const ALL: [Self; 20] = [
        Self::BudgetKept,
        Self::CausedAndFenced,
        Self::AskedBeforeStopped,
        Self::QualifiedBeforeReturn,
        Self::UnknownIsNotHealthy,
        Self::NothingAboveTheMode,
        Self::IntentBeforeAct,
        Self::Bounded,
        Self::HoldKept,
        Self::EmptyBeforeOrder,
        Self::CountsKept,
        Self::Granted,
        Self::FloorKept,
        Self::RateKept,
        Self::GangDisturbedOnce,
        Self::AttemptsCapped,
        Self::QuarantinedBeforeOrder,
        Self::BreakerKept,
        Self::PowerConfirmed,
        Self::GoneBeforeForgotten,
    ];

    /// Returns the number of the invariant, which is never reused.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::BudgetKept => 1,
            Self::CausedAndFenced => 2,
            Self::AskedBeforeStopped => 3,
            Self::QualifiedBeforeReturn => 4,
            Self::UnknownIsNotHealthy => 5,
            Self::NothingAboveTheMode => 6,
            Self::IntentBeforeAct => 7,
            Self::Bounded => 8,
            Self::HoldKept => 9,
            Self::EmptyBeforeOrder => 10,
            Self::CountsKept => 11,
            Self::Granted => 12,
            Self::FloorKept => 13,
            Self::RateKept => 14,
            Self::GangDisturbedOnce => 15,
            Self::AttemptsCapped => 16,
            Self::QuarantinedBeforeOrder => 17,
            Self::BreakerKept => 18,
            Self::PowerConfirmed => 19,
            Self::GoneBeforeForgotten => 20,
        }
    }

    /// Returns the name, which is also a metric label and a heading.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BudgetKept => "budget-kept",
            Self::CausedAndFenced => "caused-and-fenced",
            Self::AskedBeforeStopped => "asked-before-stopped",
            Self::QualifiedBeforeReturn => "qualified-before-return",
            Self::UnknownIsNotHealthy => "unknown-is-not-healthy",
            Self::NothingAboveTheMode => "nothing-above-the-mode",
            Self::IntentBeforeAct => "intent-before-act",
            Self::Bounded => "bounded",
            Self::HoldKept => "hold-kept",
            Self::EmptyBeforeOrder => "empty-before-order",
            Self::CountsKept => "counts-kept",
            Self::Granted => "granted",
            Self::FloorKept => "floor-kept",
            Self::RateKept => "rate-kept",
            Self::GangDisturbedOnce => "gang-disturbed-once",
            Self::AttemptsCapped => "attempts-capped",
            Self::QuarantinedBeforeOrder => "quarantined-before-order",
            Self::BreakerKept => "breaker-kept",
            Self::PowerConfirmed => "power-confirmed",
            Self::GoneBeforeForgotten => "gone-before-forgotten",
        }
    }

    /// Explains the invariant in full sentences, for documents and logs.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::BudgetKept => {
                "The engine never removes a node from service if that exceeds a budget of its pool. The count \
                 includes nodes that are already out of service for any reason, and every node that the same \
                 decision removes. In a pool without a budget, no node may be removed."
            }
            Self::CausedAndFenced => {
                "Every ordered effect carries the current epoch of the Cell. An effect that changes a node also \
                 needs a leader, the node's current registration and its stored stage. A destructive effect also \
                 needs a stored cause and a fresh view. That view must not be older than the controller's last \
                 write about the node."
            }
            Self::AskedBeforeStopped => {
                "The engine stops a gang that saves on request only after it requested a checkpoint in the current \
                 drain. The gang must have answered, or its deadline must have passed. The only exception is a \
                 stored cause with the urgency Now."
            }
            Self::QualifiedBeforeReturn => {
                "The engine returns only a node that Mainstay itself removed and that is reachable. Every result of \
                 the suite that the controller ordered since the removal must be a pass. The results must be for \
                 the registration and boot that the order names."
            }
            Self::UnknownIsNotHealthy => {
                "No report shows a node as in service and waiting for nothing if its state is unknown. The state is \
                 unknown if the node is not registered, not reachable or not ready. It is also unknown if the last \
                 report belongs to another registration."
            }
            Self::NothingAboveTheMode => {
                "The engine orders an action, or a new order to an agent, only if the mode for its kind is Act. In \
                 mode Propose it needs an operator's approval of that action id. A pool without a policy is in mode \
                 Observe. A Cell that is older than one already seen is also in mode Observe."
            }
            Self::IntentBeforeAct => {
                "The controller stores the intended stage before it changes a node. A cordon needs the stored stage \
                 Quarantined or a later one. A checkpoint request or an eviction needs the stored stage Draining. \
                 An uncordon needs the stored stage Qualifying, InService or Suspect. A repair order needs the stored \
                 stage Repairing, and a test needs Qualifying."
            }
            Self::Bounded => {
                "A decision has a fixed maximum number of effects and of report lines. It contains each action on a \
                 node at most once, and at most one report line per node."
            }
            Self::HoldKept => {
                "While an operator holds a node, Mainstay changes nothing on it and gives its agent no order."
            }
            Self::EmptyBeforeOrder => {
                "While jobs still run on a node, its agent receives no order except to capture diagnostics."
            }
            Self::CountsKept => {
                "Only a leader writes the rule counters of the Cell. The number of judged findings of a rule never \
                 decreases. The time up to which findings are counted never goes back and is never in the future."
            }
            Self::Granted => {
                "Every ordered action, and every new order to an agent, names a claim. The status of its node stores the \
                 grant of that claim. A status write adds no order."
            }
            Self::FloorKept => {
                "The engine removes no node if fewer nodes than the capacity floor of the pool would stay in service. \
                 The count includes every node that the same decision removes."
            }
            Self::RateKept => {
                "The engine removes no more nodes of a pool within a time than its rate limit allows. The count includes \
                 every removal in the stored histories, and every node that the same decision removes."
            }
            Self::GangDisturbedOnce => {
                "A decision requests at most one checkpoint from a gang and stops it at most once, however many of its \
                 nodes have to be drained. While a request of a running drain is open, a further one must have an \
                 earlier deadline."
            }
            Self::AttemptsCapped => {
                "The engine orders a repair step on a node only as often within the window as the repair plan of the \
                 pool allows. Without a plan the limit is two attempts in 24 hours. A capture has no limit."
            }
            Self::QuarantinedBeforeOrder => {
                "A node gets an order only while Mainstay's quarantine taint is on it. A cordon of others is not enough, \
                 because others can remove it at any time."
            }
            Self::BreakerKept => {
                "One rule removes no more nodes of a pool within the window of its circuit breaker than two full limits \
                 with a test each. Nodes that got no jobs, requests of operators and approved removals do not count."
            }
            Self::PowerConfirmed => {
                "A machine that does not answer may still run jobs, because a partition of the network looks the same. \
                 The engine turns its power off only if a gang on it has made no progress for 15 minutes. It releases \
                 the pods of a machine only if its BMC reports that it is off."
            }
            Self::GoneBeforeForgotten => {
                "Only a leader with a fresh view deletes the stored status of a node. The node must not be registered \
                 for 24 hours, no gang may run on it, and no operator may have an open request for it. The status of \
                 a node that was being treated is kept for 90 days after its stage began. One decision deletes at \
                 most 128 statuses."
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant {} ({})", self.invariant.number(), self.invariant.name())?;
        if let Some(node) = &self.node {
            write!(f, " on {node}")?;
        }
        write!(f, ": {}", self.detail)
    }
}
