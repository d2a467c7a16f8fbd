//! Invariant 8, bounded. Checks every effect and line, including dry-run ones: each costs an adapter some work.

use std::collections::BTreeSet;

use mainstay_model::{GangId, NodeName, Step};

use super::AuditContext;
use crate::{Invariant, Violation};

/// Maximum number of effects in one decision: a status write and an action for every node of a full cell.
pub const EFFECTS_MAX: usize = 200_000;

/// Maximum number of report lines in one decision: one for every node of a full cell.
pub const LINES_MAX: usize = 100_000;

/// The object that an action changes. A decision may change it once; opposite actions count as the same change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ChangeTarget<'a> {
    Record,
    Schedulable,
    Avoided,
    Power,
    Pods,
    Request(&'a GangId),
    Work(&'a GangId),
}

/// Finds where the decision is too long or repeats an action.
pub(super) fn exceeded(scene: &AuditContext<'_>) -> Vec<Violation> {
    let decision = scene.decision;
    let too_many = [(decision.effects.len(), EFFECTS_MAX, "effects"), (decision.report.len(), LINES_MAX, "lines")];
    let mut broken: Vec<Violation> = too_many
        .into_iter()
        .filter(|(len, len_max, _)| len > len_max)
        .map(|(len, len_max, what)| violation(None, format!("{len} {what}; the maximum is {len_max}")))
        .collect();
    let mut named: BTreeSet<(&NodeName, ChangeTarget<'_>)> = BTreeSet::new();
    for effect in &decision.effects {
        if !named.insert((&effect.node, changes(&effect.step))) {
            broken
                .push(violation(Some(&effect.node), format!("the decision contains it twice: {}", word(&effect.step))));
        }
    }
    let mut told: BTreeSet<&NodeName> = BTreeSet::new();
    for line in &decision.report {
        if !told.insert(&line.node) {
            broken.push(violation(Some(&line.node), "the report has two lines for this node".to_owned()));
        }
    }
    broken
}

fn violation(node: Option<&NodeName>, detail: String) -> Violation {
    Violation { invariant: Invariant::Bounded, node: node.cloned(), detail }
}

const fn changes(act: &Step) -> ChangeTarget<'_> {
    match act {
        // One of them could undo the other.
        Step::Store(_) | Step::Order(_) => ChangeTarget::Record,
        Step::Cordon | Step::Uncordon => ChangeTarget::Schedulable,
        Step::Avoid | Step::EndAvoid => ChangeTarget::Avoided,
        Step::PowerOff => ChangeTarget::Power,
        Step::ReleasePods => ChangeTarget::Pods,
        Step::AskCheckpoint { gang, .. } => ChangeTarget::Request(gang),
        Step::Stop { gang } => ChangeTarget::Work(gang),
    }
}

const fn word(act: &Step) -> &'static str {
    match act {
        Step::Store(_) | Step::Order(_) => "the node's stored status",
        Step::Cordon | Step::Uncordon => "cordon or uncordon",
        Step::Avoid | Step::EndAvoid => "the avoid taint",
        Step::PowerOff => "the power",
        Step::ReleasePods => "the pods of a machine that is off",
        Step::AskCheckpoint { .. } => "a checkpoint request",
        Step::Stop { .. } => "an eviction of a gang",
    }
}
