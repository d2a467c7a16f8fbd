//! The bounded list of kinds on record while a report is folded into it: who gets a place, and who gives one up. What is
//! counted is `stamp`'s to say.

use mainstay_model::{Arrivals, Bounded, Code};

use super::{HOURS, Kind, buckets};
use crate::catalogue::COUNTER_IMPOSSIBLE;

/// The record of one node.
pub(super) struct Record<const MAX: usize> {
    pub(super) entries: Vec<Arrivals>,
    pub(super) hour: u32,
}

/// Whether an entry is of an impossible counter: we count those, no report does.
pub(super) fn is_our_own(entry: &Arrivals) -> bool {
    entry.code.as_str() == COUNTER_IMPOSSIBLE
}

/// Counts into an entry that has its place.
pub(super) fn count_in(entry: &mut Arrivals, count: u64, hour: u32) {
    buckets::add(entry, count, hour);
    entry.counted = entry.counted.saturating_add(count);
}

impl<const MAX: usize> Record<MAX> {
    /// Takes the list out of where it persists.
    pub(super) fn take(entries: &mut Bounded<Arrivals, MAX>, hour: u32) -> Self {
        Self { entries: std::mem::take(entries).into(), hour }
    }

    /// The list again, in the order of its kinds, so that equal content is equal data.
    pub(super) fn done(mut self) -> Bounded<Arrivals, MAX> {
        if !self.entries.is_sorted_by(|a, b| Kind::of_entry(a) <= Kind::of_entry(b)) {
            self.entries.sort_by(|a, b| Kind::of_entry(a).cmp(&Kind::of_entry(b)));
        }
        Bounded::try_from(self.entries).unwrap_or_default()
    }

    pub(super) fn holds(&self, kind: Kind<'_>) -> bool {
        self.entries.iter().any(|entry| Kind::of_entry(entry) == kind)
    }

    /// Counts a kind, which gets a place where it has none; answers whether there was room.
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

    /// Records that a kind's count fell, and goes on from where it fell to; answers whether there was room. Where there
    /// was none the mark stays, so that the fall is seen as long as it lasts.
    pub(super) fn fall(&mut self, kind: Kind<'_>, count: u64) -> bool {
        let Ok(code) = Code::parse(COUNTER_IMPOSSIBLE) else { return false };
        if !self.count(Kind { code: &code, ..kind }, 1) {
            return false;
        }
        let fallen = self.entries.iter_mut().find(|entry| Kind::of_entry(entry) == kind);
        fallen.into_iter().for_each(|entry| entry.counted = count);
        true
    }

    /// Drops the least recently arrived kind where the list is full. Two sorts are never dropped: what was counted in
    /// this boot, because with its mark gone the next report would make old evidence arrive anew; and what a window
    /// still reaches, because noise must not push a fault out of sight.
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
