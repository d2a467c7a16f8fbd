//! What is kept along the way stays what is there: work in any order, calm nodes, and those who wait for room.

use mainstay_model::{
    Bounded, Budget, CellFacts, Checkpoints, Contract, Epoch, Fact, GangFacts, Mode, NodeFacts, NodeLimit, NodeName,
    Observation, PlannedWork, Policy, Ready, Request, RequestKind, Schedulable, Stage, Timestamp,
};

use super::*;
use crate::Engine;

fn name(number: u32) -> NodeName {
    format!("n{number}").parse().unwrap()
}

fn gang(id: &str) -> GangId {
    GangId { namespace: "team".parse().unwrap(), name: id.parse().unwrap() }
}

fn node_is(number: u32, schedulable: Schedulable) -> Fact {
    let facts = NodeFacts {
        uid: "u".parse().unwrap(),
        domains: BTreeMap::new(),
        pool: "p".parse().unwrap(),
        gpus: 8,
        ready: Ready::Yes,
        schedulable,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: mainstay_model::Power::Unknown,
    };
    Fact::Node { node: name(number), facts: Box::new(facts) }
}

fn runs_on(id: &str, nodes: &[u32]) -> Fact {
    let nodes: Vec<NodeName> = nodes.iter().copied().map(name).collect();
    let nodes = Bounded::try_from(nodes).unwrap();
    Fact::Gang {
        gang: gang(id),
        facts: Box::new(GangFacts {
            nodes,
            contract: Contract::None,
            checkpoints: Checkpoints::default(),
            progressed_at: None,
        }),
    }
}

fn tell(engine: &mut Engine, facts: impl IntoIterator<Item = Fact>) {
    for fact in facts {
        engine.observe(&Observation { at: Timestamp(0), fact });
        assert_eq!(engine.recount(), Ok(()));
    }
}

fn led() -> Engine {
    let mut engine = Engine::new();
    let cell = CellFacts { epoch: Epoch(1), mode: Mode::Act, ..CellFacts::default() };
    tell(&mut engine, [Fact::Cell(cell)]);
    engine
}

fn asks(number: u32, kind: Option<RequestKind>) -> Fact {
    let request =
        kind.map(|kind| Request { kind, reason: "why".parse().unwrap(), by: "ana".parse().unwrap(), word: None });
    Fact::Request { node: name(number), request }
}

/// How many nodes were looked at because of these facts.
fn decide(engine: &mut Engine, facts: impl IntoIterator<Item = Fact>) -> u64 {
    tell(engine, facts);
    let evaluated = engine.decide(Timestamp(0)).evaluated;
    assert_eq!(engine.recount(), Ok(()));
    evaluated
}

fn gangs_on(engine: &Engine, number: u32) -> Vec<&str> {
    let gangs = &engine.state.named(&name(number)).unwrap().gangs;
    gangs.iter().map(|id| id.name.as_str()).collect()
}

#[test]
fn a_gang_that_is_seen_before_its_nodes_is_on_them_once_they_are_seen() {
    let mut engine = Engine::new();
    tell(&mut engine, [runs_on("b", &[3, 1, 1]), node_is(1, Schedulable::Yes), runs_on("a", &[1, 2])]);
    tell(&mut engine, [runs_on("c", &[3]), Fact::GangGone { gang: gang("c") }]);
    tell(&mut engine, [node_is(2, Schedulable::Yes), node_is(3, Schedulable::Yes)]);
    assert_eq!([1, 2, 3].map(|number| gangs_on(&engine, number)), [vec!["a", "b"], vec!["a"], vec!["b"]]);
    assert!(engine.state.gangs.early.is_empty());

    tell(&mut engine, [runs_on("b", &[2, 1]), Fact::GangGone { gang: gang("a") }]);
    assert_eq!([1, 2, 3].map(|number| gangs_on(&engine, number)), [vec!["b"], vec!["b"], vec![]]);
}

