//! Recorded runs: every proof's newest runs with date, commit and machine, one JSON line each. The table of figures is
//! generated from them; nothing here runs a proof.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::machine::{self, Machine};
use super::{Outcome, Proof};
use crate::problem::Problem;
use crate::workspace::Workspace;
use crate::{command, generate, output, proofs};

/// The recorded runs, sorted by name; the runs of one proof are in the order of recording.
pub(crate) const PATH: &str = "docs/reference/figures.jsonl";

/// The folder that recording may change in an otherwise clean checkout.
const FOLDER: &str = "docs/reference/";

/// Runs kept per proof; older ones are dropped.
const RUNS_MAX: usize = 20;

const GIT_LIMIT: Duration = Duration::from_secs(60);

/// One recorded run: the figure, and the commit and machine it was measured on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) value: i64,
    pub(crate) unit: String,
    pub(crate) goal: String,
    pub(crate) holds: bool,
    pub(crate) seconds: f64,
    /// The day, in UTC.
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) machine: Machine,
    pub(crate) rustc: String,
}

/// Date, commit and machine, taken before the proofs run: a figure of a changed checkout belongs to no commit.
#[derive(Debug)]
pub(crate) struct Stamp {
    date: String,
    commit: String,
    machine: Machine,
    rustc: String,
}

impl Stamp {
    /// Reads date, commit and machine; fails in a changed checkout.
    pub(crate) async fn take(workspace: &Workspace) -> anyhow::Result<Stamp> {
        let mut git = command::program("git", &workspace.root);
        git.args(["status", "--porcelain", "--untracked-files=all"]);
        let status = command::text(&mut git, GIT_LIMIT).await?;
        if let Some(change) = status.lines().find(|line| !line.get(3..).unwrap_or_default().starts_with(FOLDER)) {
            bail!("the checkout has changes ({}); commit first, a figure belongs to a commit", change.trim());
        }
        let mut git = command::program("git", &workspace.root);
        let commit = command::text(git.args(["rev-parse", "--short=10", "HEAD"]), GIT_LIMIT).await?;
        Ok(Stamp {
            date: jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string(),
            commit: commit.trim().to_owned(),
            machine: Machine::here(),
            rustc: machine::rustc(&workspace.root).await?,
        })
    }

    #[cfg(test)]
    pub(super) fn for_tests(date: &str, commit: &str) -> Stamp {
        let (date, commit, rustc) = (date.to_owned(), commit.to_owned(), "1.95.0".to_owned());
        Stamp { date, commit, machine: Machine::here(), rustc }
    }
}

/// Reads recorded runs; an invalid line is an error with its number.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Record>> {
    let lines = text.lines().zip(1..);
    lines
        .map(|(line, number)| serde_json::from_str(line).with_context(|| format!("{PATH}:{number} is not a record")))
        .collect()
}

/// Appends new runs to the known ones, sorted by name, and drops the oldest beyond the bound. A proof that measured nothing
/// adds no run.
pub(super) fn merge(known: Vec<Record>, outcomes: &[Outcome], stamp: &Stamp) -> Vec<Record> {
    let found: Vec<Record> = outcomes
        .iter()
        .filter_map(|outcome| {
            Some(Record {
                name: outcome.name.to_owned(),
                value: outcome.value?,
                unit: outcome.unit.to_owned(),
                goal: outcome.goal.clone(),
                holds: outcome.holds,
                seconds: outcome.seconds,
                date: stamp.date.clone(),
                commit: stamp.commit.clone(),
                machine: stamp.machine.clone(),
                rustc: stamp.rustc.clone(),
            })
        })
        .collect();
    let mut all = known;
    all.extend(found);
    // Stable: the runs of one proof stay in their order.
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let mut newer: BTreeMap<String, usize> = BTreeMap::new();
    for record in &all {
        *newer.entry(record.name.clone()).or_default() += 1;
    }
    all.retain(|record| {
        let left = newer.entry(record.name.clone()).or_default();
        *left -= 1;
        *left < RUNS_MAX
    });
    all
}

/// Writes the recorded runs and the table generated from them.
pub(crate) async fn keep(outcomes: &[Outcome], stamp: &Stamp) -> anyhow::Result<()> {
    // Read again: a proof may have run for an hour.
    let workspace = Workspace::load().await?;
    let records = merge(parse(workspace.text(PATH).unwrap_or_default())?, outcomes, stamp);
    let mut text = String::new();
    for record in &records {
        text.push_str(&serde_json::to_string(record)?);
        text.push('\n');
    }
    let path = workspace.root.join(PATH);
    std::fs::create_dir_all(workspace.root.join(FOLDER))?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {PATH}"))?;
    output::note(format_args!("prove: recorded in {PATH}"));
    generate::write(&Workspace::load().await?)?;
    Ok(())
}

/// Recorded runs without a proof, and proofs whose newest run had another goal.
pub(crate) fn problems(workspace: &Workspace) -> Vec<Problem> {
    problems_of(workspace.text(PATH).unwrap_or_default(), proofs::ALL)
}

pub(super) fn problems_of(text: &str, proofs: &[Proof]) -> Vec<Problem> {
    let problem = |what: String, detail: String, hint: String| Problem { code: "TIDY10", what, detail, hint };
    let records = match parse(text) {
        Ok(records) => records,
        Err(error) => {
            let hint = "write it with `cargo xtask prove --record`, never by hand.".to_owned();
            return vec![problem(format!("{error}"), format!("{:#}.", error.root_cause()), hint)];
        }
    };
    let mut newest: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in &records {
        newest.insert(&record.name, record);
    }
    let mut problems = Vec::new();
    for (name, record) in newest {
        match proofs.iter().find(|proof| proof.name == name) {
            None => problems.push(problem(
                format!("the figure {name} has no proof"),
                format!("{PATH} has a run of it, but `cargo xtask prove --list` does not list it."),
                "remove its lines, or restore the proof.".to_owned(),
            )),
            Some(proof) if proof.goal.to_string() != record.goal || proof.unit != record.unit => {
                problems.push(problem(
                    format!("the figure {name} was recorded for another goal"),
                    format!("recorded: {} {}; now: {} {}.", record.goal, record.unit, proof.goal, proof.unit),
                    format!("run `cargo xtask prove {name} --record`."),
                ));
            }
            Some(_) => {}
        }
    }
    if !records.is_sorted_by(|a, b| a.name <= b.name) {
        problems.push(problem(
            format!("{PATH} is not sorted by name"),
            "two branches that record different figures should merge without a conflict.".to_owned(),
            "run `cargo xtask prove --record` for one of them.".to_owned(),
        ));
    }
    problems
}
