//! What a cell keeps about its own rules: a rule that suddenly condemns half the fleet is itself suspected.

use serde::{Deserialize, Serialize};

use crate::{RuleName, Timestamp};

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

/// One rule's breaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Of which rule.
    pub rule: RuleName,
    /// How it stands.
    pub state: BreakerState,
    /// Since when.
    pub since: Timestamp,
}

/// How often a rule was right: what followed when it condemned something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// Which rule.
    pub rule: RuleName,
    /// Condemned by it, and the qualification failed too.
    pub confirmed: u64,
    /// Condemned by it, and the qualification passed.
    pub refuted: u64,
}