#[test]
fn a_gang_that_goes_before_its_nodes_are_seen_leaves_nothing_behind() {
    let mut engine = Engine::new();
    tell(&mut engine, [runs_on("a", &[1, 2]), runs_on("b", &[2]), Fact::GangGone { gang: gang("a") }]);
    assert_eq!(engine.state.gangs.early.keys().collect::<Vec<_>>(), [&name(2)]);
    tell(&mut engine, [Fact::GangGone { gang: gang("b") }]);
    assert!(engine.state.gangs.early.is_empty() && engine.state.gangs.list.is_empty());
}

#[test]
fn work_that_comes_and_goes_is_no_reason_to_look_at_a_calm_node() {
    let mut engine = led();
    decide(&mut engine, [node_is(1, Schedulable::Yes)]);
    assert_eq!(decide(&mut engine, [runs_on("a", &[1])]), 0);
    assert_eq!(decide(&mut engine, [Fact::GangGone { gang: gang("a") }]), 0);
}

#[test]
fn a_node_in_service_is_not_calm_while_our_cordon_is_there() {
    let mut engine = led();
    decide(&mut engine, [node_is(1, Schedulable::NotByUs)]);
    assert_eq!(decide(&mut engine, [runs_on("a", &[1])]), 1);
}

#[test]
fn a_node_in_service_is_not_calm_while_its_record_is_due() {
    let mut engine = led();
    decide(&mut engine, [node_is(1, Schedulable::Yes), asks(1, Some(RequestKind::Hold))]);
    decide(&mut engine, [asks(1, None)]);
    assert_eq!(engine.persisted(&name(1)).unwrap().stage, Stage::InService);
    assert_eq!(decide(&mut engine, [runs_on("a", &[1])]), 1);
}

#[test]
fn a_node_that_waits_for_room_and_is_gone_waits_no_more() {
    let mut engine = led();
    // Its pool has no budget, so there is never room.
    decide(&mut engine, [node_is(1, Schedulable::Yes), asks(1, Some(RequestKind::Drain))]);
    assert_eq!(engine.report(&name(1)).unwrap().waiting_on, WaitingOn::Budget);
    decide(&mut engine, [Fact::NodeGone { node: name(1) }]);
    assert!(engine.index.budget.values().all(BTreeSet::is_empty));
}

#[test]
fn a_node_that_waits_for_an_approval_and_would_not_be_woken_is_noticed() {
    let mut engine = Engine::new();
    let cell = CellFacts { epoch: Epoch(1), mode: Mode::Propose, ..CellFacts::default() };
    let budgets = Bounded::within([Budget { level: None, most: NodeLimit::Nodes(1) }]);
    let policy = Policy { mode: Mode::Act, budgets, ..Policy::new("p".parse().unwrap()) };
    tell(&mut engine, [Fact::Cell(cell), Fact::Policy(Box::new(policy))]);
    decide(&mut engine, [node_is(1, Schedulable::Yes), asks(1, Some(RequestKind::Drain))]);
    assert_eq!(engine.report(&name(1)).unwrap().waiting_on, WaitingOn::Approval);
    engine.index.approval.clear();
    assert_eq!(engine.recount(), Err("n1 waits and nothing wakes it".to_owned()));
}

#[test]
fn a_policy_wakes_the_nodes_of_its_pool_and_no_others() {
    let mut engine = led();
    decide(&mut engine, [node_is(1, Schedulable::Yes), node_is(2, Schedulable::Yes)]);
    let of = |pool: &str| Fact::Policy(Box::new(Policy::new(pool.parse().unwrap())));
    assert_eq!(decide(&mut engine, [of("p")]), 2);
    assert_eq!(decide(&mut engine, [of("q")]), 0);
}

#[test]
fn checkpoint_requests_that_are_seen_before_their_gangs_are_kept() {
    let mut engine = Engine::new();
    let asked = |id: &str| Fact::Asked {
        gang: gang(id),
        node: name(1),
        drain: Timestamp(0),
        answer_by: Timestamp(60_000),
        saved_step: None,
    };
    tell(&mut engine, [asked("a"), asked("b"), runs_on("a", &[1]), runs_on("b", &[1])]);
    let counts = ["a", "b"].map(|id| engine.state.gangs.list[&gang(id)].asked.len());
    assert_eq!(counts, [1, 1]);
}
