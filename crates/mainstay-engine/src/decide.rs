//! One decision: evaluates every changed node, nodes that may free a budget first. The order does not depend on which fact
//! arrived first.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use mainstay_arbiter::ruling::Ruling;
use mainstay_health::Findings;
use mainstay_model::{Effect, NodeIndex, NodeName, Permit, Step, Timestamp, Urgency, WaitingOn};

use crate::index::Index;
use crate::state::State;
use crate::view::findings;
use crate::{claims, gone, plan, shared_cause};

/// An evaluation can mark other nodes: it frees a budget, or changes a breaker. These nodes leave service at most, which
/// marks nodes that only wait. So this many rounds are always enough.
const ROUNDS_MAX: u32 = 6;

/// The evaluated nodes in their order, with the effects on each.
#[derive(Debug, Default)]
pub(crate) struct Evaluated {
    pub(crate) nodes: Vec<NodeIndex>,
    effects: BTreeMap<NodeIndex, Vec<Effect>>,
    /// Nodes that are gone and whose stored status is to be deleted.
    pub(crate) forgotten: BTreeSet<NodeName>,
    /// Number of evaluations; a node may be evaluated more than once.
    pub(crate) count: u64,
}

impl Evaluated {
    fn add(&mut self, id: NodeIndex, effects: Vec<Effect>) {
        self.count += 1;
        match self.effects.entry(id) {
            Entry::Vacant(entry) => {
                self.nodes.push(id);
                entry.insert(effects);
            }
            Entry::Occupied(mut entry) => replace(entry.get_mut(), effects),
        }
    }

    /// The effects on all nodes, in the order of the nodes.
    pub(crate) fn effects(&mut self) -> Vec<Effect> {
        self.nodes.iter().filter_map(|id| self.effects.remove(id)).flatten().collect()
    }
}

/// Evaluates every node that changed, until no evaluation changes another node.
pub(crate) fn evaluate_changed(state: &mut State, index: &mut Index, now: Timestamp) -> Evaluated {
    let mut evaluated = Evaluated::default();
    for _ in 0..ROUNDS_MAX {
        index.ring(now);
        let overtaken = overtaken(state, index, now);
        index.changed.extend(overtaken);
        let mut order: Vec<NodeIndex> = std::mem::take(&mut index.changed).into_iter().collect();
        if order.is_empty() {
            break;
        }
        order.sort_unstable_by(|a, b| priority(state, *a).cmp(&priority(state, *b)));
        let found: Vec<Findings> = order.iter().map(|id| look(state, index, *id, now)).collect();
        for (id, findings) in order.into_iter().zip(found) {
            // This evaluation sees everything that marked the node since the round began.
            index.changed.remove(&id);
            if state.node(id).facts.is_none() {
                evaluated.forgotten.extend(gone::evaluate(state, index, id, now));
                evaluated.add(id, Vec::new());
                continue;
            }
            let effects = plan::evaluate(state, index, id, findings, now);
            evaluated.add(id, effects);
        }
    }
    evaluated
}

/// Computes the findings on a node and updates the faults that it shows.
pub(crate) fn look(state: &mut State, index: &mut Index, id: NodeIndex, now: Timestamp) -> Findings {
    if state.node(id).facts.is_none() {
        return Findings::default();
    }
    let findings = findings(state, state.node(id), now);
    state.losses.findings += u64::from(findings.dropped);
    shared_cause::update_faults(state, index, id, &findings, now);
    findings
}

/// Nodes that wait for an approval while other nodes used their budget. They wait for the budget now: an operator who
/// approved them would see nothing happen.
fn overtaken(state: &State, index: &Index, now: Timestamp) -> Vec<NodeIndex> {
    let has_lost = |id: &NodeIndex| {
        let node = state.node(*id);
        let ruling = claims::ruling(state, node, &claims::claim(state, node), Permit::NeedsApproval, now);
        !matches!(ruling, Ruling::Granted | Ruling::Waits(WaitingOn::Approval, _))
    };
    index.approval.iter().copied().filter(has_lost).collect()
}

/// The order of evaluation: nodes that are out of service first, also in a dry run, because they may give back their place;
/// then by urgency, by time, and by name.
fn priority(state: &State, id: NodeIndex) -> (bool, bool, Option<Urgency>, Timestamp, &NodeName) {
    let node = state.node(id);
    let urgency = node.status.cause.as_ref().map(|cause| cause.urgency);
    let is_in_service = node.status.stage.gets_jobs() && node.open_proposal().is_none();
    (is_in_service, urgency.is_none(), urgency, node.status.since, &node.name)
}

/// A later evaluation replaces the effects of an earlier one. A status write that was due stays due, unless a later one or
/// an order, which is stored as well, takes its place.
fn replace(before: &mut Vec<Effect>, after: Vec<Effect>) {
    let is_record = |effect: &Effect| matches!(effect.step, Step::Store(_));
    let is_stored = after.iter().any(|effect| is_record(effect) || matches!(effect.step, Step::Order(_)));
    before.retain(|effect| is_record(effect) && !is_stored);
    before.extend(after);
}
