//! Evaluates one node: view, next step, plan. The state machine in `mainstay-remedy` decides the next step. This module
//! carries it out on the node's status, and computes the effects and the time of the next evaluation.

mod avoidance;
pub(crate) mod cause;
pub(crate) mod drain;
pub(crate) mod effects;
pub(crate) mod orders;
pub(crate) mod proposals;
mod transition;
pub(crate) mod treatment;

use mainstay_health::Findings;
use mainstay_model::{
    Bounded, Effect, NodeIndex, Order, Ready, Reason, Response, RuleName, Schedulable, Serial, Span, Stage, Timestamp,
    WaitingOn,
};
use mainstay_remedy::life::{self, Next, Overruling};
use mainstay_remedy::limits;

use crate::guard::Guard;
use crate::index::{Index, keep};
use crate::state::State;
use crate::state::node::Node;
use crate::{breakers, presence, shared_cause, view};
use effects::{keeps_budget, lacks_cordon};

/// A node stops changing its stage within this many steps. More would be a loop, which is a defect.
const STEPS_MAX: u32 = 12;

/// A suspect node is evaluated again after this time at the latest, because evidence expires by the hour.
const LOOK_AGAIN: Span = Span::hours(1);

/// The result of the state machine for one node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Settled {
    waiting_on: WaitingOn,
    /// The rule that flags the node for removal.
    accuser: Option<RuleName>,
    /// When time alone changes the arbiter's ruling.
    ruled_at: Option<Timestamp>,
    findings: Findings,
}

/// Moves a registered node as far as it can go now, and returns the effects on it.
pub(crate) fn evaluate(
    state: &mut State,
    index: &mut Index,
    id: NodeIndex,
    findings: Findings,
    now: Timestamp,
) -> Vec<Effect> {
    let settled = settle(state, index, id, findings, now);
    state.node_mut(id).status.repairer = orders::repairer(state, state.node(id), now);
    proposals::update(state, index, id, &settled, now);
    presence::settle(state, index, id);
    let node = state.node(id);
    let lost_budget = lacks_cordon(node) && !keeps_budget(state, node);
    let Settled { waiting_on, accuser, ruled_at, findings } = settled;
    let waits_for_budget = matches!(waiting_on, WaitingOn::Budget | WaitingOn::CapacityFloor) || lost_budget;
    index.wait_for_budget(id, &node.membership, waits_for_budget);
    let is_approvable = node.status.stage == Stage::Suspect && waiting_on == WaitingOn::Approval && !lost_budget;
    keep(&mut index.approval, id, is_approvable);
    keep(&mut index.uncordoned, id, view::is_uncordoned(node));
    keep(&mut index.emptying, id, node.is_emptying());
    let breaker_at = breakers::flag(state, index, id, (accuser, &findings), now);
    shared_cause::update_faults(state, index, id, &findings, now);
    avoidance::update(state, index, id, waiting_on, now);
    let effects = effects::effects(state, id, waiting_on, now);
    let node = state.node(id);
    let overruling = Overruling {
        lost_budget,
        foreign_report: node.is_reported_by_another(),
        past_limit: stage_ends_at(state, node).is_some_and(|at| now >= at) && state.is_on(Guard::StageLimit),
        obstacle: effects.obstacle,
    };
    let waiting_on = life::wait(waiting_on, overruling);
    let time_at = next_deadline(state, node, now);
    let message = message(node, &findings);
    let node = state.node_mut(id);
    node.waiting_on = waiting_on;
    node.is_idle = node.status.stage == Stage::InService
        && waiting_on == WaitingOn::Nothing
        && effects.is_stored
        && !node.is_avoided()
        && node.schedulable() != Schedulable::NotByUs;
    if node.message.as_str() != message {
        node.message = Reason::lossy(&message);
    }
    keep(&mut index.stale, id, waiting_on == WaitingOn::WatchSync);
    let ruled_at = ruled_at.filter(|_| node.status.stage == Stage::Suspect);
    let again_at = [effects.again_at, findings.changes_at, time_at, breaker_at, ruled_at];
    index.wake(id, again_at.into_iter().flatten().min());
    effects.list
}

