//! Nodes that are not registered any more: how long the engine keeps them, and when their place in the table is free. The
//! engine forgets a node only after its stored status is deleted, so it never knows less than after a restart.

use mainstay_model::{
    ActionKind, Arrivals, NodeIndex, NodeName, OrderId, Persisted, RequestKind, Span, Stage, Timestamp,
};
use mainstay_remedy::limits;

use crate::guard::Guard;
use crate::index::{Index, keep};
use crate::plan::effects::is_fresh;
use crate::plan::orders::verb;
use crate::state::State;
use crate::state::fold::stop_waiting;
use crate::state::node::Node;
use crate::verdicts::of_rules;

/// A gone node that something else keeps is evaluated again after this time: no fact reports the end of most reasons.
const LOOK_AGAIN: Span = Span::hours(1);

/// Approvals of this many removals of a node are looked for. Each needs an operator, so there are few.
const ROUNDS_MAX: u32 = 64;

/// Evaluates a node that is not registered. Returns its name if its stored status is to be deleted now.
pub(crate) fn evaluate(state: &mut State, index: &mut Index, id: NodeIndex, now: Timestamp) -> Option<NodeName> {
    state.node_mut(id).is_idle = false;
    stop_waiting(state, index, id);
    keep(&mut index.emptying, id, false);
    let node = state.node(id);
    let kept_until = kept_until(state, node);
    if kept_until.is_none_or(|until| now < until) {
        index.wake(id, kept_until);
        return None;
    }
    if node.stored.is_none() {
        keep(&mut index.stale, id, false);
        index.wake(id, None);
        state.vacate(id);
        return None;
    }
    let may_delete =
        state.is_leading() && is_fresh(state, now) && !is_uncounted(state, node) && !is_approved(state, node);
    let name = may_delete.then(|| node.name.clone());
    index.wake(id, Some(now + if may_delete { limits::EFFECT_RETRY } else { LOOK_AGAIN }));
    name
}

/// Until when a node that is not registered is kept at least; none while a gang or an operator still names it. A request
/// to retire the node is fulfilled.
fn kept_until(state: &State, node: &Node) -> Option<Timestamp> {
    let is_open = |kind: RequestKind| kind != RequestKind::Retire || node.stored.is_none();
    if !node.gangs.is_empty() || node.request.as_ref().is_some_and(|request| is_open(request.kind)) {
        return None;
    }
    let history = node.stored.as_deref().filter(|_| state.is_on(Guard::GoneHistory)).and_then(history_until);
    history.max(Some(node.gone_at + limits::GONE_KEPT))
}

/// Until when the history in a status counts; none where there is none. An operator who retires a node ends it.
fn history_until(stored: &Persisted) -> Option<Timestamp> {
    let is_treated = match stored.stage {
        Stage::Retired => return None,
        Stage::InService | Stage::Suspect => false,
        Stage::Bootstrapping | Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => true,
        Stage::Maintenance | Stage::Upgrading | Stage::Held => true,
    };
    let removals = stored.history.as_slice().iter().filter(|transition| transition.to == Stage::Quarantined);
    let removals = removals.map(|transition| transition.at);
    let incidents = stored.incidents.as_slice().iter().map(|incident| incident.at);
    let last = removals.chain(incidents).chain(is_treated.then_some(stored.since)).max();
    let arrived = stored.arrivals.as_slice().iter().map(last_arrival).max();
    let until = [last.map(|at| at + limits::GONE_HISTORY_KEPT), arrived.map(|at| at + limits::GONE_EVIDENCE_KEPT)];
    until.into_iter().flatten().max()
}

/// The end of the hour in which evidence last arrived.
fn last_arrival(arrivals: &Arrivals) -> Timestamp {
    Timestamp(0) + Span::hours(arrivals.newest_hour.saturating_add(1))
}

/// Whether the status has an outcome that the Cell's counters do not contain yet.
fn is_uncounted(state: &State, node: &Node) -> bool {
    let counted_to = state.cell.record.counted_to;
    node.stored.as_deref().is_some_and(|stored| of_rules(stored, &node.name).any(|one| one.at >= counted_to))
}

/// Whether an approval names the node. A new node with its name would have it too, because its removals are counted from
/// zero again.
fn is_approved(state: &State, node: &Node) -> bool {
    let rounds = 0..=node.status.round.saturating_add(1).min(ROUNDS_MAX);
    let mut actions = rounds.flat_map(|round| ActionKind::ALL.map(|kind| OrderId::of(verb(kind), &node.name, round)));
    let approvals = state.cell.approvals.as_slice();
    !approvals.is_empty() && actions.any(|action| approvals.contains(&action))
}
