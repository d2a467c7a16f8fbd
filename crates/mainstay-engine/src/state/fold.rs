//! Folds facts into the state. Each fact marks the nodes that it concerns; nothing is decided here.

use mainstay_arbiter::domains::Presence;
use mainstay_health as health;
use mainstay_model::{
    CellFacts, Fact, GangId, Mode, NodeFacts, NodeIndex, NodeName, Observation, OrderId, Outcome, Persisted,
    PlannedWork, Policy, Report, Stage, Timestamp,
};
use mainstay_remedy::drain::{Answer, Asked};
use mainstay_remedy::limits;

use super::node::{LastReport, Node};
use super::{State, gangs};
use crate::index::{Index, keep};
use crate::{breakers, claims, presence, shared_cause, spares, verdicts};

/// Folds in one fact. Every fact is accepted or ignored; none fails.
pub(crate) fn fold(state: &mut State, index: &mut Index, observation: &Observation) {
    let at = observation.at;
    match &observation.fact {
        Fact::Cell(cell) => fold_cell(state, index, cell, at),
        Fact::Synced { as_of } => fold_synced(state, index, *as_of),
        Fact::Policy(policy) => fold_policy(state, index, policy),
        Fact::Freezes(freezes) => {
            state.freezes.clone_from(freezes);
            index.changed.extend(state.registered().filter(|(_, node)| !node.is_idle).map(|(id, _)| id));
        }
        Fact::Node { node, facts } => fold_node(state, index, node, facts, at),
        Fact::NodeGone { node } => fold_node_gone(state, index, node, at),
        Fact::Report { node, report } => fold_report(state, index, node, report, at),
        Fact::Complaints { node, complaints } => {
            let id = state.index_of(node, Stage::InService, at);
            if state.node(id).conditions != *complaints {
                state.node_mut(id).conditions.clone_from(complaints);
                index.mark(id);
            }
        }
        Fact::Recorded { node, persisted } => fold_stored(state, index, node, persisted, at),
        Fact::RecordGone { node } => fold_stored_gone(state, index, node, at),
        Fact::Request { node, request } => {
            let id = state.index_of(node, Stage::InService, at);
            state.node_mut(id).request.clone_from(request);
            index.mark(id);
        }
        Fact::Gang { gang, facts } => gangs::fold(state, index, gang, Some(facts), at),
        Fact::GangGone { gang } => gangs::fold(state, index, gang, None, at),
        Fact::Asked { gang, node, drain, answer_by, saved_step } => {
            let answer = if saved_step.is_some() { Answer::Saved } else { Answer::Pending };
            fold_asked(state, index, (gang, node), Asked { drain: *drain, answer_by: *answer_by, answer });
        }
        Fact::Outcome { node, effect, gang, outcome } => {
            fold_outcome(state, index, node, (effect, gang.as_ref()), outcome, at);
        }
    }
}

fn fold_cell(state: &mut State, index: &mut Index, cell: &CellFacts, at: Timestamp) {
    let mut cell = cell.clone();
    state.epoch_highest = state.epoch_highest.max(cell.epoch);
    if cell.epoch < state.epoch_highest {
        // The store was restored and does not know what was done since. Change nothing until an operator has looked.
        cell.mode = Mode::Observe;
    }
    if cell.epoch != state.cell.epoch {
        state.epoch_since = at;
    }
    let before = std::mem::replace(&mut state.cell, cell);
    // The stored counters of the rules decide nothing about a node.
    let decides = |cell: &CellFacts| (cell.epoch, cell.mode, cell.approvals.clone());
    if decides(&before) != decides(&state.cell) {
        index.changed.extend(state.registered().filter(|(_, node)| !node.is_idle).map(|(id, _)| id));
    }
}

fn fold_synced(state: &mut State, index: &mut Index, as_of: Timestamp) {
    if state.synced_as_of.is_none_or(|known| as_of > known) {
        state.synced_as_of = Some(as_of);
        let stale = index.stale.iter().copied().filter(|id| state.node(*id).facts.is_some());
        index.changed.extend(stale);
    }
}

fn fold_policy(state: &mut State, index: &mut Index, policy: &Policy) {
    if state.policies.get(&policy.pool) != Some(policy) {
        let before = breakers::size(state, &policy.pool);
        state.policies.insert(policy.pool.clone(), policy.clone());
        breakers::resize(state, index, &policy.pool, before);
        // A code may have another meaning now, so idle nodes are evaluated too.
        let in_pool = |node: &Node| node.facts.as_ref().is_some_and(|facts| facts.pool == policy.pool);
        index.changed.extend(state.registered().filter(|(_, node)| in_pool(node)).map(|(id, _)| id));
    }
}

