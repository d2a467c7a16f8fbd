//! Records runs: adds them to the recorded runs, with date, commit and machine, and writes the table of figures. Nothing here
//! runs a proof.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use xtask::figures::machine::{self, Machine};
use xtask::figures::outcome::Outcome;
use xtask::figures::record::{PATH, Record, parse};
use xtask::figures::table;
use xtask::workspace::Workspace;
use xtask::{command, output};

/// The folder that recording may change in an otherwise clean checkout.
const FOLDER: &str = "docs/reference/";

/// Runs kept per proof; older ones are dropped.
const RUNS_MAX: usize = 20;

const GIT_LIMIT: Duration = Duration::from_secs(60);

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

/// Appends new runs to the known ones, sorted by name, and drops the oldest beyond the bound. A proof that measured nothing
/// adds no run.
pub(super) fn merge(known: Vec<Record>, outcomes: &[Outcome], stamp: &Stamp) -> Vec<Record> {
    let found: Vec<Record> = outcomes
        .iter()
        .filter_map(|outcome| {
            Some(Record {
                name: outcome.name.clone(),
                value: outcome.value?,
                unit: outcome.unit.clone(),
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
    let text = table::text(&Workspace::load().await?)?;
    std::fs::write(workspace.root.join(table::PATH), text).with_context(|| format!("cannot write {}", table::PATH))?;
    output::note(format_args!("prove: wrote {}", table::PATH));
    Ok(())
}
