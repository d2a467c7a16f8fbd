//! Incidents: one for each shared cause, however many nodes show its fault, and one for each node with a fault of its own.
//! They are computed from the faults that nodes show; nothing is stored.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_health::{FaultStatus, NodeFault};
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
    /// The nodes that show the fault, in order.
    pub nodes: Vec<NodeName>,
}

/// Every open incident, shared ones first.
pub(crate) fn open(state: &State) -> Vec<Incident> {
    let mut explained: BTreeMap<RuleName, BTreeSet<NodeIndex>> = BTreeMap::new();
    let mut incidents = Vec::new();
    for cause in shared_cause::all(state) {
        explained.entry(cause.rule.clone()).or_default().extend(&cause.nodes);
        let mut nodes: Vec<NodeName> = cause.nodes.iter().map(|id| state.node(*id).name.clone()).collect();
        nodes.sort_unstable();
        incidents.push(Incident { subject: cause.subject, rule: cause.rule, since: cause.since, nodes });
    }
    let is_explained = |rule: &RuleName, id: NodeIndex| explained.get(rule).is_some_and(|nodes| nodes.contains(&id));
    for id in state.names.values().copied() {
        let node = state.node(id);
        let is_own = |fault: &&NodeFault| fault.shown == FaultStatus::Still && !is_explained(&fault.rule, id);
        let Some(fault) = node.faults.iter().find(is_own).filter(|_| is_flagged(node)) else { continue };
        incidents.push(Incident {
            subject: subject(node, node.status.cause.as_ref().and_then(|cause| cause.device.as_ref())),
            rule: fault.rule.clone(),
            since: fault.since,
            nodes: vec![node.name.clone()],
        });
    }
    incidents
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
