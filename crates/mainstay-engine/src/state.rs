//! The engine's state: facts from the adapters, the status of every node, and counts over the fleet. Facts are folded in
//! by `state/fold.rs`; nothing here decides.

pub(crate) mod fold;
pub(crate) mod gangs;
pub(crate) mod node;

use std::collections::{BTreeMap, BTreeSet};

use mainstay_arbiter::ruling::Arbiter;
use mainstay_health::{Attribution, Catalogue, Rules};
use mainstay_model::{
    Bounded, CellFacts, Deadlines, DomainIndex, Epoch, Freeze, NodeIndex, NodeName, Policy, PoolName, RequestKind,
    Stage, Timestamp,
};
use mainstay_remedy::breaker::Breakers;
use mainstay_remedy::verdict::Verdicts;

use crate::guard::{Guard, Guards};
use crate::losses::Losses;
use gangs::Gangs;
use node::Node;

/// Everything the engine knows.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) catalogue: Catalogue,
    pub(crate) guards: Guards,
    pub(crate) cell: CellFacts,
    pub(crate) epoch_highest: Epoch,
    /// When the current epoch began: an earlier leader wrote before that.
    pub(crate) epoch_since: Timestamp,
    /// The view is complete up to this time.
    pub(crate) synced_as_of: Option<Timestamp>,
    pub(crate) policies: BTreeMap<PoolName, Policy>,
    /// Sources of claims that get no grant for a while.
    pub(crate) freezes: Bounded<Freeze, 16>,
    pub(crate) names: BTreeMap<NodeName, NodeIndex>,
    pub(crate) nodes: Vec<Node>,
    /// Places in the table of nodes that hold no node: new nodes get the first of them.
    pub(crate) free: BTreeSet<NodeIndex>,
    pub(crate) gangs: Gangs,
    pub(crate) counts: Counts,
    /// What had no room since the last decision.
    pub(crate) losses: Losses,
}

/// Counts over the fleet. Each change of a node updates them; a recount from zero must give the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// Nodes out of service by failure domain, and recent grants by pool.
    pub(crate) arbiter: Arbiter,
    pub(crate) breakers: Breakers,
    /// Breakers for dry-run decisions. They stop further dry-run decisions only.
    pub(crate) dry_run_breakers: Breakers,
    /// Faults that nodes share, by failure domain and driver version.
    pub(crate) shared: Attribution,
    /// Every stored finding with its outcome.
    pub(crate) verdicts: Verdicts,
    /// Nodes that get jobs and have none, by the domain of their pool.
    pub(crate) spares: BTreeMap<DomainIndex, u32>,
}

impl State {
    pub(crate) fn new(catalogue: Catalogue, guards: Guards) -> Self {
        Self {
            catalogue,
            guards,
            cell: CellFacts::default(),
            epoch_highest: Epoch(0),
            epoch_since: Timestamp::default(),
            synced_as_of: None,
            policies: BTreeMap::new(),
            freezes: Bounded::new(),
            names: BTreeMap::new(),
            nodes: Vec::new(),
            free: BTreeSet::new(),
            gangs: Gangs::default(),
            counts: Counts::default(),
            losses: Losses::default(),
        }
    }

    pub(crate) fn node(&self, id: NodeIndex) -> &Node {
        &self.nodes[id.get()]
    }

    pub(crate) fn node_mut(&mut self, id: NodeIndex) -> &mut Node {
        &mut self.nodes[id.get()]
    }

    /// A node to change, with the catalogue that its evidence is counted by.
    pub(crate) fn with_catalogue(&mut self, id: NodeIndex) -> (&Catalogue, &mut Node) {
        (&self.catalogue, &mut self.nodes[id.get()])
    }

    /// The node with this name.
    pub(crate) fn named(&self, name: &NodeName) -> Option<&Node> {
        self.names.get(name).map(|id| self.node(*id))
    }

    /// Every registered node, in the order of names.
    pub(crate) fn registered(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        let nodes = self.names.values().map(|id| (*id, self.node(*id)));
        nodes.filter(|(_, node)| node.facts.is_some())
    }

    /// The index of a node. A name that is new gets a node in this stage.
    pub(crate) fn index_of(&mut self, name: &NodeName, stage: Stage, at: Timestamp) -> NodeIndex {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let id = self.free.pop_first().unwrap_or_else(|| NodeIndex::next(self.nodes.len()));
        let mut node = Node::new(name.clone(), stage, at);
        node.gangs = self.gangs.move_in(name, id);
        self.names.insert(name.clone(), id);
        match self.nodes.get_mut(id.get()) {
            Some(place) => *place = node,
            None => self.nodes.push(node),
        }
        id
    }

    /// Removes a node that no index and no count refers to. Its place is free for the next new node.
    pub(crate) fn vacate(&mut self, id: NodeIndex) {
        let node = &mut self.nodes[id.get()];
        self.names.remove(&node.name);
        *node = Node::new(node.name.clone(), Stage::InService, Timestamp::default());
        self.free.insert(id);
    }

    /// Shortens the table of nodes by the free places at its end.
    pub(crate) fn trim(&mut self) {
        while let Some(last) = self.free.last().copied().filter(|last| last.get() + 1 == self.nodes.len()) {
            self.free.remove(&last);
            self.nodes.pop();
        }
        self.nodes.shrink_to(self.nodes.len() * 2);
    }

    /// Every known node with its index, in the order of the table.
    pub(crate) fn known(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        (0..).map(NodeIndex::next).zip(&self.nodes).filter(|(id, _)| !self.free.contains(id))
    }

    pub(crate) fn is_on(&self, guard: Guard) -> bool {
        self.guards.is_on(guard)
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.cell.epoch > Epoch(0) || !self.is_on(Guard::Fence)
    }

    pub(crate) fn policy(&self, node: &Node) -> Option<&Policy> {
        self.policies.get(&node.facts.as_ref()?.pool)
    }

    /// The rules that apply to the node.
    pub(crate) fn rules(&self, node: &Node) -> Rules<'_> {
        Rules { catalogue: &self.catalogue, policy: self.policy(node) }
    }

    /// The time limits of the node's pool.
    pub(crate) fn deadlines(&self, node: &Node) -> Deadlines {
        self.policy(node).map(|policy| policy.deadlines).unwrap_or_default()
    }

    pub(crate) fn request(&self, node: &Node) -> Option<RequestKind> {
        node.request.as_ref().filter(|_| self.is_on(Guard::Requests)).map(|request| request.kind)
    }
}
