//! One row of the catalogue: what it matches, and what it says then. Finding the row of a piece of evidence is
//! `findings.rs`.

use mainstay_model::{Bounded, Code, Response, RuleName, Rung, Source, Urgency};

use super::{Bucket, Generations, When};

/// What must be seen beside the evidence for a row to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum With {
    /// Nothing.
    Whatever,
    /// One of these codes, from the same source and part.
    Codes(Vec<Code>),
    /// Another XID or SXid of the node that asks for something.
    Other,
}

/// How often within how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// So many at least.
    pub count: u32,
    /// In so many of the newest hour buckets, the one that is filling included.
    pub hours: u8,
}

/// One row: what it matches, and what it says then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its place in the catalogue, from 0.
    pub rank: u16,
    /// Whose words; whoever's where absent.
    pub source: Option<Source>,
    /// Which code; any that no other row names where absent.
    pub code: Option<Code>,
    /// On which GPUs.
    pub on: Generations,
    /// What the detail must be.
    pub when: When,
    /// What must be beside it.
    pub with: With,
    /// How often it must have come.
    pub threshold: Threshold,
    /// The rule it stands for.
    pub rule: RuleName,
    /// The bucket that its answer comes from.
    pub bucket: Box<str>,
    /// What it asks for.
    pub response: Response,
    /// How long work may be waited for.
    pub urgency: Urgency,
    /// What to try.
    pub rungs: Bounded<Rung, 8>,
    /// Who says so.
    pub fact: Box<str>,
}

// === impl Row ===

impl Row {
    /// A row that always matches, and says what a bucket does.
    pub(crate) fn answering(rule: RuleName, bucket: &Bucket, fact: &str) -> Self {
        Self {
            rank: 0,
            source: None,
            code: None,
            on: Generations::ANY,
            when: When::Always,
            with: With::Whatever,
            threshold: Threshold::ONCE,
            rule,
            bucket: bucket.name.clone(),
            response: bucket.response,
            urgency: bucket.urgency,
            rungs: bucket.rungs.clone(),
            fact: fact.into(),
        }
    }

    /// Whether it has the last word on its code: nothing of that code gets past it.
    pub(crate) fn always_matches(&self) -> bool {
        self.when == When::Always
            && self.with == With::Whatever
            && self.threshold == Threshold::ONCE
            && self.on == Generations::ANY
    }
}

// === impl Threshold ===

impl Threshold {
    /// At all.
    pub(crate) const ONCE: Self = Self { count: 1, hours: crate::arrivals::HOURS };
}
