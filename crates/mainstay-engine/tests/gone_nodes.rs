//! A fleet that replaces its nodes every day: the tables stay as small as the fleet, and an engine that was there all the
//! time decides as one that has just started from the stored state.

#![cfg(test)]

use std::collections::BTreeMap;

use mainstay_engine::{Engine, TableSizes};
use mainstay_model::{
    Bounded, Budget, CellFacts, Checkpoints, Contract, Decision, Epoch, Execution, Fact, GangFacts, GangId, Inventory,
    Level, Mode, NodeFacts, NodeLimit, NodeName, Observation, Persisted, PlannedWork, Policy, Power, Ready, Report,
    Schedulable, Sequence, Stage, Step, Timestamp, Transition,
};

const GENERATIONS: i64 = 1_000;
const NODES: i64 = 20;
const DAY: i64 = 24 * 3_600_000;

/// A backend that stores what the engine decides.
struct Backend {
    cell: CellFacts,
    nodes: BTreeMap<NodeName, NodeFacts>,
    stored: BTreeMap<NodeName, Box<Persisted>>,
    reports: BTreeMap<NodeName, (Timestamp, Box<Report>)>,
    gang: Vec<NodeName>,
}

fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn list<T: std::fmt::Debug, const MAX: usize>(items: Vec<T>) -> Bounded<T, MAX> {
    items.try_into().unwrap()
}

fn node(generation: i64, number: i64) -> NodeName {
    name(&format!("g{generation}n{number}"))
}

/// Every generation has racks and a driver version of its own.
fn facts(generation: i64, number: i64) -> NodeFacts {
    NodeFacts {
        uid: name(&format!("uid-{generation}-{number}")),
        domains: BTreeMap::from([(Level::Rack, name(&format!("rack-{generation}-{}", number % 4)))]),
        pool: name("h100"),
        gpus: 0,
        ready: Ready::Yes,
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: Power::Unknown,
    }
}

fn report(generation: i64, number: i64) -> Box<Report> {
    Box::new(Report {
        uid: name(&format!("uid-{generation}-{number}")),
        boot_id: name("boot-1"),
        sequence: Sequence(1),
        inventory: Inventory {
            board: name(&format!("board-{generation}-{number}")),
            product: name("H100"),
            driver: name(&format!("590.{generation}")),
            gpus: Bounded::new(),
            gpus_unavailable: None,
            nics: Bounded::new(),
        },
        evidence: Bounded::new(),
        outcomes: Bounded::new(),
        results: Bounded::new(),
        unrecognised: Bounded::new(),
    })
}

impl Backend {
    fn new() -> Self {
        let cell = CellFacts { epoch: Epoch(1), mode: Mode::Act, ..CellFacts::default() };
        Self { cell, nodes: BTreeMap::new(), stored: BTreeMap::new(), reports: BTreeMap::new(), gang: Vec::new() }
    }

    fn policy() -> Box<Policy> {
        let budgets = list(vec![Budget { level: None, most: NodeLimit::Nodes(3) }]);
        Box::new(Policy { mode: Mode::Act, budgets, ..Policy::new(name("h100")) })
    }

    fn gang(&self) -> Fact {
        let facts = GangFacts {
            nodes: list(self.gang.clone()),
            contract: Contract::None,
            checkpoints: Checkpoints::default(),
            progressed_at: None,
        };
        Fact::Gang { gang: GangId { namespace: name("team"), name: name("train") }, facts: Box::new(facts) }
    }

    /// Passes all objects to an engine that has just started.
    fn tell_all(&self, now: Timestamp, engine: &mut Engine) {
        observe(engine, now, Fact::Cell(self.cell.clone()));
        observe(engine, now, Fact::Policy(Self::policy()));
        for (node, persisted) in &self.stored {
            observe(engine, now, Fact::Recorded { node: node.clone(), persisted: persisted.clone() });
        }
        for (node, facts) in &self.nodes {
            observe(engine, now, Fact::Node { node: node.clone(), facts: Box::new(facts.clone()) });
        }
        for (node, (at, report)) in &self.reports {
            observe(engine, *at, Fact::Report { node: node.clone(), report: report.clone() });
        }
        observe(engine, now, self.gang());
    }

    fn settle(&mut self, now: Timestamp, engine: &mut Engine) {
        for _ in 0..8 {
            observe(engine, now, Fact::Synced { as_of: now });
            let decision = engine.decide(now);
            assert_eq!(engine.audit(&decision, now), [], "{decision:#?}");
            if !self.follow(&decision, now, engine) {
                break;
            }
        }
        assert_eq!(engine.recount(), Ok(()));
    }

