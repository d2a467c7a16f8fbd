//! `mainstay sim replay --journal`: gives the facts of a controller's journal to a new engine, and compares each decision
//! with the recorded one, or with the decision under another policy. The file is untrusted.

mod compare;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Read as _};
use std::path::Path;

use mainstay_api::FleetPolicy;
use mainstay_engine::Engine;
use mainstay_engine::record::{DecisionSummary, Entry, Player};
use mainstay_kube::{JournalEnd, JournalError, JournalHeader, JournalReader};
use mainstay_model::{Fact, Observation, Policy, PoolName, Timestamp};

use super::super::Output;
use crate::output::{self, CommandOutput, Problem};
use compare::{Comparison, Difference};

/// Largest file of policies that is read.
const POLICY_BYTES_MAX: u64 = 1024 * 1024;

/// What a replay found.
#[derive(Debug)]
struct Replayed {
    header: JournalHeader,
    facts: u64,
    decisions: u64,
    /// Times of the first and the last decision.
    span: Option<(Timestamp, Timestamp)>,
    /// Recorded decisions that this version does not repeat.
    unrepeated: Comparison,
    /// Decisions that differ under the other policy; none without one.
    by_policy: Option<Comparison>,
    gaps: u64,
    lost: u64,
    end: JournalEnd,
}

/// Policies that replace the recorded ones, by pool.
type Policies = BTreeMap<PoolName, Policy>;

pub(super) fn run(journal: &Path, policy: Option<&Path>, output: Output) -> Result<CommandOutput, Problem> {
    let policies = policy.map(policies).transpose()?;
    let reader = JournalReader::open(journal).map_err(|error| unreadable(journal, &error, None))?;
    let replayed =
        replay(reader, policies).map_err(|(error, decisions)| unreadable(journal, &error, Some(decisions)))?;
    let text = match output {
        Output::Text => text::text(&replayed),
        Output::Json => output::json(&text::report(&replayed))?,
    };
    let has_failed = replayed.by_policy.is_none() && replayed.unrepeated.decisions > 0;
    Ok(if has_failed { CommandOutput::check_failed(text) } else { CommandOutput::success(text) })
}

/// The policies of a file with FleetPolicies.
fn policies(path: &Path) -> Result<Policies, Problem> {
    let problem = |detail: String| Problem {
        what: format!("cannot use {} as a policy", path.display()),
        detail,
        hint: "give a file with FleetPolicies, such as `kubectl get fleetpolicy h100 -o yaml` prints.".to_owned(),
    };
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(POLICY_BYTES_MAX + 1).read_to_string(&mut text));
    read.map_err(|error| problem(format!("{error}.")))?;
    if text.len() as u64 > POLICY_BYTES_MAX {
        return Err(problem("it has more than 1 MiB.".to_owned()));
    }
    let objects: Vec<FleetPolicy> =
        serde_saphyr::from_multiple(&text).map_err(|error| problem(format!("{}.", error.without_snippet())))?;
    let mut policies = Policies::new();
    for object in objects {
        let policy = Policy::try_from(&object.spec).map_err(|error| problem(format!("{error}.")))?;
        if policies.contains_key(&policy.pool) {
            return Err(problem(format!("pool {} has two FleetPolicies.", policy.pool)));
        }
        policies.insert(policy.pool.clone(), policy);
    }
    if policies.is_empty() {
        return Err(problem("it has no FleetPolicy.".to_owned()));
    }
    Ok(policies)
}

fn unreadable(path: &Path, error: &JournalError, decisions: Option<u64>) -> Problem {
    let hint = match error {
        JournalError::File(_) => "check the path and the permissions of the file.",
        JournalError::NotAJournal(_) => {
            "give a file that `mainstay serve --journal FOLDER` wrote, such as journal.jsonl.zst."
        }
        JournalError::Format { .. } => "use the version of Mainstay that wrote the file, or a later one.",
        JournalError::FrameTooLarge { .. } | JournalError::FileTooLarge { .. } => {
            "use no file from a source that you do not trust: Mainstay writes none that is so large."
        }
        JournalError::Damaged { .. } | JournalError::Entry { .. } => {
            "copy the file again; a file that only lacks its end can be replayed up to there."
        }
    };
    let before = decisions.map_or_else(String::new, |decisions| format!(" {decisions} decisions were read before."));
    Problem {
        what: format!("cannot replay {}", path.display()),
        detail: format!("{error}.{before}"),
        hint: hint.to_owned(),
    }
}

