//! Return to service: a node is qualified first (4), and an unknown one is never healthy (5).

use mainstay_model::{Fact, Ready, Schedulable, Sequence, Stage, Step, Task, Verdict, WaitingOn};

use super::{Row, as_it_is, qualified, qualifying};
use crate::Invariant;
use crate::tests::world::{World, list, name, node_name, ordered};

pub(super) fn rows() -> Vec<Row> {
    [proven(), healthy()].into_iter().flatten().collect()
}

/// A suite was ordered, and the node is given work again whatever it showed.
fn returning() -> World {
    let mut world = qualifying();
    world.order("n1", Step::Uncordon);
    world
}

fn proven() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::QualifiedBeforeReturn, says, base, change);
    vec![
        row(
            "a return before any result",
            returning,
            [|world| world.results("n1", &[("3-b", Verdict::Passed)], |_| {}), as_it_is],
        ),
        row(
            "a return after one test failed",
            returning,
            [
                |world| world.results("n1", &[("3-a", Verdict::Failed), ("3-b", Verdict::Passed)], |_| {}),
                |world| world.results("n1", &[("3-b", Verdict::Failed), ("3-b", Verdict::Passed)], |_| {}),
            ],
        ),
        row(
            "a test that did not run to its end, read as a pass",
            returning,
            [
                |world| world.results("n1", &[("3-b", Verdict::Passed)], |_| {}),
                |world| world.results("n1", &[("3-b", Verdict::Passed), ("3-b", Verdict::Unknown)], |_| {}),
            ],
        ),
        row(
            "an old result played again",
            returning,
            [
                |world| world.results("n1", &[("3-b", Verdict::Passed)], |_| {}),
                |world| world.results("n1", &[("2-b", Verdict::Passed)], |_| {}),
            ],
        ),
        row(
            "results of another boot",
            returning,
            [
                |world| world.results("n1", &[("3-b", Verdict::Passed)], |_| {}),
                |world| world.results("n1", &[("3-b", Verdict::Passed)], |report| report.boot_id = name("boot-2")),
            ],
        ),
        row(
            "results of another machine under the same name",
            returning,
            [
                |world| world.results("n1", &[("3-b", Verdict::Passed)], |_| {}),
                |world| world.results("n1", &[("3-b", Verdict::Passed)], |report| report.uid = name("uid-old")),
            ],
        ),
        row(
            "a failure that came after the pass, where an older report would change nothing",
            qualified,
            [
                |world| world.results("n1", &[("3-b", Verdict::Failed)], |report| report.sequence = Sequence(6)),
                |world| world.results("n1", &[("3-b", Verdict::Failed)], |report| report.sequence = Sequence(8)),
            ],
        ),
        row(
            "a node that became unreachable after it passed, where a report without results keeps the pass",
            qualified,
            [
                |world| world.results("n1", &[], |report| report.sequence = Sequence(8)),
                |world| world.node("n1", |facts| facts.ready = Ready::Unknown),
            ],
        ),
        row(
            "a cordon by another tool",
            qualified,
            [as_it_is, |world| {
                world.keep_away("n1", Schedulable::NotByOthers);
            }],
        ),
        row(
            "a node that has met work since it passed",
            qualified,
            [
                |world| world.keep_away("n1", Schedulable::NotByUs),
                |world| {
                    world.keep_away("n1", Schedulable::Yes);
                    world.keep_away("n1", Schedulable::NotByUs);
                },
            ],
        ),
        row(
            "a node that was repaired after it passed",
            qualified,
            [
                |world| {
                    world.record("n1", Stage::Repairing);
                    again(world, "3-e");
                    world.results("n1", &[("3-e", Verdict::Passed)], |_| {});
                },
                |world| {
                    world.record("n1", Stage::Repairing);
                    again(world, "3-e");
                },
            ],
        ),
        row(
            "a suite that was ordered once more, and only the first one passed",
            qualified,
            [
                |world| {
                    again(world, "3-e");
                    world.results("n1", &[("3-b", Verdict::Failed), ("3-e", Verdict::Passed)], |_| {});
                },
                |world| {
                    again(world, "3-e");
                    world.results("n1", &[("3-b", Verdict::Passed), ("3-e", Verdict::Failed)], |_| {});
                },
            ],
        ),
        row(
            "a record from before our time that came straight out of repair",
            World::calm,
            [
                |world| first_seen_in_service(world, Stage::Qualifying, Some(Verdict::Passed)),
                |world| first_seen_in_service(world, Stage::Repairing, Some(Verdict::Passed)),
            ],
        ),
        row(
            "a suite that was ordered while the node was still in service",
            World::calm,
            [|world| suite_in(world, Stage::Qualifying), |world| suite_in(world, Stage::Suspect)],
        ),
        row(
            "a record from before our time, without a passed suite",
            World::calm,
            [
                |world| first_seen_in_service(world, Stage::Qualifying, Some(Verdict::Passed)),
                |world| first_seen_in_service(world, Stage::Qualifying, Some(Verdict::Failed)),
            ],
        ),
    ]
}

