//! Shadow verdicts between the nodes and the cell's record. The record has counts and a moment before which everything is
//! counted; what was judged later is in the records of nodes. The two together are what is known of a rule, so a restart,
//! a write that is lost and one that is seen late change nothing, and nothing is counted twice.

use mainstay_model::{
    Bounded, Breaker, CellRecord, NodeIndex, NodeName, Persisted, Request, RequestKind, Resolution, RuleName,
    RuleRecord, Stage, Timestamp,
};
use mainstay_remedy::limits;
use mainstay_remedy::precision::Precision;
use mainstay_remedy::verdict::{self, Judged, Verdicts};

use crate::Engine;
use crate::cause::REQUEST;
use crate::node::Node;
use crate::switch::Switch;

/// As many breakers as the record shows.
const BREAKERS_MAX: usize = 64;

/// How often one rule was right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictLine {
    /// Its counts.
    pub record: RuleRecord,
    /// Of what was carried out.
    pub precision: Precision,
    /// Of what stood on paper.
    pub on_paper: Precision,
}

/// When the cell's record was and will be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CellWrite {
    /// Since when the epoch is what it is: what an earlier leader wrote was written before.
    pub(crate) led_from: Timestamp,
    /// When it was last looked at for something to write, and how the breakers stood then.
    looked: Option<(Timestamp, Vec<Breaker>)>,
    /// How far it was counted then. A write may be there and not be seen yet, and counting never goes back.
    counted_to: Timestamp,
    /// When it has to be looked at again.
    pub(crate) due_at: Option<Timestamp>,
}

impl Engine {
    /// How often each rule was right, as far as its findings were judged and that is on record.
    #[must_use]
    pub fn verdicts(&self) -> Vec<VerdictLine> {
        let known = &self.cell.record;
        let records = self.verdicts.added(known.rules.as_slice(), known.counted_to, None);
        let line = |record: RuleRecord| VerdictLine {
            precision: Precision::of(record.confirmed, record.refuted),
            on_paper: Precision::of(record.confirmed_on_paper, record.refuted_on_paper),
            record,
        };
        records.into_iter().map(line).collect()
    }

    /// What is said of a finding as its node changes its stage: by a person, or by a part that is no longer there when
    /// the node comes back.
    pub(crate) fn word(&self, node: &Node, to: Stage) -> Option<Resolution> {
        let request = node.request.as_ref().filter(|_| self.switches.is_on(Switch::Requests));
        let tells = |request: &&Request| matches!(request.kind, RequestKind::Return | RequestKind::Hold);
        let said = request.filter(tells).and_then(|request| request.word);
        let comes_back = to == Stage::InService && node.persisted.stage == Stage::Qualifying;
        let device = node.persisted.cause.as_ref().and_then(|cause| cause.device.as_ref()).filter(|_| comes_back);
        let is_replaced =
            || device.is_some_and(|device| self.own_parts(node).is_some_and(|here| !here.contains(&device)));
        said.or_else(|| is_replaced().then_some(Resolution::FaultFound))
    }

    /// What is on record about a node has changed.
    pub(crate) fn settle_verdicts(&mut self, index: NodeIndex, before: Option<&Persisted>) {
        let node = &self.nodes[index.get()];
        let after = node.recorded.as_deref();
        let judging = |persisted: &Persisted| (persisted.history.clone(), persisted.proposals.clone());
        if before.map(judging) == after.map(judging) {
            return;
        }
        before.into_iter().flat_map(|before| by_rules(before, &node.name)).for_each(|one| self.verdicts.forget(&one));
        after.into_iter().flat_map(|after| by_rules(after, &node.name)).for_each(|one| self.verdicts.note(one));
    }

    /// The same from nothing.
    pub(crate) fn verdicts_anew(&self) -> Verdicts {
        let mut verdicts = Verdicts::default();
        let recorded = self.nodes.iter().filter_map(|node| Some((node.recorded.as_deref()?, &node.name)));
        recorded.flat_map(|(recorded, name)| by_rules(recorded, name)).for_each(|one| verdicts.note(one));
        verdicts
    }