    fn follow(&mut self, decision: &Decision, now: Timestamp, engine: &mut Engine) -> bool {
        if let Some(record) = &decision.cell {
            self.cell.record = record.clone();
            observe(engine, now, Fact::Cell(self.cell.clone()));
        }
        for node in &decision.forgotten {
            assert!(!self.nodes.contains_key(node), "{node} is there");
            self.stored.remove(node);
            observe(engine, now, Fact::RecordGone { node: node.clone() });
        }
        let ordered = decision.effects.iter().filter(|effect| effect.execution == Execution::Ordered);
        for effect in ordered.clone() {
            let node = effect.node.clone();
            let fact = match &effect.step {
                Step::Store(persisted) => {
                    self.stored.insert(node.clone(), persisted.clone());
                    Fact::Recorded { node, persisted: persisted.clone() }
                }
                Step::Cordon => {
                    let facts = self.nodes.get_mut(&node).unwrap();
                    facts.schedulable = Schedulable::NotByUs;
                    Fact::Node { node, facts: Box::new(facts.clone()) }
                }
                step @ (Step::Order(_) | Step::Uncordon | Step::Avoid | Step::EndAvoid | Step::PowerOff)
                | step @ (Step::ReleasePods | Step::AskCheckpoint { .. } | Step::Stop { .. }) => {
                    panic!("no node is repaired here: {step:?}")
                }
            };
            observe(engine, now, fact);
        }
        !decision.forgotten.is_empty() || decision.cell.is_some() || ordered.count() > 0
    }

    /// A new generation replaces the last one. The gang moves to it.
    fn replace(&mut self, generation: i64, now: Timestamp, engine: &mut Engine) {
        for number in 0..NODES {
            let (new, facts) = (node(generation, number), facts(generation, number));
            self.nodes.insert(new.clone(), facts.clone());
            observe(engine, now, Fact::Node { node: new.clone(), facts: Box::new(facts) });
            let report = report(generation, number);
            self.reports.insert(new.clone(), (now, report.clone()));
            observe(engine, now, Fact::Report { node: new, report });
        }
        self.gang = vec![node(generation, 3), node(generation, 4)];
        let gang = self.gang();
        observe(engine, now, gang);
        let before: Vec<NodeName> = self
            .nodes
            .keys()
            .filter(|known| !known.as_str().starts_with(&format!("g{generation}n")))
            .cloned()
            .collect();
        for gone in before {
            self.nodes.remove(&gone);
            self.reports.remove(&gone);
            observe(engine, now, Fact::NodeGone { node: gone });
        }
    }

    /// A node is not reachable and its agent stops reporting, so Mainstay removes it.
    fn lose(&mut self, lost: &NodeName, now: Timestamp, engine: &mut Engine) {
        let facts = self.nodes.get_mut(lost).unwrap();
        facts.ready = Ready::No;
        observe(engine, now, Fact::Node { node: lost.clone(), facts: Box::new(facts.clone()) });
    }
}

fn observe(engine: &mut Engine, at: Timestamp, fact: Fact) {
    engine.observe(&Observation { at, fact });
}

fn bounded(sizes: TableSizes, nodes_max: i64) -> bool {
    let nodes_max = usize::try_from(nodes_max).unwrap();
    let TableSizes { nodes, places, domains, groups, audited } = sizes;
    // Two generations: a pool, five levels, and four racks each; the rest are groups of driver versions.
    nodes <= nodes_max && places <= nodes_max && audited <= nodes_max && domains <= 20 && groups <= 20
}

#[test]
fn a_fleet_that_replaces_its_nodes_every_day_does_not_grow() {
    let (mut backend, mut engine) = (Backend::new(), Engine::new());
    backend.tell_all(Timestamp(0), &mut engine);
    // One node of each generation is removed before it goes. Such a node is kept for 90 days.
    let nodes_max = 3 * NODES + 92;
    for generation in 0..GENERATIONS {
        let morning = Timestamp(generation * DAY);
        backend.replace(generation, morning, &mut engine);
        backend.settle(morning, &mut engine);
        let evening = Timestamp(morning.0 + DAY / 2);
        backend.lose(&node(generation, 0), evening, &mut engine);
        backend.settle(evening, &mut engine);
        let late = Timestamp(evening.0 + 3_600_000);
        backend.settle(late, &mut engine);
        assert!(bounded(engine.sizes(), nodes_max), "generation {generation}: {:?}", engine.sizes());
        assert!(backend.stored.len() <= usize::try_from(nodes_max).unwrap());
        if generation % 50 == 49 {
            equals_a_restarted_engine(&backend, &mut engine, late);
        }
    }
    assert!(engine.sizes().nodes > 100, "removed nodes are kept: {:?}", engine.sizes());
}

