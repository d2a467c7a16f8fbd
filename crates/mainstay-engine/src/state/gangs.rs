//! Gangs: their nodes, checkpoint contracts and checkpoint requests. A gang refers to its nodes by index, so that a name is
//! looked up once when the gang starts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_model::{Checkpoints, Contract, GangFacts, GangId, NodeIndex, NodeName, Ready, Timestamp};
use mainstay_remedy::drain::Asked;

use super::State;
use crate::index::Index;
use crate::spares;

/// One gang.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Gang {
    /// Its nodes, sorted.
    pub(crate) nodes: Vec<NodeIndex>,
    /// Its nodes that are not known yet, sorted by name.
    pub(crate) early: Vec<NodeName>,
    pub(crate) contract: Contract,
    /// The gang's own checkpoints.
    pub(crate) checkpoints: Checkpoints,
    /// When the gang last made progress, if it reports that.
    pub(crate) progressed_at: Option<Timestamp>,
    /// Checkpoint requests, by the node whose drain caused them.
    pub(crate) asked: BTreeMap<NodeName, Asked>,
}

/// All gangs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gangs {
    pub(crate) list: BTreeMap<Arc<GangId>, Gang>,
    /// Gangs that were observed before their nodes, by node.
    pub(crate) early: BTreeMap<NodeName, BTreeSet<Arc<GangId>>>,
    /// Checkpoint requests that were observed before their gangs, by gang.
    pub(crate) early_asked: BTreeMap<GangId, BTreeMap<NodeName, Asked>>,
}

/// Gangs with a request that are not known yet, at most. Of more, one is forgotten, and the gang is asked again.
const EARLY_ASKED_MAX: usize = 1_024;

impl Gangs {
    /// A node becomes known: returns the gangs that were observed on it before.
    pub(crate) fn move_in(&mut self, name: &NodeName, id: NodeIndex) -> BTreeSet<Arc<GangId>> {
        let gangs = self.early.remove(name).unwrap_or_default();
        for gang in &gangs {
            if let Some(gang) = self.list.get_mut(gang) {
                gang.early.retain(|early| early != name);
                if let Err(place) = gang.nodes.binary_search(&id) {
                    gang.nodes.insert(place, id);
                }
            }
        }
        gangs
    }

    /// A checkpoint request to a gang. Returns the gang if it is known, and otherwise the number of forgotten requests.
    pub(super) fn ask(&mut self, gang: &GangId, node: &NodeName, asked: Asked) -> Result<&Gang, usize> {
        if let Some(gang) = self.list.get_mut(gang) {
            gang.asked.insert(node.clone(), asked);
            return Ok(gang);
        }
        let is_full = self.early_asked.len() >= EARLY_ASKED_MAX && !self.early_asked.contains_key(gang);
        let forgotten = if is_full { self.early_asked.pop_first() } else { None };
        self.early_asked.entry(gang.clone()).or_default().insert(node.clone(), asked);
        Err(forgotten.map_or(0, |(_, asked)| asked.len()))
    }

    /// Updates the names of unknown nodes that a gang runs on.
    fn update_early(&mut self, gang: &Arc<GangId>, before: &[NodeName], after: &[NodeName]) {
        for name in missing(before, after) {
            if let Some(gangs) = self.early.get_mut(name) {
                gangs.remove(gang);
                if gangs.is_empty() {
                    self.early.remove(name);
                }
            }
        }
        for name in missing(after, before) {
            self.early.entry(name.clone()).or_default().insert(Arc::clone(gang));
        }
    }
}

/// Folds in the facts about a gang; no facts where it ended.
pub(super) fn fold(state: &mut State, index: &mut Index, id: &GangId, facts: Option<&GangFacts>, at: Timestamp) {
    let known = state.gangs.list.remove_entry(id);
    let asked = state.gangs.early_asked.remove(id).unwrap_or_default();
    let (id, before) = known.unwrap_or_else(|| (Arc::new(id.clone()), Gang { asked, ..Gang::default() }));
    let (nodes, early) = facts.map(|facts| nodes_of(state, facts)).unwrap_or_default();
    for node in missing(&before.nodes, &nodes) {
        state.node_mut(*node).gangs.remove(&id);
        spares::settle(state, index, *node);
        mark_unless_idle(state, index, *node);
    }
    for node in missing(&nodes, &before.nodes) {
        state.node_mut(*node).gangs.insert(Arc::clone(&id));
        spares::settle(state, index, *node);
        mark_unless_idle(state, index, *node);
    }
    state.gangs.update_early(&id, &before.early, &early);
    if nodes != before.nodes {
        index.mark_emptying(&nodes);
    }
    let Some(&GangFacts { contract, checkpoints, progressed_at, .. }) = facts else { return };
    // A clock that is ahead must not keep a dead machine alive.
    let progressed_at = progressed_at.map(|progressed_at| progressed_at.min(at));
    if (contract, checkpoints) != (before.contract, before.checkpoints) {
        nodes.iter().for_each(|node| mark_unless_idle(state, index, *node));
    } else if progressed_at != before.progressed_at {
        // It matters only where the machine itself is not seen.
        let unseen = nodes.iter().filter(|node| state.node(**node).ready() != Ready::Yes);
        unseen.for_each(|node| index.mark(*node));
    }
    state.gangs.list.insert(id, Gang { nodes, early, contract, checkpoints, progressed_at, asked: before.asked });
}

/// The nodes of a gang that are known, and the names of those that are not. Both sorted, each once.
fn nodes_of(state: &State, facts: &GangFacts) -> (Vec<NodeIndex>, Vec<NodeName>) {
    let mut nodes = Vec::with_capacity(facts.nodes.as_slice().len());
    let mut early = Vec::new();
    for name in facts.nodes.as_slice() {
        match state.names.get(name) {
            Some(id) => nodes.push(*id),
            None => early.push(name.clone()),
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    early.sort_unstable();
    early.dedup();
    (nodes, early)
}

/// A job that starts or ends changes nothing for an idle node. It is the most frequent fact of all.
fn mark_unless_idle(state: &State, index: &mut Index, id: NodeIndex) {
    if !state.node(id).is_idle {
        index.mark(id);
    }
}

/// Returns the items of `these` that are not in `those`. Both are sorted.
fn missing<'a, T: Ord>(these: &'a [T], those: &'a [T]) -> impl Iterator<Item = &'a T> {
    these.iter().filter(|one| those.binary_search(one).is_err())
}

#[cfg(test)]
mod tests {
    use mainstay_model::{GangName, Namespace};
    use mainstay_remedy::drain::Answer;

    use super::*;

    #[test]
    fn of_too_many_early_requests_the_forgotten_ones_are_counted() {
        let gang = |number: usize| GangId {
            namespace: Namespace::parse("training").unwrap(),
            name: GangName::parse(&format!("g{number:05}")).unwrap(),
        };
        let node = |name: &str| NodeName::parse(name).unwrap();
        let asked = Asked { drain: Timestamp(0), answer_by: Timestamp(1), answer: Answer::Pending };
        let mut gangs = Gangs::default();
        let mut forgotten = |number: usize, on: &str| gangs.ask(&gang(number), &node(on), asked).err();
        assert!((0..EARLY_ASKED_MAX).all(|number| forgotten(number, "n1") == Some(0)));
        assert_eq!(forgotten(0, "n2"), Some(0), "the gang has a place");
        assert_eq!(forgotten(EARLY_ASKED_MAX, "n1"), Some(2), "both requests of the first gang");
    }
}
