//! Snapshots: entries that rebuild an engine, so that a journal can begin anywhere. Facts are repeated as observations, and
//! what the engine derived from earlier facts and decisions is carried over as it is. Counts over the fleet are counted again.

use std::collections::BTreeSet;

use mainstay_health::{FaultStatus, NodeFault};
use mainstay_model::{
    Bounded, CellFacts, Fact, GangFacts, GangId, NodeIndex, NodeName, Nonce, Observation, OrderId, Persisted, PoolName,
    Reason, Report, RuleName, Stage, Timestamp, WaitingOn,
};
use mainstay_remedy::drain::{Answer, Asked};
use serde::{Deserialize, Serialize};

use super::Entry;
use crate::cell_record::CellRecordTimer;
use crate::index::{Index, keep};
use crate::state::State;
use crate::state::gangs::Gang;
use crate::state::node::{LastReport, Node, Passed};
use crate::{Engine, breakers, claims, presence, shared_cause};

/// State of an engine that belongs to no node. The default is an engine without facts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EngineState {
    decided_at: Option<Timestamp>,
    cell_record: CellRecordTimer,
}

/// What the engine keeps of one node beyond its facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeState {
    node: NodeName,
    /// The status as the engine knows it; none where it is the stored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Box<Persisted>>,
    has_written: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused: Vec<(OrderId, Option<GangId>, Timestamp)>,
    waiting_on: WaitingOn,
    message: Reason,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    faults: Vec<(RuleName, Timestamp, bool)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flagged_by: Option<Box<(PoolName, RuleName)>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also_flagged_by: Vec<(PoolName, RuleName)>,
    is_idle: bool,
    #[serde(default)]
    is_to_avoid: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passed: Option<Box<Passed>>,
    store_after: Timestamp,
    store_pause_seconds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order_sent: Option<Box<(Nonce, Timestamp)>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    listed: Vec<Listed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wake_at: Option<Timestamp>,
}

/// Sets of the index that a node can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Listed {
    Changed,
    WaitsForBudget,
    Approval,
    Emptying,
    Uncordoned,
    Stale,
}

/// Entries that rebuild this engine.
pub(super) fn entries(engine: &Engine) -> Vec<Entry> {
    let Engine { state, index: _, cell_record, auditor: _, losses: _, decided_at, evaluated: _ } = engine;
    // No `..`, here and below: a new field must be carried over or rebuilt.
    let State {
        catalogue: _,
        guards: _,
        cell,
        epoch_highest,
        epoch_since,
        synced_as_of,
        policies,
        freezes,
        names: _,
        nodes: _,
        free: _,
        gangs,
        counts: _,
        losses: _,
    } = state;
    let begin = EngineState { decided_at: *decided_at, cell_record: cell_record.clone() };
    let mut entries = vec![Entry::Begin(Box::new(begin))];
    let at = decided_at.unwrap_or_default();
    let mut add = |at: Timestamp, fact: Fact| entries.push(Entry::Observe(Observation { at, fact }));
    if *epoch_highest > cell.epoch {
        add(*epoch_since, Fact::Cell(CellFacts { epoch: *epoch_highest, ..CellFacts::default() }));
    }
    add(*epoch_since, Fact::Cell(cell.clone()));
    synced_as_of.iter().for_each(|as_of| add(at, Fact::Synced { as_of: *as_of }));
    policies.values().for_each(|policy| add(at, Fact::Policy(Box::new(policy.clone()))));
    add(at, Fact::Freezes(freezes.clone()));
    state.known().for_each(|(_, node)| facts_of(node, at, &mut add));
    for (id, gang) in &gangs.list {
        add(at, Fact::Gang { gang: GangId::clone(id), facts: Box::new(gang_facts(state, gang)) });
        gang.asked.iter().for_each(|(node, asked)| add(at, asked_fact(id, node, *asked)));
    }
    for (id, asked) in &gangs.early_asked {
        asked.iter().for_each(|(node, asked)| add(at, asked_fact(id, node, *asked)));
    }
    entries.extend(state.known().map(|(id, node)| Entry::Restore(Box::new(NodeState::of(engine, id, node)))));
    entries.push(Entry::Restored);
    entries
}

/// The facts of one node, each with the time that still counts.
fn facts_of(node: &Node, at: Timestamp, add: &mut impl FnMut(Timestamp, Fact)) {
    let name = || node.name.clone();
    if let Some(facts) = &node.facts {
        add(at, Fact::Node { node: name(), facts: facts.clone() });
    }
    if let Some(persisted) = &node.stored {
        add(at, Fact::Recorded { node: name(), persisted: persisted.clone() });
    }
    if let Some(last) = &node.report {
        let LastReport { uid, boot_id, sequence, at, inventory, evidence, outcomes, results, unrecognised } = &**last;
        let report = Box::new(Report {
            uid: uid.clone(),
            boot_id: boot_id.clone(),
            sequence: *sequence,
            inventory: inventory.clone(),
            evidence: Bounded::within(evidence.iter().cloned()),
            outcomes: Bounded::within(outcomes.iter().cloned()),
            results: Bounded::within(results.iter().cloned()),
            unrecognised: unrecognised.clone(),
        });
        add(*at, Fact::Report { node: name(), report });
    }
    if !node.conditions.as_slice().is_empty() {
        add(at, Fact::Complaints { node: name(), complaints: node.conditions.clone() });
    }
    // Also without a request: it creates the node.
    add(at, Fact::Request { node: name(), request: node.request.clone() });
    if node.facts.is_none() {
        add(node.gone_at, Fact::NodeGone { node: name() });
    }
}

