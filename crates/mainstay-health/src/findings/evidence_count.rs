//! One kind of evidence with its current count, and the details that may belong to that count. It does not compare
//! details with rows.

use mainstay_model::{Arrivals, Evidence, Response, Source};

use crate::arrivals::{HOURS, Kind, buckets};
use crate::catalogue::{Group, ParsedDetail};

/// One kind of evidence with its number of events and its details.
#[derive(Debug, Clone, Copy)]
pub(super) struct EvidenceCount<'a> {
    pub(super) kind: Kind<'a>,
    /// The rows of its code, if it has any.
    pub(super) group: Option<&'a Group>,
    /// Its stored entry; `None` if there was no room.
    pub(super) entry: Option<&'a Arrivals>,
    /// Events in the report that are not stored yet; they count as just arrived.
    ahead: u64,
    /// Number of events in the longest window.
    pub(super) total: u64,
    details: &'a [&'a Evidence],
}

/// One detail, parsed once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail<'a> {
    pub(super) said: ParsedDetail<'a>,
    pub(super) count: u64,
    live: bool,
}

impl<'a> EvidenceCount<'a> {
    pub(super) fn new(
        kind: Kind<'a>,
        group: Option<&'a Group>,
        details: &'a [&'a Evidence],
        (entry, ahead): (Option<&'a Arrivals>, u64),
        hour: u32,
    ) -> Self {
        let recorded = entry.map_or(0, |entry| buckets::within(entry, HOURS, hour));
        Self { kind, group, entry, ahead, total: recorded.saturating_add(ahead), details }
    }

    /// The strongest response to it. Without a stored entry it is not known when it arrived, so it removes no node.
    /// Conditions of other agents and lines that only the pool knows are never stored: they count while they are
    /// reported.
    pub(super) const fn at_most(&self) -> Response {
        match (self.entry, self.kind.source) {
            (Some(_), _) | (None, Source::External | Source::Unrecognised) => Response::Remove,
            (None, _) => Response::Watch,
        }
    }

    pub(super) fn within(&self, hours: u8, hour: u32) -> u64 {
        self.entry.map_or(0, |entry| buckets::within(entry, hours, hour)).saturating_add(self.ahead)
    }

    /// Returns whether some events came before this boot: neither the report nor the stored status has their details.
    pub(super) fn lost_details(&self) -> bool {
        self.entry.is_some_and(|entry| self.total > entry.counted.saturating_add(self.ahead))
    }

    /// Returns the details in the report. A detail is live if it may belong to the counted arrivals, because the stored
    /// status does not contain details. A detail with `n` later details has at least `n` newer events. It is therefore
    /// not among the newest `total` if `n` is that many.
    pub(super) fn details(&self) -> Vec<Detail<'a>> {
        let read = |one: &&'a Evidence| {
            let later = self.details.iter().filter(|other| other.last_seen_at > one.last_seen_at).count();
            let live = u64::try_from(later).is_ok_and(|later| later < self.total);
            Detail { said: ParsedDetail::read(one.key.detail.as_str()), count: one.count, live }
        };
        self.details.iter().map(read).collect()
    }
}

impl Detail<'_> {
    pub(super) fn is_live(&self) -> bool {
        self.live
    }
}