/// The engines of a replay: one with the recorded policies, and one with the others.
struct Engines {
    recorded: Player,
    other: Option<Player>,
    policies: Policies,
    /// Whether the other engine began and lacks its policies.
    lacks_policies: bool,
}

impl Engines {
    fn new(policies: Option<Policies>) -> Self {
        let other = policies.is_some().then(|| Player::new(Engine::new()));
        let recorded = Player::new(Engine::new());
        Self { recorded, other, policies: policies.unwrap_or_default(), lacks_policies: true }
    }

    /// Gives an entry to the engine with the other policies.
    fn play_other(&mut self, entry: &Entry) -> Option<mainstay_model::Decision> {
        let other = self.other.as_mut()?;
        match entry {
            Entry::Observe(Observation { fact: Fact::Policy(policy), .. })
                if self.policies.contains_key(&policy.pool) =>
            {
                return None;
            }
            Entry::Begin(_) => self.lacks_policies = true,
            Entry::Decide { now } if std::mem::take(&mut self.lacks_policies) => {
                for policy in self.policies.values() {
                    let fact = Fact::Policy(Box::new(policy.clone()));
                    other.play(&Entry::Observe(Observation { at: *now, fact }));
                }
            }
            Entry::Observe(_)
            | Entry::Decide { .. }
            | Entry::Decided(_)
            | Entry::Restore(_)
            | Entry::Restored
            | Entry::Gap { .. } => {}
        }
        other.play(entry)
    }
}

/// Replays all entries. An error comes with the number of decisions before it.
fn replay<R: BufRead>(
    mut reader: JournalReader<R>,
    policies: Option<Policies>,
) -> Result<Replayed, (JournalError, u64)> {
    let header = reader.header().clone();
    // Other versions may write a decision differently, so that only its lines can be compared.
    let is_same_version = header == JournalHeader::of_this_build();
    let mut engines = Engines::new(policies);
    let by_policy = engines.other.is_some().then(Comparison::default);
    let mut replayed = Replayed {
        header,
        facts: 0,
        decisions: 0,
        span: None,
        unrepeated: Comparison::default(),
        by_policy,
        gaps: 0,
        lost: 0,
        end: JournalEnd::Complete,
    };
    let mut last: Option<(Timestamp, DecisionSummary)> = None;
    loop {
        let entry = match reader.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(error) => return Err((error, replayed.decisions)),
        };
        let decision = engines.recorded.play(&entry);
        let other = engines.play_other(&entry);
        match &entry {
            Entry::Observe(_) => replayed.facts += 1,
            Entry::Decide { now } => {
                replayed.decisions += 1;
                replayed.span = Some((replayed.span.map_or(*now, |(first, _)| first), *now));
                last = decision.as_ref().map(|decision| (*now, DecisionSummary::of(decision)));
                let both = replayed.by_policy.as_mut().zip(decision.zip(other));
                if let (Some((comparison, (one, two))), Some(player)) = (both, &engines.other) {
                    comparison.add_engines(*now, (&one, engines.recorded.engine()), (&two, player.engine()));
                }
            }
            Entry::Decided(recorded) => {
                if let Some((now, replayed_here)) = last.take() {
                    replayed.unrepeated.add_summaries(now, recorded, &replayed_here, is_same_version);
                }
            }
            Entry::Gap { lost } => {
                replayed.gaps += 1;
                replayed.lost = replayed.lost.saturating_add(*lost);
            }
            Entry::Begin(_) | Entry::Restore(_) | Entry::Restored => {}
        }
    }
    replayed.end = reader.end();
    Ok(replayed)
}