fn gang_facts(state: &State, gang: &Gang) -> GangFacts {
    let Gang { nodes, early, contract, checkpoints, progressed_at, asked: _ } = gang;
    let known = nodes.iter().map(|id| state.node(*id).name.clone());
    let nodes = Bounded::within(known.chain(early.iter().cloned()));
    GangFacts { nodes, contract: *contract, checkpoints: *checkpoints, progressed_at: *progressed_at }
}

fn asked_fact(gang: &GangId, node: &NodeName, Asked { drain, answer_by, answer }: Asked) -> Fact {
    // The engine keeps whether the gang saved, not the step.
    let saved_step = (answer == Answer::Saved).then_some(0);
    Fact::Asked { gang: gang.clone(), node: node.clone(), drain, answer_by, saved_step }
}

impl EngineState {
    /// An engine with this state and no facts.
    pub(super) fn begin(&self, fresh: Engine) -> Engine {
        Engine { cell_record: self.cell_record.clone(), decided_at: self.decided_at, ..fresh }
    }
}

impl NodeState {
    fn of(engine: &Engine, id: NodeIndex, node: &Node) -> Self {
        let Node {
            name,
            facts: _,
            gone_at: _,
            report: _,
            request: _,
            conditions: _,
            status,
            stored,
            has_written,
            refused,
            gangs: _,
            membership: _,
            presence: _,
            waiting_on,
            message,
            is_spare: _,
            places: _,
            faults,
            flagged_by,
            also_flagged_by,
            is_idle,
            is_to_avoid,
            passed,
            store_after,
            store_pause_seconds,
            order_sent,
        } = node;
        let (listed, wake_at) = in_index(&engine.index, id);
        let fault = |fault: &NodeFault| (fault.rule.clone(), fault.since, fault.shown == FaultStatus::Still);
        Self {
            node: name.clone(),
            status: (stored.as_deref() != Some(status)).then(|| Box::new(status.clone())),
            has_written: *has_written,
            refused: refused.iter().map(|((id, gang), at)| (id.clone(), gang.clone(), *at)).collect(),
            waiting_on: *waiting_on,
            message: message.clone(),
            faults: faults.iter().map(fault).collect(),
            flagged_by: flagged_by.clone(),
            also_flagged_by: also_flagged_by.clone(),
            is_idle: *is_idle,
            is_to_avoid: *is_to_avoid,
            passed: passed.clone(),
            store_after: *store_after,
            store_pause_seconds: *store_pause_seconds,
            order_sent: order_sent.clone(),
            listed,
            wake_at,
        }
    }

    /// Gives the node this state. The counts over the fleet follow. Returns the node if it changed since its last
    /// evaluation.
    pub(super) fn restore(&self, engine: &mut Engine) -> Option<NodeIndex> {
        let Engine { state, index, .. } = engine;
        let id = state.index_of(&self.node, Stage::InService, Timestamp::default());
        let (events, grants) = (breakers::events(state, id), claims::grants(state, id));
        let node = state.node_mut(id);
        let stored = node.stored.as_deref();
        if let Some(status) = self.status.as_deref().or(stored) {
            node.status = status.clone();
        }
        node.has_written = self.has_written;
        node.refused = self.refused.iter().map(|(id, gang, at)| ((id.clone(), gang.clone()), *at)).collect();
        node.waiting_on = self.waiting_on;
        node.message = self.message.clone();
        node.is_idle = self.is_idle;
        node.is_to_avoid = self.is_to_avoid;
        node.passed.clone_from(&self.passed);
        node.store_after = self.store_after;
        node.store_pause_seconds = self.store_pause_seconds;
        node.order_sent.clone_from(&self.order_sent);
        breakers::update(state, index, id, events);
        claims::update_rates(state, id, grants);
        presence::settle(state, index, id);
        if state.node(id).facts.is_some() {
            let shown = |still: bool| if still { FaultStatus::Still } else { FaultStatus::Before };
            let fault = |(rule, since, still): &(RuleName, Timestamp, bool)| NodeFault {
                rule: rule.clone(),
                since: *since,
                shown: shown(*still),
            };
            shared_cause::set_faults(state, index, id, self.faults.iter().map(fault).collect());
        }
        breakers::set_flags(state, index, id, self.flagged_by.clone(), self.also_flagged_by.clone());
        let is_in = |list: Listed| self.listed.contains(&list);
        index.wait_for_budget(id, &state.node(id).membership, is_in(Listed::WaitsForBudget));
        keep(&mut index.approval, id, is_in(Listed::Approval));
        keep(&mut index.emptying, id, is_in(Listed::Emptying));
        keep(&mut index.uncordoned, id, is_in(Listed::Uncordoned));
        keep(&mut index.stale, id, is_in(Listed::Stale));
        index.wake(id, self.wake_at);
        is_in(Listed::Changed).then_some(id)
    }
}

/// The sets of the index that the node is in, and when it has to be evaluated again.
fn in_index(index: &Index, id: NodeIndex) -> (Vec<Listed>, Option<Timestamp>) {
    let Index {
        changed,
        timers: _,
        wake_at,
        budget: _,
        waits_for_budget,
        approval,
        emptying,
        uncordoned,
        stale,
        flagged: _,
        also_flagged: _,
    } = index;
    let lists = [
        (Listed::Changed, changed),
        (Listed::WaitsForBudget, waits_for_budget),
        (Listed::Approval, approval),
        (Listed::Emptying, emptying),
        (Listed::Uncordoned, uncordoned),
        (Listed::Stale, stale),
    ];
    let listed = lists.into_iter().filter(|(_, set)| set.contains(&id)).map(|(list, _)| list).collect();
    (listed, wake_at.get(&id).copied())
}

/// Ends a snapshot: only nodes that had changed in the recorded engine are evaluated by its next decision.
pub(super) fn end(engine: &mut Engine, changed: BTreeSet<NodeIndex>) {
    engine.index.changed = changed;
}
