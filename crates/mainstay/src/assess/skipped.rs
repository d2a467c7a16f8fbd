//! What was passed over, and why: a report that hides it would be read as if everything had been looked at.

use std::collections::BTreeMap;

use serde::Serialize;

/// Why something was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Why {
    LineTooLong,
    NoTime,
    OnlySecondsSinceBoot,
    NotTheKernel,
    NotUnderstood,
    NoNode,
    OutsideWindow,
    TooMany,
    TooLarge,
    Compressed,
    NoFile,
    NoPlace,
    NotATicket,
}

impl Why {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::LineTooLong => "lines longer than the bound",
            Self::NoTime => "lines without a time",
            Self::OnlySecondsSinceBoot => {
                "lines with seconds since boot only: say --booted, or a column `booted` in --nodes"
            }
            Self::NotTheKernel => "entries of other programs than the kernel",
            Self::NotUnderstood => "entries that are not what their file is",
            Self::NoNode => "entries of no node that could be told",
            Self::OutsideWindow => "entries before --since or after --until",
            Self::TooMany => "pieces of evidence beyond the bound",
            Self::TooLarge => "files or answers beyond the bound",
            Self::Compressed => "compressed files: unpack them first",
            Self::NoFile => "files that could not be read",
            Self::NoPlace => "series without an address or a known UUID of their GPU",
            Self::NotATicket => "rows of the tickets without a node or a time",
        }
    }
}

/// How much was passed over, by why, and the first example of each.
#[derive(Debug, Clone, Default)]
pub(super) struct Skipped(BTreeMap<Why, (u64, String)>);

/// One line of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SkippedLine {
    pub(super) why: Why,
    pub(super) words: &'static str,
    pub(super) count: u64,
    /// The file or the query of the first one.
    pub(super) first_in: String,
}

/// A name is shown up to this length.
const FIRST_CHARS_MAX: usize = 120;

impl Skipped {
    pub(super) fn add(&mut self, why: Why, count: u64, place: &str) {
        if count == 0 {
            return;
        }
        let first = || place.chars().filter(|c| !c.is_control()).take(FIRST_CHARS_MAX).collect();
        let entry = self.0.entry(why).or_insert_with(|| (0, first()));
        entry.0 = entry.0.saturating_add(count);
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (why, (count, place)) in other.0 {
            self.add(why, count, &place);
        }
    }

    pub(super) fn lines(&self) -> Vec<SkippedLine> {
        let line = |(why, (count, first)): (&Why, &(u64, String))| SkippedLine {
            why: *why,
            words: why.words(),
            count: *count,
            first_in: first.clone(),
        };
        self.0.iter().map(line).collect()
    }
}
