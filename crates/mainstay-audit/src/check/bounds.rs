//! Invariant 8, bounded. Looks at every effect and line, also at those on paper: each costs an adapter something.

use std::collections::BTreeSet;

use mainstay_model::{Act, GangId, NodeName};

use super::Scene;
use crate::{Invariant, Violation};

/// The most effects of one decision: a record and an act for every node of a full cell.
pub const EFFECTS_MAX: usize = 200_000;

/// The most lines of one decision: every node of a full cell.
pub const LINES_MAX: usize = 100_000;

/// What an act changes: naming it twice is once too often, and opposites count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Changes<'a> {
    Record,
    Schedulable,
    Request(&'a GangId),
    Work(&'a GangId),
}

/// Where the decision is too long or repeats itself.
pub(super) fn exceeded(scene: &Scene<'_>) -> Vec<Violation> {
    let decision = scene.decision;
    let too_many = [(decision.effects.len(), EFFECTS_MAX, "effects"), (decision.report.len(), LINES_MAX, "lines")];
    let mut broken: Vec<Violation> = too_many
        .into_iter()
        .filter(|(len, len_max, _)| len > len_max)
        .map(|(len, len_max, what)| violation(None, format!("{len} {what}; at most {len_max} are taken")))
        .collect();
    let mut named: BTreeSet<(&NodeName, Changes<'_>)> = BTreeSet::new();
    for effect in &decision.effects {
        if !named.insert((&effect.node, changes(&effect.act))) {
            broken.push(violation(Some(&effect.node), format!("names it twice: {}", word(&effect.act))));
        }
    }
    let mut told: BTreeSet<&NodeName> = BTreeSet::new();
    for line in &decision.report {
        if !told.insert(&line.node) {
            broken.push(violation(Some(&line.node), "two lines say how it stands".to_owned()));
        }
    }
    broken
}

fn violation(node: Option<&NodeName>, detail: String) -> Violation {
    Violation { invariant: Invariant::Bounded, node: node.cloned(), detail }
}

const fn changes(act: &Act) -> Changes<'_> {
    match act {
        Act::Record(_) => Changes::Record,
        Act::Cordon | Act::Uncordon => Changes::Schedulable,
        Act::AskCheckpoint { gang, .. } => Changes::Request(gang),
        Act::Evict { gang } => Changes::Work(gang),
    }
}

const fn word(act: &Act) -> &'static str {
    match act {
        Act::Record(_) => "its record",
        Act::Cordon | Act::Uncordon => "whether it takes work",
        Act::AskCheckpoint { .. } => "a request to save",
        Act::Evict { .. } => "a gang's end",
    }
}