/// A suite is ordered in this stage, and passes.
fn suite_in(world: &mut World, stage: Stage) {
    world.record("n1", Stage::Suspect);
    world.keep_away("n1", Schedulable::NotByUs);
    world.record_with("n1", stage, |written| {
        written.orders = list([ordered("suite-n1", "3-b", Task::Suite("full".parse().unwrap()))]);
    });
    world.results("n1", &[("3-b", Verdict::Passed)], |_| {});
    world.order("n1", Step::Uncordon);
}

/// Another suite is ordered, and the node is in service on record.
fn again(world: &mut World, nonce: &str) {
    world.record_with("n1", Stage::Qualifying, |written| {
        written.orders = list([ordered("suite-n1-again", nonce, Task::Suite("full".parse().unwrap()))]);
    });
    world.record_with("n1", Stage::InService, |written| written.orders = list([]));
}

/// The auditor starts when only the return itself is left: the first status it receives shows the previous stage.
fn first_seen_in_service(world: &mut World, from: Stage, verdict: Option<Verdict>) {
    world.keep_away("n1", Schedulable::NotByUs);
    world.record_with("n1", Stage::InService, |written| {
        let mut came = written.history.as_slice()[0].clone();
        came.to = from;
        written.history = list([came, written.history.as_slice()[0].clone()]);
    });
    let results: Vec<(&str, Verdict)> = verdict.into_iter().map(|verdict| ("3-b", verdict)).collect();
    world.results("n1", &results, |_| {});
    world.order("n1", Step::Uncordon);
}

fn healthy() -> Vec<Row> {
    let row = |says, change| Row::new(Invariant::UnknownIsNotHealthy, says, World::calm, change);
    vec![
        row(
            "in service and fine, but it does not answer",
            [
                |world| {
                    world.node("n1", |facts| facts.ready = Ready::Unknown);
                    world.line("n1", Stage::InService, WaitingOn::Report);
                },
                |world| {
                    world.node("n1", |facts| facts.ready = Ready::Unknown);
                    world.line("n1", Stage::InService, WaitingOn::Nothing);
                },
            ],
        ),
        row(
            "in service and fine, but not ready",
            [
                |world| {
                    world.node("n2", |facts| facts.ready = Ready::No);
                    world.line("n1", Stage::InService, WaitingOn::Nothing);
                },
                |world| {
                    world.node("n2", |facts| facts.ready = Ready::No);
                    world.line("n2", Stage::InService, WaitingOn::Nothing);
                },
            ],
        ),
        row(
            "fine by a report of the machine that was there before",
            [
                |world| {
                    world.results("n1", &[], |_| {});
                    world.line("n1", Stage::InService, WaitingOn::Nothing);
                },
                |world| {
                    world.results("n1", &[], |_| {});
                    world.node("n1", |facts| facts.uid = name("uid-new"));
                    world.line("n1", Stage::InService, WaitingOn::Nothing);
                },
            ],
        ),
        row(
            "fine, and no longer there",
            [
                |world| world.line("n1", Stage::InService, WaitingOn::Nothing),
                |world| {
                    world.see(Fact::NodeGone { node: node_name("n1") });
                    world.line("n1", Stage::InService, WaitingOn::Nothing);
                },
            ],
        ),
    ]
}
