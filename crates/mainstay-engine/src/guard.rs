//! Guards: safety rules of the engine that are not rows of the catalogue, by name. A scenario names the guard that it is
//! about, and a test shows that turning it off changes the result. Only builds with the feature `disable-guards` can turn
//! one off; no shipped binary has it.

/// One safety rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// No more nodes of a failure domain are out of service than its budget allows.
    Budget,
    /// No disruptive action is based on an old view.
    Freshness,
    /// Only the leader of the cell acts.
    Fence,
    /// A gang that saves on request gets a checkpoint request and time to answer.
    CheckpointWait,
    /// The drain cost model decides when a gang is stopped.
    DrainCost,
    /// No action exceeds the mode.
    Mode,
    /// The intent is stored before the action.
    IntentFirst,
    /// One signal alone removes no node.
    TwoSignals,
    /// A repair step has a limit of attempts.
    AttemptCap,
    /// A node beyond the time limit of its stage needs an operator.
    StageLimit,
    /// Operators' requests are followed.
    Requests,
    /// Planned work is not a fault.
    PlannedWork,
    /// A node returns only after it passed its qualification.
    Requalify,
    /// Evidence of a part that was removed does not count against the node.
    HistoryBySerial,
    /// Dry-run decisions use dry-run budgets.
    DryRunBudget,
    /// Nodes that other actors removed count against budgets.
    OthersCount,
    /// After an order that was not executed in time, the next step is tried.
    OrderExpiry,
    /// A worse fault on a node that is out of service raises its cause.
    Escalation,
    /// A rule that removes too many nodes too fast is stopped.
    Breaker,
    /// The same for dry-run decisions.
    DryRunBreaker,
    /// A fault that most nodes of a failure domain show at once belongs to the domain.
    SharedDomain,
    /// A fault that only nodes with one driver version show belongs to the driver.
    SharedDriver,
    /// Incidents of a node are remembered and raise its risk.
    Incidents,
}

impl Guard {
    /// All guards.
    pub const ALL: [Self; 23] = [
        Self::Budget,
        Self::Freshness,
        Self::Fence,
        Self::CheckpointWait,
        Self::DrainCost,
        Self::Mode,
        Self::IntentFirst,
        Self::TwoSignals,
        Self::AttemptCap,
        Self::StageLimit,
        Self::Requests,
        Self::PlannedWork,
        Self::Requalify,
        Self::HistoryBySerial,
        Self::DryRunBudget,
        Self::OthersCount,
        Self::OrderExpiry,
        Self::Escalation,
        Self::Breaker,
        Self::DryRunBreaker,
        Self::SharedDomain,
        Self::SharedDriver,
        Self::Incidents,
    ];

    /// The name that scenarios and commands use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Freshness => "freshness",
            Self::Fence => "fence",
            Self::CheckpointWait => "checkpoint-wait",
            Self::DrainCost => "drain-cost",
            Self::Mode => "mode",
            Self::IntentFirst => "intent-first",
            Self::TwoSignals => "two-signals",
            Self::AttemptCap => "attempt-cap",
            Self::StageLimit => "stage-limit",
            Self::Requests => "requests",
            Self::PlannedWork => "planned-work",
            Self::Requalify => "requalify",
            Self::HistoryBySerial => "history-by-serial",
            Self::DryRunBudget => "dry-run-budget",
            Self::OthersCount => "others-count",
            Self::OrderExpiry => "order-expiry",
            Self::Escalation => "escalation",
            Self::Breaker => "breaker",
            Self::DryRunBreaker => "dry-run-breaker",
            Self::SharedDomain => "shared-domain",
            Self::SharedDriver => "shared-driver",
            Self::Incidents => "incidents",
        }
    }
}

/// Which guards are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guards {
    #[cfg(feature = "disable-guards")]
    off: Option<Guard>,
}

impl Guards {
    /// All guards on, as in production.
    #[must_use]
    pub const fn all_on() -> Self {
        Self {
            #[cfg(feature = "disable-guards")]
            off: None,
        }
    }

    /// All guards on except one.
    #[cfg(feature = "disable-guards")]
    #[must_use]
    pub const fn without(guard: Guard) -> Self {
        Self { off: Some(guard) }
    }

    #[cfg(feature = "disable-guards")]
    pub(crate) fn is_on(&self, guard: Guard) -> bool {
        self.off != Some(guard)
    }

    #[cfg(not(feature = "disable-guards"))]
    pub(crate) const fn is_on(&self, _: Guard) -> bool {
        true
    }
}
