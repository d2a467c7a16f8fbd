//! The invariants by number, name and words, and what a broken one looks like. The code of each is in `check`.

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

    /// The same in a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::BudgetKept => {
                "No decision takes a node out so that a budget of its pool is exceeded, counting what is out already, \
                 whoever took it out, and everything else that the decision orders; a pool without a budget has none \
                 to spend."
            }
            Self::CausedAndFenced => {
                "Every ordered effect carries the epoch of the cell; what acts on a node also needs a leader, and \
                 expects its current registration and the stage on record; what is destructive has a cause on record \
                 and a view that is fresh and no older than our last write about the node."
            }
            Self::AskedBeforeStopped => {
                "A gang that saves on request is stopped only after it was asked in this drain and has answered or let \
                 its time pass, unless the cause on record says that every second counts."
            }
            Self::QualifiedBeforeReturn => {
                "We give a node work again only where we had taken it out, it answers, and every result of the suite \
                 that was ordered since then passed, on the registration and boot the order was for."
            }
            Self::UnknownIsNotHealthy => {
                "No line says in service and waiting on nothing of a node that is not registered, does not answer, is \
                 not ready, or whose last report belongs to another registration."
            }
            Self::NothingAboveTheMode => {
                "An act, or a record with a new order to an agent, is ordered only where the mode for its kind is Act, \
                 or is Propose and a person approved it by its id; a pool without a policy, and a cell older than one \
                 already seen, only observe."
            }
            Self::IntentBeforeAct => {
                "What is done to a node follows from the stage on record: a cordon from Quarantined or later, asking \
                 and stopping work from Draining, giving work again from Qualifying or a stage in service."
            }
            Self::Bounded => {
                "A decision has at most a stated number of effects and lines, names each act on a node once, and each \
                 node in one line."
            }
            Self::HoldKept => {
                "While a person asks to hold a node, nothing is done to it and its agent is given no order."
            }
            Self::EmptyBeforeOrder => {
                "No order but a capture is given to the agent of a node while work still runs there."
            }
            Self::CountsKept => {
                "Only a leader writes the cell's record; no rule has fewer judged findings there than before, and the \
                 moment to which they are counted never goes back nor lies ahead."
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