fn fold_node(state: &mut State, index: &mut Index, name: &NodeName, facts: &NodeFacts, at: Timestamp) {
    let stage = if facts.planned == PlannedWork::Bootstrap { Stage::Bootstrapping } else { Stage::InService };
    let id = state.index_of(name, stage, at);
    if state.node(id).facts.as_deref() == Some(facts) {
        return;
    }
    if state.node(id).facts.is_none() {
        // A report that arrived before the registration counts from its own arrival.
        stamp_last_report(state, id);
    }
    let old = state.node(id).facts.as_ref();
    if old.is_none_or(|old| old.pool != facts.pool || old.domains != facts.domains) {
        move_node(state, index, id, facts);
    } else {
        state.node_mut(id).facts = Some(Box::new(facts.clone()));
    }
    state.node_mut(id).refused.clear();
    index.mark(id);
    presence::settle(state, index, id);
}

/// A node joins a pool and its domains, and leaves those that it was in.
fn move_node(state: &mut State, index: &mut Index, id: NodeIndex, facts: &NodeFacts) {
    stop_waiting(state, index, id);
    let (events, grants) = (breakers::events(state, id), claims::grants(state, id));
    spares::count(state, index, id, false);
    let left = state.node(id).facts.as_ref().map(|old| (old.pool.clone(), breakers::size(state, &old.pool)));
    let joined_before = breakers::size(state, &facts.pool);
    let node = &mut state.nodes[id.get()];
    if left.is_some() {
        state.counts.arbiter.domains.leave(&node.membership, node.presence);
    }
    node.presence = Presence::In;
    node.membership = state.counts.arbiter.domains.join(&facts.pool, &facts.domains, Presence::In);
    node.facts = Some(Box::new(facts.clone()));
    if let Some((pool, before)) = left {
        breakers::resize(state, index, &pool, before);
    }
    breakers::resize(state, index, &facts.pool, joined_before);
    breakers::update(state, index, id, events);
    claims::update_rates(state, id, grants);
    shared_cause::move_node(state, index, id);
}

fn fold_node_gone(state: &mut State, index: &mut Index, name: &NodeName, at: Timestamp) {
    let Some(id) = state.names.get(name).copied() else { return };
    let node = state.node_mut(id);
    node.gone_at = if node.facts.is_some() { at } else { node.gone_at.min(at) };
    stop_waiting(state, index, id);
    let (events, grants) = (breakers::events(state, id), claims::grants(state, id));
    spares::count(state, index, id, false);
    let before = state.node(id).facts.as_ref().map(|facts| breakers::size(state, &facts.pool));
    let node = &mut state.nodes[id.get()];
    if let Some((facts, before)) = node.facts.take().zip(before) {
        let (membership, presence) = (std::mem::take(&mut node.membership), node.presence);
        node.presence = Presence::In;
        state.counts.arbiter.domains.leave(&membership, presence);
        index.budget_freed(&membership);
        breakers::update(state, index, id, events);
        claims::update_rates(state, id, grants);
        breakers::resize(state, index, &facts.pool, before);
        shared_cause::move_node(state, index, id);
    }
    forget_unstored(state, id, at);
    index.mark(id);
}

/// Keeps of a node that is not registered what is stored of it, just as a controller that starts now. The result is the
/// same whether the deletion of the node or a change of its stored status arrives first. A grant to avoid the node stays
/// as well: after its next registration, the evaluation removes it if the node has no avoid taint.
fn forget_unstored(state: &mut State, id: NodeIndex, at: Timestamp) {
    let node = state.node_mut(id);
    let stored = node.stored.as_deref().cloned();
    node.status = stored.unwrap_or_else(|| Persisted::new(Stage::InService, at));
    node.has_written = false;
    (node.passed, node.order_sent) = (None, None);
}

/// Counts the evidence of the node's last report in its status.
fn stamp_last_report(state: &mut State, id: NodeIndex) {
    let (catalogue, node) = state.with_catalogue(id);
    if let Some(report) = &node.report {
        health::stamp(catalogue, &mut node.status, &report.boot_id, &report.evidence, report.at);
    }
}

/// Removes a node from every set of waiting nodes. Its next evaluation adds it again.
pub(crate) fn stop_waiting(state: &mut State, index: &mut Index, id: NodeIndex) {
    index.wait_for_budget(id, &state.node(id).membership, false);
    keep(&mut index.approval, id, false);
    keep(&mut index.uncordoned, id, false);
    breakers::unflag(state, index, id);
}

