//! Puts the brain together: facts in, one decision out of the whole picture, and a second opinion on it.
//!
//! ```text
//! engine.observe(&observation);            // fold a fact into the picture; decides nothing
//! let decision = engine.decide(now);       // from the whole picture; same input, same output
//! let violations = engine.audit(&decision, now);
//! ```
//!
//! Only what changed is looked at again: a fact marks the nodes it touches, a deadline marks the node it belongs to, a
//! freed budget marks those that waited for it. Work that comes or goes marks nobody who is calm: it would be the most
//! frequent fact of all, and changes nothing there. What an effect did comes back as a fact; there is no other way back.

mod agents;
mod blame;
mod breakers;
mod budgets;
mod capacity;
mod cause;
mod decide;
mod effects;
mod evaluate;
mod fault;
mod incidents;
mod node;
mod observe;
mod orders;
pub mod record;
mod recount;
mod risk;
mod sight;
mod spares;
mod switch;
mod verdicts;
mod weighing;
pub mod why;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_audit::{Auditor, Violation};
use mainstay_health::Attribution;
use mainstay_model::{
    CellFacts, Decision, DomainIndex, Epoch, Finding, GangId, NodeIndex, NodeName, NodeSummary, Observation, Persisted,
    Policy, PoolName, RuleName, Timestamp,
};
use mainstay_remedy::arbiter::Arbiter;
use mainstay_remedy::breaker::Breakers;
use mainstay_remedy::verdict::Verdicts;

pub use agents::Agents;
pub use breakers::BreakerLine;
pub use budgets::BudgetLine;
pub use capacity::{DomainsLine, PoolLine, RoomLine, is_out_of_service};
pub use fault::{Fault, level_name};
pub use incidents::Incident;
pub use mainstay_health::{Catalogue, Contribution, Factor, LEMON, Risk, SharedCause};
pub use mainstay_remedy::limits::stage_within;
pub use mainstay_remedy::precision::Precision;
use node::Node;
pub use switch::{Switch, Switches};
use verdicts::CellWrite;
pub use verdicts::VerdictLine;
pub use weighing::Weighing;
pub use why::Why;
use work::Gang;

/// The brain of one cell.
#[derive(Debug, Clone)]
pub struct Engine {
    catalogue: Catalogue,
    switches: Switches,
    cell: CellFacts,
    epoch_highest: Epoch,
    synced_as_of: Option<Timestamp>,
    policies: BTreeMap<PoolName, Policy>,
    names: BTreeMap<NodeName, NodeIndex>,
    nodes: Vec<Node>,
    gangs: BTreeMap<Arc<GangId>, Gang>,
    /// Gangs that were seen before the nodes they run on.
    early_gangs: BTreeMap<NodeName, BTreeSet<Arc<GangId>>>,
    arbiter: Arbiter,
    breakers: Breakers,
    /// The same for what stands on paper: it stops nothing but what would stand there beside it.
    paper_breakers: Breakers,
    blame: Attribution,
    /// Every judged finding that is on record with its node.
    verdicts: Verdicts,
    cell_write: CellWrite,
    /// Nodes that a rule wants out, by their pool and the rule.
    wanted: BTreeMap<(PoolName, RuleName), BTreeSet<NodeIndex>>,
    /// Nodes that something changed for since they were last looked at.
    dirty: BTreeSet<NodeIndex>,
    /// When each node wants to be looked at again.
    timers: BTreeSet<(Timestamp, NodeIndex)>,
    /// Nodes that wait for room, by domain.
    waiting: BTreeMap<DomainIndex, BTreeSet<NodeIndex>>,
    /// Nodes that have room and wait for an approval.
    approvable: BTreeSet<NodeIndex>,
    /// Nodes that take work and have none, by their pool's domain.
    spares: BTreeMap<DomainIndex, u32>,
    /// Nodes that are being emptied and are not empty: a spare that comes or goes changes what is best for their work.
    emptying: BTreeSet<NodeIndex>,
    /// Nodes that wait on a fresh view.
    stale: BTreeSet<NodeIndex>,
    auditor: Auditor,
    /// As of when it was last asked.
    decided_at: Option<Timestamp>,
    evaluated: u64,
}