    /// What the cell's record should say, where it does not and it is time to write it: a breaker that changed at once,
    /// new counts after a pause. Only the leader writes.
    pub(crate) fn cell_record(&mut self, now: Timestamp) -> Option<CellRecord> {
        let known = &self.cell.record;
        let (breakers, changes_at) = self.breakers_to_show(now);
        let has_changed = breakers != known.breakers.as_slice();
        let has_counts = self.verdicts.has_any(known.counted_to);
        self.cell_write.due_at = changes_at;
        if !self.is_leading() || !(has_changed || has_counts) {
            return None;
        }
        let may_at = match &self.cell_write.looked {
            Some((at, seen)) if has_changed && *seen == breakers => *at + limits::EFFECT_RETRY,
            Some((at, _)) if !has_changed => *at + limits::CELL_RECORD_PAUSE,
            Some(_) | None => now,
        };
        // What an earlier leader wrote may not be seen yet; only a view that is younger than our epoch has all of it.
        let as_of = self.synced_as_of.filter(|as_of| *as_of >= self.cell_write.led_from);
        let again_at = if now < may_at { may_at } else { now + limits::CELL_RECORD_PAUSE };
        self.cell_write.due_at = changes_at.into_iter().chain([again_at]).min();
        let as_of = as_of.filter(|_| now >= may_at)?;
        let counted_to = self.counted_to(as_of.min(now)).max(known.counted_to).max(self.cell_write.counted_to);
        let rules = self.verdicts.added(known.rules.as_slice(), known.counted_to, Some(counted_to));
        let says_more = has_changed || rules != known.rules.as_slice();
        self.cell_write.looked = Some((now, breakers.clone()));
        self.cell_write.counted_to = counted_to;
        says_more.then(|| CellRecord {
            breakers: Bounded::try_from(breakers).unwrap_or_default(),
            rules: Bounded::try_from(rules).unwrap_or_default(),
            counted_to,
        })
    }

    /// Breakers that are not closed, as many as are shown, and when time alone changes one.
    fn breakers_to_show(&self, now: Timestamp) -> (Vec<Breaker>, Option<Timestamp>) {
        if !self.switches.is_on(Switch::Breaker) {
            return (Vec::new(), None);
        }
        let mut changes_at: Option<Timestamp> = None;
        let mut shown = Vec::new();
        for (_, (pool, rule, standing, _)) in self.open_breakers(now).take(BREAKERS_MAX) {
            changes_at = changes_at.into_iter().chain(standing.changes_at).min();
            let since = standing.since.unwrap_or(now);
            shown.push(Breaker { pool: pool.clone(), rule: rule.clone(), state: standing.state, since });
        }
        (shown, changes_at)
    }

    /// The moment before which everything that was judged is on record and seen: not past what is known to be seen, nor
    /// past a finding whose record is still under way.
    fn counted_to(&self, as_of: Timestamp) -> Timestamp {
        let unsettled = self.nodes.iter().filter(|node| !node.is_calm && node.facts.is_some());
        let under_way = unsettled.flat_map(|node| {
            let seen = node.recorded.as_deref().into_iter().flat_map(|recorded| by_rules(recorded, &node.name));
            let seen: Vec<Judged> = seen.collect();
            by_rules(&node.persisted, &node.name).filter(move |one| !seen.contains(one)).map(|one| one.at)
        });
        under_way.chain([as_of]).min().unwrap_or(as_of)
    }
}

/// What was judged in what a node keeps. A person is no rule.
fn by_rules<'a>(persisted: &'a Persisted, node: &'a NodeName) -> impl Iterator<Item = Judged> + 'a {
    let is_rule = |rule: &RuleName| *rule != REQUEST;
    verdict::judged(persisted, node).filter(move |one| is_rule(&one.rule))
}

#[cfg(test)]
mod tests;
