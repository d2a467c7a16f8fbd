//! Invariant 11, counts kept. The one thing that is written of no node: what the cell keeps of its rules.

use mainstay_model::{Epoch, RuleRecord};

use super::Scene;
use crate::{Invariant, Violation};

/// What the record would say less of than it does.
pub(super) fn lost(scene: &Scene<'_>) -> Vec<Violation> {
    let Some(written) = &scene.decision.cell else { return Vec::new() };
    let cell = scene.picture.cell();
    let known = &cell.record;
    let mut broken = Vec::new();
    if cell.epoch == Epoch(0) {
        broken.push("nobody made us leader".to_owned());
    }
    if written.counted_to < known.counted_to {
        broken.push("counted to an earlier moment than before".to_owned());
    }
    if written.counted_to > known.counted_to.max(scene.now) {
        broken.push("counted to a moment that has not come".to_owned());
    }
    for RuleRecord { rule, .. } in known.rules.as_slice() {
        let judged = |rules: &[RuleRecord]| rules.iter().find(|one| one.rule == *rule).map_or(0, RuleRecord::judged);
        let (before, after) = (judged(known.rules.as_slice()), judged(written.rules.as_slice()));
        if after < before {
            broken.push(format!("{rule} had {before} judged findings and would have {after}"));
        }
    }
    broken.into_iter().map(|detail| Violation { invariant: Invariant::CountsKept, node: None, detail }).collect()
}
