//! Policy of a pool: mode, budgets, repair plans and the meaning of fault codes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Bounded, BreakerLimits, Code, Deadlines, DrainRule, Hazards, Level, Mode, PoolName, Ppm, RepairStep, RuleName,
    Source, Span, SuiteName, Urgency,
};

/// A kind of action. Each kind can have its own mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ActionKind {
    /// Cordon the node, so that it gets no new jobs.
    Cordon,
    /// Move jobs away from the node.
    Drain,
    /// Restart a service on the node.
    RestartService,
    /// Reset a GPU of the node.
    ResetGpu,
    /// Reboot the node.
    Reboot,
    /// Power-cycle the node.
    PowerCycle,
    /// Return the node to service.
    Return,
}

impl ActionKind {
    /// All kinds of actions.
    pub const ALL: [Self; 7] =
        [Self::Cordon, Self::Drain, Self::RestartService, Self::ResetGpu, Self::Reboot, Self::PowerCycle, Self::Return];
}

/// Maximum number of nodes of one failure domain that may be out of service at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Budget {
    /// Per domain of this level; over the whole pool where absent.
    pub level: Option<Level>,
    /// The maximum.
    pub most: NodeLimit,
}

/// Largest number of nodes out of service, as a count or a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeLimit {
    /// This number of nodes.
    Nodes(u32),
    /// This share of the domain's nodes, rounded down.
    Share(Ppm),
}

impl NodeLimit {
    /// Returns the limit for a domain with `total` nodes.
    #[must_use]
    pub fn of(self, total: u32) -> u32 {
        match self {
            Self::Nodes(nodes) => nodes,
            Self::Share(share) => u32::try_from(share.of(u64::from(total))).unwrap_or(u32::MAX),
        }
    }
}

/// Repair steps in the order they are tried, with a limit of attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairPlan {
    /// The steps, least disruptive first; `Capture` comes first.
    pub rungs: Bounded<RepairStep, 8>,
    /// Maximum attempts of one step within the window.
    pub attempts_max: u32,
    /// Length of the window.
    pub window: Span,
}

/// Meaning of one fault code in this pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// Source of the code.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// The rule that applies instead.
    pub rule: RuleName,
    /// Urgency in this pool; that of the rule if absent.
    pub urgency: Option<Urgency>,
}

/// Maximum number of grants within a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RateLimit {
    /// Number of grants.
    pub grants: u32,
    /// Length of the time.
    pub per: Span,
}

/// A time of the week in which planned disruptions may start, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WeeklyWindow {
    /// Start in minutes after Monday, 00:00.
    pub start_minute: u16,
    /// Length of the window.
    pub length: Span,
}

/// Policy of one pool. A pool without a policy is in mode Observe, and every budget is zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Name of the pool.
    pub pool: PoolName,
    /// Mode of the pool; the mode of the Cell is its upper limit.
    pub mode: Mode,
    /// Modes of single kinds of actions.
    pub promotions: BTreeMap<ActionKind, Mode>,
    /// Disruption budgets.
    pub budgets: Bounded<Budget, 8>,
    /// Minimum number of nodes that stay in service, whatever the budgets allow.
    #[serde(default)]
    pub floor: Option<NodeLimit>,
    /// Maximum rate of grants.
    #[serde(default)]
    pub rate: Option<RateLimit>,
    /// Times of the week in which planned disruptions may start. Without any, they may start at any time.
    #[serde(default)]
    pub windows: Bounded<WeeklyWindow, 8>,
    /// How the time to stop a gang is chosen.
    #[serde(default)]
    pub drain_rule: DrainRule,
    /// Size and times of the circuit breakers.
    #[serde(default)]
    pub breaker: BreakerLimits,
    /// What faults may still cause to running jobs.
    #[serde(default)]
    pub hazards: Hazards,
    /// Time limits of drains, repairs, tests and stages.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// Repair plans of this pool, by rule.
    pub ladders: BTreeMap<RuleName, RepairPlan>,
    /// Fault codes with another meaning in this pool.
    pub overrides: Bounded<Override, 64>,
    /// The suite that a node must pass before it returns to service.
    pub suite: Option<SuiteName>,
}

impl Policy {
    /// A policy that allows nothing: mode Observe and no budget.
    #[must_use]
    pub fn new(pool: PoolName) -> Self {
        Self {
            pool,
            mode: Mode::Observe,
            promotions: BTreeMap::new(),
            budgets: Bounded::new(),
            floor: None,
            rate: None,
            windows: Bounded::new(),
            drain_rule: DrainRule::CostModel,
            breaker: BreakerLimits::default(),
            hazards: Hazards::default(),
            deadlines: Deadlines::default(),
            ladders: BTreeMap::new(),
            overrides: Bounded::new(),
            suite: None,
        }
    }
}
