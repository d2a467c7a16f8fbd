//! Shared causes: the faults that nodes show are reported to `mainstay-health`, which names the failure domain or driver
//! version that explains them. A node whose faults are all explained waits; a node with a fault of its own does not.

use mainstay_health::{FaultStatus, Findings, NodeFault, NodeGroup, SharedCause};
use mainstay_model::{Bounded, Finding, Level, NodeIndex, Response, RuleName, Stage, Subject, Timestamp, Transition};
use mainstay_remedy::life;
use mainstay_remedy::verdict::UNREACHABLE;

use crate::guard::Guard;
use crate::index::Index;
use crate::plan::cause::{REQUEST, UNCONFIRMED};
use crate::state::State;
use crate::state::node::Node;
use crate::view::{Signals, signals};

/// Levels that can be a shared cause. A spine is too wide for half of it to be one fault; its leaves show it.
const LEVELS: [Level; 4] = [Level::NvlinkDomain, Level::Rack, Level::Pdu, Level::Leaf];

/// Which faults of a node a shared cause explains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Explained {
    /// No fault.
    Nothing,
    /// Some faults; these are the node's own.
    Partly(Findings),
    /// All faults, by a failure domain.
    ByDomain,
    /// All faults, by the driver version.
    ByDriver,
}

/// Every shared cause.
pub(crate) fn all(state: &State) -> Vec<SharedCause> {
    let is_on = |cause: &SharedCause| match &cause.subject {
        Subject::Driver(_) => state.is_on(Guard::SharedDriver),
        Subject::Domain { .. } | Subject::Node(_) | Subject::Part { .. } => state.is_on(Guard::SharedDomain),
    };
    state.counts.shared.blamed().into_iter().filter(is_on).collect()
}

/// The shared cause of the fault for which a node is flagged.
pub(crate) fn of_flag(state: &State, node: &Node) -> Option<SharedCause> {
    node.flagged_by.as_deref().and_then(|(_, rule)| of_rule(state, node, rule))
}

/// The shared cause of what a rule found on a node.
pub(crate) fn of_rule(state: &State, node: &Node, rule: &RuleName) -> Option<SharedCause> {
    state.counts.shared.blamed_for(&node.places, rule, |group| match group {
        NodeGroup::Domain(..) => state.is_on(Guard::SharedDomain),
        NodeGroup::Driver(..) => state.is_on(Guard::SharedDriver),
        NodeGroup::Pool(_) => false,
    })
}

/// Updates the faults that a node shows. All changed nodes are updated before the first of them is decided on, so that a
/// leaf is named before its first node is removed.
pub(crate) fn update_faults(state: &mut State, index: &mut Index, id: NodeIndex, findings: &Findings, now: Timestamp) {
    let after = faults(state, state.node(id), findings, now);
    set_faults(state, index, id, after);
}

/// Sets the faults that a node shows, and marks every node that they concern.
pub(crate) fn set_faults(state: &mut State, index: &mut Index, id: NodeIndex, after: Vec<NodeFault>) {
    let node = state.node_mut(id);
    if node.faults != after {
        let before = std::mem::replace(&mut node.faults, after);
        replace_faults(state, index, id, &before);
    }
}

fn replace_faults(state: &mut State, index: &mut Index, id: NodeIndex, before: &[NodeFault]) {
    let Node { places, faults, .. } = &state.nodes[id.get()];
    let of = |faults: &'_ [NodeFault], rule: &RuleName| faults.iter().position(|fault| fault.rule == *rule);
    for old in before {
        let new = of(faults, &old.rule).map(|at| &faults[at]);
        index.changed.extend(state.counts.shared.turn(id, places, Some(old), new));
    }
    for new in faults.iter().filter(|new| of(before, &new.rule).is_none()) {
        index.changed.extend(state.counts.shared.turn(id, places, None, Some(new)));
    }
}

/// A node is in other groups than before: it joined, moved, left, or runs another driver.
pub(crate) fn move_node(state: &mut State, index: &mut Index, id: NodeIndex) {
    let groups = groups_of(state.node(id));
    let faults = std::mem::take(&mut state.node_mut(id).faults);
    replace_faults(state, index, id, &faults);
    let before = std::mem::take(&mut state.node_mut(id).places);
    index.changed.extend(state.counts.shared.leave(&before));
    if state.node(id).facts.is_some() {
        let (joined, touched) = state.counts.shared.join(groups);
        index.changed.extend(touched);
        let node = state.node_mut(id);
        (node.places, node.faults) = (joined, faults);
        replace_faults(state, index, id, &[]);
    }
}

