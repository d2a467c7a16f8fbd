//! Turns an agent's cumulative counts into arrivals by the controller's clock, in buckets that survive a restart. It
//! does not interpret counts, but it rejects counts that hardware cannot produce.
//!
//! The result depends only on the stored status and the report. `counted` is the part of a boot's count that the
//! buckets already contain. So a repeated report changes nothing, and a restarted controller counts nothing twice. The
//! stored status has no report sequence: the caller must skip reports older than the last one.

pub(crate) mod buckets;
mod kind;
mod record;

use mainstay_model::{Arrivals, BootId, Bounded, Evidence, Persisted, Source, Timestamp};

pub(crate) use buckets::HOURS;
pub(crate) use kind::{CountChange, EvidenceKinds, Kind, sum};
use record::Record;

use crate::catalogue::{Catalogue, EVIDENCE_OVERFLOW};

/// The maximum rise of one count between two reports.
///
/// One per microsecond during three heartbeats of 300 seconds: no bus, interrupt or kernel log is that fast. The limit
/// is far below the value that a dead device returns (32 one bits) and the blank value of DCGM (2^63 - 14). Neither is
/// therefore counted as faults.
pub const COUNT_STEP_MAX: u64 = 900_000_000;

/// Whether the node rebooted since the last stamped report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// The node did not reboot.
    Same,
    /// The node rebooted or reports for the first time, so counts start at zero.
    New,
}

/// Number of events that one report added, and of kinds that were rejected or had no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampResult {
    /// Whether the node rebooted.
    pub boot: Boot,
    /// Number of events that were counted.
    pub arrived: u64,
    /// Kinds of evidence with impossible counts; they were not counted.
    pub impossible: u32,
    /// Number of impossible kinds whose count fell and was recorded.
    fell: u32,
    /// Kinds of evidence that the agent dropped to make room for others.
    went_out: u32,
    /// Kinds of evidence without room in the list. Until the next boot they are watched, and remove no node.
    pub uncounted: u32,
}

// === impl StampResult ===

impl StampResult {
    /// Returns whether the status changed and has to be written.
    #[must_use]
    pub fn changed(self) -> bool {
        self.boot == Boot::New || self.arrived > 0 || self.fell > 0 || self.went_out > 0
    }
}

/// Adds a report's counts to the buckets at its time of arrival.
///
/// A count that rose impossibly fast is not counted, and [`findings`](fn@crate::findings) reports it while it lasts. A
/// count that fell or disappeared within a boot becomes its own evidence, and counting continues from the lower value.
/// Otherwise the next real fault would stay below the old value. There is one exception: an agent whose list is full,
/// and that reports so, may drop a kind that has not arrived for a day. That kind counts from zero when it returns.
///
/// The list is bounded. If it is full, a kind that matters more by the catalogue takes the place of one that matters less.
pub fn stamp(
    catalogue: &Catalogue,
    persisted: &mut Persisted,
    boot_id: &BootId,
    evidence: &[Evidence],
    at: Timestamp,
) -> StampResult {
    let evidence = EvidenceKinds::new(evidence);
    let boot = if persisted.boot_id.as_ref() == Some(boot_id) { Boot::Same } else { Boot::New };
    let mut stamped = StampResult { boot, arrived: 0, impossible: 0, fell: 0, went_out: 0, uncounted: 0 };
    let mut has_rebooted = false;
    let mut record = Record::take(&mut persisted.arrivals, buckets::hour_of(at), catalogue);
    if boot == Boot::New {
        let is_known = persisted.boot_id.replace(boot_id.clone()).is_some();
        // A machine that is repaired or worked on is rebooted on purpose.
        has_rebooted = is_known && persisted.stage.gets_jobs();
        record.entries.iter_mut().for_each(|entry| record::count_from(entry, 0));
    }
    if has_rebooted {
        record.reboot();
    }
    let mut fallen: Vec<Arrivals> = Vec::new();
    let full =
        evidence.kinds().any(|(kind, _)| (kind.source, kind.code.as_str()) == (Source::Kernel, EVIDENCE_OVERFLOW));
    for entry in record.entries.iter_mut().filter(|entry| !record::is_our_own(entry)) {
        let told = sum(evidence.details(Kind::of_entry(entry)));
        if full && told < entry.counted && buckets::within(entry, HOURS, record.hour) == 0 {
            record::count_from(entry, 0);
            stamped.went_out += 1;
        }
        match CountChange::of(told, entry.counted) {
            CountChange::Same => {}
            CountChange::More(count) => {
                record::count_in(entry, count, record.hour);
                stamped.arrived = stamped.arrived.saturating_add(count);
            }
            CountChange::Leapt => stamped.impossible += 1,
            CountChange::Fell => fallen.push(entry.clone()),
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

/// Adds new kinds to the list, in key order and not in the order of the report.
fn admit<const MAX: usize>(record: &mut Record<'_, MAX>, evidence: &EvidenceKinds<'_>, stamped: &mut StampResult) {
    for (kind, details) in evidence.kinds() {
        if record.holds(kind) {
            continue;
        }
        match CountChange::of(sum(details), 0) {
            CountChange::Same => {}
            CountChange::Fell | CountChange::Leapt => stamped.impossible += 1,
            CountChange::More(count) if record.count(kind, count) => {
                stamped.arrived = stamped.arrived.saturating_add(count);
            }
            CountChange::More(_) => stamped.uncounted += 1,
        }
    }
}

/// Drops arrivals that no window covers any more. Findings stay the same; this only keeps the status small. [`stamp`]
/// does it whenever the status changes.
pub fn roll(persisted: &mut Persisted, now: Timestamp) {
    let hour = buckets::hour_of(now);
    for entry in persisted.arrivals.iter_mut() {
        buckets::roll(entry, hour);
    }
    let empty = |entry: &Arrivals| entry.hours.as_slice().is_empty() && entry.days.as_slice().is_empty();
    persisted.arrivals.retain(|entry| entry.counted > 0 || !empty(entry));
}

/// Remembers the counts of a node that enters its qualification, so that what arrives during the tests counts against
/// them.
pub fn begin_tests(persisted: &mut Persisted) {
    persisted.arrivals.iter_mut().for_each(|entry| entry.before_tests = entry.counted);
}

/// Returns what arrived since the node entered its qualification.
#[must_use]
pub fn since_tests(arrivals: &[Arrivals]) -> Vec<Arrivals> {
    let newer = arrivals.iter().filter(|entry| entry.counted > entry.before_tests);
    newer.map(|entry| Arrivals { hours: during_tests(entry), ..entry.clone() }).collect()
}

/// Clears the hour buckets of treated parts after the node passed its qualification, which settles earlier findings on
/// them. What arrived during the tests stays. The day buckets stay too, because they identify a lemon.
pub fn forget_hours(persisted: &mut Persisted, is_treated: impl Fn(&Arrivals) -> bool) {
    for entry in persisted.arrivals.iter_mut().filter(|entry| is_treated(entry)) {
        entry.hours = during_tests(entry);
    }
}

/// The hour buckets with the arrivals since the tests began only. The newest bucket is that of the last arrival.
fn during_tests(entry: &Arrivals) -> Bounded<u32, 24> {
    let newer = entry.counted.saturating_sub(entry.before_tests);
    Bounded::within((newer > 0).then(|| buckets::limited(newer)))
}

#[cfg(test)]
mod tests;
