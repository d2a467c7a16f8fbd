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

#[test]
fn nodes_and_racks_that_are_gone_leave_nothing_behind() {
    let mut picture = State::default();
    for number in 0..100 {
        let node: NodeName = format!("n{number}").parse().unwrap();
        fold(&mut picture, Fact::Node { node: node.clone(), facts: facts(&format!("r{number}")) });
        let persisted = Box::new(Persisted::new(Stage::InService, Timestamp(0)));
        fold(&mut picture, Fact::Recorded { node: node.clone(), persisted });
        fold(&mut picture, Fact::NodeGone { node });
    }
    assert!(picture.nodes.is_empty());
    assert!(picture.places.all().is_empty());
    // Each took the indexes that the previous one had left: a pool, four levels without a label, one rack.
    assert_eq!(picture.places.slots(), 6);
}

#[test]
fn what_is_at_stake_is_remembered_when_the_node_is_gone() {
    let kept = [Stage::Draining, Stage::Held, Stage::Bootstrapping].map(|stage| (stage, true));
    let forgotten = [Stage::InService, Stage::Suspect, Stage::Retired].map(|stage| (stage, false));
    for (stage, remembered) in kept.into_iter().chain(forgotten) {
        let mut picture = State::default();
        let node: NodeName = "n".parse().unwrap();
        fold(&mut picture, Fact::Node { node: node.clone(), facts: facts("r") });
        let persisted = Box::new(Persisted::new(stage, Timestamp(0)));
        fold(&mut picture, Fact::Recorded { node: node.clone(), persisted });
        fold(&mut picture, Fact::NodeGone { node: node.clone() });
        assert_eq!(picture.node(&node).is_some(), remembered, "{stage:?}");
    }
}
