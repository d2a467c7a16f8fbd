//! Outcomes of findings, from the stored status of the nodes. The Cell stores counters and the time up to which they
//! count; later outcomes are in the status of the nodes. Both together are complete, so a restart or a lost write changes
//! nothing, and no finding is counted twice.

use mainstay_model::{NodeIndex, NodeName, Persisted, RuleName, RuleRecord};
use mainstay_remedy::precision::Precision;
use mainstay_remedy::verdict::{self, Judged, Verdicts};

use crate::plan::cause::REQUEST;
use crate::state::State;

/// How often one rule was right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictLine {
    /// The counters of the rule.
    pub record: RuleRecord,
    /// Precision of executed removals.
    pub precision: Precision,
    /// Precision of dry-run removals.
    pub on_paper: Precision,
}

/// The precision of every rule with outcomes that are stored.
pub(crate) fn lines(state: &State) -> Vec<VerdictLine> {
    let known = &state.cell.record;
    let records = state.counts.verdicts.added(known.rules.as_slice(), known.counted_to, None);
    let line = |record: RuleRecord| VerdictLine {
        precision: Precision::of(record.confirmed, record.refuted),
        on_paper: Precision::of(record.confirmed_on_paper, record.refuted_on_paper),
        record,
    };
    records.into_iter().map(line).collect()
}

/// The stored status of a node changed.
pub(crate) fn update(state: &mut State, id: NodeIndex, before: Option<&Persisted>) {
    let node = &state.nodes[id.get()];
    let after = node.stored.as_deref();
    let judging = |stored: &Persisted| (stored.history.clone(), stored.proposals.clone());
    if before.map(judging) == after.map(judging) {
        return;
    }
    let verdicts = &mut state.counts.verdicts;
    before.into_iter().flat_map(|before| of_rules(before, &node.name)).for_each(|one| verdicts.forget(&one));
    after.into_iter().flat_map(|after| of_rules(after, &node.name)).for_each(|one| verdicts.note(one));
}

/// The same outcomes, counted from zero.
pub(crate) fn recount(state: &State) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let stored = state.nodes.iter().filter_map(|node| Some((node.stored.as_deref()?, &node.name)));
    stored.flat_map(|(stored, name)| of_rules(stored, name)).for_each(|one| verdicts.note(one));
    verdicts
}

/// The outcomes in the status of a node. An operator's request is not a rule.
pub(crate) fn of_rules<'a>(status: &'a Persisted, node: &'a NodeName) -> impl Iterator<Item = Judged> + 'a {
    let is_rule = |rule: &RuleName| *rule != REQUEST;
    verdict::judged(status, node).filter(move |one| is_rule(&one.rule))
}
