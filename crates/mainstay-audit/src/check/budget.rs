//! Invariants 1, budget-kept, and 13, floor-kept. Limits come from the policy; the number of nodes out of service comes
//! from the auditor's state.

use std::collections::BTreeMap;

use mainstay_model::{DomainIndex, NodeName, Persisted, PlannedWork, Stage, Step};

use super::{AuditContext, OrderedEffect};
use crate::state::{Node, Presence, Registration};
use crate::{Invariant, Violation};

/// Finds the budgets that this decision would exceed. All its effects count together. If two nodes exceed a budget,
/// both are reported, because the auditor does not choose between them.
pub(super) fn exceeded(scene: &AuditContext<'_>) -> Vec<Violation> {
    let (leaving, more) = leaving(scene);
    let broken = leaving.iter().filter_map(|(name, (node, registration))| {
        let detail = over(scene, node, registration, &more)?;
        Some(Violation { invariant: Invariant::BudgetKept, node: Some((*name).clone()), detail })
    });
    broken.chain(scene.ordered.iter().filter_map(wrongly_parked)).collect()
}

/// Finds a status that gives back a node's place although Mainstay still repairs it.
fn wrongly_parked(ordered: &OrderedEffect<'_>) -> Option<Violation> {
    let Step::Store(persisted) = &ordered.effect.step else { return None };
    let may_be_parked = matches!(persisted.stage, Stage::Repairing | Stage::Draining);
    let has_more_steps = !may_be_parked || !persisted.orders.as_slice().is_empty();
    let detail = "a node that is not in repair or drained, or has an open order, would wait for a technician";
    (persisted.repairer.is_technician() && has_more_steps).then(|| Violation {
        invariant: Invariant::BudgetKept,
        node: Some(ordered.effect.node.clone()),
        detail: detail.to_owned(),
    })
}

/// Finds the nodes whose removal would leave fewer nodes in service than the floor of their pool.
pub(super) fn below_floor(scene: &AuditContext<'_>) -> Vec<Violation> {
    let (leaving, more) = leaving(scene);
    let broken = leaving.iter().filter_map(|(name, (node, registration))| {
        let pool = registration.membership.at(None);
        let count = scene.picture.places().count(pool);
        let floor = scene.picture.floor(node)?.of(count.nodes);
        let out = count.out + more.get(&pool).copied().unwrap_or_default();
        let in_service = count.nodes.saturating_sub(out);
        // A node that takes no jobs anyway lowers nothing.
        let lowers = node.presence() == Presence::TakesWork;
        let detail = format!("{in_service} nodes of {} would stay in service; the minimum is {floor}", count.place);
        (lowers && in_service < floor).then(|| Violation {
            invariant: Invariant::FloorKept,
            node: Some((*name).clone()),
            detail,
        })
    });
    broken.collect()
}

/// Nodes that a decision removes, by name.
type Leaving<'a> = BTreeMap<&'a NodeName, (&'a Node, &'a Registration)>;

/// Nodes that this decision removes, and how many more nodes of each place are out of service then.
fn leaving<'a>(scene: &'a AuditContext<'_>) -> (Leaving<'a>, BTreeMap<DomainIndex, u32>) {
    let mut leaving = Leaving::new();
    for ordered in &scene.ordered {
        if let Some((node, registration)) = ordered.registered()
            && takes_out(ordered, node, registration)
        {
            leaving.insert(&ordered.effect.node, (node, registration));
        }
    }
    let mut more: BTreeMap<DomainIndex, u32> = BTreeMap::new();
    for (_, registration) in leaving.values().filter(|(node, _)| node.presence() == Presence::TakesWork) {
        for index in registration.membership.indexes() {
            *more.entry(index).or_default() += 1;
        }
    }
    (leaving, more)
}

/// Returns the first budget of the node's pool that has no room for it.
fn over(
    scene: &AuditContext<'_>,
    node: &Node,
    registration: &Registration,
    more: &BTreeMap<DomainIndex, u32>,
) -> Option<String> {
    let budgets = scene.picture.budgets(node);
    let places = scene.picture.places();
    if budgets.is_empty() {
        return Some(format!(
            "pool {} has no disruption budget, so no node may be removed",
            places.pool(&registration.membership)
        ));
    }
    budgets.iter().find_map(|budget| {
        let index = registration.membership.at(budget.level);
        let count = places.count(index);
        // A floor limits the capacity that is missing, so what only a technician can bring back holds no place.
        let parked = if scene.picture.floor(node).is_some() { count.parked } else { 0 };
        let out = count.out - parked + more.get(&index).copied().unwrap_or_default();
        let out_max = budget.most.of(count.nodes);
        (out > out_max).then(|| {
            format!(
                "{out} of {} nodes of {} would be out of service; the maximum is {out_max}",
                count.nodes, count.place
            )
        })
    })
}

/// Returns whether an effect removes capacity that is in service now.
fn takes_out(ordered: &OrderedEffect<'_>, node: &Node, registration: &Registration) -> bool {
    let is_in = node.presence() == Presence::TakesWork;
    match &ordered.effect.step {
        // Its intent is stored, so it is counted already; but other nodes may have used up the budget since then.
        Step::Cordon => node.takes_work(),
        Step::AskCheckpoint { .. } | Step::Stop { .. } => is_in,
        Step::Store(persisted) => {
            // A new node is tested before it counts as capacity.
            let is_new = node.record().is_some_and(|record| record.stage == Stage::Bootstrapping);
            is_in && !is_new && is_going_out(persisted, registration.planned)
        }
        // A node with Mainstay's taint, which an order needs, is counted already.
        Step::Order(_) | Step::Uncordon => false,
        // New jobs only prefer other nodes.
        Step::Avoid | Step::EndAvoid => false,
        // A machine that does not answer is no capacity.
        Step::PowerOff | Step::ReleasePods => is_in,
    }
}

/// Returns whether storing this status uses a budget. Maintenance planned by others does not: it is already counted.
const fn is_going_out(persisted: &Persisted, planned: PlannedWork) -> bool {
    match persisted.stage {
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => true,
        Stage::Maintenance => !matches!(planned, PlannedWork::Maintenance),
        Stage::Upgrading => !matches!(planned, PlannedWork::Upgrade),
        Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Held | Stage::Retired => false,
    }
}
