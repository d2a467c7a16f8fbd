//! Invariant 1, budget-kept. Budgets are the policy's; how many nodes are out is the picture's.

use std::collections::BTreeMap;

use mainstay_model::{Act, NodeName, Persisted, Planned, Stage};

use super::{Ordered, Scene};
use crate::picture::{Node, Presence, Registration};
use crate::{Invariant, Violation};

/// The budgets that this decision would exceed. Everything it orders counts at once: which of two nodes is one too many
/// is not ours to say, so both are.
pub(super) fn exceeded(scene: &Scene<'_>) -> Vec<Violation> {
    let mut leaving: BTreeMap<&NodeName, (&Node, &Registration)> = BTreeMap::new();
    for ordered in &scene.ordered {
        if let Some((node, registration)) = ordered.registered()
            && takes_out(ordered, node, registration)
        {
            leaving.insert(&ordered.effect.node, (node, registration));
        }
    }
    let mut more: BTreeMap<u32, u32> = BTreeMap::new();
    for (_, registration) in leaving.values().filter(|(node, _)| node.presence() == Presence::TakesWork) {
        for ordinal in registration.membership.ordinals() {
            *more.entry(ordinal).or_default() += 1;
        }
    }
    let broken = leaving.iter().filter_map(|(name, (node, registration))| {
        let detail = over(scene, node, registration, &more)?;
        Some(Violation { invariant: Invariant::BudgetKept, node: Some((*name).clone()), detail })
    });
    broken.collect()
}

/// The first budget of the node's pool that has no room for it.
fn over(scene: &Scene<'_>, node: &Node, registration: &Registration, more: &BTreeMap<u32, u32>) -> Option<String> {
    let budgets = scene.picture.budgets(node);
    let places = scene.picture.places();
    if budgets.is_empty() {
        return Some(format!(
            "pool {} has no budget, and none is not unlimited",
            places.pool(&registration.membership)
        ));
    }
    budgets.iter().find_map(|budget| {
        let ordinal = registration.membership.at(budget.level);
        let count = places.count(ordinal);
        let out = count.out + more.get(&ordinal).copied().unwrap_or_default();
        let out_max = budget.most.of(count.nodes);
        (out > out_max).then(|| {
            format!("{out} of {} nodes of {} would be out; at most {out_max} may be", count.nodes, count.place)
        })
    })
}

/// Whether an effect takes capacity away that is there now.
fn takes_out(ordered: &Ordered<'_>, node: &Node, registration: &Registration) -> bool {
    let is_in = node.presence() == Presence::TakesWork;
    match &ordered.effect.act {
        // Its intent is on record, so it is counted; but the place it leaves may have been lost to others meanwhile.
        Act::Cordon => node.takes_work(),
        Act::AskCheckpoint { .. } | Act::Evict { .. } => is_in,
        Act::Record(persisted) => {
            // A node that comes up for the first time is tested before it is anybody's capacity.
            let is_new = node.record().is_some_and(|record| record.stage == Stage::Bootstrapping);
            is_in && !is_new && (is_going_out(persisted, registration.planned) || !ordered.orders.is_empty())
        }
        Act::Uncordon => false,
    }
}

/// Whether writing this down spends a budget. Planned work of others is only written down: they have spent it.
const fn is_going_out(persisted: &Persisted, planned: Planned) -> bool {
    match persisted.stage {
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => true,
        Stage::Maintenance => !matches!(planned, Planned::Maintenance),
        Stage::Upgrading => !matches!(planned, Planned::Upgrade),
        Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Held | Stage::Retired => false,
    }
}
