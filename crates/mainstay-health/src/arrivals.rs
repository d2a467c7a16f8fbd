//! Turns an agent's cumulative counts into arrivals by our own clock, in buckets that survive a restart. It does not say
//! what a count means; it does refuse counts that no machine can produce.
//!
//! Everything is decided from what persists and the report alone: `counted` is how much of a boot's count is in the
//! buckets, so a report that comes again changes nothing, and a controller that restarts counts nothing twice. What
//! persists does not hold a report's sequence: the caller leaves out reports older than the last.

pub(crate) mod buckets;
mod kind;
mod record;

use mainstay_model::{Arrivals, Bounded, Persisted, Report, Source, Timestamp};

pub(crate) use buckets::HOURS;
pub(crate) use kind::{ByKind, Kind, Standing, sum};
use record::Record;

use crate::catalogue::EVIDENCE_OVERFLOW;

/// The most that one count may rise between two reports.
///
/// One a microsecond through three heartbeats of 300 seconds: no bus, interrupt or kernel log is that fast. It lies well
/// under what a dead device reads as (32 bits of ones) and what DCGM writes for a blank (2^63 - 14), so that neither is
/// ever taken for a flood of faults.
pub const COUNT_STEP_MAX: u64 = 900_000_000;

/// Whether the node came up again since the last report that was stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// It did not.
    Same,
    /// It did, or it was never heard before: counts start at zero.
    New,
}

/// What stamping a report did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped {
    /// Whether the boot is another.
    pub boot: Boot,
    /// How many events were counted.
    pub arrived: u64,
    /// Kinds of evidence whose counts cannot be; nothing of them was counted.
    pub impossible: u32,
    /// Of these, how many fell and were recorded.
    fell: u32,
    /// Kinds of evidence that made room for others in the agent's list.
    went_out: u32,
    /// Kinds of evidence there was no room for; findings take them as having just arrived, until the node boots.
    pub uncounted: u32,
}

// === impl Stamped ===

impl Stamped {
    /// Whether what persists is another now, and has to be written.
    #[must_use]
    pub fn changed(self) -> bool {
        self.boot == Boot::New || self.arrived > 0 || self.fell > 0 || self.went_out > 0
    }
}

/// Folds a report's counts into the buckets by its time of arrival.
///
/// A count that leapt is left alone: nothing is counted, and [`findings`](crate::findings) sees it as long as it stands.
/// One that fell, or went away, within a boot is recorded as evidence of its own, and counting goes on from where it fell
/// to: otherwise the next real fault would hide below the old mark. Only of a full list, which says that it is, a kind may
/// go away that has not arrived for a day: it made room, and counts from zero when it comes again.
pub fn stamp(persisted: &mut Persisted, report: &Report, at: Timestamp) -> Stamped {
    let evidence = ByKind::new(report.evidence.as_slice());
    let boot = if persisted.boot_id.as_ref() == Some(&report.boot_id) { Boot::Same } else { Boot::New };
    let mut stamped = Stamped { boot, arrived: 0, impossible: 0, fell: 0, went_out: 0, uncounted: 0 };
    let mut record = Record::take(&mut persisted.arrivals, buckets::hour_of(at));
    if boot == Boot::New {
        persisted.boot_id = Some(report.boot_id.clone());
        record.entries.iter_mut().for_each(|entry| entry.counted = 0);
    }
    let mut fallen: Vec<Arrivals> = Vec::new();
    let full =
        evidence.kinds().any(|(kind, _)| (kind.source, kind.code.as_str()) == (Source::Kernel, EVIDENCE_OVERFLOW));
    for entry in record.entries.iter_mut().filter(|entry| !record::is_our_own(entry)) {
        let told = sum(evidence.details(Kind::of_entry(entry)));
        if full && told < entry.counted && buckets::within(entry, HOURS, record.hour) == 0 {
            entry.counted = 0;
            stamped.went_out += 1;
        }
        match Standing::of(told, entry.counted) {
            Standing::Same => {}
            Standing::More(count) => {
                record::count_in(entry, count, record.hour);
                stamped.arrived = stamped.arrived.saturating_add(count);
            }
            Standing::Leapt => stamped.impossible += 1,
            Standing::Fell => fallen.push(entry.clone()),
        }
    }
    for entry in &fallen {
        let kind = Kind::of_entry(entry);
        stamped.impossible += 1;
        stamped.fell += u32::from(record.fall(kind, sum(evidence.details(kind))));
    }
    admit(&mut record, &evidence, &mut stamped);
    persisted.arrivals = record.done();
    if stamped.changed() {
        roll(persisted, at);
    }
    stamped
}

/// Gives kinds that are new a place, in their own order and not the report's.
fn admit<const MAX: usize>(record: &mut Record<MAX>, evidence: &ByKind<'_>, stamped: &mut Stamped) {
    for (kind, details) in evidence.kinds() {
        if record.holds(kind) {
            continue;
        }
        match Standing::of(sum(details), 0) {
            Standing::Same => {}
            Standing::Fell | Standing::Leapt => stamped.impossible += 1,
            Standing::More(count) if record.count(kind, count) => {
                stamped.arrived = stamped.arrived.saturating_add(count);
            }
            Standing::More(_) => stamped.uncounted += 1,
        }
    }
}

/// Lets go of what no window reaches any more. Findings are the same before and after; it only keeps the record small,
/// and [`stamp`] does it whenever the record changes anyway.
pub fn roll(persisted: &mut Persisted, now: Timestamp) {
    let hour = buckets::hour_of(now);
    for entry in persisted.arrivals.iter_mut() {
        buckets::roll(entry, hour);
    }
    let empty = |entry: &Arrivals| entry.hours.as_slice().is_empty() && entry.days.as_slice().is_empty();
    persisted.arrivals.retain(|entry| entry.counted > 0 || !empty(entry));
}

/// Clears the hours: the node came back after a clean qualification, and what was found before it is settled. The days
/// stay, because a lemon is known by them.
pub fn forget_hours(persisted: &mut Persisted) {
    for entry in persisted.arrivals.iter_mut() {
        entry.hours = Bounded::new();
    }
}

#[cfg(test)]
mod tests;
