//! What each proof claims, in words: read from `crates/xtask/claims.toml` at run time, so that rewording a claim needs no
//! build. Units and goals stay in code.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{ALL, Figure, Goal};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// The file with one entry per proof.
pub(crate) const PATH: &str = "crates/xtask/claims.toml";

/// Longest claim; a longer one is two claims, or a claim and a note.
const WORDS_MAX: usize = 25;

/// Claims by the name of their proof.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Claims(BTreeMap<String, Claim>);

/// One entry of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Measure, unit and condition, understandable alone.
    pub claim: String,
    /// What limits the figure, or why its goal is missed.
    pub notes: Option<String>,
    /// What the figure was measured on.
    pub basis: Basis,
    /// Date and commit that set today's goal.
    pub goal_set: String,
    /// The goal before it was relaxed after a measurement.
    pub first_goal: Option<FirstGoal>,
}

/// What the figure was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The shipped programs and real servers, with no emulated node or device.
    Real,
    /// Real programs, fed by KWOK nodes, fake NVML or generated log lines.
    Emulated,
    /// The simulator, against Mainstay's own failure model.
    Simulated,
    /// A count over files of the repository.
    Static,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Basis::Real => "real",
            Basis::Emulated => "emulated",
            Basis::Simulated => "simulated",
            Basis::Static => "static",
        })
    }
}

/// A goal as text: `<= 8192`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FirstGoal(pub Goal);

impl TryFrom<String> for FirstGoal {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<FirstGoal> {
        let (sign, number) = text.split_once(' ').context("a goal is a sign and a number, as `<= 8192`")?;
        let number: i64 = number.parse().with_context(|| format!("`{number}` is not a number"))?;
        Ok(FirstGoal(match sign {
            "<=" => Goal::AtMost(number),
            ">=" => Goal::AtLeast(number),
            "=" => Goal::Exactly(number),
            sign => bail!("`{sign}` is not one of <=, >=, ="),
        }))
    }
}

impl Claim {
    /// Whether a recorded value counts as reached: by the first goal where a later one was easier.
    pub(crate) fn counts(&self, holds: bool, value: i64) -> bool {
        holds && self.first_goal.is_none_or(|FirstGoal(first)| first.holds(value))
    }
}

impl Claims {
    /// Reads the file of a workspace.
    pub fn read(workspace: &Workspace) -> anyhow::Result<Claims> {
        parse(workspace.text(PATH).with_context(|| format!("{PATH} is missing"))?)
    }

    /// The claim of a proof; an error where the file has none.
    pub fn of(&self, name: &str) -> anyhow::Result<&Claim> {
        self.0.get(name).with_context(|| format!("{PATH} has no entry for {name}"))
    }

    /// Every claim with the name of its proof.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Claim)> {
        self.0.iter().map(|(name, claim)| (name.as_str(), claim))
    }
}

/// Reads the text of a claims file.
pub(crate) fn parse(text: &str) -> anyhow::Result<Claims> {
    toml::from_str(text).with_context(|| format!("{PATH} cannot be read"))
}

/// Proofs without a claim, claims without a proof, and claims that break the form. A workspace without the file has no
/// proofs to claim anything for.
pub(crate) fn problems(workspace: &Workspace) -> Vec<Problem> {
    workspace.text(PATH).map_or_else(Vec::new, |text| problems_of(text, ALL))
}

pub(super) fn problems_of(text: &str, figures: &[Figure]) -> Vec<Problem> {
    let problem = |what: String, detail: String| Problem {
        code: "TIDY12",
        what,
        detail,
        hint: format!("correct {PATH}; its head explains the fields."),
    };
    let claims = match parse(text) {
        Ok(claims) => claims,
        Err(error) => return vec![problem(error.to_string(), error.root_cause().to_string())],
    };
    let mut problems = Vec::new();
    for figure in figures {
        if claims.of(figure.name).is_err() {
            problems
                .push(problem(format!("the proof {} has no claim", figure.name), "figures.md shows one.".to_owned()));
        }
    }
    for (name, claim) in claims.all() {
        let words = claim.claim.split_whitespace().count();
        if words > WORDS_MAX {
            let detail = format!("it has {words} words; at most {WORDS_MAX} are allowed.");
            problems.push(problem(format!("the claim of {name} is too long"), detail));
        }
        if !is_date_and_commit(&claim.goal_set) {
            let detail = format!("`{}` is not a date and a commit, as `2026-11-15 4db2f8f`.", claim.goal_set);
            problems.push(problem(format!("the claim of {name} does not state when its goal was set"), detail));
        }
        match figures.iter().find(|figure| figure.name == name) {
            None => {
                let detail = "`cargo xtask prove --list` has no such name.".to_owned();
                problems.push(problem(format!("the claim {name} has no proof"), detail));
            }
            Some(figure) if claim.first_goal.is_some_and(|FirstGoal(first)| first == figure.goal) => {
                let detail = format!("{} is today's goal; remove first_goal.", figure.goal);
                problems.push(problem(format!("the first goal of {name} was not relaxed"), detail));
            }
            Some(_) => {}
        }
    }
    problems
}

fn is_date_and_commit(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(date, commit)| {
        date.parse::<toml::value::Datetime>().is_ok_and(|date| date.date.is_some() && date.time.is_none())
            && (7..=40).contains(&commit.len())
            && commit.chars().all(|c| c.is_ascii_hexdigit())
    })
}