impl Engine {
    /// A brain that knows the built-in catalogue and nothing of the world.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(Switches::all_on())
    }

    /// The same with rules switched off: for those who try what a rule is good for and need not know the catalogue.
    #[must_use]
    pub fn switched(switches: Switches) -> Self {
        Self::with(Catalogue::built_in(), switches)
    }

    /// The same with another catalogue, or with rules switched off: for trying a policy on a recording, and for the
    /// tests that show that each rule matters.
    #[must_use]
    pub fn with(catalogue: Catalogue, switches: Switches) -> Self {
        Self {
            catalogue,
            switches,
            cell: CellFacts::default(),
            epoch_highest: Epoch(0),
            synced_as_of: None,
            policies: BTreeMap::new(),
            names: BTreeMap::new(),
            nodes: Vec::new(),
            gangs: BTreeMap::new(),
            early_gangs: BTreeMap::new(),
            arbiter: Arbiter::default(),
            breakers: Breakers::default(),
            paper_breakers: Breakers::default(),
            blame: Attribution::default(),
            verdicts: Verdicts::default(),
            cell_write: CellWrite::default(),
            wanted: BTreeMap::new(),
            dirty: BTreeSet::new(),
            timers: BTreeSet::new(),
            waiting: BTreeMap::new(),
            approvable: BTreeSet::new(),
            spares: BTreeMap::new(),
            emptying: BTreeSet::new(),
            stale: BTreeSet::new(),
            auditor: Auditor::new(),
            decided_at: None,
            evaluated: 0,
        }
    }

    /// Folds a fact into the picture. Total: whatever it says, it is taken or left, and nothing is decided.
    pub fn observe(&mut self, observation: &Observation) {
        self.auditor.observe(observation);
        self.fold(observation);
    }

    /// What should be done now. Nodes that nothing changed for are not looked at; asking twice asks for nothing more.
    pub fn decide(&mut self, now: Timestamp) -> Decision {
        self.run(now)
    }

    /// A second opinion: other code, its own fold of the same facts, the invariants alone.
    #[must_use]
    pub fn audit(&self, decision: &Decision, now: Timestamp) -> Vec<Violation> {
        self.auditor.audit(decision, now)
    }

    /// How a node stands; none where nobody knows it, or where it is not registered.
    #[must_use]
    pub fn report(&self, node: &NodeName) -> Option<NodeSummary> {
        let node = self.names.get(node).map(|index| self.node(*index));
        node.filter(|node| node.facts.is_some()).map(|node| self.line(node))
    }

    /// What is known of a node that must survive a restart.
    #[must_use]
    pub fn persisted(&self, node: &NodeName) -> Option<&Persisted> {
        self.names.get(node).map(|index| &self.node(*index).persisted)
    }

    /// What is found on a node, the worst first, as of the last decision.
    #[must_use]
    pub fn found(&self, node: &NodeName) -> Vec<Finding> {
        let as_of = self.decided_at.unwrap_or_default();
        let index = self.names.get(node).copied();
        index.map_or_else(Vec::new, |index| self.findings(index, as_of).list.as_slice().to_vec())
    }

    /// How every node stands that is not simply in service.
    pub fn standing(&self) -> impl Iterator<Item = NodeSummary> + '_ {
        let nodes = self.names.values().map(|index| self.node(*index));
        nodes.filter(|node| node.is_of_interest()).map(|node| self.line(node))
    }

    /// When to ask again at the latest.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at).into_iter().chain(self.cell_write.due_at).min()
    }

    /// How many times a node was looked at since the beginning.
    #[must_use]
    pub const fn evaluated(&self) -> u64 {
        self.evaluated
    }

    fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index.get()]
    }

    fn node_mut(&mut self, index: NodeIndex) -> &mut Node {
        &mut self.nodes[index.get()]
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}
