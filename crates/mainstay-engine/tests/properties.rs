//! What must hold whatever happens: stories made up by chance, told to the brain in a small world that follows it.

#![cfg(test)]

#[path = "properties/commute.rs"]
mod commute;
#[path = "scenario/readings.rs"]
mod readings;
#[path = "scenario/words.rs"]
mod words;
#[path = "scenario/world.rs"]
mod world;

use std::collections::BTreeSet;

use mainstay_engine::Engine;
use mainstay_engine::record::{self, Entry};
use mainstay_engine::why::Wait;
use mainstay_model::{
    Decision, Effect, Execution, Fact, NodeSummary, Observation, Outcome, RuleRecord, Step, Timestamp, WaitingOn,
};
use mainstay_remedy::verdict::{Judged, Verdicts};
use proptest::prelude::*;
use world::World;

const ROUNDS_MAX: usize = 12;

fn setting() -> Vec<String> {
    [
        "fleet 2 racks x 3 nodes",
        "budget 1 out per rack",
        "budget 2 out",
        "job train-7 on r1n1 r1n2 saves on request",
        "job batch-1 on r2n1",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The setting with a capacity floor, a rate limit, both or neither.
fn limited(floor: Option<u8>, rate: Option<u8>) -> Vec<String> {
    let floor = floor.map(|nodes| format!("floor {nodes}"));
    let rate = rate.map(|grants| format!("rate {grants} an hour"));
    setting().into_iter().chain(floor).chain(rate).collect()
}

/// One thing that happens to one node.
fn event(node: &str, which: u8) -> String {
    let xid = |code: u32, rest: &str| format!("{node} says \"NVRM: Xid (PCI:0000:13:00): {code}, {rest}\"");
    match which {
        0 => xid(79, "GPU has fallen off the bus."),
        1 => xid(94, "Contained: SM (0x1). RST: No, D-RST: No"),
        2 => xid(63, "Row Remapper: New row marked for remapping, reset gpu to activate."),
        3 => xid(45, "pid=4242, name=python, Ch 00000008"),
        4 => xid(999, "something new"),
        5 => format!("{node} is not ready"),
        6 => format!("{node} is ready"),
        7 => format!("{node} is cordoned by others"),
        8 => format!("{node} carries out its order"),
        9 => format!("{node} fails its order"),
        10 => format!("{node} qualifies"),
        11 => format!("{node} fails its qualification"),
        12 => format!("ana drains {node}"),
        13 => format!("ana holds {node}"),
        14 => format!("ana releases {node}"),
        15 => format!("ana returns {node}"),
        21 => format!("ana returns {node} and found a-fault"),
        22 => format!("ana returns {node} and found nothing"),
        16 => format!("{node} goes into maintenance"),
        17 => format!("{node} is given back"),
        18 => format!("{node} reports"),
        19 => format!("{node} is uncordoned by others"),
        _ => format!("{node} loses a gpu"),
    }
}

/// Room for everybody, so that breakers alone hold anybody back, or blame where nodes have something in common.
fn roomy(domains: bool) -> Vec<String> {
    let lines = ["fleet 2 racks x 3 nodes", "budget 6 out", "job train-7 on r1n1 r1n2 saves on request", "no domains"];
    lines[..if domains { 3 } else { 4 }].iter().copied().map(str::to_owned).collect()
}

fn node(which: u8) -> String {
    format!("r{}n{}", which / 3 % 2 + 1, which % 3 + 1)
}

/// Minutes that pass, then something happens to a node; now and then to the cell.
#[derive(Debug, Clone)]
enum Happens {
    OnNode { minutes: u16, node: u8, which: u8 },
    Mode { minutes: u16, mode: u8 },
    Saves { minutes: u16 },
}

impl Happens {
    fn minutes(&self) -> u16 {
        match self {
            Self::OnNode { minutes, .. } | Self::Mode { minutes, .. } | Self::Saves { minutes } => *minutes,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::OnNode { node: which_node, which, .. } => event(&node(*which_node), *which),
            Self::Mode { mode, .. } => format!("mode {}", ["observe", "propose", "act"][usize::from(*mode % 3)]),
            Self::Saves { .. } => "train-7 saves step 7".to_owned(),
        }
    }
}

fn story(len: usize) -> impl Strategy<Value = Vec<Happens>> {
    let minutes = || 0..90_u16;
    let one = prop_oneof![
        12 => (minutes(), 0..6_u8, 0..21_u8).prop_map(|(minutes, node, which)| Happens::OnNode { minutes, node, which }),
        1 => (minutes(), 0..3_u8).prop_map(|(minutes, mode)| Happens::Mode { minutes, mode }),
        1 => minutes().prop_map(|minutes| Happens::Saves { minutes }),
    ];
    prop::collection::vec(one, 0..len)
}

/// Faults of one or two kinds on many nodes, and what becomes of their repairs: what breakers live by.
fn crowded(len: usize) -> impl Strategy<Value = Vec<Happens>> {
    let which = prop_oneof![6 => Just(0), 2 => Just(1), 1 => Just(5), 1 => Just(6), 4 => Just(8), 3 => Just(10), 3 => Just(11), 2 => 0..23_u8];
    let on_node = (0..40_u16, 0..6_u8, which);
    let one = on_node.prop_map(|(minutes, node, which)| Happens::OnNode { minutes, node, which });
    prop::collection::vec(one, 10..len)
}

/// Decides until the world has followed; every decision is audited.
fn settle(now: Timestamp, world: &mut World, engine: &mut Engine) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for _ in 0..ROUNDS_MAX {
        world.sync(now, engine);
        world.decides(now);
        let decision = engine.decide(now);
        assert_eq!(engine.audit(&decision, now), [], "{decision:#?}");
        let followed = world.follow(&decision, now, engine);
        decisions.push(decision);
        if !followed {
            break;
        }
    }
    decisions
}

fn started() -> (World, Engine) {
    started_in(&setting())
}

fn started_in(setting: &[String]) -> (World, Engine) {
    let (mut world, mut engine) = (World::new(setting), Engine::new());
    world.begin(&mut engine);
    settle(Timestamp(0), &mut world, &mut engine);
    (world, engine)
}

fn tell(story: &[Happens], world: &mut World, engine: &mut Engine) -> Timestamp {
    let mut now = Timestamp(0);
    for happens in story {
        now = Timestamp(now.0 + i64::from(happens.minutes()) * 60_000);
        world.happen(&happens.text(), now, engine);
        settle(now, world, engine);
    }
    now
}

fn standing(engine: &Engine) -> Vec<NodeSummary> {
    engine.standing().collect()
}

/// How many cases each property generates. A long run by hand sets more.
#[expect(clippy::disallowed_methods, reason = "a test reads what its caller wants")]
fn cases() -> u32 {
    std::env::var("MAINSTAY_PROPERTY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn the_auditor_never_objects_every_wait_has_its_reason_and_counts_kept_equal_counts_made_anew(
        story in story(40),
        (floor, rate) in (prop::option::of(3..6_u8), prop::option::of(1..3_u8)),
    ) {
        let (mut world, mut engine) = started_in(&limited(floor, rate));
        let mut now = Timestamp(0);
        for happens in &story {
            now = Timestamp(now.0 + i64::from(happens.minutes()) * 60_000);
            world.happen(&happens.text(), now, &mut engine);
            settle(now, &mut world, &mut engine);
            prop_assert_eq!(engine.recount(), Ok(()));
            for line in engine.standing() {
                let why = engine.why(&line.node).unwrap();
                prop_assert_eq!((why.stage, why.wait.on()), (line.stage, line.waiting_on));
                let waits_on_nobody = matches!(why.wait, Wait::Breaker(None) | Wait::SharedCause(None));
                prop_assert!(!waits_on_nobody && why.to_string().contains(". Next: "), "{}", why);
            }
        }
    }

    #[test]
    fn asking_twice_asks_for_nothing_more(story in story(30)) {
        let (mut world, mut engine) = started();
        let now = tell(&story, &mut world, &mut engine);
        world.happen("r1n1 says \"NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus.\"", now, &mut engine);
        engine.decide(now);
        let before = standing(&engine);
        let again = engine.decide(now);
        prop_assert_eq!(again.effects, []);
        prop_assert_eq!(again.evaluated, 0);
        prop_assert_eq!(standing(&engine), before);
    }

    #[test]
    fn independent_facts_commute(story in story(20), a in 0..21_u8, b in 0..21_u8) {
        let run = |first: &str, second: &str| {
            let (mut world, mut engine) = started();
            let now = tell(&story, &mut world, &mut engine);
            world.happen(first, now, &mut engine);
            world.happen(second, now, &mut engine);
            let decisions = settle(now, &mut world, &mut engine);
            (decisions, standing(&engine))
        };
        let (one, other) = (event("r1n1", a), event("r2n2", b));
        prop_assert_eq!(run(&one, &other), run(&other, &one));
    }

    #[test]
    fn breakers_and_blame_kept_equal_those_made_anew_and_survive_a_restart(
        story in crowded(60),
        domains in any::<bool>(),
    ) {
        let (mut world, mut engine) = started_in(&roomy(domains));
        let mut now = Timestamp(0);
        for happens in &story {
            now = Timestamp(now.0 + i64::from(happens.minutes()) * 60_000);
            world.happen(&happens.text(), now, &mut engine);
            settle(now, &mut world, &mut engine);
            prop_assert_eq!(engine.recount(), Ok(()));
        }
        let mut restarted = Engine::new();
        world.retell(now, &mut restarted);
        world.sync(now, &mut restarted);
        restarted.decide(now);
        prop_assert_eq!(restarted.breakers(), engine.breakers());
        prop_assert_eq!(restarted.blamed(), engine.blamed());
        prop_assert_eq!(standing(&restarted), standing(&engine));
        let again = engine.decide(now);
        prop_assert_eq!(again.evaluated, 0);
    }

    #[test]
    fn every_judged_finding_is_counted_once_whoever_leads(
        story in crowded(60),
        deaf in prop::collection::vec(prop::bool::weighted(0.3), 60),
    ) {
        let (mut world, mut engine) = started_in(&roomy(false));
        let (mut now, mut ever) = (Timestamp(0), BTreeSet::new());
        for (happens, deaf) in story.iter().zip(deaf) {
            now = Timestamp(now.0 + i64::from(happens.minutes()) * 60_000);
            let backend = if deaf { "the backend does nothing" } else { "the backend works again" };
            world.happen(backend, now, &mut engine);
            world.happen(&happens.text(), now, &mut engine);
            settle(now, &mut world, &mut engine);
            ever.extend(world.judged());
            let mut all = Verdicts::default();
            ever.iter().for_each(|one: &Judged| all.note(one.clone()));
            let should_be = all.added(&[], Timestamp(0), None);
            let is: Vec<RuleRecord> = engine.verdicts().into_iter().map(|line| line.record).collect();
            prop_assert_eq!(&is, &should_be);
            let mut restarted = Engine::new();
            world.retell(now, &mut restarted);
            prop_assert_eq!(restarted.verdicts(), engine.verdicts());
            // Now and then another leads on.
            if happens.minutes() % 4 == 0 {
                engine = restarted;
                settle(now, &mut world, &mut engine);
            }
        }
    }

    #[test]
    fn a_restart_at_any_step_gives_the_same_next_decision(
        crowd in any::<bool>(),
        (few, many) in (story(30), crowded(40)),
        which in 0..21_u8,
        (last, rounds) in (0..21_u8, 0..4_usize),
    ) {
        let (story, setting) = if crowd { (many, roomy(which % 2 == 0)) } else { (few, setting()) };
        let (mut world, mut engine) = started_in(&setting);
        let now = tell(&story, &mut world, &mut engine);
        // The restart comes after some effects of the last event, before the others.
        world.happen(&event("r1n1", last), now, &mut engine);
        for _ in 0..rounds {
            world.sync(now, &mut engine);
            let decision = engine.decide(now);
            world.follow(&decision, now, &mut engine);
        }
        let mut restarted = Engine::new();
        world.retell(now, &mut restarted);
        for engine in [&mut engine, &mut restarted] {
            world.sync(now, engine);
            engine.decide(now);
        }
        prop_assert_eq!(standing(&restarted), standing(&engine));

        let mut elsewhere = world.clone();
        let event = event("r1n2", which);
        world.happen(&event, now, &mut engine);
        elsewhere.happen(&event, now, &mut restarted);
        // When evidence alone is written down again is paced, and the pace begins anew; what is done and ordered is the
        // same.
        let next = |world: &mut World, engine: &mut Engine| -> Vec<Effect> {
            let effects = settle(now, world, engine).into_iter().flat_map(|decision| decision.effects);
            let mut acts: Vec<Effect> = effects.filter(|effect| !matches!(effect.step, Step::Store(_))).collect();
            acts.dedup();
            acts
        };
        prop_assert_eq!(next(&mut elsewhere, &mut restarted), next(&mut world, &mut engine));
        prop_assert_eq!(elsewhere.orders(), world.orders());
        prop_assert_eq!(standing(&restarted), standing(&engine));
    }
}

/// Checkpoint requests and stops in these decisions.
fn disturbances(decisions: &[Decision]) -> (usize, usize) {
    let effects = || decisions.iter().flat_map(|decision| &decision.effects);
    let asks = effects().filter(|effect| matches!(effect.step, Step::AskCheckpoint { .. })).count();
    let stops = effects().filter(|effect| matches!(effect.step, Step::Stop { .. })).count();
    (asks, stops)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Losing every outcome changes no end state: outcomes delay effects and never advance a stage.
    #[test]
    fn losing_all_outcomes_changes_no_end_state(
        story in story(20),
        outcomes in prop::collection::vec(0..5_u8, 64),
    ) {
        let end = |told: bool| {
            let (mut world, mut engine) = started();
            let (mut now, mut outcomes) = (Timestamp(0), outcomes.iter().cycle());
            let tell = |decisions: &[Decision], now: Timestamp, engine: &mut Engine, outcome: u8| {
                let effects = decisions.iter().flat_map(|decision| &decision.effects);
                for effect in effects.filter(|_| told) {
                    let outcome = match outcome {
                        0 => Outcome::Applied,
                        1 => Outcome::Conflict,
                        2 => Outcome::Refused("busy".parse().unwrap()),
                        3 => Outcome::Started,
                        _ => Outcome::Unknown,
                    };
                    let (node, gang) = (effect.node.clone(), effect.step.gang().cloned());
                    let fact = Fact::Outcome { node, effect: effect.id.clone(), gang, outcome };
                    engine.observe(&Observation { at: now, fact });
                }
            };
            for happens in &story {
                now = Timestamp(now.0 + i64::from(happens.minutes()) * 60_000);
                world.happen(&happens.text(), now, &mut engine);
                let decisions = settle(now, &mut world, &mut engine);
                tell(&decisions, now, &mut engine, outcomes.next().copied().unwrap_or(0));
            }
            // Longer than an action is delayed after it was refused, and than a repair may last.
            for minutes in [3, 3, 3, 3, 3, 3, 60, 60, 60, 60, 60] {
                now = Timestamp(now.0 + minutes * 60_000);
                settle(now, &mut world, &mut engine);
            }
            engine.standing().map(|line| (line.node, line.stage, line.waiting_on)).collect::<Vec<_>>()
        };
        prop_assert_eq!(end(true), end(false));
    }

    /// Every action on a node or a gang belongs to a claim whose grant the node's status stores.
    #[test]
    fn no_effect_is_ordered_without_a_stored_grant(story in story(30)) {
        let (mut world, mut engine) = started();
        let mut now = Timestamp(0);
        for happens in &story {
            now = Timestamp(now.0 + i64::from(happens.minutes()) * 60_000);
            world.happen(&happens.text(), now, &mut engine);
            for _ in 0..ROUNDS_MAX {
                world.sync(now, &mut engine);
                let decision = engine.decide(now);
                let ordered = decision.effects.iter().filter(|effect| effect.execution == Execution::Ordered);
                for effect in ordered.filter(|effect| !matches!(effect.step, Step::Store(_))) {
                    let granted = world.stored(&effect.node).and_then(|stored| stored.grant.clone());
                    prop_assert!(granted.is_some(), "{:?}", effect);
                    prop_assert_eq!(&effect.claim, &granted.map(|grant| grant.claim));
                }
                if !world.follow(&decision, now, &mut engine) {
                    break;
                }
            }
        }
    }

    /// A journal may begin anywhere: the entries of a snapshot rebuild the engine exactly.
    #[test]
    fn an_engine_rebuilt_from_a_snapshot_decides_as_the_one_that_goes_on(
        story in prop_oneof![story(30), crowded(40)],
        deaf in prop::collection::vec(prop::bool::weighted(0.2), 40),
        roomy_domains in prop::option::of(any::<bool>()),
        cut in any::<prop::sample::Index>(),
    ) {
        let setting = roomy_domains.map_or_else(setting, roomy);
        let (mut world, mut engine) = (World::new(&setting), Engine::new());
        world.record();
        world.begin(&mut engine);
        let mut now = Timestamp(0);
        for (happens, deaf) in story.iter().zip(deaf) {
            now = Timestamp(now.0 + i64::from(happens.minutes()) * 60_000);
            let backend = if deaf { "the backend does nothing" } else { "the backend works again" };
            world.happen(backend, now, &mut engine);
            world.happen(&happens.text(), now, &mut engine);
            settle(now, &mut world, &mut engine);
        }
        let entries = world.recorded();
        let cut = cut.index(entries.len() + 1);
        let mut going_on = record::Player::new(Engine::new());
        for entry in &entries[..cut] {
            going_on.play(entry);
        }
        let lines: Vec<String> =
            record::snapshot(going_on.engine()).iter().map(|entry| record::write(entry).unwrap()).collect();
        let mut rebuilt = record::Player::new(Engine::new());
        // What was played before a snapshot does not count.
        entries.iter().take(3).for_each(|entry| drop(rebuilt.play(entry)));
        for line in &lines {
            rebuilt.play(&record::read(line).unwrap());
        }
        for entry in &entries[cut..] {
            let (one, other) = (going_on.play(entry), rebuilt.play(entry));
            prop_assert_eq!(&one, &other, "after {:?}", entry);
            if let (Some(decision), Entry::Decide { now }) = (other, entry) {
                prop_assert_eq!(rebuilt.engine().audit(&decision, *now), []);
                prop_assert_eq!(rebuilt.engine().recount(), Ok(()));
            }
        }
        let lists = |engine: &Engine| (standing(engine), engine.breakers(), engine.blamed(), engine.verdicts());
        prop_assert_eq!(lists(going_on.engine()), lists(rebuilt.engine()));
        prop_assert_eq!(record::snapshot(rebuilt.engine()), record::snapshot(going_on.engine()));
    }

    /// Three nodes at most, because the breaker stops a rule that flags more.
    #[test]
    fn one_gang_is_disturbed_once_however_many_of_its_nodes_are_faulty(
        faults in prop::collection::vec((0..3_u8, 0..2_u8, 0..3_u16), 1..6),
        contract in 0..3_usize,
        answers in any::<bool>(),
    ) {
        let job = ["saves on request", "saves on stop", ""][contract];
        let setting = ["fleet 2 racks x 3 nodes", "budget 6 out", "no domains"].map(str::to_owned);
        let job = format!("job train-7 on r1n1 r1n2 r1n3 r2n1 {job}").trim_end().to_owned();
        let (mut world, mut engine) = started_in(&[&setting[..], &[job]].concat());
        let (mut now, mut decisions) = (Timestamp(0), Vec::new());
        for (which_node, which, minutes) in faults {
            now = Timestamp(now.0 + i64::from(minutes) * 60_000);
            world.happen(&event(&node(which_node), which), now, &mut engine);
            decisions.extend(settle(now, &mut world, &mut engine));
        }
        if answers && contract == 0 {
            world.happen("train-7 saves step 7", now, &mut engine);
        }
        for _ in 0..90 {
            now = Timestamp(now.0 + 60_000);
            decisions.extend(settle(now, &mut world, &mut engine));
        }
        let (asks, stops) = disturbances(&decisions);
        prop_assert!(asks <= 1 && stops == 1, "{asks} requests, {stops} stops");
    }
}

#[test]
fn a_node_that_waits_for_an_approval_and_loses_its_room_waits_for_room() {
    let (mut world, mut engine) = started();
    let waits =
        |engine: &Engine| engine.standing().map(|line| (line.node.to_string(), line.waiting_on)).collect::<Vec<_>>();
    let story = [Happens::Mode { minutes: 0, mode: 1 }, Happens::OnNode { minutes: 0, node: 1, which: 0 }];
    tell(&story, &mut world, &mut engine);
    assert_eq!(waits(&engine), [("r1n2".to_owned(), WaitingOn::Approval)]);
    tell(&[Happens::OnNode { minutes: 0, node: 0, which: 5 }], &mut world, &mut engine);
    let lost = [("r1n1".to_owned(), WaitingOn::SecondSignal), ("r1n2".to_owned(), WaitingOn::Budget)];
    assert_eq!(waits(&engine), lost);
    tell(&[Happens::OnNode { minutes: 0, node: 0, which: 6 }], &mut world, &mut engine);
    assert_eq!(waits(&engine), [("r1n2".to_owned(), WaitingOn::Approval)]);
}

#[test]
fn a_recorded_night_is_lived_through_again_alike_and_another_policy_differs_where_it_should() {
    let (mut world, mut engine) = (World::new(&setting()), Engine::new());
    world.record();
    world.begin(&mut engine);
    settle(Timestamp(0), &mut world, &mut engine);
    let now = Timestamp(300_000);
    for which in [0, 1, 4] {
        world.happen(&event(&node(which), which), now, &mut engine);
        settle(now, &mut world, &mut engine);
    }
    let entries = world.recorded();
    let lines: Vec<String> = entries.iter().map(|entry| record::write(entry).unwrap()).collect();
    let read: Vec<Entry> = lines.iter().map(|line| record::read(line).unwrap()).collect();
    assert_eq!(read, entries);

    let first = record::replay(&mut Engine::new(), &read);
    assert_eq!(first, record::replay(&mut Engine::new(), &read));
    let tamer = mainstay_health::Catalogue::built_in().without("gpu-off-the-bus");
    let other = record::replay(&mut Engine::with(tamer, mainstay_engine::Guards::all_on()), &read);
    let effects = |decisions: &[(Timestamp, Decision)]| -> Vec<Vec<Effect>> {
        decisions.iter().map(|(_, decision)| decision.effects.clone()).collect()
    };
    assert_ne!(effects(&first), effects(&other));

    let unknown = lines[0].replacen("\"format\":1", "\"format\":2", 1);
    assert!(matches!(record::read(&unknown), Err(record::Unreadable::Format { found: 2 })));
    assert!(matches!(record::read("{}"), Err(record::Unreadable::Json(_))));
}
