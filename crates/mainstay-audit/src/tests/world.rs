//! A small world in words: two racks of two nodes in one pool that acts, what is on record, and one decision about it.

use std::collections::BTreeMap;

use mainstay_model::{
    Attempt, BootId, Bounded, Budget, Cause, CellFacts, CellRecord, Checkpoints, ClaimSource, Contract, Decision,
    Effect, Epoch, Execution, Fact, GangFacts, GangId, Grant, Inventory, Level, Mode, Need, NewOrder, NodeFacts,
    NodeLimit, NodeName, NodeSummary, Nonce, Observation, Order, OrderId, Persisted, PlannedWork, Policy, Precondition,
    Ready, Reason, RepairStep, Report, Request, RequestKind, Schedulable, Sequence, Span, Stage, Step, Task, Timestamp,
    Transition, Urgency, Verdict, WaitingOn,
};

use crate::{Auditor, Violation};

pub(super) const NOW: Timestamp = Timestamp(1_000_000);
/// When everything in the world was seen.
pub(super) const BEFORE: Timestamp = Timestamp(900_000);
/// Start of the leadership.
const LED_SINCE: Timestamp = Timestamp(400_000);

pub(super) struct World {
    pub(super) cell: CellFacts,
    pub(super) policy: Option<Policy>,
    pub(super) synced_as_of: Option<Timestamp>,
    pub(super) effects: Vec<Effect>,
    pub(super) report: Vec<NodeSummary>,
    pub(super) record_of_cell: Option<CellRecord>,
    pub(super) forgotten: Vec<NodeName>,
    nodes: BTreeMap<&'static str, NodeFacts>,
    records: BTreeMap<&'static str, Persisted>,
    seen: Vec<Observation>,
}

