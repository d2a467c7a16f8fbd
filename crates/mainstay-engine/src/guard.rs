//! Guards: safety rules of the engine that are not rows of the catalogue, by name. A scenario names the guard that it is
//! about, and a test shows that turning it off changes the result. Only builds with the feature `disable-guards` can turn
//! one off; no shipped binary has it.

/// Declares the guards, each with its name.
macro_rules! guards {
    ($($(#[$doc:meta])* $guard:ident = $name:literal,)*) => {
        /// One safety rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Guard { $($(#[$doc])* $guard,)* }

        impl Guard {
            /// All guards.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$guard),*];

            /// The name that scenarios and commands use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$guard => $name),* }
            }
        }
    };
}

guards! {
    /// No more nodes of a failure domain are out of service than its budget allows.
    Budget = "budget",
    /// No disruptive action is based on an old view.
    Freshness = "freshness",
    /// Only the leader of the cell acts.
    Fence = "fence",
    /// A gang that saves on request gets a checkpoint request and time to answer.
    CheckpointWait = "checkpoint-wait",
    /// The drain cost model decides when a gang is stopped.
    DrainCost = "drain-cost",
    /// No action exceeds the mode.
    Mode = "mode",
    /// The intent is stored before the action.
    IntentFirst = "intent-first",
    /// One signal alone removes no node.
    TwoSignals = "two-signals",
    /// The power of a machine is turned off only where a path other than the API server shows that it is dead.
    SecondPath = "second-path",
    /// Pods are released only from a machine that is off.
    PowerOffFirst = "power-off-first",
    /// A flagged node that waits is avoided by new jobs.
    Avoid = "avoid",
    /// A repair step has a limit of attempts.
    AttemptCap = "attempt-cap",
    /// A node beyond the time limit of its stage needs an operator.
    StageLimit = "stage-limit",
    /// Operators' requests are followed.
    Requests = "requests",
    /// Planned work is not a fault.
    PlannedWork = "planned-work",
    /// A node returns only after it passed its qualification.
    Requalify = "requalify",
    /// Every faulty part is repaired, and a fault that appears during the tests fails them.
    EachPart = "each-part",
    /// Evidence of a part that was removed does not count against the node.
    HistoryBySerial = "history-by-serial",
    /// A node that only an operator or a technician can bring back holds no place of a budget, if the pool has a floor.
    PartPlaces = "part-places",
    /// Dry-run decisions use dry-run budgets.
    DryRunBudget = "dry-run-budget",
    /// Nodes that other actors removed count against budgets.
    OthersCount = "others-count",
    /// An order that the agent did not run is given again and counts as no attempt.
    UntriedStep = "untried-step",
    /// No order is given to a node without Mainstay's quarantine taint.
    TaintFirst = "taint-first",
    /// A gang is asked once and stopped once, however many of its nodes are drained.
    OneDisruption = "one-disruption",
    /// After an order that was not executed in time, the next step is tried.
    OrderExpiry = "order-expiry",
    /// A worse fault on a node that is out of service raises its cause.
    Escalation = "escalation",
    /// A rule that removes too many nodes too fast is stopped.
    Breaker = "breaker",
    /// The same for dry-run decisions.
    DryRunBreaker = "dry-run-breaker",
    /// A fault that most nodes of a failure domain show at once belongs to the domain.
    SharedDomain = "shared-domain",
    /// A fault that only nodes with one driver version show belongs to the driver.
    SharedDriver = "shared-driver",
    /// The history of a node outlives its registration for as long as it counts.
    GoneHistory = "gone-history",
    /// Incidents of a node are remembered and raise its risk.
    Incidents = "incidents",
}

/// Which guards are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guards {
    off: Option<Guard>,
}

impl Guards {
    /// All guards on, as in production.
    #[must_use]
    pub const fn all_on() -> Self {
        Self { off: None }
    }

    /// All guards on except one.
    #[cfg(feature = "disable-guards")]
    #[must_use]
    pub const fn without(guard: Guard) -> Self {
        Self { off: Some(guard) }
    }

    pub(crate) fn is_on(&self, guard: Guard) -> bool {
        self.off != Some(guard)
    }
}
