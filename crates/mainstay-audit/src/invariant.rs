//! The invariants by number, name and text, and the report of a broken one. The code of each is in `check`.

use std::fmt;

use mainstay_model::NodeName;

/// What must be true of every decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// No budget is exceeded by us.
    BudgetKept,
    /// Every destructive effect has a cause, a fence and a fresh view.
    CausedAndFenced,
    /// Work is asked to save before it is stopped.
    AskedBeforeStopped,
    /// A node is proven before it returns.
    QualifiedBeforeReturn,
    /// What is not known is not called healthy.
    UnknownIsNotHealthy,
    /// Nothing is done that the mode does not allow.
    NothingAboveTheMode,
    /// The record precedes the act.
    IntentBeforeAct,
    /// A decision has stated limits.
    Bounded,
    /// A node that a person holds is left alone.
    HoldKept,
    /// A node is empty before it is worked on.
    EmptyBeforeOrder,
    /// What was counted of a rule stays counted.
    CountsKept,
}

/// One invariant that a decision breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub invariant: Invariant,
    /// On which node; none where it is the decision as a whole.
    pub node: Option<NodeName>,
    /// What exactly is wrong.
    pub detail: String,
}

// === impl Invariant ===

impl Invariant {
    /// All of them, by number.
    pub const ALL: [Self; 11] = [
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
    ];

    /// Its number, which is never given to another one.
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
        }
    }

    /// Its name, the same as a metric label and as a heading.
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
        }
    }

    /// The invariant in sentences.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::BudgetKept => {
                "No decision removes a node from service beyond a budget of its pool. Nodes that others removed and \
                 all actions of the same decision count. A pool without a budget allows no removal."
            }
            Self::CausedAndFenced => {
                "Every ordered action carries the epoch of the cell. An action on a node needs a leader, and \
                 expects the current registration and the stored stage. A destructive action also needs a stored \
                 cause and a fresh view."
            }
            Self::AskedBeforeStopped => {
                "A job that saves checkpoints on request is stopped only after it was asked in this drain, and has \
                 acknowledged or let its deadline pass. The exception is a stored cause with urgency Now."
            }
            Self::QualifiedBeforeReturn => {
                "Mainstay returns a node to service only if Mainstay removed it, the node answers, and every test \
                 of the suite ordered since then passed on the same registration and boot."
            }
            Self::UnknownIsNotHealthy => {
                "No line shows a node as in service without a wait if it is not registered, unreachable, not ready, \
                 or last reported under another registration."
            }
            Self::NothingAboveTheMode => {
                "An action or an order to an agent is issued only in mode Act, or in mode Propose with approval of \
                 its id. A pool without a policy, and a Cell older than one already seen, only observe."
            }
            Self::IntentBeforeAct => {
                "An action follows from the stored stage: a cordon from Quarantined or later, a checkpoint request \
                 or a stop of jobs from Draining, a return from Qualifying or a stage in service."
            }
            Self::Bounded => {
                "A decision has a limited number of actions and lines, names each action on a node once, and each \
                 node in one line."
            }
            Self::HoldKept => "While an operator holds a node, no action is taken on it and its agent gets no order.",
            Self::EmptyBeforeOrder => {
                "The agent of a node gets no order except log capture while jobs run on the node."
            }
            Self::CountsKept => {
                "Only a leader writes the rule counters of the Cell. No counter falls, and the time up to which \
                 they count never goes back and is never in the future."
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
