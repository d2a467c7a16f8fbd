//! What a Cell stores about its rules: circuit breakers and counters. A rule that suddenly flags half the fleet is
//! itself suspect.

use serde::{Deserialize, Serialize};

use crate::{Bounded, PoolName, RuleName, Timestamp};

/// State of a circuit breaker: whether its rule may lead to actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BreakerState {
    /// The rule may remove nodes.
    Closed,
    /// The rule may not remove nodes, because it flagged too many at once.
    Open,
    /// The rule is being tested on one node.
    HalfOpen,
}

/// The circuit breaker of one rule in one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// The pool that the breaker belongs to.
    pub pool: PoolName,
    /// The rule that the breaker belongs to.
    pub rule: RuleName,
    /// Current state of the breaker.
    pub state: BreakerState,
    /// Time at which the state began.
    pub since: Timestamp,
}

/// Counters of a rule: how many of its findings were confirmed or refuted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// The rule that is counted.
    pub rule: RuleName,
    /// Findings that led to removal and were then confirmed by a test, a replaced part or an operator.
    pub confirmed: u64,
    /// Findings that led to removal and were then refuted by a test or an operator.
    pub refuted: u64,
    /// Dry-run findings whose node was then lost or removed by others.
    pub confirmed_on_paper: u64,
    /// Dry-run findings whose evidence then cleared by itself.
    pub refuted_on_paper: u64,
}

/// What the Cell stores about its rules. The counters include findings judged before `counted_to`. Later findings are
/// in the status of their nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CellRecord {
    /// Breakers that are not closed, by pool and rule. Operators read this; the engine never reads it back.
    pub breakers: Bounded<Breaker, 64>,
    /// Counters of each rule, by rule name.
    pub rules: Bounded<RuleRecord, 512>,
    /// The counters include everything before this time.
    pub counted_to: Timestamp,
}

impl RuleRecord {
    /// Creates counters for a rule without judged findings.
    #[must_use]
    pub const fn new(rule: RuleName) -> Self {
        Self { rule, confirmed: 0, refuted: 0, confirmed_on_paper: 0, refuted_on_paper: 0 }
    }

    /// Number of judged findings of the rule, dry run included.
    #[must_use]
    pub const fn judged(&self) -> u64 {
        let carried_out = self.confirmed.saturating_add(self.refuted);
        carried_out.saturating_add(self.confirmed_on_paper).saturating_add(self.refuted_on_paper)
    }
}
