//! Incidents: what people are told of. One for each domain or driver version that is blamed, whatever number of nodes
//! shows it, and one for each node that has a fault of its own. Nothing is kept: who shows what says it all.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_health::{FaultStatus, NodeFault};
use mainstay_model::{NodeIndex, NodeName, Part, RuleName, Serial, Stage, Subject, Timestamp};

use crate::Engine;
use crate::node::Node;

/// One thing that is wrong, and everybody it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Who is blamed.
    pub subject: Subject,
    /// By which rule.
    pub rule: RuleName,
    /// Since when.
    pub since: Timestamp,
    /// The nodes that show it, in order.
    pub nodes: Vec<NodeName>,
}

impl Engine {
    /// Every incident that is open, the shared ones first.
    #[must_use]
    pub fn incidents(&self) -> Vec<Incident> {
        let mut explained: BTreeMap<RuleName, BTreeSet<NodeIndex>> = BTreeMap::new();
        let mut incidents = Vec::new();
        for blamed in self.blamed() {
            explained.entry(blamed.rule.clone()).or_default().extend(&blamed.nodes);
            let mut nodes: Vec<NodeName> = blamed.nodes.iter().map(|at| self.node(*at).name.clone()).collect();
            nodes.sort_unstable();
            incidents.push(Incident { subject: blamed.subject, rule: blamed.rule, since: blamed.since, nodes });
        }
        let is_explained =
            |rule: &RuleName, at: NodeIndex| explained.get(rule).is_some_and(|nodes| nodes.contains(&at));
        for index in self.names.values().copied() {
            let node = self.node(index);
            let own = |show: &&NodeFault| show.shown == FaultStatus::Still && !is_explained(&show.rule, index);
            let Some(show) = node.shows.iter().find(own).filter(|_| is_condemned(node)) else { continue };
            incidents.push(Incident {
                subject: subject(node, node.persisted.cause.as_ref().and_then(|cause| cause.device.as_ref())),
                rule: show.rule.clone(),
                since: show.since,
                nodes: vec![node.name.clone()],
            });
        }
        incidents
    }
}

/// Whether a rule took the node out, or wants to.
const fn is_condemned(node: &Node) -> bool {
    match node.persisted.stage {
        Stage::Suspect => node.wanted_by.is_some(),
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => true,
        Stage::InService | Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading => false,
        Stage::Held | Stage::Retired => false,
    }
}

/// The part that is at fault where its inventory has it, or the node.
pub(crate) fn subject(node: &Node, device: Option<&Serial>) -> Subject {
    let part = device.zip(node.heard.as_deref()).and_then(|(device, heard)| {
        let is = |serial: &Serial| serial == device;
        let inventory = &heard.inventory;
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
