//! Input that was not used, with the reason, the count and the first example. Every report lists it, because a report
//! that hides it looks complete.

use std::collections::BTreeMap;

use serde::Serialize;

/// Why a piece of input was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DropReason {
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
    Binary,
    NoFile,
    NoPlace,
    NotATicket,
}

impl DropReason {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::LineTooLong => "lines longer than the limit",
            Self::NoTime => "lines without a timestamp",
            Self::OnlySecondsSinceBoot => {
                "lines with seconds since boot only: set --boot-time, or the column `booted` in --nodes"
            }
            Self::NotTheKernel => "entries not from the kernel",
            Self::NotUnderstood => "entries that do not match the file's format",
            Self::NoNode => "entries without a node name",
            Self::OutsideWindow => "entries before --since or after --until",
            Self::TooMany => "pieces of evidence above the limit",
            Self::TooLarge => "files or responses cut at the size limit",
            Self::Compressed => "compressed files other than gzip: decompress them first",
            Self::Binary => "binary files: export the journal with `journalctl -o export`",
            Self::NoFile => "files that could not be read to the end",
            Self::NoPlace => "series without a PCI address or known UUID of the GPU",
            Self::NotATicket => "ticket rows without a node or an opening time",
        }
    }
}

/// Input that was not used, by reason: the count and the first example.
#[derive(Debug, Clone, Default)]
pub(super) struct DroppedInput(BTreeMap<DropReason, (u64, String)>);

/// One reason for unused input with its count, as the report lists it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DropCount {
    pub(super) why: DropReason,
    pub(super) words: &'static str,
    pub(super) count: u64,
    /// The file or the query of the first one.
    pub(super) first_in: String,
}

/// A name is shown up to this length.
const FIRST_CHARS_MAX: usize = 120;

impl DroppedInput {
    pub(super) fn add(&mut self, why: DropReason, count: u64, place: &str) {
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

    pub(super) fn lines(&self) -> Vec<DropCount> {
        let line = |(why, (count, first)): (&DropReason, &(u64, String))| DropCount {
            why: *why,
            words: why.words(),
            count: *count,
            first_in: first.clone(),
        };
        self.0.iter().map(line).collect()
    }
}
