//! The decision engine: facts in, one decision from the whole state out, and an independent audit of it.
//!
//! ```text
//! engine.observe(&observation);            // folds a fact into the state; decides nothing
//! let decision = engine.decide(now);       // from the whole state; same input, same output
//! let violations = engine.audit(&decision, now);
//! ```
//!
//! The engine has three parts that own their fields:
//!
//! - `state`: what is known, folded from facts. `counts` over the fleet belong to it.
//! - `index`: which nodes the next decision evaluates, and what wakes the others.
//! - `plan`: evaluates one node: view, next step, effects. The state machine is `life.rs` in `mainstay-remedy`; it decides
//!   every wait.
//!
//! Results of effects return as facts; there is no other way back. The other modules answer questions of operators and
//! decide nothing.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod agents;
mod breakers;
mod budget_lines;
mod capacity;
mod cell_record;
mod claims;
mod decide;
mod fault;
mod gone;
mod guard;
mod incidents;
mod index;
mod losses;
mod plan;
mod presence;
pub mod record;
mod recount;
mod risk;
mod shared_cause;
mod spares;
mod state;
mod verdicts;
mod view;
pub mod why;

use std::collections::BTreeMap;

use mainstay_audit::{Auditor, Violation};
use mainstay_model::{
    Decision, FORGOTTEN_MAX, Finding, NodeName, NodeSummary, Observation, Persisted, Reason, RuleName, Stage, Subject,
    Timestamp, WaitingOn,
};

pub use agents::Agents;
pub use breakers::BreakerLine;
pub use budget_lines::{BudgetLine, PoolLimitsLine};
pub use capacity::{DomainsLine, PoolLine, RoomLine, is_out_of_service};
pub use cell_record::CellRecordOmissions;
use cell_record::CellRecordTimer;
pub use fault::{Fault, level_name};
pub use guard::{Guard, Guards};
pub use incidents::Incident;
use index::Index;
pub use losses::Losses;
pub use mainstay_health::{Catalogue, Contribution, Factor, LEMON, Risk, SharedCause};
pub use mainstay_remedy::precision::Precision;
pub use plan::drain::Weighing;
use state::State;
use state::node::Node;
pub use verdicts::VerdictLine;
pub use why::Why;

/// Sizes of the tables that grow with the fleet. Each is bounded by the registered nodes and the nodes that are gone and
/// still kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSizes {
    /// Nodes that the engine knows.
    pub nodes: usize,
    /// Places in the table of nodes, free ones included.
    pub places: usize,
    /// Places in the table of failure domains, free ones included.
    pub domains: usize,
    /// Places in the table of groups that may share a cause, free ones included.
    pub groups: usize,
    /// Nodes that the auditor knows.
    pub audited: usize,
}

/// The decision engine of one cell.
#[derive(Debug, Clone)]
pub struct Engine {
    state: State,
    index: Index,
    cell_record: CellRecordTimer,
    auditor: Auditor,
    /// Losses of the last decision and of the facts before it.
    losses: Losses,
    /// Time of the last decision.
    decided_at: Option<Timestamp>,
    evaluated: u64,
}

