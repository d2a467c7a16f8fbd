//! Recorded runs: every proof's newest runs with date, commit and machine, one JSON line each. The table of figures is
//! generated from them. `prove --record` writes them; this file reads and checks them.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::{ALL, Figure};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// The recorded runs, sorted by name; the runs of one proof are in the order of recording.
pub const PATH: &str = "docs/reference/figures.jsonl";

/// One recorded run: the figure, and the commit and machine it was measured on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Name of figure and proof.
    pub name: String,
    /// The value that was measured.
    pub value: i64,
    /// Unit of the measured value.
    pub unit: String,
    /// The goal on that day, as text.
    pub goal: String,
    /// Whether the value kept the goal.
    pub holds: bool,
    /// Duration of the whole run.
    pub seconds: f64,
    /// The day of the run, in UTC.
    pub date: String,
    /// The commit that was measured.
    pub commit: String,
    /// The machine that it ran on.
    pub machine: Machine,
    /// Version of the Rust compiler.
    pub rustc: String,
}

/// Reads recorded runs; an invalid line is an error with its number.
pub fn parse(text: &str) -> anyhow::Result<Vec<Record>> {
    let lines = text.lines().zip(1..);
    lines
        .map(|(line, number)| serde_json::from_str(line).with_context(|| format!("{PATH}:{number} is not a record")))
        .collect()
}

/// Recorded runs without a proof, and proofs whose newest run had another goal.
pub(crate) fn problems(workspace: &Workspace) -> Vec<Problem> {
    problems_of(workspace.text(PATH).unwrap_or_default(), ALL)
}

pub(super) fn problems_of(text: &str, figures: &[Figure]) -> Vec<Problem> {
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
        match figures.iter().find(|figure| figure.name == name) {
            None => problems.push(problem(
                format!("the figure {name} has no proof"),
                format!("{PATH} has a run of it, but `cargo xtask prove --list` does not list it."),
                "remove its lines, or restore the proof.".to_owned(),
            )),
            Some(figure) if figure.goal.to_string() != record.goal || figure.unit != record.unit => {
                problems.push(problem(
                    format!("the figure {name} was recorded for another goal"),
                    format!("recorded: {} {}; now: {} {}.", record.goal, record.unit, figure.goal, figure.unit),
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