/// Runs the state machine until the node waits.
fn settle(state: &mut State, index: &mut Index, id: NodeIndex, mut findings: Findings, now: Timestamp) -> Settled {
    if orders::is_withdrawn(state, state.node(id), now) {
        let node = state.node_mut(id);
        node.status = node.storable().into_owned();
    }
    transition::update_grant(state, id, now);
    let (mut accuser, mut ruled_at) = (None, None);
    for _ in 0..STEPS_MAX {
        if let Some(cause) = cause::raised(state, state.node(id), &findings, now) {
            state.node_mut(id).status.cause = Some(Box::new(cause));
        }
        if let Some((orders, attempts)) = orders::end(state, state.node(id), now) {
            let status = &mut state.node_mut(id).status;
            (status.orders, status.attempts) = (orders, attempts);
        }
        if orders::is_repaired(state, state.node(id), now)
            && let Some(cause) = treatment::next_part(state, state.node(id), &findings, now)
        {
            let status = &mut state.node_mut(id).status;
            status.cause = Some(Box::new(cause));
            status.orders = Bounded::new();
        }
        let view = view::view(state, state.node(id), &findings, now);
        (accuser, ruled_at) = (view.accuser, view.ruled_at);
        let stage = state.node(id).status.stage;
        let next = life::next(stage, &view.facts);
        if needs_leader(stage, &next) && !state.is_leading() {
            return Settled { waiting_on: WaitingOn::Leadership, accuser, ruled_at, findings };
        }
        match next {
            Next::Go(stage) => {
                transition::enter(state, index, id, stage, &view.own, now);
                // A return clears the evidence that led to the removal.
                if stage == Stage::InService {
                    findings = view::findings(state, state.node(id), now);
                }
            }
            Next::Order(waiting_on) => {
                orders::give(state, id, now);
                return Settled { waiting_on, accuser, ruled_at, findings };
            }
            Next::Wait(waiting_on) => return Settled { waiting_on, accuser, ruled_at, findings },
        }
    }
    Settled { waiting_on: WaitingOn::Nothing, accuser, ruled_at, findings }
}

/// Whether only the leader may take a step. Everyone else shows the stored stage, because the step may never happen.
fn needs_leader(stage: Stage, next: &Next) -> bool {
    match next {
        Next::Go(to) => !stage.gets_jobs() || !to.gets_jobs(),
        Next::Order(_) => true,
        Next::Wait(_) => false,
    }
}

/// When a longer stay in the stage needs an operator.
pub(crate) fn stage_ends_at(state: &State, node: &Node) -> Option<Timestamp> {
    state.deadlines(node).stage(node.status.stage).map(|within| node.status.since + within)
}

/// When time alone changes something: the limit of the stage or of an order, or the silence of the agent.
fn next_deadline(state: &State, node: &Node, now: Timestamp) -> Option<Timestamp> {
    let ends = |order: &Order| [order.start_by, orders::is_surely_lost_at(order), order.done_by];
    let orders = node.status.orders.as_slice().iter().flat_map(ends);
    let is_unseen = node.ready() != Ready::Yes;
    let silence = view::last_alive(state, node).filter(|_| is_unseen).map(|at| at + limits::REPORT_WITHIN);
    let suspect = (node.status.stage == Stage::Suspect).then(|| now + LOOK_AGAIN);
    orders.chain(silence).chain(stage_ends_at(state, node)).chain(suspect).filter(|at| *at > now).min()
}

/// The cause for which the node is being repaired, or the worst finding.
fn message(node: &Node, findings: &Findings) -> String {
    let say = |rule: &RuleName, device: Option<&Serial>| match device {
        Some(device) => format!("{rule} on {device}"),
        None => rule.to_string(),
    };
    let cause = node.status.cause.as_ref().map(|cause| say(&cause.rule, cause.device.as_ref()));
    let worst = findings.list.as_slice().first().filter(|finding| finding.response > Response::Note);
    let found = worst.map(|finding| say(&finding.rule, finding.device.as_ref()));
    let (first, second) = if node.status.stage.is_treated() { (cause, found) } else { (found, cause) };
    first.or(second).unwrap_or_default()
}
