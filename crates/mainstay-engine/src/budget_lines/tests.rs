use mainstay_model::{
    Fact, NodeLimit, NodeName, Observation, Persisted, Policy, Repairer, RuleName, Span, Stage, Timestamp, Transition,
};

use super::*;
use crate::Engine;

fn tell(engine: &mut Engine, fact: Fact) {
    engine.observe(&Observation { at: Timestamp(0), fact });
}

/// Mainstay removed the node at this time.
fn removed(at: i64) -> Persisted {
    let mut persisted = Persisted::new(Stage::Repairing, Timestamp(at));
    for to in [Stage::Quarantined, Stage::Repairing] {
        let rule = RuleName::parse("gpu-off-the-bus").unwrap();
        persisted.history.push_forgetting_oldest(Transition { to, at: Timestamp(at), rule, word: None });
    }
    persisted
}

#[test]
fn floor_rate_and_parked_nodes_of_a_pool_are_counted() {
    let mut engine = Engine::new();
    let pool: PoolName = "h100".parse().unwrap();
    let rate = RateLimit { grants: 2, per: Span::hours(1) };
    let floor = Some(NodeLimit::Nodes(8));
    tell(&mut engine, Fact::Policy(Box::new(Policy { floor, rate: Some(rate), ..Policy::new(pool.clone()) })));
    let name = |node: u32| -> NodeName { format!("n{node}").parse().unwrap() };
    for node in 0..10 {
        let facts = serde_json::json!({
            "uid": format!("uid-{node}"), "domains": {}, "pool": "h100", "gpus": 8, "ready": "Yes", "schedulable": "Yes",
            "planned": "Nothing",
        });
        tell(&mut engine, Fact::Node { node: name(node), facts: serde_json::from_value(facts).unwrap() });
    }
    let hour = 3_600_000;
    let waits_for_part = Persisted { repairer: Repairer::Technician, ..removed(10) };
    for (node, persisted) in [(0, waits_for_part), (1, removed(hour))] {
        tell(&mut engine, Fact::Recorded { node: name(node), persisted: Box::new(persisted) });
    }
    let line = |removals| PoolLimitsLine {
        pool: pool.clone(),
        nodes: 10,
        in_service: 8,
        floor: Some(8),
        parked: 1,
        rate: Some((removals, rate)),
    };
    let lines = pool_limits(&engine.state, Timestamp(hour + 5));
    assert_eq!(lines, [line(2)]);
    assert_eq!((lines[0].is_at_floor(), lines[0].is_at_rate()), (true, true));
    let lines = pool_limits(&engine.state, Timestamp(hour + 10));
    assert_eq!(lines, [line(1)], "the first removal is an hour ago");
    assert!(!lines[0].is_at_rate());
}
