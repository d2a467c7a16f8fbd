//! Facts of all kinds commute: what arrives at the same time may be read in any order.

use mainstay_engine::Engine;
use mainstay_model::{
    Bounded, CellFacts, Checkpoints, ClaimSource, Contract, Epoch, ExternalCondition, Fact, Freeze, GangFacts, GangId,
    Mode, NodeFacts, NodeName, Observation, Outcome, Persisted, Policy, Request, RequestKind, Schedulable, Stage,
    Timestamp,
};
use proptest::prelude::*;

use crate::world::World;
use crate::{cases, settle, standing, started, story, tell};

/// Number of kinds of facts. [`kind`] numbers them.
const FACT_KINDS: usize = 15;

/// The number of a fact's kind. A new kind of fact needs a number here, and an example in [`fact`].
const fn kind(fact: &Fact) -> usize {
    match fact {
        Fact::Cell(_) => 0,
        Fact::Synced { .. } => 1,
        Fact::Policy(_) => 2,
        Fact::Freezes(_) => 3,
        Fact::Node { .. } => 4,
        Fact::Report { .. } => 5,
        Fact::Complaints { .. } => 6,
        Fact::Recorded { .. } => 7,
        Fact::Request { .. } => 8,
        Fact::Gang { .. } => 9,
        Fact::Asked { .. } => 10,
        Fact::NodeGone { .. } => 11,
        Fact::RecordGone { .. } => 12,
        Fact::GangGone { .. } => 13,
        Fact::Outcome { .. } => FACT_KINDS - 1,
    }
}

/// Whether the order of two facts may matter. One source orders its facts about one object. A gone node may return while
/// its status is deleted: it is a new node if the deletion arrives first, and keeps its treatment otherwise.
fn is_ordered(a: &Fact, b: &Fact, is_gone: bool) -> bool {
    match (a, b) {
        (Fact::Node { .. }, Fact::NodeGone { .. }) | (Fact::NodeGone { .. }, Fact::Node { .. }) => true,
        (Fact::Recorded { .. }, Fact::RecordGone { .. }) | (Fact::RecordGone { .. }, Fact::Recorded { .. }) => true,
        (Fact::Gang { gang: one, .. }, Fact::GangGone { gang: other }) => one == other,
        (Fact::GangGone { gang: one }, Fact::Gang { gang: other, .. }) => one == other,
        (Fact::Node { .. }, Fact::RecordGone { .. }) | (Fact::RecordGone { .. }, Fact::Node { .. }) => is_gone,
        (one, other) => kind(one) == kind(other),
    }
}

/// One fact of every kind about node r1n1 and its gang, at this time.
fn fact(kind: usize, variant: u8, world: &World, now: Timestamp) -> Fact {
    let node: NodeName = "r1n1".parse().unwrap();
    let gang = GangId { namespace: "team".parse().unwrap(), name: "train-9".parse().unwrap() };
    let odd = variant % 2 == 1;
    match kind {
        0 => Fact::Cell(CellFacts {
            epoch: Epoch(1),
            mode: [Mode::Act, Mode::Observe][usize::from(odd)],
            ..CellFacts::default()
        }),
        1 => Fact::Synced { as_of: now },
        2 => Fact::Policy(Box::new(Policy { mode: Mode::Act, ..Policy::new("h100".parse().unwrap()) })),
        3 => Fact::Freezes(
            Bounded::try_from(vec![Freeze { sources: [ClaimSource::Fault].into(), until: Timestamp(now.0 + 1) }])
                .unwrap(),
        ),
        4 => {
            let schedulable = if odd { Schedulable::NotByOthers } else { Schedulable::Yes };
            Fact::Node { facts: Box::new(NodeFacts { schedulable, ..world.facts(&node) }), node }
        }
        5 => Fact::Report { report: Box::new(world.next_report(&node, odd)), node },
        6 => {
            let complaint = ExternalCondition { code: "Bad".parse().unwrap(), since: now };
            Fact::Complaints { node, complaints: Bounded::try_from(vec![complaint]).unwrap() }
        }
        7 => {
            let mut persisted = world.stored(&node).cloned().unwrap_or_else(|| Persisted::new(Stage::InService, now));
            persisted.round += u32::from(odd);
            Fact::Recorded { node, persisted: Box::new(persisted) }
        }
        8 => {
            let kind = if odd { RequestKind::Drain } else { RequestKind::Hold };
            let request = Request { kind, reason: "test".parse().unwrap(), by: "ana".parse().unwrap(), word: None };
            Fact::Request { node, request: Some(request) }
        }
        9 => {
            let nodes = Bounded::try_from(vec![node, "r2n3".parse().unwrap()]).unwrap();
            let facts = GangFacts {
                nodes,
                contract: Contract::OnRequest,
                checkpoints: Checkpoints::default(),
                progressed_at: None,
            };
            Fact::Gang { gang, facts: Box::new(facts) }
        }
        10 => {
            Fact::Asked { gang, node, drain: now, answer_by: Timestamp(now.0 + 60_000), saved_step: odd.then_some(7) }
        }
        11 => Fact::NodeGone { node },
        12 => Fact::RecordGone { node },
        13 => {
            let ended = if odd { "train-7" } else { "train-9" };
            Fact::GangGone { gang: GangId { namespace: gang.namespace, name: ended.parse().unwrap() } }
        }
        _ => {
            let outcome = if odd { Outcome::Refused("busy".parse().unwrap()) } else { Outcome::Applied };
            Fact::Outcome { node, effect: "drain-r1n1-1".parse().unwrap(), gang: None, outcome }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Facts of different kinds about one node commute: what arrives at the same time may be read in any order, also by a
    /// controller that has just started.
    #[test]
    fn facts_of_all_kinds_commute(
        story in story(12),
        (a, b) in (0..FACT_KINDS, 1..FACT_KINDS),
        variants in any::<(u8, u8)>(),
        (drains, restarts) in any::<(bool, bool)>(),
        is_gone in prop::bool::weighted(0.2),
    ) {
        let (mut world, mut engine) = started();
        let now = tell(&story, &mut world, &mut engine);
        if drains {
            world.happen("ana drains r1n1", now, &mut engine);
            settle(now, &mut world, &mut engine);
        }
        if is_gone {
            world.happen("r1n1 is deleted", now, &mut engine);
            settle(now, &mut world, &mut engine);
        }
        if restarts {
            engine = Engine::new();
            world.retell(now, &mut engine);
        }
        let b = (a + b) % FACT_KINDS;
        let facts = [fact(a, variants.0, &world, now), fact(b, variants.1, &world, now)];
        if is_ordered(&facts[0], &facts[1], is_gone) {
            return Ok(());
        }
        let run = |order: [usize; 2]| {
            let mut engine = engine.clone();
            for at in order {
                engine.observe(&Observation { at: now, fact: facts[at].clone() });
            }
            let decision = engine.decide(now);
            (decision, standing(&engine), engine.persisted(&"r1n1".parse().unwrap()).cloned())
        };
        prop_assert_eq!(run([0, 1]), run([1, 0]), "kinds {} and {}", a, b);
    }
}

#[test]
fn every_kind_of_fact_has_an_example() {
    let (world, _) = started();
    for number in 0..FACT_KINDS {
        assert!([0, 1].into_iter().all(|variant| kind(&fact(number, variant, &world, Timestamp(0))) == number));
    }
}
