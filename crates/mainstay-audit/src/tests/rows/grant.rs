//! Grants (12), the capacity floor (13), the rate limit (14), one disruption per gang (15), attempts (16), and the taint
//! that an order needs (17), circuit breakers (18), and power (19).

use mainstay_model::{
    Attempt, BreakerLimits, Checkpoints, Contract, Fact, GangFacts, NodeLimit, Order, Policy, Power, RateLimit, Ready,
    RepairStep, Schedulable, Span, Stage, Step, Task, Timestamp, Urgency,
};

use super::{Row, as_it_is, draining, quarantined, repairing};
use crate::Invariant;
use crate::tests::world::{BEFORE, NOW, World, attempt, id, list, name, node_name, ordered};

pub(super) fn rows() -> Vec<Row> {
    [granted(), limits(), gangs(), open_requests(), orders(), breaker(), power()].into_iter().flatten().collect()
}

fn granted() -> Vec<Row> {
    vec![
        Row::new(
            Invariant::Granted,
            "a cordon without a stored grant",
            quarantined,
            [as_it_is, |world| world.record_with("n1", Stage::Quarantined, |written| written.grant = None)],
        ),
        Row::new(
            Invariant::Granted,
            "a cordon for another claim than the granted one",
            quarantined,
            [as_it_is, |world| world.effects[0].claim = Some(name("request-n1-1"))],
        ),
        Row::new(
            Invariant::Granted,
            "a cordon for no claim",
            quarantined,
            [as_it_is, |world| world.effects[0].claim = None],
        ),
    ]
}

/// The removal of n1 is stored now.
fn removed() -> World {
    let mut world = World::calm();
    world.order_record("n1", Stage::Quarantined, |_| {});
    world
}

fn floor(world: &mut World, nodes: u32) {
    world.policy.as_mut().unwrap().floor = Some(NodeLimit::Nodes(nodes));
}

fn rate(world: &mut World, grants: u32) {
    rate_per(world, grants, Span::hours(1));
}

fn rate_per(world: &mut World, grants: u32, per: Span) {
    world.policy.as_mut().unwrap().rate = Some(RateLimit { grants, per });
}

/// The removal of n1 is stored now, and n3 was removed before.
fn removed_second() -> World {
    let mut world = removed();
    world.record("n3", Stage::Quarantined);
    world
}

fn limits() -> Vec<Row> {
    vec![
        Row::new(
            Invariant::FloorKept,
            "a removal that leaves three of four nodes where four must stay",
            removed,
            [|world| floor(world, 3), |world| floor(world, 4)],
        ),
        Row::new(
            Invariant::RateKept,
            "a second removal within the hour",
            removed_second,
            [|world| rate(world, 2), |world| rate(world, 1)],
        ),
        Row::new(
            Invariant::RateKept,
            "a second removal just before the window of the first ends",
            removed_second,
            [|world| rate_per(world, 1, NOW.since(BEFORE)), |world| rate_per(world, 1, Span(NOW.since(BEFORE).0 + 1))],
        ),
        Row::new(
            Invariant::RateKept,
            "two removals in one decision where one is allowed",
            || {
                let mut world = removed();
                world.order_record("n3", Stage::Quarantined, |_| {});
                world
            },
            [|world| rate(world, 2), |world| rate(world, 1)],
        ),
    ]
}

/// n1 and n3 are drained, and gang g runs on both.
fn two_drains() -> World {
    let mut world = World::calm();
    for node in ["n1", "n3"] {
        world.record(node, Stage::Draining);
        world.keep_away(node, Schedulable::NotByUs);
    }
    world.gang("g", &["n1", "n3"], Contract::OnRequest);
    world
}

fn ask(world: &mut World, node: &'static str, answer_by: Timestamp) {
    world.order(node, Step::AskCheckpoint { gang: id("g"), drain: BEFORE, urgency: Urgency::Minutes, answer_by });
}

