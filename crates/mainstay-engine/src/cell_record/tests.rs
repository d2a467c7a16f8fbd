//! When the record of the Cell is written, and up to when it counts.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_health::Catalogue;
use mainstay_model::{
    BreakerState, CellFacts, Epoch, Fact, Mode, NodeFacts, Observation, Persisted, PlannedWork, Ready, RuleName,
    Schedulable, Span, Stage, Transition,
};
use mainstay_remedy::verdict;

use super::*;
use crate::Engine;

fn tell(engine: &mut Engine, at: i64, fact: Fact) {
    engine.observe(&Observation { at: Timestamp(at), fact });
}

fn leads(engine: &mut Engine, at: i64, record: CellRecord) {
    tell(engine, at, Fact::Cell(CellFacts { epoch: Epoch(1), mode: Mode::Act, record, ..CellFacts::default() }));
}

/// A node was removed, tested and returned by then.
fn given_back(at: i64) -> Persisted {
    let mut persisted = Persisted::new(Stage::InService, Timestamp(at));
    for to in [Stage::Quarantined, Stage::Qualifying, Stage::InService] {
        let rule = RuleName::parse("gpu-off-the-bus").unwrap();
        persisted.history.push_forgetting_oldest(Transition { to, at: Timestamp(at), rule, word: None });
    }
    persisted
}

fn registered(engine: &mut Engine, node: &str) {
    let facts = NodeFacts {
        uid: "uid-1".parse().unwrap(),
        domains: BTreeMap::new(),
        pool: "h100".parse().unwrap(),
        gpus: 8,
        ready: Ready::Yes,
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: mainstay_model::Power::Unknown,
    };
    tell(engine, 5, Fact::Node { node: node.parse().unwrap(), facts: Box::new(facts) });
}

fn refuted(engine: &mut Engine, node: &str, at: i64) {
    let persisted = Box::new(given_back(at));
    tell(engine, at, Fact::Recorded { node: node.parse().unwrap(), persisted });
}

fn decides(engine: &mut Engine, at: i64) -> Option<CellRecord> {
    tell(engine, at, Fact::Synced { as_of: Timestamp(at) });
    engine.decide(Timestamp(at)).cell
}

fn refuted_in(record: &CellRecord) -> u64 {
    record.rules.as_slice().iter().map(|rule| rule.refuted).sum()
}

#[test]
fn counts_are_written_once_seen_and_then_after_a_pause() {
    let pause = i64::try_from(limits::CELL_RECORD_PAUSE.0).unwrap();
    let mut engine = Engine::new();
    refuted(&mut engine, "n1", 10);
    leads(&mut engine, 20, CellRecord::default());
    let first = decides(&mut engine, 30).unwrap();
    assert_eq!((refuted_in(&first), first.counted_to), (1, Timestamp(30)));
    // The write was lost: it is repeated later, with the same counts.
    assert_eq!(decides(&mut engine, 40), None);
    assert_eq!(engine.wake_at(), Some(Timestamp(30 + pause)));
    assert_eq!(decides(&mut engine, 30 + pause).map(|record| refuted_in(&record)), Some(1));
    leads(&mut engine, 40 + pause, first);
    assert_eq!(decides(&mut engine, 50 + pause * 2), None);
    assert_eq!(engine.cell_record.due_at, None);
    // The next outcome is added.
    refuted(&mut engine, "n2", 60 + pause * 2);
    assert_eq!(decides(&mut engine, 70 + pause * 2).map(|record| refuted_in(&record)), Some(2));
    assert_eq!(engine.verdicts()[0].record.refuted, 2);
}

#[test]
fn nobody_counts_who_does_not_lead_or_may_not_have_seen_what_the_last_leader_wrote() {
    let mut engine = Engine::new();
    refuted(&mut engine, "n1", 10);
    assert_eq!(decides(&mut engine, 30), None);
    assert_eq!(engine.verdicts()[0].record.refuted, 1);
    leads(&mut engine, 40, CellRecord::default());
    // The view is as of before it led.
    assert_eq!(engine.decide(Timestamp(50)).cell, None);
    let pause = Span(50 + limits::CELL_RECORD_PAUSE.0);
    let at = (Timestamp(0) + pause).0;
    assert_eq!(decides(&mut engine, at).map(|record| refuted_in(&record)), Some(1));
}

