//! Claims on nodes, derived from the state at every decision, and the arbiter's ruling on them. Faults and operators'
//! requests are the sources so far; a further source adds its claims here.

use mainstay_arbiter::ruling::{Ruling, Situation};
use mainstay_model::{
    Claim, ClaimId, ClaimSource, ClaimTarget, Grant, Need, NodeIndex, Permit, PoolName, RequestKind, Schedulable,
    Stage, Timestamp, WaitingOn,
};

use crate::guard::Guard;
use crate::plan::cause::{REQUEST, urgency};
use crate::plan::effects::keeps_budget;
use crate::state::State;
use crate::state::node::Node;
use crate::view::ledger;

/// The claim that wants a node out of service: an operator's request, or else the fault that flags the node.
pub(crate) fn claim(state: &State, node: &Node) -> Claim {
    let request = state.request(node).filter(|request| request.takes_out());
    let by = if request.is_some() { ClaimSource::Request } else { ClaimSource::Fault };
    let needs = match request {
        Some(RequestKind::Quarantine) => Need::Cordon,
        Some(RequestKind::Drain) => Need::Stop,
        Some(RequestKind::Retire | RequestKind::Hold | RequestKind::Return) | None => Need::Exclusive,
    };
    let target = ClaimTarget::Node(node.name.clone());
    let (id, urgency) = (id(node, by), urgency(node));
    Claim { id, by, needs, target, urgency, start_after: node.status.since, deadline: None }
}

/// The id of a claim on a node in its current removal, or in its next one.
pub(crate) fn id(node: &Node, by: ClaimSource) -> ClaimId {
    let next = u32::from(matches!(node.status.stage, Stage::InService | Stage::Suspect));
    ClaimId::of(by, node.name.as_str(), node.status.round.saturating_add(next))
}

/// The arbiter's ruling on the claim that wants a node out of service.
pub(crate) fn ruling(state: &State, node: &Node, claim: &Claim, permit: Permit, now: Timestamp) -> Ruling {
    let Some(facts) = node.facts.as_deref() else { return Ruling::Void };
    if node.presence.is_ours() && state.is_on(Guard::Budget) {
        // With Mainstay's cordon in place, going on uses no budget of another node. Waiting would block a place, and a
        // neighbour that becomes unreachable would wait for it in turn.
        let is_cordoned = node.schedulable() == Schedulable::NotByUs;
        if !is_cordoned && !keeps_budget(state, node) {
            return Ruling::Waits(WaitingOn::Budget, None);
        }
    }
    let situation = Situation {
        pool: &facts.pool,
        policy: state.policy(node),
        membership: &node.membership,
        ledger: ledger(node, permit),
        takes_capacity: takes_capacity(state, node, permit),
        permit,
        freezes: state.freezes.as_slice(),
        now,
    };
    state.counts.arbiter.rule(claim, &situation)
}

/// Whether the removal of a node uses budgets. A node that Mainstay removed already uses them, and so does a dry-run
/// decision that exists.
fn takes_capacity(state: &State, node: &Node, permit: Permit) -> bool {
    let is_decided = node.open_proposal().is_some() && permit == Permit::OnPaper;
    state.is_on(Guard::Budget) && !node.presence.is_ours() && !is_decided
}

/// The grant of a node that enters a stage out of service: for the claim that removed it, with what that claim needs.
pub(crate) fn grant(state: &State, node: &Node, now: Timestamp) -> Grant {
    // A request that removes a node with a fault is the claim that was ruled, and the fault stays the cause.
    let is_requested = node.removal().is_some_and(|removal| removal.rule == REQUEST);
    let by = match node.status.cause.as_ref() {
        Some(cause) if is_requested || cause.rule == REQUEST => ClaimSource::Request,
        Some(_) => ClaimSource::Fault,
        None => ClaimSource::Window,
    };
    let claimed = claim(state, node);
    let needs = if claimed.by == by { claimed.needs } else { Need::Exclusive };
    let claim = ClaimId::of(by, node.name.as_str(), node.status.round);
    Grant { claim, by, needs, at: now, epoch: state.cell.epoch }
}

/// What the work of a stage needs at least. The claim of an operator who quarantines a node rises only when its jobs leave,
/// and when it is repaired or tested.
pub(crate) const fn needed_in(stage: Stage) -> Need {
    match stage {
        Stage::Repairing | Stage::Qualifying => Need::Exclusive,
        Stage::Draining => Need::Stop,
        Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Quarantined => Need::Cordon,
        Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => Need::Cordon,
    }
}

/// The grant of a claim that only needs the node to be avoided. It uses no budget.
pub(crate) fn grant_avoid(state: &State, node: &Node, now: Timestamp) -> Grant {
    let Claim { id: claim, by, .. } = claim(state, node);
    Grant { claim, by, needs: Need::Avoid, at: now, epoch: state.cell.epoch }
}

/// The removals in a node's history: each was a grant of its pool. Taken before a change and passed to [`update_rates`]
/// after it.
pub(crate) fn grants(state: &State, id: NodeIndex) -> Option<(PoolName, Vec<Timestamp>)> {
    let node = state.node(id);
    let removed = node.status.history.as_slice().iter().filter(|transition| transition.to == Stage::Quarantined);
    Some((node.facts.as_ref()?.pool.clone(), removed.map(|transition| transition.at).collect()))
}

/// Counts what changed in a node's grants since `before`.
pub(crate) fn update_rates(state: &mut State, id: NodeIndex, before: Option<(PoolName, Vec<Timestamp>)>) {
    let after = grants(state, id);
    if before == after {
        return;
    }
    let name = &state.nodes[id.get()].name;
    let rates = &mut state.counts.arbiter.rates;
    if let Some((pool, grants)) = before {
        grants.iter().for_each(|at| rates.forget(&pool, *at, name));
    }
    if let Some((pool, grants)) = after {
        grants.iter().for_each(|at| rates.note(&pool, *at, name));
    }
}
