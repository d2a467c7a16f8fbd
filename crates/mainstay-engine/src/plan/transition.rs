//! A change of stage: what the status of the node keeps, and what it drops.

use mainstay_health::{self as health, Findings};
use mainstay_model::{
    Bounded, Cause, Grant, Need, NodeIndex, PastIncident, Request, RequestKind, Resolution, RuleName, Schedulable,
    Stage, Timestamp, Transition, Urgency,
};

use super::cause::{PLANNED_WORK, REQUEST, cause_of};
use super::orders::suite_order;
use super::treatment;
use crate::guard::Guard;
use crate::index::Index;
use crate::state::State;
use crate::state::node::{Node, Passed};
use crate::view::{Signals, installed_parts, signals};
use crate::{breakers, claims, presence, shared_cause};

/// Moves a node to a stage.
pub(super) fn enter(
    state: &mut State,
    index: &mut Index,
    id: NodeIndex,
    stage: Stage,
    findings: &Findings,
    now: Timestamp,
) {
    let (events, grants) = (breakers::events(state, id), claims::grants(state, id));
    let word = resolution(state, state.node(id), stage);
    let is_lost = signals(state, state.node(id), now) == Signals::Both;
    let requested = state.request(state.node(id)).is_some_and(RequestKind::takes_out);
    let incident = (stage == Stage::Repairing).then(|| incident(state, state.node(id))).flatten();
    breakers::unflag(state, index, id);
    let from = state.node(id).status.stage;
    if from == Stage::Qualifying {
        end_tests(state, id, stage, findings, now);
    }
    let node = state.node_mut(id);
    // An order that no executor has counts as no attempt, also when the stage changes before it is stored.
    node.status = node.storable().into_owned();
    incident.into_iter().for_each(|incident| node.status.incidents.push_forgetting_oldest(incident));
    let rule = update_cause(node, stage, findings, is_lost, requested);
    if stage == Stage::Quarantined {
        node.status.grant = None;
    }
    if stage == Stage::Qualifying {
        health::begin_tests(&mut node.status);
    }
    node.status.orders = Bounded::new();
    node.status.stage = stage;
    node.status.since = now;
    let rule = rule.unwrap_or_else(|| PLANNED_WORK.get());
    node.status.history.push_forgetting_oldest(Transition { to: stage, at: now, rule, word });
    breakers::update(state, index, id, events);
    claims::update_rates(state, id, grants);
    update_grant(state, id, now);
    if from == Stage::Draining || stage == Stage::Draining {
        // Another node of the same gang may act for it now.
        let gangs = state.node(id).gangs.iter().filter_map(|gang| state.gangs.list.get(gang));
        gangs.for_each(|gang| index.mark_emptying(&gang.nodes));
    }
    presence::settle(state, index, id);
}

/// The tests of a node end. A pass settles the findings on the parts that were treated. After a failure, the repair goes on
/// with the part that failed.
fn end_tests(state: &mut State, id: NodeIndex, to: Stage, findings: &Findings, now: Timestamp) {
    let node = state.node(id);
    match to {
        Stage::InService => {
            let mut status = node.status.clone();
            health::forget_hours(&mut status, |entry| treatment::is_settled(state, node, entry, now));
            let nonce = suite_order(node).map(|order| order.nonce.clone());
            let passed = node.report.as_ref().map(|report| Passed { boot_id: report.boot_id.clone(), nonce });
            let node = state.node_mut(id);
            (node.status, node.passed) = (status, passed.map(Box::new));
        }
        Stage::Repairing => {
            if let Some(cause) = treatment::after_tests(state, node, findings, now) {
                state.node_mut(id).status.cause = Some(Box::new(cause));
            }
        }
        Stage::Bootstrapping | Stage::Suspect | Stage::Quarantined | Stage::Draining | Stage::Qualifying => {}
        Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => {}
    }
}

