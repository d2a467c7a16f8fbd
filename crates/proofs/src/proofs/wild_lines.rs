//! Proof that `mainstay assess` recognises what real machines print: each excerpt of the field is one file, with the
//! prefixes that it was found with, and goes through the library that the command uses. What the excerpts are, and how the
//! figures are counted, is in `docs/reference/wild-lines.md`.

mod excerpt;
#[cfg(test)]
mod tests;
mod unrecognised;

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use xtask::output;

use crate::prove::{Context, Measurement, Proof};
use excerpt::{Excerpt, Outcome, Tables};
pub(super) use unrecognised::{COST as UNRECOGNISED_COST, SHOWN as UNRECOGNISED};

pub(super) const PROOF: Proof = Proof { name: "wild-lines", run: |_: &Context| Box::pin(async { measure() }) };

const EXCERPTS: &str = include_str!("wild_lines/excerpts.jsonl");

/// Excerpts of the development part, so that none goes missing.
const EXCERPTS_COUNT: usize = 269;
/// Goal for the right component, of the excerpts with evidence, in thousandths.
const COMPONENT_PERMILLE_MIN: usize = 900;
/// Goal for harmless excerpts that flag a node for removal, in thousandths.
const HARMLESS_FLAGGED_PERMILLE_MAX: usize = 20;

/// Counts of one class of excerpts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    all: usize,
    with_evidence: usize,
    right_component: usize,
    flagged: usize,
}

fn measure() -> anyhow::Result<Measurement> {
    let tables = Tables::read()?;
    let excerpts: Vec<Excerpt> = EXCERPTS.lines().map(excerpt::read).collect::<anyhow::Result<_>>()?;
    ensure!(excerpts.len() == EXCERPTS_COUNT, "{} excerpts", excerpts.len());
    let mut by_label: BTreeMap<&str, Counts> = BTreeMap::new();
    let (mut on_node, mut guessed, mut harmless) = (Counts::default(), Counts::default(), Counts::default());
    for one in &excerpts {
        let outcome = excerpt::assess(one).with_context(|| one.id.clone())?;
        let is_right = outcome.has_component(&tables, &one.component_kind);
        by_label.entry(&one.label).or_default().add(&outcome, is_right);
        if one.is_harmless() {
            harmless.add(&outcome, is_right);
        }
        if one.is_fault() && !tables.is_elsewhere(&one.id) {
            on_node.add(&outcome, is_right);
            if one.is_guess() {
                guessed.add(&outcome, is_right);
            }
        }
        told(one, &outcome, is_right, &tables);
    }
    for (label, counts) in &by_label {
        output::note(format_args!("wild-lines: {label}: {counts}"));
    }
    ensure!(
        permille(on_node.right_component, on_node.with_evidence) >= COMPONENT_PERMILLE_MIN,
        "the right component for {} of {} excerpts with evidence",
        on_node.right_component,
        on_node.with_evidence
    );
    ensure!(
        permille(harmless.flagged, harmless.all) <= HARMLESS_FLAGGED_PERMILLE_MAX,
        "{} of {} harmless excerpts flag a node",
        harmless.flagged,
        harmless.all
    );
    Ok(Measurement {
        value: i64::try_from(permille(on_node.with_evidence, on_node.all))?,
        detail: format!(
            "{on_node}; of these, guessed labels: {guessed}; {} of {} harmless excerpts flagged",
            harmless.flagged, harmless.all
        ),
    })
}

/// Prints what was missed, one line each.
fn told(one: &Excerpt, outcome: &Outcome, is_right: bool, tables: &Tables) {
    if one.is_fault() && !tables.is_elsewhere(&one.id) {
        if outcome.evidence.is_empty() {
            output::note(format_args!("wild-lines: {} ({}) has no evidence", one.id, one.label));
        } else if !is_right {
            let components: Vec<&str> = outcome.evidence.iter().map(|(_, component)| component.as_str()).collect();
            output::note(format_args!("wild-lines: {} ({}) is about {components:?}", one.id, one.component_kind));
        }
    }
    if one.is_harmless() && outcome.flagged {
        output::note(format_args!("wild-lines: {} is harmless and flags its node", one.id));
    }
}

fn permille(part: usize, all: usize) -> usize {
    (part * 1_000).checked_div(all).unwrap_or(0)
}

impl Counts {
    fn add(&mut self, outcome: &Outcome, is_right: bool) {
        self.all += 1;
        self.with_evidence += usize::from(!outcome.evidence.is_empty());
        self.right_component += usize::from(!outcome.evidence.is_empty() && is_right);
        self.flagged += usize::from(outcome.flagged);
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { all, with_evidence, right_component, flagged } = self;
        write!(
            f,
            "{with_evidence} of {all} with evidence, {right_component} with the right component, {flagged} flagged"
        )
    }
}
