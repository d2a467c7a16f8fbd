//! Invariant 18, breaker-kept: one rule does not empty a pool. The circuit breaker itself is in `mainstay-remedy`; this check
//! only counts.

use std::collections::BTreeMap;

use mainstay_model::{DomainIndex, RuleName, Step};

use super::AuditContext;
use crate::{Invariant, Violation};

/// Finds removals by one rule beyond what a circuit breaker can let through within its window: the limit and a test, and the
/// same once more after a test that confirmed the rule.
pub(super) fn exceeded(scene: &AuditContext<'_>) -> Vec<Violation> {
    let mut broken = Vec::new();
    let mut removed: BTreeMap<(DomainIndex, &RuleName), u32> = BTreeMap::new();
    for ordered in &scene.ordered {
        let (Some((node, registration)), Step::Store(persisted)) = (ordered.registered(), &ordered.effect.step) else {
            continue;
        };
        let new = node.record().and_then(|record| record.new_removal(persisted));
        let Some((rule, _)) = new.filter(|_| node.takes_work()) else { continue };
        if scene.picture.is_approved(&ordered.effect.node, persisted) {
            continue;
        }
        let (pool, limits) = (registration.membership.at(None), scene.picture.breaker(node));
        let more = removed.entry((pool, rule)).or_default();
        *more += 1;
        let all = scene.picture.flagged(node, pool, rule, scene.now).saturating_add(*more);
        let nodes = scene.picture.places().count(pool).nodes;
        let most = limits.nodes_max(nodes).saturating_add(1).saturating_mul(2);
        if all > most {
            let detail = format!("rule {rule} removes {all} nodes within the window; the maximum is {most}");
            let node = Some(ordered.effect.node.clone());
            broken.push(Violation { invariant: Invariant::BreakerKept, node, detail });
        }
    }
    broken
}
