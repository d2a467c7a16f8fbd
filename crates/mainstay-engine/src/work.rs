//! Gangs: their nodes, checkpoint contracts and open checkpoint requests. Nodes are told of the gangs on them by index, so
//! that a name is looked up once when a gang comes and never when it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_model::{Checkpoints, Contract, GangFacts, GangId, NodeIndex, NodeName};
use mainstay_remedy::drain::Asked;

use crate::Engine;

/// One gang.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Gang {
    /// The nodes it runs on, in order.
    pub(crate) nodes: Vec<NodeIndex>,
    /// The same for nodes that nobody has told us of yet.
    early: Vec<NodeName>,
    pub(crate) contract: Contract,
    /// What it saves by itself.
    pub(crate) checkpoints: Checkpoints,
    /// What it was asked, by the node that the question was about.
    pub(crate) asked: BTreeMap<NodeName, Asked>,
}

impl Engine {
    /// A gang runs where the facts say; nowhere where there are none.
    pub(crate) fn fold_gang(&mut self, id: &GangId, facts: Option<&GangFacts>) {
        let known = self.gangs.remove_entry(id);
        let (id, before) = known.unwrap_or_else(|| (Arc::new(id.clone()), Gang::default()));
        let (nodes, early) = facts.map(|facts| self.places(facts)).unwrap_or_default();
        for index in missing(&before.nodes, &nodes) {
            self.node_mut(*index).gangs.remove(&id);
            self.settle_spare(*index);
            self.mark_for_work(*index);
        }
        for index in missing(&nodes, &before.nodes) {
            self.node_mut(*index).gangs.insert(Arc::clone(&id));
            self.settle_spare(*index);
            self.mark_for_work(*index);
        }
        for name in missing(&before.early, &early) {
            if let Some(gangs) = self.early_gangs.get_mut(name) {
                gangs.remove(&id);
                if gangs.is_empty() {
                    self.early_gangs.remove(name);
                }
            }
        }
        for name in missing(&early, &before.early) {
            self.early_gangs.entry(name.clone()).or_default().insert(Arc::clone(&id));
        }
        let Some(&GangFacts { contract, checkpoints, .. }) = facts else { return };
        if (contract, checkpoints) != (before.contract, before.checkpoints) {
            nodes.iter().for_each(|index| self.mark_for_work(*index));
        }
        self.gangs.insert(id, Gang { nodes, early, contract, checkpoints, asked: before.asked });
    }

    /// The gangs that were seen before this node was.
    pub(crate) fn take_early_gangs(&mut self, name: &NodeName, index: NodeIndex) -> BTreeSet<Arc<GangId>> {
        let gangs = self.early_gangs.remove(name).unwrap_or_default();
        for id in &gangs {
            if let Some(gang) = self.gangs.get_mut(id) {
                gang.early.retain(|early| early != name);
                // The newest index is the greatest, so the order is kept.
                gang.nodes.push(index);
            }
        }
        gangs
    }

    /// Where a gang runs: nodes that are known, and names of those that are not. Both in order, each once.
    fn places(&self, facts: &GangFacts) -> (Vec<NodeIndex>, Vec<NodeName>) {
        let mut nodes = Vec::with_capacity(facts.nodes.as_slice().len());
        let mut early = Vec::new();
        for name in facts.nodes.as_slice() {
            match self.names.get(name) {
                Some(index) => nodes.push(*index),
                None => early.push(name.clone()),
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        early.sort_unstable();
        early.dedup();
        (nodes, early)
    }

    /// Work came or went. Where a node is calm that changes nothing: it is in service whoever works there.
    fn mark_for_work(&mut self, index: NodeIndex) {
        if !self.node(index).is_calm {
            self.mark(index);
        }
    }
}

/// What of `these` is not among `those`. Both are in order.
fn missing<'a, T: Ord>(these: &'a [T], those: &'a [T]) -> impl Iterator<Item = &'a T> {
    these.iter().filter(|one| those.binary_search(one).is_err())
}