impl World {
    /// Nothing is wrong, and one node may be out per rack.
    pub(super) fn calm() -> Self {
        let policy = Policy {
            mode: Mode::Act,
            budgets: list([Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(1) }]),
            suite: Some(name("full")),
            ..Policy::new(name("p"))
        };
        let mut world = Self {
            cell: CellFacts { epoch: Epoch(3), mode: Mode::Act, ..CellFacts::default() },
            policy: Some(policy),
            synced_as_of: Some(NOW),
            effects: Vec::new(),
            report: Vec::new(),
            record_of_cell: None,
            forgotten: Vec::new(),
            nodes: BTreeMap::new(),
            records: BTreeMap::new(),
            seen: Vec::new(),
        };
        for (node, rack) in [("n1", "r1"), ("n2", "r1"), ("n3", "r2"), ("n4", "r2")] {
            let facts = NodeFacts {
                uid: name(&format!("uid-{node}")),
                domains: BTreeMap::from([(Level::Rack, name(rack))]),
                pool: name("p"),
                gpus: 8,
                ready: Ready::Yes,
                schedulable: Schedulable::Yes,
                planned: PlannedWork::Nothing,
                avoided: false,
                power: mainstay_model::Power::Unknown,
            };
            world.nodes.insert(node, facts);
            world.node(node, |_| {});
        }
        world
    }

    pub(super) fn see(&mut self, fact: Fact) {
        self.see_at(BEFORE, fact);
    }

    pub(super) fn see_at(&mut self, at: Timestamp, fact: Fact) {
        self.seen.push(Observation { at, fact });
    }

    /// The backend reports changed facts of a node.
    pub(super) fn node(&mut self, node: &'static str, change: impl FnOnce(&mut NodeFacts)) {
        let facts = self.nodes.get_mut(node).unwrap();
        change(facts);
        let facts = Box::new(facts.clone());
        self.see(Fact::Node { node: name(node), facts });
    }

    /// The backend reports whether a node is schedulable.
    pub(super) fn keep_away(&mut self, node: &'static str, schedulable: Schedulable) {
        self.node(node, |facts| facts.schedulable = schedulable);
    }

    /// A stage comes to be on record, because of a rule that leaves minutes.
    pub(super) fn record(&mut self, node: &'static str, stage: Stage) {
        self.record_with(node, stage, |_| {});
    }

    pub(super) fn record_with(&mut self, node: &'static str, stage: Stage, change: impl FnOnce(&mut Persisted)) {
        let persisted = self.written(node, stage, change);
        self.records.insert(node, persisted.clone());
        self.see(Fact::Recorded { node: name(node), persisted: Box::new(persisted) });
    }

    /// What would be on record next.
    pub(super) fn written(&self, node: &'static str, stage: Stage, change: impl FnOnce(&mut Persisted)) -> Persisted {
        let mut persisted = self.records.get(node).cloned().unwrap_or_else(|| Persisted::new(stage, BEFORE));
        persisted.stage = stage;
        persisted.cause = Some(cause(Urgency::Minutes));
        persisted.grant = Some(Box::new(Grant {
            claim: name(&format!("fault-{node}-1")),
            by: ClaimSource::Fault,
            needs: Need::Exclusive,
            at: BEFORE,
            epoch: Epoch(3),
        }));
        let moved = Transition { to: stage, at: BEFORE, rule: name("xid-79"), word: None };
        persisted.history.push_forgetting_oldest(moved);
        change(&mut persisted);
        persisted
    }

    pub(super) fn request(&mut self, node: &str, kind: RequestKind) {
        let request = Request { kind, reason: Reason::parse("planned").unwrap(), by: name("alice"), word: None };
        self.see(Fact::Request { node: name(node), request: Some(request) });
    }

    /// A gang comes to run on these nodes.
    pub(super) fn gang(&mut self, gang: &str, nodes: &[&str], contract: Contract) {
        let nodes = list(nodes.iter().map(|node| name(node)));
        self.see(Fact::Gang {
            gang: id(gang),
            facts: Box::new(GangFacts { nodes, contract, checkpoints: Checkpoints::default(), progressed_at: None }),
        });
    }

    /// A gang was asked in the drain that began before.
    pub(super) fn asked(&mut self, gang: &str, node: &str, answer_by: Timestamp, saved_step: Option<u64>) {
        self.asked_in(BEFORE, gang, node, answer_by, saved_step);
    }

    pub(super) fn asked_in(
        &mut self,
        drain: Timestamp,
        gang: &str,
        node: &str,
        answer_by: Timestamp,
        saved_step: Option<u64>,
    ) {
        self.see(Fact::Asked { gang: id(gang), node: name(node), drain, answer_by, saved_step });
    }

    /// A node's agent reports the results of a suite.
    pub(super) fn results(&mut self, node: &str, results: &[(&str, Verdict)], change: impl FnOnce(&mut Report)) {
        let mut report = Report {
            uid: name(&format!("uid-{node}")),
            boot_id: name("boot-1"),
            sequence: Sequence(7),
            inventory: Inventory {
                board: name("b1"),
                product: name("H100"),
                driver: name("580.82"),
                gpus: Bounded::new(),
                gpus_unavailable: None,
                nics: Bounded::new(),
            },
            evidence: Bounded::new(),
            outcomes: Bounded::new(),
            results: list(results.iter().map(|(nonce, verdict)| (name(nonce), *verdict))),
            unrecognised: Bounded::new(),
        };
        change(&mut report);
        self.see(Fact::Report { node: name(node), report: Box::new(report) });
    }

    /// Orders an action with a valid fence.
    pub(super) fn order(&mut self, node: &'static str, step: Step) -> &mut Effect {
        self.effects.push(Effect {
            id: name(&format!("act-{node}")),
            claim: Some(name(&format!("fault-{node}-1"))),
            node: name(node),
            executor: step.executor(),
            attempt: 1,
            step,
            execution: Execution::Ordered,
            start_by: NOW + Span::minutes(1),
            done_by: NOW + Span::minutes(1),
            expected: Precondition {
                uid: self.nodes[node].uid.clone(),
                recorded: self.records.get(node).map_or(Stage::InService, |record| record.stage),
                schedulable: self.nodes[node].schedulable,
                is_empty: false,
                request: None,
            },
            epoch: Epoch(3),
            rule: name("xid-79"),
        });
        self.effects.last_mut().unwrap()
    }

    /// Orders a task on a node. A repair step counts as an attempt.
    pub(super) fn order_task(&mut self, node: &'static str, order: Order) -> &mut Effect {
        let attempt = match &order.task {
            Task::Rung(rung) => Some(attempt(*rung)),
            Task::Suite(_) => None,
        };
        self.order(node, Step::Order(Box::new(NewOrder { order, attempt })))
    }

    /// Orders that a stage be written down.
    pub(super) fn order_record(&mut self, node: &'static str, stage: Stage, change: impl FnOnce(&mut Persisted)) {
        let persisted = self.written(node, stage, change);
        self.order(node, Step::Store(Box::new(persisted)));
    }

    pub(super) fn line(&mut self, node: &str, stage: Stage, waiting_on: WaitingOn) {
        let message = Reason::parse("as it stands").unwrap();
        self.report.push(NodeSummary { node: name(node), stage, waiting_on, cause: None, message });
    }

    pub(super) fn decision(&self) -> Decision {
        Decision {
            effects: self.effects.clone(),
            report: self.report.clone(),
            cell: self.record_of_cell.clone(),
            forgotten: self.forgotten.clone(),
            ..Decision::default()
        }
    }

    /// Returns the violations that an auditor finds after all these observations.
    pub(super) fn broken(&self) -> Vec<Violation> {
        let mut auditor = Auditor::new();
        let policy = self.policy.iter().map(|policy| Fact::Policy(Box::new(policy.clone())));
        let first = [Fact::Cell(self.cell.clone())].into_iter().chain(policy);
        for fact in first {
            auditor.observe(&Observation { at: LED_SINCE, fact });
        }
        for observation in &self.seen {
            auditor.observe(observation);
        }
        if let Some(as_of) = self.synced_as_of {
            auditor.observe(&Observation { at: NOW, fact: Fact::Synced { as_of } });
        }
        auditor.audit(&self.decision(), NOW)
    }
}

pub(super) fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

pub(super) fn list<T: std::fmt::Debug, const MAX: usize>(items: impl IntoIterator<Item = T>) -> Bounded<T, MAX> {
    items.into_iter().collect::<Vec<_>>().try_into().unwrap()
}

pub(super) fn id(gang: &str) -> GangId {
    GangId { namespace: name("team"), name: name(gang) }
}

pub(super) fn cause(urgency: Urgency) -> Box<Cause> {
    Box::new(Cause { rule: name("xid-79"), urgency, device: None, rungs: Bounded::new() })
}

pub(super) fn attempt(rung: RepairStep) -> Attempt {
    Attempt { rule: name("xid-79"), rung, device: None, ordered_at: BEFORE }
}

pub(super) fn ordered(order_id: &str, nonce: &str, task: Task) -> Order {
    Order {
        id: name::<OrderId>(order_id),
        epoch: Epoch(3),
        boot_id: name::<BootId>("boot-1"),
        nonce: name::<Nonce>(nonce),
        task,
        device: None,
        start_by: NOW + Span::minutes(5),
        done_by: NOW + Span::minutes(30),
    }
}

pub(super) fn node_name(node: &str) -> NodeName {
    name(node)
}