fn gangs() -> Vec<Row> {
    vec![
        Row::new(
            Invariant::GangDisturbedOnce,
            "a gang that is stopped because of each of its nodes",
            || {
                let mut world = two_drains();
                world.asked("g", "n1", BEFORE, Some(4_000));
                world.order("n1", Step::Stop { gang: id("g") });
                world
            },
            [as_it_is, |world| drop(world.order("n3", Step::Stop { gang: id("g") }).clone())],
        ),
        Row::new(
            Invariant::GangDisturbedOnce,
            "a gang that is asked because of each of its nodes",
            || {
                let mut world = two_drains();
                ask(&mut world, "n1", NOW + Span::minutes(10));
                world
            },
            [as_it_is, |world| ask(world, "n3", NOW + Span::minutes(10))],
        ),
        Row::new(
            Invariant::GangDisturbedOnce,
            "a gang that is asked again with no earlier deadline",
            || {
                let mut world = two_drains();
                world.asked("g", "n1", NOW + Span::minutes(5), None);
                world
            },
            [|world| ask(world, "n3", NOW + Span::minutes(4)), |world| ask(world, "n3", NOW + Span::minutes(5))],
        ),
    ]
}

/// n1 and n3 are drained. Gang g has an open request because of n1, and is asked because of n3 now.
fn asked_twice() -> World {
    let mut world = two_drains();
    world.asked("g", "n1", NOW + Span::minutes(5), None);
    ask(&mut world, "n3", NOW + Span::minutes(10));
    world
}

/// When a request to a gang rules out another one.
fn open_requests() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::GangDisturbedOnce, says, base, change);
    vec![
        row(
            "a gang that is asked again while the drain of the first request runs",
            asked_twice,
            [|world| world.record("n1", Stage::Repairing), as_it_is],
        ),
        row(
            "a gang that is asked again in the drain of the first request",
            asked_twice,
            [|world| world.asked_in(BEFORE - Span(1), "g", "n1", NOW + Span::minutes(5), None), as_it_is],
        ),
        row(
            "a gang that is asked again before it answered",
            asked_twice,
            [|world| world.asked("g", "n1", NOW + Span::minutes(5), Some(4_000)), as_it_is],
        ),
        row(
            "a gang that is asked again a millisecond before the first deadline",
            asked_twice,
            [|world| world.asked("g", "n1", NOW, None), |world| world.asked("g", "n1", NOW + Span(1), None)],
        ),
        row(
            "a gang that is asked again because of another node",
            || {
                let mut world = two_drains();
                world.asked("g", "n1", NOW + Span::minutes(5), None);
                world
            },
            [|world| ask(world, "n1", NOW + Span::minutes(10)), |world| ask(world, "n3", NOW + Span::minutes(10))],
        ),
    ]
}

/// n1 was rebooted this often within a day, and is rebooted again now.
fn rebooted(world: &mut World, times: u32) {
    tried(world, (0..times).map(|_| attempt(RepairStep::Reboot)));
}

/// A GPU of n1 was reset twice, and n1 was rebooted this long ago. It is rebooted again now.
fn rebooted_before(world: &mut World, ago: [Span; 2]) {
    let resets = [attempt(RepairStep::ResetGpu), attempt(RepairStep::ResetGpu)];
    let reboots = ago.map(|ago| Attempt { ordered_at: NOW - ago, ..attempt(RepairStep::Reboot) });
    tried(world, resets.into_iter().chain(reboots));
}

fn tried(world: &mut World, attempts: impl Iterator<Item = Attempt>) {
    world.record_with("n1", Stage::Repairing, |written| written.attempts = list(attempts));
    world.keep_away("n1", Schedulable::NotByUs);
    world.order_task("n1", reboot("3-a"));
}

fn reboot(nonce: &str) -> Order {
    ordered("reboot-n1", nonce, Task::Rung(RepairStep::Reboot))
}

fn orders() -> Vec<Row> {
    vec![
        Row::new(
            Invariant::AttemptsCapped,
            "a third reboot within a day",
            World::calm,
            [|world| rebooted(world, 1), |world| rebooted(world, 2)],
        ),
        Row::new(
            Invariant::AttemptsCapped,
            "a third reboot just before the window of the first ends",
            World::calm,
            [
                |world| rebooted_before(world, [Span::hours(24), Span::hours(1)]),
                |world| rebooted_before(world, [Span(Span::hours(24).0 - 1), Span::hours(1)]),
            ],
        ),
        Row::new(
            Invariant::QuarantinedBeforeOrder,
            "a reboot of a node whose taint others removed",
            repairing,
            [as_it_is, |world| world.keep_away("n1", Schedulable::Yes)],
        ),
        Row::new(
            Invariant::QuarantinedBeforeOrder,
            "a reboot of a node that only others cordoned",
            repairing,
            [as_it_is, |world| world.keep_away("n1", Schedulable::NotByOthers)],
        ),
        Row::new(
            Invariant::Granted,
            "an order inside a stored status",
            || {
                let mut world = World::calm();
                world.record_with("n1", Stage::Repairing, |written| written.orders = list([reboot("3-a")]));
                world.keep_away("n1", Schedulable::NotByUs);
                world
            },
            [
                |world| world.order_record("n1", Stage::Repairing, |_| {}),
                |world| {
                    world.order_record("n1", Stage::Repairing, |written| {
                        written.orders = list([reboot("3-a"), reboot("3-b")]);
                    });
                },
            ],
        ),
        Row::new(
            Invariant::IntentBeforeAct,
            "a reboot of a node that is to be tested",
            repairing,
            [as_it_is, |world| {
                world.record("n1", Stage::Qualifying);
                world.effects[0].expected.recorded = Stage::Qualifying;
            }],
        ),
    ]
}

