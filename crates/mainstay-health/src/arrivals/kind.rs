//! Kinds of evidence, and how a reported count compares with what is already counted. It changes nothing.

use std::cmp::Ordering;

use mainstay_model::{Arrivals, Code, Evidence, EvidenceKey, Serial, Source};

use super::COUNT_STEP_MAX;

/// All evidence of one code of one part, whatever its detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind<'a> {
    pub(crate) source: Source,
    pub(crate) code: &'a Code,
    pub(crate) device: Option<&'a Serial>,
}

/// Evidence of one report, grouped by source, code and part. A healthy node without evidence costs nothing.
#[derive(Debug)]
pub(crate) struct EvidenceKinds<'a>(Vec<&'a Evidence>);

/// How a kind's count in the report compares with what is already counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountChange {
    /// The counts are equal.
    Same,
    /// The reported count is higher by this number.
    More(u64),
    /// The reported count is lower, which is impossible within a boot: the agent lost its state, or the data was
    /// changed.
    Fell,
    /// The reported count is higher by more than [`COUNT_STEP_MAX`], which is impossible.
    Leapt,
}

// === impl Kind ===

impl<'a> Kind<'a> {
    pub(crate) fn of(key: &'a EvidenceKey) -> Self {
        Self { source: key.source, code: &key.code, device: key.device.as_ref() }
    }

    pub(crate) fn of_entry(entry: &'a Arrivals) -> Self {
        Self { source: entry.source, code: &entry.code, device: entry.device.as_ref() }
    }
}

// === impl EvidenceKinds ===

impl<'a> EvidenceKinds<'a> {
    pub(crate) fn new(evidence: &'a [Evidence]) -> Self {
        let mut sorted: Vec<&Evidence> = evidence.iter().filter(|one| one.count > 0).collect();
        // An agent sends its list in this order, so that grouping takes one pass.
        sorted.sort_by(|a, b| Kind::of(&a.key).cmp(&Kind::of(&b.key)));
        Self(sorted)
    }

    /// Returns the evidence of one kind.
    pub(crate) fn details(&self, kind: Kind<'_>) -> &[&'a Evidence] {
        let from = self.0.partition_point(|one| Kind::of(&one.key) < kind);
        let rest = self.0.get(from..).unwrap_or_default();
        let until = rest.iter().take_while(|one| Kind::of(&one.key) == kind).count();
        rest.get(..until).unwrap_or_default()
    }

    /// Returns every kind with its evidence, in order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (Kind<'a>, &[&'a Evidence])> {
        let chunks = self.0.chunk_by(|a, b| Kind::of(&a.key) == Kind::of(&b.key));
        chunks.filter_map(|details| Some((Kind::of(&details.first()?.key), details)))
    }
}

/// Returns the count of a kind: the sum over its details, or zero if the report does not contain it.
pub(crate) fn sum(details: &[&Evidence]) -> u64 {
    details.iter().map(|one| one.count).fold(0, u64::saturating_add)
}

// === impl CountChange ===

impl CountChange {
    pub(crate) fn of(count: u64, counted: u64) -> Self {
        match count.cmp(&counted) {
            Ordering::Equal => Self::Same,
            Ordering::Less => Self::Fell,
            Ordering::Greater if count - counted > COUNT_STEP_MAX => Self::Leapt,
            Ordering::Greater => Self::More(count - counted),
        }
    }
}
