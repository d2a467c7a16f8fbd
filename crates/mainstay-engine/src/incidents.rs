//! Incidents: one for each shared cause, however many nodes show its fault, and one for each node with a fault of its own.
//! They are computed from the faults that nodes show; nothing is stored.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use mainstay_health::{FaultStatus, NodeFault, SharedCause};
use mainstay_model::{NodeIndex, NodeName, Part, RuleName, Serial, Stage, Subject, Timestamp};

use crate::shared_cause;
use crate::state::State;
use crate::state::node::Node;

/// One fault, and the nodes that it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// The suspected cause.
    pub subject: Subject,
    /// The rule that found it.
    pub rule: RuleName,
    /// Start of the incident.
    pub since: Timestamp,
    /// The nodes that show the fault, in order; then those with other symptoms that the cause explains.
    pub nodes: Vec<NodeName>,
}

/// Every open incident, shared ones first. A failure domain that is the cause of one rule also explains the other
/// symptoms that it can cause on its nodes.
pub(crate) fn open(state: &State) -> Vec<Incident> {
    let causes = causes(state);
    let mut also: Vec<BTreeSet<NodeIndex>> = vec![BTreeSet::new(); causes.len()];
    let mut own = Vec::new();
    for id in state.names.values().copied() {
        let node = state.node(id);
        if !is_flagged(node) {
            continue;
        }
        let shown = node.faults.iter().filter(|fault| fault.shown == FaultStatus::Still);
        for fault in shown {
            let Some(cause) = causes.iter().position(|cause| explains(cause, id, node, &fault.rule, fault.since))
            else {
                own.push(own_incident(node, fault));
                break;
            };
            also[cause].insert(id);
        }
    }
    let name = |id: &NodeIndex| state.node(*id).name.clone();
    let shared = causes.into_iter().zip(also).map(|(cause, mut also)| {
        also.retain(|id| !cause.nodes.contains(id));
        let (mut nodes, mut also): (Vec<_>, Vec<_>) =
            (cause.nodes.iter().map(name).collect(), also.iter().map(name).collect());
        nodes.sort_unstable();
        also.sort_unstable();
        nodes.append(&mut also);
        Incident { subject: cause.subject, rule: cause.rule, since: cause.since, nodes }
    });
    shared.chain(own).collect()
}

/// The incident of a fault that no shared cause explains.
fn own_incident(node: &Node, fault: &NodeFault) -> Incident {
    let is_first = node.faults.first() == Some(fault);
    // The node was removed for its first fault, so a later one may be on another part.
    let cause = node.status.cause.as_ref().filter(|cause| is_first || cause.rule == fault.rule);
    Incident {
        subject: subject(node, cause.and_then(|cause| cause.device.as_ref())),
        rule: fault.rule.clone(),
        since: fault.since,
        nodes: vec![node.name.clone()],
    }
}

/// Every shared cause that no larger one explains.
fn causes(state: &State) -> Vec<SharedCause> {
    let mut all = shared_cause::all(state);
    all.sort_by_key(|cause| Reverse(cause.nodes.len()));
    let mut kept: Vec<SharedCause> = Vec::new();
    for cause in all {
        let is_explained = kept.iter().any(|other| {
            let mut nodes = cause.nodes.iter();
            nodes.all(|id| explains(other, *id, state.node(*id), &cause.rule, cause.since))
        });
        if !is_explained {
            kept.push(cause);
        }
    }
    kept
}

/// Whether a shared cause explains what a rule finds on a node since a time.
fn explains(cause: &SharedCause, id: NodeIndex, node: &Node, rule: &RuleName, since: Timestamp) -> bool {
    if cause.rule == *rule {
        return cause.nodes.binary_search(&id).is_ok();
    }
    let is_within = match &cause.subject {
        Subject::Domain { level, name } => {
            node.facts.as_ref().is_some_and(|facts| facts.domains.get(level) == Some(name))
        }
        Subject::Driver(_) | Subject::Node(_) | Subject::Part { .. } => false,
    };
    is_within && cause.can_cause(rule, since)
}

/// Whether a rule removed the node or flags it for removal.
const fn is_flagged(node: &Node) -> bool {
    node.status.stage.is_treated() || matches!(node.status.stage, Stage::Suspect) && node.flagged_by.is_some()
}

/// The faulty part if the inventory lists it, or else the node.
pub(crate) fn subject(node: &Node, device: Option<&Serial>) -> Subject {
    let part = device.zip(node.report.as_deref()).and_then(|(device, report)| {
        let is = |serial: &Serial| serial == device;
        let inventory = &report.inventory;
        if inventory.gpus.as_slice().iter().any(|gpu| is(&gpu.serial)) {
            Some((Part::Gpu, device))
        } else if inventory.nics.as_slice().iter().any(|nic| is(&nic.serial)) {
            Some((Part::Nic, device))
        } else {
            is(&inventory.board).then_some((Part::Board, device))
        }
    });
    match part {
        Some((part, serial)) => Subject::Part { part, serial: serial.clone() },
        None => Subject::Node(node.name.clone()),
    }
}
