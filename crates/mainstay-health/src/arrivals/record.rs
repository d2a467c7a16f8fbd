//! The bounded list of kinds in the stored status while a report is added: which kind gets a place and which one loses
//! it. `stamp` decides what is counted.

use mainstay_model::{Arrivals, Bounded, Code, Source};

use super::{HOURS, Kind, buckets};
use crate::catalogue::{COUNTER_IMPOSSIBLE, Catalogue, REBOOTED, Weight};

/// The stored list of one node.
pub(super) struct Record<'a, const MAX: usize> {
    pub(super) entries: Vec<Arrivals>,
    pub(super) hour: u32,
    /// It decides which kind may take the place of another.
    catalogue: &'a Catalogue,
}

/// Returns whether an entry is about an impossible counter or a reboot. Mainstay counts those; no report contains them.
pub(super) fn is_our_own(entry: &Arrivals) -> bool {
    entry.code.as_str() == COUNTER_IMPOSSIBLE || entry.source == Source::Inventory && entry.code.as_str() == REBOOTED
}

/// Adds arrivals to an existing entry.
pub(super) fn count_in(entry: &mut Arrivals, count: u64, hour: u32) {
    buckets::add(entry, count, hour);
    entry.counted = entry.counted.saturating_add(count);
}

/// Continues counting from another value: the machine rebooted, or the agent counts from there.
pub(super) fn count_from(entry: &mut Arrivals, counted: u64) {
    entry.counted = counted;
    entry.before_tests = entry.before_tests.min(counted);
}

impl<'a, const MAX: usize> Record<'a, MAX> {
    /// Moves the list out of the stored status.
    pub(super) fn take(entries: &mut Bounded<Arrivals, MAX>, hour: u32, catalogue: &'a Catalogue) -> Self {
        Self { entries: std::mem::take(entries).into(), hour, catalogue }
    }

    /// Returns the list in key order, so that equal content is equal data.
    pub(super) fn done(mut self) -> Bounded<Arrivals, MAX> {
        if !self.entries.is_sorted_by(|a, b| Kind::of_entry(a) <= Kind::of_entry(b)) {
            self.entries.sort_by(|a, b| Kind::of_entry(a).cmp(&Kind::of_entry(b)));
        }
        Bounded::within(self.entries)
    }

    pub(super) fn holds(&self, kind: Kind<'_>) -> bool {
        self.entries.iter().any(|entry| Kind::of_entry(entry) == kind)
    }

    /// Counts a kind and adds it to the list if it is new; returns whether there was room.
    pub(super) fn count(&mut self, kind: Kind<'_>, count: u64) -> bool {
        if !self.holds(kind) {
            if !self.make_room(kind, count) {
                return false;
            }
            self.entries.push(Arrivals {
                source: kind.source,
                code: kind.code.clone(),
                device: kind.device.cloned(),
                counted: 0,
                before_tests: 0,
                newest_hour: self.hour,
                hours: Bounded::new(),
                days: Bounded::new(),
            });
        }
        let place = self.entries.iter_mut().find(|entry| Kind::of_entry(entry) == kind);
        place.into_iter().for_each(|entry| count_in(entry, count, self.hour));
        true
    }

    /// Counts a reboot of the machine.
    pub(super) fn reboot(&mut self) {
        if let Ok(code) = Code::parse(REBOOTED) {
            self.count(Kind { source: Source::Inventory, code: &code, device: None }, 1);
        }
    }

    /// Records that a kind's count fell, and continues from the lower value; returns whether there was room. Without
    /// room the old value stays, so that the fall is visible while it lasts.
    pub(super) fn fall(&mut self, kind: Kind<'_>, count: u64) -> bool {
        let Ok(code) = Code::parse(COUNTER_IMPOSSIBLE) else { return false };
        if !self.count(Kind { code: &code, ..kind }, 1) {
            return false;
        }
        let fallen = self.entries.iter_mut().find(|entry| Kind::of_entry(entry) == kind);
        fallen.into_iter().for_each(|entry| count_from(entry, count));
        true
    }

    /// Drops a kind if the list is full: one that no window covers any more, or else one that matters less than the new
    /// kind does now. Noise must not replace a fault, and a fault must not be lost in noise: a job that crashes on eight GPUs
    /// leaves two dozen kinds. A kind that is dropped within a boot is only watched until the next boot, because the
    /// agent's count does not show when it arrived.
    fn make_room(&mut self, kind: Kind<'_>, count: u64) -> bool {
        if self.entries.len() < MAX {
            return true;
        }
        let new = Weight::of(self.catalogue, kind.source, kind.code, count);
        let lately = |entry: &Arrivals| buckets::within(entry, HOURS, self.hour);
        let of = |entry: &Arrivals| Weight::of(self.catalogue, entry.source, &entry.code, lately(entry));
        let is_settled = |entry: &Arrivals| entry.counted == 0 && lately(entry) == 0;
        let order = |entry: &Arrivals| (!is_settled(entry), of(entry), entry.newest_hour);
        let droppable = self.entries.iter().enumerate();
        let droppable = droppable.filter(|(_, entry)| is_settled(entry) || of(entry) < new);
        let first = droppable
            .min_by(|(_, a), (_, b)| order(a).cmp(&order(b)).then_with(|| Kind::of_entry(a).cmp(&Kind::of_entry(b))));
        match first.map(|(at, _)| at) {
            Some(at) => {
                self.entries.remove(at);
                true
            }
            None => false,
        }
    }
}
