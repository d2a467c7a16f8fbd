//! What a cell keeps about its own rules: a rule that suddenly condemns half the fleet is itself suspected.

use serde::{Deserialize, Serialize};

use crate::{Bounded, PoolName, RuleName, Timestamp};

/// Whether a rule may lead to acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BreakerState {
    /// It may.
    Closed,
    /// It may not: it condemned too many at once.
    Open,
    /// It is being tried on one node.
    HalfOpen,
}

/// One rule's breaker in one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// In which pool.
    pub pool: PoolName,
    /// Of which rule.
    pub rule: RuleName,
    /// How it stands.
    pub state: BreakerState,
    /// Since when.
    pub since: Timestamp,
}

/// How often a rule was right: what became of its findings that could be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// Which rule.
    pub rule: RuleName,
    /// Taken out by it, and a test, a replaced part or a person showed that something was wrong.
    pub confirmed: u64,
    /// Taken out by it, and a test or a person showed that nothing was.
    pub refuted: u64,
    /// Not carried out, and the node was lost or taken out by others.
    pub confirmed_on_paper: u64,
    /// Not carried out, and the evidence went away by itself.
    pub refuted_on_paper: u64,
}

/// What the cell keeps of its rules. Findings that were judged before `counted_to` are in the counts; later ones are in
/// the nodes' own records and are not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CellRecord {
    /// Breakers that are not closed, by pool and rule. For people: how a breaker stands is never read back.
    pub breakers: Bounded<Breaker, 64>,
    /// How often each rule was right, by rule.
    pub rules: Bounded<RuleRecord, 256>,
    /// Before this moment everything is counted.
    pub counted_to: Timestamp,
}

impl RuleRecord {
    /// A rule that nothing was judged of yet.
    #[must_use]
    pub const fn new(rule: RuleName) -> Self {
        Self { rule, confirmed: 0, refuted: 0, confirmed_on_paper: 0, refuted_on_paper: 0 }
    }

    /// How many of its findings were judged, on paper or not.
    #[must_use]
    pub const fn judged(&self) -> u64 {
        let carried_out = self.confirmed.saturating_add(self.refuted);
        carried_out.saturating_add(self.confirmed_on_paper).saturating_add(self.refuted_on_paper)
    }
}
