//! What became of findings. A node that a rule took out is tested, repaired, looked at by people, and what that shows
//! speaks for the rule or against it. All of it is read off what nodes keep anyway: their histories, and the decisions
//! that stood on paper beside what then happened. Nothing here is kept anywhere else.
//!
//! A test that fails speaks for the rule, whether or not something was repaired before. A first test that is passed
//! before anything was done speaks against it. A node that passes after a reset or a reboot speaks for neither: most real
//! faults are mended by that, and so is nothing at all. A part that was replaced speaks for the rule, and a person has the
//! last word, as long as the node is not back. One that did not answer cannot be tested before it is switched off and on:
//! that it answers since speaks for the rule.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{Happened, NodeName, Persisted, RuleName, RuleRecord, Stage, Timestamp, Transition, Word};

/// As many rules as a cell keeps a record of. One more is not counted, so that none is forgotten for it.
pub const RULES_MAX: usize = 256;

/// The rule under which a node is taken out that does not answer.
pub const UNREACHABLE: &str = "node-unreachable";

/// How it ended for a node that a rule had taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// A test failed, a part was replaced, or a person found a fault: the rule was right.
    Confirmed,
    /// It passed its first test and nothing had been done to it before, or a person found nothing: nothing was wrong.
    Refuted,
    /// Neither was shown: it was repaired before it was tested, or others stepped in.
    Unclear,
}

/// One time that a rule took a node out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round<'a> {
    /// Which rule.
    pub rule: &'a RuleName,
    /// When.
    pub began: Timestamp,
    /// How it was judged, oldest first: once by what was shown, and again where a person says otherwise.
    pub judged: Vec<(Timestamp, Outcome)>,
}

/// The rounds that a history tells of, oldest first.
pub fn rounds(history: &[Transition]) -> impl Iterator<Item = Round<'_>> {
    let taken_out = history.iter().enumerate().filter(|(_, transition)| transition.to == Stage::Quarantined);
    taken_out.map(|(at, begun)| Round { rule: &begun.rule, began: begun.at, judged: judge(begun, &history[at + 1..]) })
}

/// What the transitions after it say of a round. More of them never change what fewer of them said.
fn judge(begun: &Transition, after: &[Transition]) -> Vec<(Timestamp, Outcome)> {
    let mut judged = Vec::new();
    let mut shown = Shown { is_silent: begun.rule.as_str() == UNREACHABLE, is_tested: false, is_repaired: false };
    // What was said before the round began is about an earlier one.
    let mut said = begun.word;
    for Transition { to, at, word, .. } in after {
        let news = word.filter(|word| Some(*word) != said && *to != Stage::Quarantined);
        let outcome = match news {
            Some(Word::FaultFound) => Some(Outcome::Confirmed),
            Some(Word::NothingFound) => Some(Outcome::Refuted),
            None if judged.is_empty() => shown.by(*to),
            None => None,
        };
        said = news.or(said);
        judged.extend(outcome.map(|outcome| (*at, outcome)));
        if matches!(to, Stage::InService | Stage::Suspect | Stage::Quarantined) {
            break;
        }
    }
    judged
}

/// What a round has shown so far.
#[derive(Debug)]
struct Shown {
    is_silent: bool,
    is_tested: bool,
    is_repaired: bool,
}

impl Shown {
    /// The next stage, and how the round ended where that says so.
    fn by(&mut self, to: Stage) -> Option<Outcome> {
        match to {
            // Work slipped in, and the test was not run to its end.
            Stage::Draining => self.is_tested = false,
            Stage::Repairing if self.is_tested => return Some(Outcome::Confirmed),
            Stage::Repairing => self.is_repaired = true,
            Stage::Qualifying => self.is_tested = true,
            Stage::InService if self.is_tested && !self.is_repaired => return Some(Outcome::Refuted),
            Stage::InService if self.is_tested && self.is_silent => return Some(Outcome::Confirmed),
            Stage::InService | Stage::Suspect | Stage::Quarantined | Stage::Held => return Some(Outcome::Unclear),
            Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading | Stage::Retired => {
                return Some(Outcome::Unclear);
            }
        }
        None
    }
}

