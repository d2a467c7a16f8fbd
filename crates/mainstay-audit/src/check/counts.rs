//! Invariant 11, counts-kept: the rule counters in the status of the Cell.

use mainstay_model::{Epoch, RuleRecord};

use super::AuditContext;
use crate::{Invariant, Violation};

/// Finds counters that the new status would decrease.
pub(super) fn lost(scene: &AuditContext<'_>) -> Vec<Violation> {
    let Some(written) = &scene.decision.cell else { return Vec::new() };
    let cell = scene.picture.cell();
    let known = &cell.record;
    let mut broken = Vec::new();
    if cell.epoch == Epoch(0) {
        broken.push("this process is not the leader".to_owned());
    }
    if written.counted_to < known.counted_to {
        broken.push("findings are counted up to an earlier time than before".to_owned());
    }
    if written.counted_to > known.counted_to.max(scene.now) {
        broken.push("findings are counted up to a time in the future".to_owned());
    }
    for RuleRecord { rule, .. } in known.rules.as_slice() {
        let judged = |rules: &[RuleRecord]| rules.iter().find(|one| one.rule == *rule).map_or(0, RuleRecord::judged);
        let (before, after) = (judged(known.rules.as_slice()), judged(written.rules.as_slice()));
        if after < before {
            broken.push(format!("rule {rule} has {before} judged findings and would have {after}"));
        }
    }
    broken.into_iter().map(|detail| Violation { invariant: Invariant::CountsKept, node: None, detail }).collect()
}
