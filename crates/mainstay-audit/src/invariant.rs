//! The list of invariants with number, name and explanation, and the type of a violation. The checks are in `check`.

mod words;

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
            Self::BudgetKept => words::BUDGET_KEPT,
            Self::CausedAndFenced => words::CAUSED_AND_FENCED,
            Self::AskedBeforeStopped => words::ASKED_BEFORE_STOPPED,
            Self::QualifiedBeforeReturn => words::QUALIFIED_BEFORE_RETURN,
            Self::UnknownIsNotHealthy => words::UNKNOWN_IS_NOT_HEALTHY,
            Self::NothingAboveTheMode => words::NOTHING_ABOVE_THE_MODE,
            Self::IntentBeforeAct => words::INTENT_BEFORE_ACT,
            Self::Bounded => words::BOUNDED,
            Self::HoldKept => words::HOLD_KEPT,
            Self::EmptyBeforeOrder => words::EMPTY_BEFORE_ORDER,
            Self::CountsKept => words::COUNTS_KEPT,
            Self::Granted => words::GRANTED,
            Self::FloorKept => words::FLOOR_KEPT,
            Self::RateKept => words::RATE_KEPT,
            Self::GangDisturbedOnce => words::GANG_DISTURBED_ONCE,
            Self::AttemptsCapped => words::ATTEMPTS_CAPPED,
            Self::QuarantinedBeforeOrder => words::QUARANTINED_BEFORE_ORDER,
            Self::BreakerKept => words::BREAKER_KEPT,
            Self::PowerConfirmed => words::POWER_CONFIRMED,
            Self::GoneBeforeForgotten => words::GONE_BEFORE_FORGOTTEN,
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
