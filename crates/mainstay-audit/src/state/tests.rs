//! What the picture keeps stays small, and what is gone is forgotten.

use std::collections::BTreeMap;

use mainstay_model::{Level, PlannedWork, Ready, Schedulable, Stage};

use super::*;

fn facts(rack: &str) -> Box<NodeFacts> {
    Box::new(NodeFacts {
        uid: "u".parse().unwrap(),
        domains: BTreeMap::from([(Level::Rack, rack.parse().unwrap())]),
        pool: "p".parse().unwrap(),
        gpus: 8,
        ready: Ready::Yes,
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: mainstay_model::Power::Unknown,
    })
}

fn fold(picture: &mut State, fact: Fact) {
    picture.fold(&Observation { at: Timestamp(1), fact });
}

#[test]
fn a_node_costs_little_because_there_are_a_hundred_thousand() {
    let bytes = size_of::<Node>();
    assert!(bytes <= 160, "{bytes} bytes a node, beside its name and its registration");
}

const HOUR: i64 = 3_600_000;

/// Folds a fact in that is about another node, at this hour.
fn pass(picture: &mut State, hour: i64) {
    picture.fold(&Observation { at: Timestamp(hour * HOUR), fact: Fact::Synced { as_of: Timestamp(hour * HOUR) } });
}

#[test]
fn nodes_and_racks_that_are_gone_leave_nothing_behind() {
    let mut picture = State::default();
    for number in 0..100 {
        let node: NodeName = format!("n{number}").parse().unwrap();
        fold(&mut picture, Fact::Node { node: node.clone(), facts: facts(&format!("r{number}")) });
        let persisted = Box::new(Persisted::new(Stage::InService, Timestamp(0)));
        fold(&mut picture, Fact::Recorded { node: node.clone(), persisted });
        fold(&mut picture, Fact::NodeGone { node: node.clone() });
        fold(&mut picture, Fact::RecordGone { node });
    }
    assert!(picture.places.all().is_empty());
    // Each took the indexes that the previous one had left: a pool, four levels without a label, one rack.
    assert_eq!(picture.places.slots(), 6);
    pass(&mut picture, 24);
    assert_eq!(picture.nodes.len(), 100, "a day is not over");
    pass(&mut picture, 26);
    assert!(picture.nodes.is_empty());
}

#[test]
fn a_gone_node_is_remembered_while_something_is_stored_about_it() {
    let node: NodeName = "n".parse().unwrap();
    let gone = || {
        let mut picture = State::default();
        fold(&mut picture, Fact::Node { node: node.clone(), facts: facts("r") });
        let persisted = Box::new(Persisted::new(Stage::Draining, Timestamp(0)));
        fold(&mut picture, Fact::Recorded { node: node.clone(), persisted });
        fold(&mut picture, Fact::NodeGone { node: node.clone() });
        picture
    };
    let mut picture = gone();
    pass(&mut picture, 1_000);
    let stage = |picture: &State| picture.node(&node).and_then(Node::record).map(|record| record.stage);
    assert_eq!(stage(&picture), Some(Stage::Draining), "the status is stored");
    fold(&mut picture, Fact::RecordGone { node: node.clone() });
    pass(&mut picture, 1_001);
    assert!(picture.node(&node).is_none());
    let mut picture = gone();
    fold(&mut picture, Fact::RecordGone { node: node.clone() });
    let request = Request {
        kind: mainstay_model::RequestKind::Hold,
        reason: mainstay_model::Reason::parse("r").unwrap(),
        by: "ana".parse().unwrap(),
        word: None,
    };
    fold(&mut picture, Fact::Request { node: node.clone(), request: Some(request) });
    pass(&mut picture, 1_000);
    assert!(picture.node(&node).is_some(), "an operator holds it");
    fold(&mut picture, Fact::Request { node: node.clone(), request: None });
    pass(&mut picture, 1_001);
    assert!(picture.node(&node).is_none());
}