/// What a finding is counted as. On paper nobody tested anything, so these are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// It was carried out and confirmed.
    Confirmed,
    /// It was carried out and refuted.
    Refuted,
    /// It was not carried out, and the node was lost or taken out by others: they thought so, too.
    ConfirmedOnPaper,
    /// It was not carried out, and the evidence went away with nobody doing anything.
    RefutedOnPaper,
}

/// One finding that was judged, or judged anew, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Judged {
    /// When.
    pub at: Timestamp,
    /// On which node.
    pub node: NodeName,
    /// Of which rule.
    pub rule: RuleName,
    /// As what it is counted.
    pub is: Count,
    /// As what it was counted before somebody said otherwise.
    pub was: Option<Count>,
}

/// Everything that is judged in what a node keeps.
pub fn judged<'a>(persisted: &'a Persisted, node: &'a NodeName) -> impl Iterator<Item = Judged> + 'a {
    let carried_out = rounds(persisted.history.as_slice()).flat_map(|round| {
        let mut was = None;
        let counted = round.judged.into_iter().filter_map(move |(at, outcome)| {
            let is = match outcome {
                Outcome::Confirmed => Count::Confirmed,
                Outcome::Refuted => Count::Refuted,
                Outcome::Unclear => return None,
            };
            let before = was.replace(is);
            (before != Some(is)).then_some((at, is, before))
        });
        counted.map(|(at, is, was)| Judged { at, node: node.clone(), rule: round.rule.clone(), is, was })
    });
    let on_paper = persisted.proposals.as_slice().iter().filter_map(|proposal| {
        let is = match proposal.happened {
            Happened::NodeLost | Happened::OthersActed => Count::ConfirmedOnPaper,
            Happened::Recovered => Count::RefutedOnPaper,
            Happened::Nothing | Happened::CarriedOut => return None,
        };
        Some(Judged { at: proposal.happened_at?, node: node.clone(), rule: proposal.rule.clone(), is, was: None })
    });
    carried_out.chain(on_paper)
}

/// Everything that nodes keep of judged findings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdicts(BTreeSet<Judged>);

// === impl Verdicts ===

impl Verdicts {
    /// A node keeps this.
    pub fn note(&mut self, judged: Judged) {
        self.0.insert(judged);
    }

    /// No node keeps this any more.
    pub fn forget(&mut self, judged: &Judged) {
        self.0.remove(judged);
    }

    /// Whether anything was judged at `from` or later.
    #[must_use]
    pub fn has_any(&self, from: Timestamp) -> bool {
        self.0.last().is_some_and(|last| last.at >= from)
    }

    /// The records of rules with everything added that was judged at `from` or later and before `to`.
    #[must_use]
    pub fn added(&self, records: &[RuleRecord], from: Timestamp, to: Option<Timestamp>) -> Vec<RuleRecord> {
        let mut records: BTreeMap<RuleName, RuleRecord> =
            records.iter().map(|record| (record.rule.clone(), record.clone())).collect();
        let since = self.0.iter().rev().take_while(|one| one.at >= from);
        let within: Vec<&Judged> = since.filter(|one| to.is_none_or(|to| one.at < to)).collect();
        for Judged { rule, is, was, .. } in within.into_iter().rev() {
            if records.len() >= RULES_MAX && !records.contains_key(rule) {
                continue;
            }
            let record = records.entry(rule.clone()).or_insert_with(|| RuleRecord::new(rule.clone()));
            if let Some(was) = was {
                let count = count_of(record, *was);
                *count = count.saturating_sub(1);
            }
            let count = count_of(record, *is);
            *count = count.saturating_add(1);
        }
        records.into_values().collect()
    }
}

const fn count_of(record: &mut RuleRecord, count: Count) -> &mut u64 {
    match count {
        Count::Confirmed => &mut record.confirmed,
        Count::Refuted => &mut record.refuted,
        Count::ConfirmedOnPaper => &mut record.confirmed_on_paper,
        Count::RefutedOnPaper => &mut record.refuted_on_paper,
    }
}

#[cfg(test)]
mod tests;
