//! Gangs with their nodes, checkpoint contracts and checkpoint requests. The checks decide how much time a gang gets.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_model::{Contract, GangFacts, GangId, NodeName, Timestamp};

/// One checkpoint request to a gang, with its drain and its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckpointRequest {
    /// The drain that the request belongs to, as the time at which the node entered Draining.
    pub(crate) drain: Timestamp,
    pub(crate) answer_by: Timestamp,
    pub(crate) is_answered: bool,
}

#[derive(Debug, Clone, Default)]
struct Gang {
    /// `None` until the gang itself was observed: a request may be listed first.
    contract: Option<Contract>,
    progressed_at: Option<Timestamp>,
    /// Nodes of the gang, in order.
    nodes: Vec<Arc<NodeName>>,
    asks: BTreeMap<NodeName, CheckpointRequest>,
}

/// Gangs on one node, with their shared name.
#[derive(Debug, Clone)]
struct NodeGangs {
    name: Arc<NodeName>,
    gangs: Vec<Arc<GangId>>,
}

/// Running gangs, also indexed by node; both share one copy of each name. A name is stored once and shared by both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gangs {
    gangs: BTreeMap<Arc<GangId>, Gang>,
    on: BTreeMap<Arc<NodeName>, NodeGangs>,
}

impl Gangs {
    /// Returns the contract of a gang; `None` if the gang is unknown.
    pub(crate) fn contract(&self, gang: &GangId) -> Option<Contract> {
        self.gangs.get(gang)?.contract
    }

    /// Returns the checkpoint requests to a gang, with the node whose drain caused each.
    pub(crate) fn asks(&self, gang: &GangId) -> impl Iterator<Item = (&NodeName, CheckpointRequest)> {
        self.gangs.get(gang).into_iter().flat_map(|gang| gang.asks.iter().map(|(node, ask)| (node, *ask)))
    }

    /// Returns the gangs that still run on a node.
    pub(crate) fn on(&self, node: &NodeName) -> impl ExactSizeIterator<Item = &GangId> {
        self.on.get(node).map_or(&[][..], |busy| &busy.gangs).iter().map(AsRef::as_ref)
    }

    /// Returns when the gangs on a node last made progress, where that is known.
    pub(crate) fn progress(&self, node: &NodeName) -> impl Iterator<Item = Timestamp> {
        self.on(node).filter_map(|gang| self.gangs.get(gang)?.progressed_at)
    }

    pub(super) fn fold_gang(&mut self, id: &GangId, facts: &GangFacts, at: Timestamp) {
        let (id, mut gang) = self.gangs.remove_entry(id).unwrap_or_else(|| (Arc::new(id.clone()), Gang::default()));
        let mut now: Vec<&NodeName> = facts.nodes.as_slice().iter().collect();
        now.sort_unstable();
        now.dedup();
        for node in gang.nodes.iter().filter(|node| now.binary_search(&node.as_ref()).is_err()) {
            self.leave(&id, node);
        }
        let before = std::mem::take(&mut gang.nodes);
        let stays = |name: &NodeName| before.binary_search_by(|node| node.as_ref().cmp(name)).ok();
        gang.nodes = now
            .iter()
            .map(|name| match stays(name) {
                Some(at) => Arc::clone(&before[at]),
                None => self.enter(&id, name),
            })
            .collect();
        // A checkpoint for a node that the gang has left does not count for its next run there.
        gang.asks.retain(|node, _| now.binary_search(&node).is_ok());
        gang.contract = Some(facts.contract);
        // A clock that is ahead must not keep a dead machine alive.
        gang.progressed_at = facts.progressed_at.map(|progressed_at| progressed_at.min(at));
        self.gangs.insert(id, gang);
    }

    pub(super) fn fold_gang_gone(&mut self, id: &GangId) {
        let Some((id, gang)) = self.gangs.remove_entry(id) else { return };
        for node in &gang.nodes {
            self.leave(&id, node);
        }
    }

    pub(super) fn fold_asked(&mut self, id: &GangId, node: &NodeName, ask: CheckpointRequest) {
        match self.gangs.get_mut(id) {
            Some(gang) => {
                gang.asks.insert(node.clone(), ask);
            }
            None => {
                let asks = BTreeMap::from([(node.clone(), ask)]);
                self.gangs.insert(Arc::new(id.clone()), Gang { asks, ..Gang::default() });
            }
        }
    }

    fn enter(&mut self, gang: &Arc<GangId>, node: &NodeName) -> Arc<NodeName> {
        if let Some(busy) = self.on.get_mut(node) {
            busy.gangs.push(Arc::clone(gang));
            return Arc::clone(&busy.name);
        }
        let name = Arc::new(node.clone());
        let busy = NodeGangs { name: Arc::clone(&name), gangs: vec![Arc::clone(gang)] };
        self.on.insert(Arc::clone(&name), busy);
        name
    }

    fn leave(&mut self, gang: &Arc<GangId>, node: &NodeName) {
        let Some(busy) = self.on.get_mut(node) else { return };
        busy.gangs.retain(|on| on != gang);
        if busy.gangs.is_empty() {
            self.on.remove(node);
        }
    }
}