impl Engine {
    /// An engine with the built-in catalogue and no facts.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Catalogue::built_in(), Guards::all_on())
    }

    /// The same with some guards off: to test what a guard is good for.
    #[must_use]
    pub fn guarded(guards: Guards) -> Self {
        Self::with(Catalogue::built_in(), guards)
    }

    /// The same with another catalogue: to try it on a recording.
    #[must_use]
    pub fn with(catalogue: Catalogue, guards: Guards) -> Self {
        Self {
            state: State::new(catalogue, guards),
            index: Index::default(),
            cell_record: CellRecordTimer::default(),
            auditor: Auditor::new(),
            losses: Losses::default(),
            decided_at: None,
            evaluated: 0,
        }
    }

    /// Folds a fact into the state. Every fact is accepted or ignored, and nothing is decided.
    pub fn observe(&mut self, observation: &Observation) {
        self.auditor.observe(observation);
        state::fold::fold(&mut self.state, &mut self.index, observation);
    }

    /// Decides what should be done now. Nodes that did not change are not evaluated. A second call orders nothing more.
    pub fn decide(&mut self, now: Timestamp) -> Decision {
        let mut evaluated = decide::evaluate_changed(&mut self.state, &mut self.index, now);
        self.losses = std::mem::take(&mut self.state.losses);
        self.decided_at = Some(now);
        self.evaluated += evaluated.count;
        let registered = evaluated.nodes.iter().map(|id| self.state.node(*id)).filter(|node| node.facts.is_some());
        let report = registered.map(|node| self.summary(node)).collect();
        let cell = self.cell_record.due(&self.state, now);
        let effects = evaluated.effects();
        let forgotten = evaluated.forgotten.into_iter().take(FORGOTTEN_MAX).collect();
        self.state.trim();
        Decision { effects, report, cell, forgotten, wake_at: self.wake_at(), evaluated: evaluated.count }
    }

    /// Audits a decision: other code with its own fold of the same facts checks the invariants.
    #[must_use]
    pub fn audit(&self, decision: &Decision, now: Timestamp) -> Vec<Violation> {
        self.auditor.audit(decision, now)
    }

    /// Latest time for the next decision.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.index.timers.first().map(|(at, _)| *at).into_iter().chain(self.cell_record.due_at).min()
    }

    /// What the last decision's record of the Cell had no place for.
    #[must_use]
    pub const fn cell_record_omissions(&self) -> CellRecordOmissions {
        self.cell_record.omissions
    }

    /// What the lists of the engine had no room for since the decision before the last one.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// Number of evaluations since the start.
    #[must_use]
    pub const fn evaluated(&self) -> u64 {
        self.evaluated
    }

    /// Stage, wait and cause of a node; none where it is not registered.
    #[must_use]
    pub fn report(&self, node: &NodeName) -> Option<NodeSummary> {
        self.registered(node).map(|node| self.summary(node))
    }

    /// The status of a node that must survive a restart.
    #[must_use]
    pub fn persisted(&self, node: &NodeName) -> Option<&Persisted> {
        self.state.named(node).map(|node| &node.status)
    }

    /// The findings on a node, worst first.
    #[must_use]
    pub fn found(&self, node: &NodeName) -> Vec<Finding> {
        let node = self.state.named(node);
        node.map_or_else(Vec::new, |node| view::findings(&self.state, node, self.as_of()).list.as_slice().to_vec())
    }

    /// Every node that is out of service or waits.
    pub fn standing(&self) -> impl Iterator<Item = NodeSummary> + '_ {
        let nodes = self.state.names.values().map(|id| self.state.node(*id));
        nodes.filter(|node| node.is_of_interest()).map(|node| self.summary(node))
    }

    /// Explains the state of a node; none where it is not registered.
    #[must_use]
    pub fn why(&self, node: &NodeName) -> Option<Why> {
        why::why(&self.state, &self.index, node, self.as_of())
    }

    /// The fault behind an incident, in words: its subject, its rule and the nodes that show it.
    #[must_use]
    pub fn fault(&self, subject: &Subject, rule: &RuleName, nodes: &[NodeName]) -> Fault {
        fault::fault(&self.state, subject, rule, nodes, self.as_of())
    }

    /// Every open incident, shared ones first.
    #[must_use]
    pub fn incidents(&self) -> Vec<Incident> {
        incidents::open(&self.state)
    }

    /// Every failure domain and driver version that is the shared cause of faults.
    #[must_use]
    pub fn blamed(&self) -> Vec<SharedCause> {
        shared_cause::all(&self.state)
    }

    /// Every breaker that is not closed.
    #[must_use]
    pub fn breakers(&self) -> Vec<BreakerLine> {
        breakers::lines(&self.state, &self.index, self.as_of())
    }

    /// Every budget, by pool.
    #[must_use]
    pub fn budgets(&self) -> Vec<BudgetLine> {
        budget_lines::lines(&self.state)
    }

    /// Capacity floor, rate limit and parked nodes of every pool with a policy.
    #[must_use]
    pub fn pool_limits(&self) -> Vec<PoolLimitsLine> {
        budget_lines::pool_limits(&self.state, self.as_of())
    }

    /// The precision of every rule with outcomes that are stored.
    #[must_use]
    pub fn verdicts(&self) -> Vec<VerdictLine> {
        verdicts::lines(&self.state)
    }

    /// How likely a node is to fail again; none where it is not registered.
    #[must_use]
    pub fn risk(&self, node: &NodeName) -> Option<Risk> {
        self.registered(node).map(|node| risk::risk(&self.state, node, self.as_of()))
    }

    /// The options for every gang that must leave its node and has no checkpoint request yet.
    pub fn weighings(&self) -> impl Iterator<Item = Weighing> + '_ {
        plan::drain::weighings(&self.state, &self.index, self.decided_at)
    }

    /// Counts the agents by their last report.
    #[must_use]
    pub fn agents(&self) -> Agents {
        agents::count(&self.state, self.as_of())
    }

    /// Pool and failure domains of every registered node.
    #[must_use]
    pub fn domains(&self) -> Vec<DomainsLine> {
        capacity::domains(&self.state)
    }

    /// The largest gang that fits now, by pool and topology level. `used` is the number of GPUs in use, by node. A gang that
    /// needs whole nodes may not fit.
    #[must_use]
    pub fn room(&self, used: &BTreeMap<NodeName, u16>) -> Vec<RoomLine> {
        capacity::room(&self.state, used)
    }

    /// GPUs of every pool by availability, in the order of names. `used` is the number of GPUs in use, by node.
    #[must_use]
    pub fn pools(&self, used: &BTreeMap<NodeName, u16>) -> Vec<PoolLine> {
        capacity::pools(&self.state, used)
    }

    /// Number of GPUs of every registered node, by the stage of the node.
    #[must_use]
    pub fn gpus_by_stage(&self) -> BTreeMap<Stage, u64> {
        capacity::gpus_by_stage(&self.state)
    }

    /// Time of the last evidence in the last report of a node, by the agent's clock.
    #[must_use]
    pub fn last_evidence_at(&self, node: &NodeName) -> Option<Timestamp> {
        capacity::last_evidence_at(&self.state, node)
    }

    /// Sizes of the tables that grow with the fleet.
    #[must_use]
    pub fn sizes(&self) -> TableSizes {
        TableSizes {
            nodes: self.state.names.len(),
            places: self.state.nodes.len(),
            domains: self.state.counts.arbiter.domains.places(),
            groups: self.state.counts.shared.places(),
            audited: self.auditor.nodes(),
        }
    }

    /// Compares all counts and indexes with a recount from zero. The cost grows with the fleet.
    ///
    /// # Errors
    /// Names what differs.
    pub fn recount(&self) -> Result<(), String> {
        recount::recount(&self.state, &self.index, self.decided_at)
    }

    fn as_of(&self) -> Timestamp {
        self.decided_at.unwrap_or_default()
    }

    fn registered(&self, node: &NodeName) -> Option<&Node> {
        self.state.named(node).filter(|node| node.facts.is_some())
    }

    /// The summary of a node. A shared cause is named as of now: it may concern more nodes since the last evaluation.
    fn summary(&self, node: &Node) -> NodeSummary {
        let summary = node.summary();
        let waits = summary.waiting_on == WaitingOn::SharedCause;
        match Some(node).filter(|_| waits).and_then(|node| shared_cause::of_flag(&self.state, node)) {
            Some(cause) => {
                NodeSummary { message: Reason::lossy(&format!("{}: {}", summary.message, cause.subject)), ..summary }
            }
            None => summary,
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}
