//! One row of the catalogue: what it matches and how Mainstay responds. `findings.rs` selects the row for a piece of
//! evidence.

use mainstay_model::{Bounded, Code, RepairStep, Response, RuleName, Source, Urgency};

use super::{Bucket, DetailCondition, Generations};

/// Other evidence that must be present for a row to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceCondition {
    /// No other evidence is needed.
    Whatever,
    /// One of these codes, from the same source and part.
    Codes(Vec<Code>),
    /// Another XID or SXid of the node that is watched or removes the node.
    Other,
}

/// A minimum count within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// Minimum number of events.
    pub count: u32,
    /// Length of the window in hour buckets, including the current one.
    pub hours: u8,
}

/// One row: what it matches and how Mainstay responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Position in the catalogue, from 0.
    pub rank: u16,
    /// Source of the evidence; any source if absent.
    pub source: Option<Source>,
    /// Fault code; if absent, any code that no other row names.
    pub code: Option<Code>,
    /// GPUs that the row applies to.
    pub on: Generations,
    /// Condition on the detail.
    pub when: DetailCondition,
    /// Condition on other evidence.
    pub with: EvidenceCondition,
    /// Minimum count within a window.
    pub threshold: Threshold,
    /// The rule that the row belongs to.
    pub rule: RuleName,
    /// The bucket that defines the response.
    pub bucket: Box<str>,
    /// The response that the row asks for.
    pub response: Response,
    /// Time that running jobs get before they are stopped.
    pub urgency: Urgency,
    /// Steps of the repair plan.
    pub rungs: Bounded<RepairStep, 8>,
    /// Source of the fact.
    pub fact: Box<str>,
}

// === impl Row ===

impl Row {
    /// Creates a row that always matches, with the response of a bucket.
    pub(crate) fn answering(rule: RuleName, bucket: &Bucket, fact: &str) -> Self {
        Self {
            rank: 0,
            source: None,
            code: None,
            on: Generations::ANY,
            when: DetailCondition::Always,
            with: EvidenceCondition::Whatever,
            threshold: Threshold::ONCE,
            rule,
            bucket: bucket.name.clone(),
            response: bucket.response,
            urgency: bucket.urgency,
            rungs: bucket.rungs.clone(),
            fact: fact.into(),
        }
    }

    /// Returns whether the row always matches, so that no evidence of its code gets past it.
    pub(crate) fn always_matches(&self) -> bool {
        self.when == DetailCondition::Always
            && self.with == EvidenceCondition::Whatever
            && self.threshold == Threshold::ONCE
            && self.on == Generations::ANY
    }
}

// === impl Threshold ===

impl Threshold {
    /// A threshold that one event meets.
    pub(crate) const ONCE: Self = Self { count: 1, hours: crate::arrivals::HOURS };
}