fn fold_report(state: &mut State, index: &mut Index, name: &NodeName, report: &Report, at: Timestamp) {
    let id = state.index_of(name, Stage::InService, at);
    let (catalogue, node) = state.with_catalogue(id);
    let is_old = node.report.as_ref().is_some_and(|last| {
        last.uid == report.uid && last.boot_id == report.boot_id && last.sequence >= report.sequence
    });
    if is_old {
        return;
    }
    // The evidence on a node that is not registered is counted when it registers: until then its status is the stored one.
    if node.facts.is_some() {
        let stamped = health::stamp(catalogue, &mut node.status, &report.boot_id, report.evidence.as_slice(), at);
        state.losses.evidence += u64::from(stamped.uncounted);
    }
    let node = state.node_mut(id);
    let driver = node.report.as_ref().map(|last| &last.inventory.driver);
    let has_new_driver = driver != Some(&report.inventory.driver);
    // Every report repeats the inventory, which rarely changes.
    let inventory = match node.report.take() {
        Some(last) if last.inventory == report.inventory => last.inventory,
        Some(_) | None => report.inventory.clone(),
    };
    node.report = Some(Box::new(LastReport {
        uid: report.uid.clone(),
        boot_id: report.boot_id.clone(),
        sequence: report.sequence,
        at,
        inventory,
        evidence: report.evidence.as_slice().to_vec(),
        outcomes: report.outcomes.as_slice().to_vec(),
        results: report.results.as_slice().to_vec(),
        unrecognised: report.unrecognised.clone(),
    }));
    if has_new_driver {
        shared_cause::move_node(state, index, id);
    }
    index.mark(id);
}

fn fold_stored(state: &mut State, index: &mut Index, name: &NodeName, stored: &Persisted, at: Timestamp) {
    let id = state.index_of(name, stored.stage, at);
    let (events, grants) = (breakers::events(state, id), claims::grants(state, id));
    // Before this engine's first write, the stored status is what an earlier leader knew.
    if !state.node(id).has_written && state.node(id).facts.is_some() {
        state.node_mut(id).status = stored.clone();
        // A report that arrived first counts as well.
        stamp_last_report(state, id);
    }
    let node = state.node_mut(id);
    if node.stored.is_none() && node.facts.is_none() {
        // When the node went is not known. It is kept for the full time from now on.
        node.gone_at = node.gone_at.max(at);
    }
    let before = node.stored.replace(Box::new(stored.clone()));
    if node.facts.is_none() {
        forget_unstored(state, id, at);
    }
    verdicts::update(state, id, before.as_deref());
    breakers::update(state, index, id, events);
    claims::update_rates(state, id, grants);
    index.mark(id);
    presence::settle(state, index, id);
}

/// The stored status was deleted. A registered node is stored again. Of a node that is gone, nothing is known any more,
/// just as after a restart.
fn fold_stored_gone(state: &mut State, index: &mut Index, name: &NodeName, at: Timestamp) {
    let Some(id) = state.names.get(name).copied() else { return };
    let before = state.node_mut(id).stored.take();
    if state.node(id).facts.is_none() {
        forget_unstored(state, id, at);
    }
    verdicts::update(state, id, before.as_deref());
    index.mark(id);
    presence::settle(state, index, id);
}

fn fold_asked(state: &mut State, index: &mut Index, (gang, node): (&GangId, &NodeName), asked: Asked) {
    match state.gangs.ask(gang, node, asked) {
        // The request counts for every node of the gang that is being drained.
        Ok(gang) => index.mark_emptying(&gang.nodes),
        Err(forgotten) => state.losses.checkpoint_requests += u64::try_from(forgotten).unwrap_or(u64::MAX),
    }
    index.changed.extend(state.names.get(node));
}

/// An outcome may delay an effect, never advance a stage.
fn fold_outcome(
    state: &mut State,
    index: &mut Index,
    name: &NodeName,
    (effect, gang): (&OrderId, Option<&GangId>),
    outcome: &Outcome,
    at: Timestamp,
) {
    match outcome {
        Outcome::Refused(_) => {
            let id = state.index_of(name, Stage::InService, at);
            let refused = &mut state.node_mut(id).refused;
            // An action that may be repeated need not be remembered.
            refused.retain(|_, since| at.since(*since) < limits::REFUSED_RETRY);
            refused.insert((effect.clone(), gang.cloned()), at);
            index.mark(id);
        }
        // The watch shows what there is to see. The effect is ordered again after a while if it does not.
        Outcome::Applied | Outcome::Conflict | Outcome::Started | Outcome::Unknown => {}
    }
}
