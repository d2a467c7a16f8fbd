//! The bounded list of kinds in the stored status while a report is added: which kind gets a place and which one loses
//! it. `stamp` decides what is counted.

use mainstay_model::{Arrivals, Bounded, Code};

use super::{HOURS, Kind, buckets};
use crate::catalogue::COUNTER_IMPOSSIBLE;

/// The stored list of one node.
pub(super) struct Record<const MAX: usize> {
    pub(super) entries: Vec<Arrivals>,
    pub(super) hour: u32,
}

/// Returns whether an entry is about an impossible counter. Mainstay counts those; no report contains them.
pub(super) fn is_our_own(entry: &Arrivals) -> bool {
    entry.code.as_str() == COUNTER_IMPOSSIBLE
}

/// Adds arrivals to an existing entry.
pub(super) fn count_in(entry: &mut Arrivals, count: u64, hour: u32) {
    buckets::add(entry, count, hour);
    entry.counted = entry.counted.saturating_add(count);
}

impl<const MAX: usize> Record<MAX> {
    /// Moves the list out of the stored status.
    pub(super) fn take(entries: &mut Bounded<Arrivals, MAX>, hour: u32) -> Self {
        Self { entries: std::mem::take(entries).into(), hour }
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
            if !self.make_room() {
                return false;
            }
            self.entries.push(Arrivals {
                source: kind.source,
                code: kind.code.clone(),
                device: kind.device.cloned(),
                counted: 0,
                newest_hour: self.hour,
                hours: Bounded::new(),
                days: Bounded::new(),
            });
        }
        let place = self.entries.iter_mut().find(|entry| Kind::of_entry(entry) == kind);
        place.into_iter().for_each(|entry| count_in(entry, count, self.hour));
        true
    }

    /// Records that a kind's count fell, and continues from the lower value; returns whether there was room. Without
    /// room the old value stays, so that the fall is visible while it lasts.
    pub(super) fn fall(&mut self, kind: Kind<'_>, count: u64) -> bool {
        let Ok(code) = Code::parse(COUNTER_IMPOSSIBLE) else { return false };
        if !self.count(Kind { code: &code, ..kind }, 1) {
            return false;
        }
        let fallen = self.entries.iter_mut().find(|entry| Kind::of_entry(entry) == kind);
        fallen.into_iter().for_each(|entry| entry.counted = count);
        true
    }

    /// Drops the least recently arrived kind if the list is full. Two groups are never dropped. Without a kind counted
    /// in this boot, the next report would count old evidence again. And noise must not replace a fault that a window
    /// still covers.
    fn make_room(&mut self) -> bool {
        if self.entries.len() < MAX {
            return true;
        }
        let settled = |entry: &Arrivals| entry.counted == 0 && buckets::within(entry, HOURS, self.hour) == 0;
        let droppable = self.entries.iter().enumerate().filter(|(_, entry)| settled(entry));
        let oldest = droppable.min_by(|(_, a), (_, b)| {
            a.newest_hour.cmp(&b.newest_hour).then_with(|| Kind::of_entry(a).cmp(&Kind::of_entry(b)))
        });
        match oldest.map(|(at, _)| at) {
            Some(at) => {
                self.entries.remove(at);
                true
            }
            None => false,
        }
    }
}