/// Updates the grant of a node that entered a stage. A node that Mainstay treats has one. It ends when the node gets jobs
/// again, so a node in service keeps it as long as Mainstay's cordon is there.
///
/// Tests after the planned work of others get a grant that the arbiter does not rule on. The node is out of service already,
/// so the tests take no capacity from its pool. A refusal would only keep the node out longer or return it untested.
pub(super) fn update_grant(state: &mut State, id: NodeIndex, now: Timestamp) {
    let node = state.node(id);
    let stage = node.status.stage;
    let is_cordoned = node.schedulable() == Schedulable::NotByUs;
    let needs_grant = stage.is_treated() || stage == Stage::InService && is_cordoned;
    let is_valid = |grant: &Grant| match grant.needs {
        // Permission to avoid a node is none to treat it.
        Need::Avoid => stage.gets_jobs() && !needs_grant,
        Need::Cordon | Need::Stop | Need::Exclusive => needs_grant || stage == Stage::Held,
    };
    let grant = node.status.grant.clone().filter(|grant| is_valid(grant));
    let mut grant = grant.or_else(|| needs_grant.then(|| Box::new(claims::grant(state, node, now))));
    if let Some(grant) = grant.as_mut().filter(|grant| grant.needs > Need::Avoid) {
        grant.needs = grant.needs.max(claims::needed_in(stage));
    }
    state.node_mut(id).status.grant = grant;
}

/// Updates the cause of a node that enters a stage. Returns the rule of the transition.
fn update_cause(
    node: &mut Node,
    stage: Stage,
    findings: &Findings,
    is_lost: bool,
    requested: bool,
) -> Option<RuleName> {
    match stage {
        Stage::Suspect => node.status.cause = Some(Box::new(cause_of(node, findings, is_lost))),
        Stage::Quarantined => {
            // The worst finding may have changed while the node waited.
            node.status.cause = Some(Box::new(cause_of(node, findings, is_lost)));
            node.status.round = node.status.round.saturating_add(1);
            if requested {
                // The request removes the node, whatever else was found.
                return Some(REQUEST.get());
            }
        }
        // The removal had ended, and its cordon was applied late. Only the tests are left of it, and they can wait for a
        // checkpoint.
        Stage::Draining if node.status.stage.gets_jobs() => {
            let rule = node.removal().map_or_else(|| PLANNED_WORK.get(), |removal| removal.rule.clone());
            let urgency = Urgency::NextCheckpoint;
            node.status.cause = Some(Box::new(Cause { rule, urgency, device: None, rungs: Bounded::new() }));
        }
        Stage::Draining | Stage::Repairing | Stage::Qualifying | Stage::Held | Stage::Retired => {}
        Stage::InService | Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading => {
            return node.status.cause.take().map(|cause| cause.rule);
        }
    }
    node.status.cause.as_ref().map(|cause| cause.rule.clone())
}

/// What is known about the finding when its node changes its stage: an operator reported it, or the part is gone when the node
/// returns.
fn resolution(state: &State, node: &Node, to: Stage) -> Option<Resolution> {
    let request = node.request.as_ref().filter(|_| state.is_on(Guard::Requests));
    let tells = |request: &&Request| matches!(request.kind, RequestKind::Return | RequestKind::Hold);
    let said = request.filter(tells).and_then(|request| request.word);
    let returns = to == Stage::InService && node.status.stage == Stage::Qualifying;
    let device = node.status.cause.as_ref().and_then(|cause| cause.device.as_ref()).filter(|_| returns);
    let is_replaced =
        || device.is_some_and(|device| installed_parts(state, node).is_some_and(|parts| !parts.contains(&device)));
    said.or_else(|| is_replaced().then_some(Resolution::FaultFound))
}

/// The incident of a node that goes into repair, once per removal. A test that passes first leads back into service. An
/// operator's request and a shared cause are no incident of the node.
fn incident(state: &State, node: &Node) -> Option<PastIncident> {
    let removed = node.removal().filter(|_| state.is_on(Guard::Incidents))?;
    let cause = node.status.cause.as_ref()?;
    let is_known = node.status.incidents.as_slice().iter().any(|known| known.at == removed.at);
    if is_known || removed.rule == REQUEST || shared_cause::explains(state, node, &removed.rule).is_some() {
        return None;
    }
    let board = node.report.as_ref().map(|report| &report.inventory.board);
    let serial = cause.device.as_ref().or(board).cloned();
    Some(PastIncident { serial, rule: removed.rule.clone(), at: removed.at })
}
