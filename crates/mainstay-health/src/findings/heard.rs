//! One kind of evidence as it counts now: how much of it arrived, and which of its details may be among that. It holds
//! no details against rows.

use mainstay_model::{Arrivals, Evidence};

use crate::arrivals::{HOURS, Kind, buckets};
use crate::catalogue::{Group, Said};

/// One kind that arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard<'a> {
    pub(super) kind: Kind<'a>,
    /// The rows of its code, where it has any.
    pub(super) group: Option<&'a Group>,
    /// Its place in the record; none where there was no room.
    pub(super) entry: Option<&'a Arrivals>,
    /// What the report has and the record does not: counted as if it had just arrived.
    ahead: u64,
    /// How much of it, in the longest window.
    pub(super) total: u64,
    details: &'a [&'a Evidence],
}

/// One detail, read once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail<'a> {
    pub(super) said: Said<'a>,
    pub(super) count: u64,
    live: bool,
}

impl<'a> Heard<'a> {
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

    pub(super) fn within(&self, hours: u8, hour: u32) -> u64 {
        self.entry.map_or(0, |entry| buckets::within(entry, hours, hour)).saturating_add(self.ahead)
    }

    /// Whether some of it came before this boot: the report has forgotten those details, the record never knew them.
    pub(super) fn lost_details(&self) -> bool {
        self.entry.is_some_and(|entry| self.total > entry.counted.saturating_add(self.ahead))
    }

    /// The details in the report. Live are those that may be among what counts: the record does not say which details
    /// its arrivals had, but a detail that `n` others were seen after has at least `n` newer events, and so is none of
    /// the newest `total` where `n` is that many.
    pub(super) fn details(&self) -> Vec<Detail<'a>> {
        let read = |one: &&'a Evidence| {
            let later = self.details.iter().filter(|other| other.last_seen_at > one.last_seen_at).count();
            let live = u64::try_from(later).is_ok_and(|later| later < self.total);
            Detail { said: Said::read(one.key.detail.as_str()), count: one.count, live }
        };
        self.details.iter().map(read).collect()
    }
}

impl Detail<'_> {
    pub(super) fn is_live(&self) -> bool {
        self.live
    }
}
