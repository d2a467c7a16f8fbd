//! Outcomes of findings. A node that a rule removed is tested, repaired and inspected, and the result confirms or
//! refutes the rule. Everything is computed from what nodes store anyway: their histories, and dry-run decisions with
//! what then happened. Nothing is stored twice.
//!
//! A failed test confirms the rule, whether or not a repair came before it. A passed first test before any repair
//! refutes it. A pass after a reset or a reboot does neither: most real faults are repaired by that, and a healthy node
//! passes too. A replaced part confirms the rule. An operator's resolution overrides all of these until the node is
//! back. A node that was not reachable cannot be tested before it is power-cycled; if it is reachable after that, the
//! rule is confirmed. If it is reachable again before a repair began, neither is shown: an operator restarted it, or the
//! network is back.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{
    Literal, NodeName, Persisted, ProposalOutcome, Resolution, RuleName, RuleRecord, Stage, Timestamp, Transition,
};

/// Maximum number of rules with counters in a Cell. A further rule is not counted, so that no rule loses its counters.
pub const RULES_MAX: usize = 512;

/// The rule that removes a node that is not reachable.
pub const UNREACHABLE: Literal<RuleName> = RuleName::literal("node-unreachable");

/// Outcome of a removal by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// A test failed, a part was replaced, or an operator found a fault: the rule was right.
    Confirmed,
    /// The node passed its first test before any repair, or an operator found no fault: the rule was wrong.
    Refuted,
    /// Neither was shown: the node was repaired before its test, was reachable again by itself, or others intervened.
    Unclear,
}

/// One removal of a node by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round<'a> {
    /// The rule that removed the node.
    pub rule: &'a RuleName,
    /// Start of the removal.
    pub began: Timestamp,
    /// Outcomes, oldest first: one from what was shown, and another if an operator's resolution differs.
    pub judged: Vec<(Timestamp, Outcome)>,
}

/// Returns the removals in a history, oldest first.
pub fn rounds(history: &[Transition]) -> impl Iterator<Item = Round<'_>> {
    let taken_out = history.iter().enumerate().filter(|(_, transition)| transition.to == Stage::Quarantined);
    taken_out.map(|(at, begun)| Round { rule: &begun.rule, began: begun.at, judged: judge(begun, &history[at + 1..]) })
}

/// Returns the outcomes of a removal from the transitions after it. Further transitions never change an earlier
/// outcome.
fn judge(begun: &Transition, after: &[Transition]) -> Vec<(Timestamp, Outcome)> {
    let mut judged = Vec::new();
    let mut shown = Shown { is_silent: begun.rule == UNREACHABLE, is_tested: false, is_repaired: false };
    // A resolution from before the removal began is about an earlier one.
    let mut said = begun.word;
    for Transition { to, at, word, .. } in after {
        let news = word.filter(|word| Some(*word) != said && *to != Stage::Quarantined);
        let outcome = match news {
            Some(Resolution::FaultFound) => Some(Outcome::Confirmed),
            Some(Resolution::NothingFound) => Some(Outcome::Refuted),
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

/// What a removal has shown so far.
#[derive(Debug)]
struct Shown {
    is_silent: bool,
    is_tested: bool,
    is_repaired: bool,
}

impl Shown {
    /// Processes the next stage; returns the outcome if the stage decides it.
    fn by(&mut self, to: Stage) -> Option<Outcome> {
        match to {
            // A job started, and the test did not finish.
            Stage::Draining => self.is_tested = false,
            Stage::Repairing if self.is_tested => return Some(Outcome::Confirmed),
            Stage::Repairing => self.is_repaired = true,
            Stage::Qualifying => self.is_tested = true,
            Stage::InService if self.is_tested && self.is_repaired && self.is_silent => {
                return Some(Outcome::Confirmed);
            }
            Stage::InService if self.is_tested && !self.is_repaired && !self.is_silent => {
                return Some(Outcome::Refuted);
            }
            Stage::InService | Stage::Suspect | Stage::Quarantined | Stage::Held => return Some(Outcome::Unclear),
            Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading | Stage::Retired => {
                return Some(Outcome::Unclear);
            }
        }
        None
    }
}

/// How a finding is counted. A dry run includes no test, so dry-run findings are counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// The removal was executed and the finding was confirmed.
    Confirmed,
    /// The removal was executed and the finding was refuted.
    Refuted,
    /// Dry run, and the node was lost or removed by others, who came to the same conclusion.
    ConfirmedOnPaper,
    /// Dry run, and the evidence cleared without any action.
    RefutedOnPaper,
}

/// One finding with its outcome, or with a changed outcome, ordered by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Judged {
    /// Time of the outcome.
    pub at: Timestamp,
    /// The node with the finding.
    pub node: NodeName,
    /// The rule of the finding.
    pub rule: RuleName,
    /// How the finding is counted.
    pub is: Count,
    /// How the finding was counted before a resolution changed it.
    pub was: Option<Count>,
}

/// Returns all outcomes in the stored status of a node.
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
            ProposalOutcome::NodeLost | ProposalOutcome::RemovedByOthers => Count::ConfirmedOnPaper,
            ProposalOutcome::Recovered => Count::RefutedOnPaper,
            ProposalOutcome::Pending | ProposalOutcome::Executed | ProposalOutcome::Superseded => return None,
        };
        Some(Judged { at: proposal.happened_at?, node: node.clone(), rule: proposal.rule.clone(), is, was: None })
    });
    carried_out.chain(on_paper)
}

/// All outcomes that nodes store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdicts(BTreeSet<Judged>);

// === impl Verdicts ===

impl Verdicts {
    /// Adds an outcome that a node stores.
    pub fn note(&mut self, judged: Judged) {
        self.0.insert(judged);
    }

    /// Removes an outcome that no node stores any more.
    pub fn forget(&mut self, judged: &Judged) {
        self.0.remove(judged);
    }

    /// Returns whether there is an outcome at `from` or later.
    #[must_use]
    pub fn has_any(&self, from: Timestamp) -> bool {
        self.0.last().is_some_and(|last| last.at >= from)
    }

    /// Returns the rule counters plus all outcomes at `from` or later and before `to`.
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

    /// Returns the number of outcomes at `from` or later and before `to` that a full list of counters has no place for.
    #[must_use]
    pub fn uncounted(&self, records: &[RuleRecord], from: Timestamp, to: Timestamp) -> u64 {
        if records.len() < RULES_MAX {
            return 0;
        }
        let known: BTreeSet<&RuleName> = records.iter().map(|record| &record.rule).collect();
        let within = self.0.iter().rev().take_while(|one| one.at >= from).filter(|one| one.at < to);
        u64::try_from(within.filter(|one| !known.contains(&one.rule)).count()).unwrap_or(u64::MAX)
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
