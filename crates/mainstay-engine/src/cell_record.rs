//! What the Cell stores about the rules, and when it is written: a changed breaker immediately, new counters after a pause.
//! Only the leader writes.

use mainstay_model::{Bounded, Breaker, CellRecord, Timestamp};
use mainstay_remedy::limits;
use mainstay_remedy::verdict::Judged;
use serde::{Deserialize, Serialize};

use crate::breakers;
use crate::guard::Guard;
use crate::state::State;
use crate::verdicts::of_rules;

/// Maximum number of breakers in the Cell's status.
const BREAKERS_MAX: usize = 64;

/// What the record of the Cell had no place for in the last decision. The engine itself uses every breaker and outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellRecordOmissions {
    /// Breakers that are not closed and are not listed.
    pub breakers: u64,
    /// Outcomes that no counter will include, because their rule has none.
    pub outcomes: u64,
}

/// When the record of the Cell was last written and when it is due again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CellRecordTimer {
    /// When it was last due, and the breakers then.
    last: Option<(Timestamp, Vec<Breaker>)>,
    /// Up to when it counted then. That write may not be visible yet, and the time never decreases.
    counted_to: Timestamp,
    /// When it has to be checked again.
    pub(crate) due_at: Option<Timestamp>,
    /// Counted again by every decision.
    #[serde(skip)]
    pub(crate) omissions: CellRecordOmissions,
}

impl CellRecordTimer {
    /// The record to write now; none where it is stored, or was written recently.
    pub(crate) fn due(&mut self, state: &State, now: Timestamp) -> Option<CellRecord> {
        let known = &state.cell.record;
        let (breakers, changes_at, unlisted) = open_breakers(state, now);
        self.omissions = CellRecordOmissions { breakers: unlisted, outcomes: 0 };
        let has_changed = breakers != known.breakers.as_slice();
        let has_counts = state.counts.verdicts.has_any(known.counted_to);
        self.due_at = changes_at;
        if !state.is_leading() || !(has_changed || has_counts) {
            return None;
        }
        let may_at = match &self.last {
            Some((at, seen)) if has_changed && *seen == breakers => *at + limits::EFFECT_RETRY,
            Some((at, _)) if !has_changed => *at + limits::CELL_RECORD_PAUSE,
            Some(_) | None => now,
        };
        let again_at = if now < may_at { may_at } else { now + limits::CELL_RECORD_PAUSE };
        self.due_at = changes_at.into_iter().chain([again_at]).min();
        // An earlier leader's last write may not be visible yet. Only a view that is newer than the epoch has all of them.
        let as_of = state.synced_as_of.filter(|as_of| *as_of >= state.epoch_since && now >= may_at)?;
        let counted_to = counted_to(state, as_of.min(now)).max(known.counted_to).max(self.counted_to);
        let rules = state.counts.verdicts.added(known.rules.as_slice(), known.counted_to, Some(counted_to));
        // A record that is written again has the same outcomes: those before the last one were omitted then.
        let from = known.counted_to.max(self.counted_to);
        self.omissions.outcomes = state.counts.verdicts.uncounted(&rules, from, counted_to);
        let is_new = has_changed || rules != known.rules.as_slice();
        self.last = Some((now, breakers.clone()));
        self.counted_to = counted_to;
        is_new.then(|| CellRecord { breakers: Bounded::within(breakers), rules: Bounded::within(rules), counted_to })
    }
}

/// Breakers that are not closed, when time alone changes one of them, and the number of further ones.
fn open_breakers(state: &State, now: Timestamp) -> (Vec<Breaker>, Option<Timestamp>, u64) {
    if !state.is_on(Guard::Breaker) {
        return (Vec::new(), None, 0);
    }
    let mut changes_at: Option<Timestamp> = None;
    let mut shown = Vec::new();
    let mut unlisted = 0;
    for (_, (pool, rule, standing, _)) in breakers::open(state, now) {
        if shown.len() == BREAKERS_MAX {
            unlisted += 1;
            continue;
        }
        changes_at = changes_at.into_iter().chain(standing.changes_at).min();
        let since = standing.since.unwrap_or(now);
        shown.push(Breaker { pool: pool.clone(), rule: rule.clone(), state: standing.state, since });
    }
    (shown, changes_at, unlisted)
}

/// The time before which every outcome is stored and visible: not later than the view, nor than an outcome whose write is
/// not visible yet.
fn counted_to(state: &State, as_of: Timestamp) -> Timestamp {
    let open = state.nodes.iter().filter(|node| !node.is_idle && node.facts.is_some());
    let unseen = open.flat_map(|node| {
        let stored = node.stored.as_deref().into_iter().flat_map(|stored| of_rules(stored, &node.name));
        let stored: Vec<Judged> = stored.collect();
        of_rules(&node.status, &node.name).filter(move |one| !stored.contains(one)).map(|one| one.at)
    });
    unseen.chain([as_of]).min().unwrap_or(as_of)
}

#[cfg(test)]
mod tests;