#[test]
fn a_status_is_deleted_only_with_a_fresh_view() {
    let (mut backend, mut engine) = (Backend::new(), Engine::new());
    backend.tell_all(Timestamp(0), &mut engine);
    backend.replace(0, Timestamp(0), &mut engine);
    backend.settle(Timestamp(0), &mut engine);
    let (lost, evening) = (node(0, 0), Timestamp(DAY / 2));
    backend.lose(&lost, evening, &mut engine);
    backend.settle(evening, &mut engine);
    backend.settle(Timestamp(evening.0 + 3_600_000), &mut engine);
    backend.replace(1, Timestamp(DAY), &mut engine);
    backend.settle(Timestamp(DAY), &mut engine);
    assert!(backend.stored.contains_key(&lost));
    let late = Timestamp(100 * DAY);
    assert!(!engine.decide(late).forgotten.contains(&lost), "the view is 99 days old");
    let later = Timestamp(late.0 + 2 * 3_600_000);
    observe(&mut engine, later, Fact::Synced { as_of: later });
    assert!(engine.decide(later).forgotten.contains(&lost));
}

#[test]
fn a_status_is_deleted_after_its_outcomes_are_counted() {
    let (backend, mut engine) = (Backend::new(), Engine::new());
    backend.tell_all(Timestamp(0), &mut engine);
    let gone: NodeName = name("gone");
    let mut persisted = Persisted::new(Stage::InService, Timestamp(30));
    for (to, at) in [(Stage::Quarantined, 10), (Stage::Qualifying, 20), (Stage::InService, 30)] {
        let rule = name("gpu-off-the-bus");
        persisted.history.push_forgetting_oldest(Transition { to, at: Timestamp(at), rule, word: None });
    }
    observe(&mut engine, Timestamp(40), Fact::Recorded { node: gone.clone(), persisted: Box::new(persisted) });
    let late = Timestamp(100 * DAY);
    observe(&mut engine, late, Fact::Synced { as_of: late });
    let first = engine.decide(late);
    assert!(first.forgotten.is_empty(), "the outcome is not counted yet");
    let record = first.cell.expect("the outcome is counted");
    observe(&mut engine, late, Fact::Cell(CellFacts { record, ..backend.cell }));
    let later = Timestamp(late.0 + 2 * 3_600_000);
    observe(&mut engine, later, Fact::Synced { as_of: later });
    assert_eq!(engine.decide(later).forgotten, [gone]);
}

/// Both know the same, and decide the same about a fault.
fn equals_a_restarted_engine(backend: &Backend, engine: &mut Engine, now: Timestamp) {
    let mut restarted = Engine::new();
    backend.tell_all(now, &mut restarted);
    observe(&mut restarted, now, Fact::Synced { as_of: now });
    restarted.decide(now);
    let known = |engine: &Engine| {
        (engine.standing().collect::<Vec<_>>(), engine.budgets(), engine.breakers(), engine.domains())
    };
    assert_eq!(known(&restarted), known(engine));
    for node in backend.stored.keys() {
        assert_eq!(restarted.persisted(node), engine.persisted(node), "{node}");
    }
    assert_eq!(
        restarted.sizes().nodes,
        backend.nodes.len() + backend.stored.keys().filter(|node| !backend.nodes.contains_key(*node)).count()
    );
    let later = Timestamp(now.0 + 60_000);
    let decisions = [engine.clone(), restarted].map(|mut engine| {
        for lost in backend.nodes.keys().take(6) {
            let facts = NodeFacts { ready: Ready::No, ..backend.nodes[lost].clone() };
            observe(&mut engine, later, Fact::Node { node: lost.clone(), facts: Box::new(facts) });
        }
        let much_later = Timestamp(later.0 + 3_600_000);
        observe(&mut engine, much_later, Fact::Synced { as_of: much_later });
        let Decision { effects, report, forgotten, .. } = engine.decide(much_later);
        (effects, report, forgotten)
    });
    assert!(!decisions[0].0.is_empty());
    assert_eq!(decisions[0], decisions[1]);
}
