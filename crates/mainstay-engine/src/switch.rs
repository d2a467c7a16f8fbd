//! The rules of the brain that are not rows of the catalogue, by name. Production has all of them on; a scenario names
//! the one it is about, and a test shows that switching it off changes what comes out.

use std::collections::BTreeSet;

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Switch {
    /// No more nodes of a failure domain are out than its budget says.
    Budget,
    /// Nothing that can hurt is done on an old view.
    Freshness,
    /// Nothing is done by a leader that is not the cell's.
    Fence,
    /// A gang that saves on request is asked and waited for.
    CheckpointWait,
    /// When a gang is stopped follows from what each way would lose.
    Weigh,
    /// Nothing is done above the mode.
    Mode,
    /// What is to be done is on record before it is done.
    IntentFirst,
    /// One witness alone condemns nobody.
    TwoWitnesses,
    /// A rung is tried only so often.
    AttemptCap,
    /// A node past the limit of its stage is shown to a person.
    StageLimit,
    /// A person's request is followed.
    Requests,
    /// Planned work is not a fault.
    PlannedWork,
    /// A node returns only after a passed qualification.
    Requalify,
    /// Evidence of a part that is no longer there is not held against the node.
    HistoryBySerial,
    /// Decisions on paper spend budgets on paper.
    PaperBudget,
    /// What others took out counts as spent.
    OthersCount,
    /// An order that is not carried out in time is followed by the next rung.
    OrderExpiry,
    /// A worse fault that comes while the node is out raises the cause.
    Worsening,
    /// A rule that takes out too many too fast is stopped.
    Breaker,
    /// A rule that would take out too many too fast is stopped on paper.
    PaperBreaker,
    /// What most nodes of a domain begin to show at once is the domain's.
    BlameDomain,
    /// What hardly any node shows but those of one driver version is the driver's.
    BlameDriver,
    /// What a node was repaired for is remembered, and makes it a risk.
    Incidents,
}

impl Switch {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Budget,
        Self::Freshness,
        Self::Fence,
        Self::CheckpointWait,
        Self::Weigh,
        Self::Mode,
        Self::IntentFirst,
        Self::TwoWitnesses,
        Self::AttemptCap,
        Self::StageLimit,
        Self::Requests,
        Self::PlannedWork,
        Self::Requalify,
        Self::HistoryBySerial,
        Self::PaperBudget,
        Self::OthersCount,
        Self::OrderExpiry,
        Self::Worsening,
        Self::Breaker,
        Self::PaperBreaker,
        Self::BlameDomain,
        Self::BlameDriver,
        Self::Incidents,
    ];

    /// The name that scenarios use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Freshness => "freshness",
            Self::Fence => "fence",
            Self::CheckpointWait => "checkpoint-wait",
            Self::Weigh => "drain-cost",
            Self::Mode => "mode",
            Self::IntentFirst => "intent-first",
            Self::TwoWitnesses => "two-signals",
            Self::AttemptCap => "attempt-cap",
            Self::StageLimit => "stage-limit",
            Self::Requests => "requests",
            Self::PlannedWork => "planned-work",
            Self::Requalify => "requalify",
            Self::HistoryBySerial => "history-by-serial",
            Self::PaperBudget => "dry-run-budget",
            Self::OthersCount => "others-count",
            Self::OrderExpiry => "order-expiry",
            Self::Worsening => "escalation",
            Self::Breaker => "breaker",
            Self::PaperBreaker => "dry-run-breaker",
            Self::BlameDomain => "shared-domain",
            Self::BlameDriver => "shared-driver",
            Self::Incidents => "incidents",
        }
    }
}

/// Which rules are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switches(BTreeSet<Switch>);

impl Switches {
    /// As in production.
    #[must_use]
    pub fn all_on() -> Self {
        Self(BTreeSet::new())
    }

    /// All but one.
    #[must_use]
    pub fn without(switch: Switch) -> Self {
        Self(BTreeSet::from([switch]))
    }

    pub(crate) fn is_on(&self, switch: Switch) -> bool {
        !self.0.contains(&switch)
    }
}
