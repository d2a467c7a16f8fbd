//! How much a code matters, whatever its count and detail: which code may take the place of another in a full list.

use mainstay_model::{Code, Response, Source};

use super::{Catalogue, Row};

/// The strongest thing that a code can lead to. A code that is watched only when it comes often is informational before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Informational: it is only counted.
    Note,
    /// It is watched.
    Watch,
    /// It removes the node when it comes often.
    RemoveOften,
    /// It can remove the node when it comes once.
    RemoveOnce,
}

impl Weight {
    /// The weight of a code that arrived this often, by the catalogue. Overrides of pools do not count, because a policy that arrives after a
    /// report must not change what the report left.
    pub(crate) fn of(catalogue: &Catalogue, source: Source, code: &Code, count: u64) -> Self {
        let rows = catalogue.known(source, code.as_str()).map_or(catalogue.unknown(), |group| &group.rows);
        rows.iter().map(|row| Self::of_row(row, count)).max().unwrap_or(Self::Note)
    }

    const fn of_row(row: &Row, count: u64) -> Self {
        match (row.response, row.threshold.count) {
            (Response::Note, _) => Self::Note,
            (Response::Watch, needed) if count < needed as u64 => Self::Note,
            (Response::Watch, _) => Self::Watch,
            (Response::Remove, 0..=1) => Self::RemoveOnce,
            (Response::Remove, _) => Self::RemoveOften,
        }
    }
}