/// The groups of nodes that may share a cause with a node.
pub(crate) fn groups_of(node: &Node) -> Vec<NodeGroup> {
    let Some(facts) = node.facts.as_deref() else { return Vec::new() };
    let domains = LEVELS.iter().filter_map(|level| Some(NodeGroup::Domain(*level, facts.domains.get(level)?.clone())));
    let driver =
        node.report.as_ref().map(|report| NodeGroup::Driver(facts.pool.clone(), report.inventory.driver.clone()));
    domains.chain(driver).chain([NodeGroup::Pool(facts.pool.clone())]).collect()
}

/// The faults that a node shows: those that flag it, the one that it was removed for, or the one that it returned from. A
/// node that is not reachable shows that from the first signal on, so that a failed leaf is named before the second one.
fn faults(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Vec<NodeFault> {
    let history = node.status.history.as_slice();
    let last = |stage: Stage| history.iter().rev().find(|transition| transition.to == stage);
    let flagging = findings.list.as_slice().iter().take_while(|finding| finding.response == Response::Remove);
    let (since, first) = match node.status.stage {
        Stage::InService | Stage::Suspect => {
            let is_new = node.status.stage == Stage::InService;
            let is_silent = signals(state, node, now) != Signals::Reachable;
            (Some(if is_new { now } else { node.status.since }), is_silent.then(|| UNREACHABLE.get()))
        }
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => {
            let by_rule = last(Stage::Quarantined).filter(|transition| transition.rule != REQUEST);
            (last(Stage::Suspect).map(|began| began.at), by_rule.map(|transition| transition.rule.clone()))
        }
        Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => (None, None),
    };
    let mut faults: Vec<NodeFault> = Vec::new();
    if let Some(since) = since {
        for rule in first.into_iter().chain(flagging.map(|finding| finding.rule.clone())) {
            if !faults.iter().any(|fault| fault.rule == rule) {
                faults.push(NodeFault { rule, since, shown: FaultStatus::Still });
            }
        }
    }
    if let (true, Some(Transition { rule, at, .. })) = (faults.is_empty(), last(Stage::Suspect)) {
        let rule = if *rule == UNCONFIRMED { UNREACHABLE.get() } else { rule.clone() };
        faults.push(NodeFault { rule, since: *at, shown: FaultStatus::Before });
    }
    faults
}

/// Which faults of a node that gets jobs a shared cause explains. A node that is already out of service continues.
pub(crate) fn explain(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Explained {
    if !node.status.stage.gets_jobs() {
        return Explained::Nothing;
    }
    let list = findings.list.as_slice();
    let flags = |finding: &Finding| finding.response == Response::Remove;
    let is_lost = signals(state, node, now) == Signals::Both;
    let Some(worst) = list.first().filter(|finding| flags(finding)) else {
        let by = is_lost.then(|| explains(state, node, &UNREACHABLE.get())).flatten();
        return by.unwrap_or(Explained::Nothing);
    };
    let is_own = |rule: &RuleName| explains(state, node, rule).is_none();
    let is_own_silence = is_lost && is_own(&UNREACHABLE.get());
    if is_own_silence || list.iter().any(|finding| flags(finding) && is_own(&finding.rule)) {
        let kept: Vec<Finding> =
            list.iter().filter(|finding| !flags(finding) || is_own(&finding.rule)).cloned().collect();
        if kept.len() == list.len() {
            return Explained::Nothing;
        }
        return Explained::Partly(Findings { list: Bounded::within(kept), ..findings.clone() });
    }
    explains(state, node, &worst.rule).unwrap_or(Explained::Nothing)
}

/// What else explains the finding of a rule on a node.
pub(crate) fn explains(state: &State, node: &Node, rule: &RuleName) -> Option<Explained> {
    state.counts.shared.explains(&node.places, rule).find_map(|group| match group {
        NodeGroup::Domain(..) => state.is_on(Guard::SharedDomain).then_some(Explained::ByDomain),
        NodeGroup::Driver(..) => state.is_on(Guard::SharedDriver).then_some(Explained::ByDriver),
        NodeGroup::Pool(_) => None,
    })
}

/// Whether the node waits for the shared cause. If it is a driver version, the rule itself may be wrong. Then its breaker
/// decides: it lets some nodes through, then one at a time as a test for all.
pub(crate) fn blamed(
    state: &State,
    node: &Node,
    explained: &Explained,
    accuser: Option<&RuleName>,
    now: Timestamp,
) -> life::Blamed {
    let is_let_through = || {
        let (Some(rule), Some(facts)) = (accuser, node.facts.as_deref()) else { return false };
        state.counts.breakers.standing(&facts.pool, rule, now).lets_through()
    };
    match explained {
        Explained::Nothing | Explained::Partly(_) => life::Blamed::Node,
        Explained::ByDriver if is_let_through() => life::Blamed::Node,
        Explained::ByDomain | Explained::ByDriver => life::Blamed::Domain,
    }
}
