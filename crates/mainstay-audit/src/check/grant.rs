//! Invariants 12, granted, and 14, rate-kept: what the arbiter allows.

use std::collections::BTreeMap;

use mainstay_model::{DomainIndex, Need, Step, Timestamp};

use super::{AuditContext, OrderedEffect};
use crate::state::{Record, removals};
use crate::{Invariant, Violation};

/// Returns why an action has no grant, if it has none.
pub(super) fn ungranted(_: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let (node, _) = ordered.registered()?;
    // Whether a status is stored at all is another invariant.
    let record = node.record()?;
    if let Step::Store(persisted) = &ordered.effect.step {
        let new = persisted.orders.as_slice().iter().find(|order| !record.orders().contains(order))?;
        return Some(format!("the status adds order {}, which needs an effect of its own", new.id));
    }
    match (&ordered.effect.claim, &record.granted) {
        (None, _) => Some("the effect names no claim".to_owned()),
        (Some(claim), None) => Some(format!("no grant is stored for claim {claim}")),
        (Some(claim), Some(granted)) if claim != granted => {
            Some(format!("the effect names claim {claim}, but {granted} is granted"))
        }
        (Some(_), Some(_)) if need(&ordered.effect.step) > record.granted_need => {
            Some(format!("the effect needs more than the grant allows, which is {:?}", record.granted_need))
        }
        (Some(_), Some(_)) => None,
    }
}

/// Returns what an action needs.
const fn need(step: &Step) -> Need {
    match step {
        Step::Store(_) | Step::Avoid | Step::EndAvoid => Need::Avoid,
        Step::Cordon | Step::Uncordon => Need::Cordon,
        Step::AskCheckpoint { .. } | Step::Stop { .. } | Step::PowerOff | Step::ReleasePods => Need::Stop,
        Step::Order(_) => Need::Exclusive,
    }
}

/// Finds the removals of this decision that exceed the rate limit of their pool.
pub(super) fn too_fast(scene: &AuditContext<'_>) -> Vec<Violation> {
    let mut broken = Vec::new();
    let mut removed: BTreeMap<DomainIndex, u32> = BTreeMap::new();
    for ordered in &scene.ordered {
        let Some((node, registration)) = ordered.registered() else { continue };
        let Some(rate) = scene.picture.rate(node).filter(|_| removes(ordered, node.record())) else { continue };
        let pool = registration.membership.at(None);
        let is_recent = |at: &Timestamp| scene.now.since(*at) < rate.per;
        let before = u32::try_from(scene.picture.removals(pool).filter(is_recent).count()).unwrap_or(u32::MAX);
        let more = removed.entry(pool).or_default();
        *more += 1;
        let all = before.saturating_add(*more);
        if all > rate.grants {
            let detail = format!("{all} removals in {} s; the maximum is {}", rate.per.0 / 1_000, rate.grants);
            let node = Some(ordered.effect.node.clone());
            broken.push(Violation { invariant: Invariant::RateKept, node, detail });
        }
    }
    broken
}

/// Returns whether an effect stores a removal that is not stored yet.
fn removes(ordered: &OrderedEffect<'_>, record: Option<&Record>) -> bool {
    let known = record.map_or(&[][..], |record| record.removals());
    match &ordered.effect.step {
        Step::Store(persisted) => removals(persisted.history.as_slice()).any(|at| !known.contains(&at)),
        Step::Order(_) | Step::Cordon | Step::Uncordon | Step::AskCheckpoint { .. } | Step::Stop { .. } => false,
        Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => false,
    }
}
