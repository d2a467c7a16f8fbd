//! What running work is owed: a question and time before it is stopped (3), and a node that is not pulled from under
//! it (10).

use mainstay_model::{Contract, Fact, RepairStep, Schedulable, Span, Stage, Step, Task, Urgency};

use super::{Row, as_it_is, draining, qualifying, repairing};
use crate::Invariant;
use crate::tests::world::{BEFORE, NOW, World, cause, id, ordered};

pub(super) fn rows() -> Vec<Row> {
    [asked(), empty()].into_iter().flatten().collect()
}

/// The request to gang g is seen before the gang, which is stopped now.
fn asked_first(world: &mut World, saved_step: Option<u64>) {
    world.record("n1", Stage::Draining);
    world.keep_away("n1", Schedulable::NotByUs);
    world.asked("g", "n1", NOW + Span::minutes(5), saved_step);
    world.gang("g", &["n1"], Contract::OnRequest);
    world.order("n1", Step::Stop { gang: id("g") });
}

fn asked() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::AskedBeforeStopped, says, base, change);
    vec![
        row(
            "a gang that was never asked",
            unasked,
            [|world| world.asked("g", "n1", NOW + Span::minutes(5), Some(4_000)), as_it_is],
        ),
        row(
            "a gang that was asked before it was seen, and has not answered",
            World::calm,
            [|world| asked_first(world, Some(4_000)), |world| asked_first(world, None)],
        ),
        row(
            "a gang that was asked because of another node",
            unasked,
            [|world| world.asked("g", "n1", BEFORE, None), |world| world.asked("g", "n3", BEFORE, None)],
        ),
        row(
            "a gang that has a millisecond left",
            unasked,
            [|world| world.asked("g", "n1", NOW, None), |world| world.asked("g", "n1", NOW + Span(1), None)],
        ),
        row(
            "a gang that answered in an earlier drain",
            unasked,
            [
                |world| world.asked_in(BEFORE, "g", "n1", NOW + Span::minutes(5), Some(4_000)),
                |world| world.asked_in(BEFORE - Span(1), "g", "n1", NOW + Span::minutes(5), Some(4_000)),
            ],
        ),
        row(
            "a gang that answered, left, and came back",
            draining,
            [
                |world| world.gang("g", &["n1", "n4"], Contract::OnRequest),
                |world| {
                    world.gang("g", &["n4"], Contract::OnRequest);
                    world.gang("g", &["n1"], Contract::OnRequest);
                },
            ],
        ),
        row(
            "a gang that could save, although minutes were left",
            unasked,
            [
                |world| world.record_with("n1", Stage::Draining, |written| written.cause = Some(cause(Urgency::Now))),
                |world| {
                    world.record_with("n1", Stage::Draining, |written| written.cause = Some(cause(Urgency::Minutes)));
                },
            ],
        ),
        row(
            "a gang whose contract is to save on request",
            || {
                let mut world = unasked();
                world.see(Fact::GangGone { gang: id("g") });
                world
            },
            [
                |world| world.gang("g", &["n1"], Contract::OnStop { within: Span::seconds(30) }),
                |world| world.gang("g", &["n1"], Contract::OnRequest),
            ],
        ),
        row(
            "a gang that is unknown",
            draining,
            [as_it_is, |world| {
                world.see(Fact::GangGone { gang: id("g") });
            }],
        ),
    ]
}

fn unasked() -> World {
    let mut world = World::calm();
    world.record("n1", Stage::Draining);
    world.keep_away("n1", Schedulable::NotByUs);
    world.gang("g", &["n1", "n3"], Contract::OnRequest);
    world.order("n1", Step::Stop { gang: id("g") });
    world
}

fn empty() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::EmptyBeforeOrder, says, base, change);
    vec![
        row(
            "a reboot under a running gang",
            repairing,
            [|world| world.gang("g", &["n2"], Contract::None), |world| world.gang("g", &["n1"], Contract::None)],
        ),
        row(
            "a reboot before the last gang has left",
            repairing,
            [
                |world| {
                    world.gang("g", &["n1", "n2"], Contract::None);
                    world.gang("h", &["n1"], Contract::None);
                    world.gang("g", &["n2"], Contract::None);
                    world.see(Fact::GangGone { gang: id("h") });
                },
                |world| {
                    world.gang("g", &["n1", "n2"], Contract::None);
                    world.gang("h", &["n1"], Contract::None);
                    world.gang("g", &["n2"], Contract::None);
                },
            ],
        ),
        row(
            "a reset, where a capture would be harmless",
            || {
                let mut world = repairing();
                world.effects.clear();
                world.gang("g", &["n1"], Contract::None);
                world
            },
            [|world| order(world, RepairStep::Capture), |world| order(world, RepairStep::ResetGpu)],
        ),
        row(
            "a suite while a job runs",
            qualifying,
            [suite, |world| {
                world.gang("g", &["n1"], Contract::None);
                suite(world);
            }],
        ),
    ]
}

fn order(world: &mut World, rung: RepairStep) {
    world.order_task("n1", ordered("rung-n1", "3-a", Task::Rung(rung)));
}

fn suite(world: &mut World) {
    world.order_task("n1", ordered("suite-n1-again", "3-d", Task::Suite("full".parse().unwrap())));
}