#[test]
fn a_finding_whose_record_is_under_way_is_not_passed() {
    let mut engine = Engine::new();
    registered(&mut engine, "n1");
    assert_eq!(counted_to(&engine.state, Timestamp(30)), Timestamp(30));
    let id = engine.state.names[&"n1".parse().unwrap()];
    engine.state.node_mut(id).status = given_back(15);
    assert_eq!(counted_to(&engine.state, Timestamp(30)), Timestamp(15));
    refuted(&mut engine, "n1", 15);
    assert_eq!(counted_to(&engine.state, Timestamp(30)), Timestamp(30));
}

#[test]
fn breakers_and_outcomes_without_a_place_are_counted() {
    let mut engine = Engine::new();
    let facts = |node: usize| {
        let facts = serde_json::json!({
            "uid": format!("uid-{node}"), "domains": {}, "pool": "h100", "gpus": 8, "ready": "Yes", "schedulable": "Yes",
            "planned": "Nothing",
        });
        serde_json::from_value(facts).unwrap()
    };
    // Every rule removed four nodes of the pool within a minute, which opens its breaker.
    for node in 0..4 * (BREAKERS_MAX + 2) {
        let name: mainstay_model::NodeName = format!("n{node}").parse().unwrap();
        tell(&mut engine, 5, Fact::Node { node: name.clone(), facts: Box::new(facts(node)) });
        let mut persisted = Persisted::new(Stage::Quarantined, Timestamp(10));
        let rule = RuleName::parse(&format!("rule-{}", node / 4)).unwrap();
        let removed = Transition { to: Stage::Quarantined, at: Timestamp(10), rule, word: None };
        persisted.history.push_forgetting_oldest(removed);
        tell(&mut engine, 10, Fact::Recorded { node: name, persisted: Box::new(persisted) });
    }
    let full = (0..verdict::RULES_MAX).map(|rule| format!("known-{rule}").parse().unwrap());
    let rules = Bounded::within(full.map(mainstay_model::RuleRecord::new));
    leads(&mut engine, 20, CellRecord { rules, ..CellRecord::default() });
    refuted(&mut engine, "other", 25);
    let written = decides(&mut engine, 30).unwrap();
    assert_eq!((written.breakers.as_slice().len(), refuted_in(&written)), (BREAKERS_MAX, 0));
    assert_eq!(engine.cell_record_omissions(), CellRecordOmissions { breakers: 2, outcomes: 1 });
    leads(&mut engine, 40, written);
    decides(&mut engine, 50);
    let omissions = engine.cell_record_omissions();
    assert_eq!(omissions, CellRecordOmissions { breakers: 2, outcomes: 0 }, "an outcome is lost once");
}

#[test]
fn every_rule_of_the_catalogue_has_a_place_in_the_record() {
    let catalogue = Catalogue::built_in();
    let rules: BTreeSet<&RuleName> = catalogue.rows().map(|row| &row.rule).collect();
    assert!(rules.len() < verdict::RULES_MAX, "{} rules", rules.len());
}

#[test]
fn a_changed_breaker_is_written_at_once_and_a_lost_write_is_repeated() {
    let mut engine = Engine::new();
    for node in ["n1", "n2", "n3"] {
        registered(&mut engine, node);
        // Held, so that nothing but time changes the breaker.
        let mut persisted = Persisted::new(Stage::Held, Timestamp(10));
        let rule = RuleName::parse("gpu-off-the-bus").unwrap();
        let removed = Transition { to: Stage::Quarantined, at: Timestamp(10), rule, word: None };
        persisted.history.push_forgetting_oldest(removed);
        tell(&mut engine, 10, Fact::Recorded { node: node.parse().unwrap(), persisted: Box::new(persisted) });
    }
    leads(&mut engine, 20, CellRecord::default());
    let shown = |record: Option<CellRecord>| {
        record.map(|record| record.breakers.as_slice().iter().map(|one| one.state).collect::<Vec<_>>())
    };
    let first = decides(&mut engine, 30).unwrap();
    assert_eq!(shown(Some(first.clone())), Some(vec![BreakerState::Open]));
    let retry = i64::try_from(limits::EFFECT_RETRY.0).unwrap();
    assert_eq!(decides(&mut engine, 30 + retry - 1), None);
    assert_eq!(shown(decides(&mut engine, 30 + retry)), Some(vec![BreakerState::Open]));
    leads(&mut engine, 40 + retry, first);
    assert_eq!(decides(&mut engine, 50 + retry), None);
    // Its pause ends, which is written before the pause of the counters is over.
    let half_open_at = 10 + i64::try_from(Span::minutes(30).0).unwrap();
    assert_eq!(decides(&mut engine, half_open_at - 1), None);
    assert_eq!(shown(decides(&mut engine, half_open_at)), Some(vec![BreakerState::HalfOpen]));
}