/// A rule removed this many nodes before, and removes one more now. Its breaker lets one node through, and one test.
fn removed_again(world: &mut World, times: u32) {
    world.policy.as_mut().unwrap().breaker = breaker_of(1);
    removals(world, BEFORE, times);
    removes_one_more(world);
}

/// A rule removed four nodes under a looser limit. Then its breaker lets one node through, and one test; since then the rule
/// removed this many nodes, and it removes one more now.
fn removed_after_a_change(world: &mut World, times: u32) {
    world.policy.as_mut().unwrap().breaker = breaker_of(10);
    removals(world, BEFORE, 4);
    let changed_at = BEFORE + Span::seconds(10);
    let policy = Policy { breaker: breaker_of(1), ..world.policy.clone().unwrap() };
    world.see_at(changed_at, Fact::Policy(Box::new(policy)));
    removals(world, changed_at, times);
    removes_one_more(world);
}

fn breaker_of(nodes_min: u32) -> BreakerLimits {
    BreakerLimits { nodes_min, ..BreakerLimits::default() }
}

/// A rule removes n3 this many times after a time.
fn removals(world: &mut World, after: Timestamp, times: u32) {
    for number in 0..times {
        world.record_with("n3", Stage::InService, |_| {});
        world.record_with("n3", Stage::Quarantined, |written| {
            written.history.iter_mut().last().unwrap().at = after + Span(u64::from(number) + 1);
        });
    }
    world.record("n3", Stage::InService);
}

fn removes_one_more(world: &mut World) {
    world.record("n1", Stage::Suspect);
    world.order_record("n1", Stage::Quarantined, |_| {});
}

/// n1 does not answer and is drained; gang g was on it and has stopped.
fn dead() -> World {
    let mut world = draining();
    world.effects.clear();
    world.node("n1", |facts| (facts.ready, facts.power) = (Ready::Unknown, Power::On));
    world
}

/// Gang g last made progress at this time.
fn progress(world: &mut World, at: Timestamp) {
    let facts = GangFacts {
        nodes: list([node_name("n1")]),
        contract: Contract::None,
        checkpoints: Checkpoints::default(),
        progressed_at: Some(at),
    };
    world.see(Fact::Gang { gang: id("g"), facts: Box::new(facts) });
    world.order("n1", Step::PowerOff);
}

fn power() -> Vec<Row> {
    let row = |says, change| Row::new(Invariant::PowerConfirmed, says, dead, change);
    vec![
        row(
            "a machine that is turned off while its job makes progress",
            [
                |world| progress(world, NOW - Span::minutes(15)),
                |world| progress(world, NOW - Span::minutes(15) + Span(1)),
            ],
        ),
        row(
            "pods that are released from a machine that may run",
            [
                |world| {
                    world.node("n1", |facts| facts.power = Power::Off);
                    world.order("n1", Step::ReleasePods);
                },
                |world| {
                    world.order("n1", Step::ReleasePods);
                },
            ],
        ),
    ]
}

fn breaker() -> Vec<Row> {
    let row = |says, change| Row::new(Invariant::BreakerKept, says, World::calm, change);
    vec![
        row(
            "a rule that removes more than its breaker lets through",
            [|world| removed_again(world, 3), |world| removed_again(world, 4)],
        ),
        row(
            "a rule that removes more than a tightened breaker lets through; removals before the change would not count",
            [|world| removed_after_a_change(world, 3), |world| removed_after_a_change(world, 4)],
        ),
        row(
            "a rule that removes nodes in service too often; nodes that got no jobs would not count",
            [
                |world| {
                    world.keep_away("n3", Schedulable::NotByOthers);
                    removed_again(world, 4);
                },
                |world| removed_again(world, 4),
            ],
        ),
    ]
}
