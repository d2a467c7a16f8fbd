//! Who may act: fence, cause and freshness (2), and an operator's hold (9).

use mainstay_model::{CellFacts, Epoch, Fact, RequestKind, Schedulable, Span, Stage, Step, Timestamp, Urgency};

use super::{Row, as_it_is, draining, qualified, quarantined, repairing};
use crate::tests::world::{BEFORE, NOW, World, id, name, node_name};
use crate::{Invariant, VIEW_AGE_MAX};

pub(super) fn rows() -> Vec<Row> {
    [fence(), hold()].into_iter().flatten().collect()
}

fn fence() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::CausedAndFenced, says, base, change);
    vec![
        row(
            "an effect by an old leader",
            quarantined,
            [
                |world| {
                    world.cell.epoch = Epoch(4);
                    world.effects[0].epoch = Epoch(4);
                },
                |world| world.cell.epoch = Epoch(4),
            ],
        ),
        row(
            "an action before the first leader is elected",
            quarantined,
            [
                |world| {
                    world.cell.epoch = Epoch(1);
                    world.effects[0].epoch = Epoch(1);
                },
                |world| {
                    world.cell.epoch = Epoch(0);
                    world.effects[0].epoch = Epoch(0);
                },
            ],
        ),
        row(
            "even a status write by an old leader",
            World::calm,
            [
                |world| world.order_record("n1", Stage::Suspect, |_| {}),
                |world| {
                    world.order_record("n1", Stage::Suspect, |_| {});
                    world.effects[0].epoch = Epoch(2);
                },
            ],
        ),
        row(
            "a node that was created again under the same name",
            quarantined,
            [
                |world| {
                    world.node("n1", |facts| facts.uid = name("uid-new"));
                    world.effects[0].expected.uid = name("uid-new");
                },
                |world| world.node("n1", |facts| facts.uid = name("uid-new")),
            ],
        ),
        row(
            "a node that is gone",
            quarantined,
            [
                |world| world.see(Fact::NodeGone { node: node_name("n2") }),
                |world| world.see(Fact::NodeGone { node: node_name("n1") }),
            ],
        ),
        row(
            "a stage that is not the one on record",
            quarantined,
            [as_it_is, |world| {
                world.record("n1", Stage::Draining);
            }],
        ),
        row(
            "a view that is a moment too old",
            quarantined,
            [
                |world| world.synced_as_of = Some(NOW - VIEW_AGE_MAX),
                |world| world.synced_as_of = Some(NOW - VIEW_AGE_MAX - Span(1)),
            ],
        ),
        row("a view that was never complete", quarantined, [as_it_is, |world| world.synced_as_of = None]),
        row(
            "a view from before the current leadership",
            quarantined,
            [|world| lead_again(world, BEFORE), |world| lead_again(world, BEFORE - Span(1))],
        ),
        row(
            "a cordon of a node that others cordoned meanwhile",
            quarantined,
            [
                |world| world.keep_away("n3", Schedulable::NotByOthers),
                |world| world.keep_away("n1", Schedulable::NotByOthers),
            ],
        ),
        row(
            "a cordon for no stated reason",
            quarantined,
            [as_it_is, |world| {
                world.record_with("n1", Stage::Quarantined, |written| written.cause = None);
            }],
        ),
        row(
            "a reboot for no stated reason",
            repairing,
            [as_it_is, |world| {
                world.record_with("n1", Stage::Repairing, |written| written.cause = None);
            }],
        ),
    ]
}

/// Another controller led for a moment, until BEFORE, and the view is complete as of a moment.
fn lead_again(world: &mut World, as_of: Timestamp) {
    let cell = world.cell.clone();
    world.see(Fact::Cell(CellFacts { epoch: Epoch(2), ..cell.clone() }));
    world.see(Fact::Cell(cell));
    world.synced_as_of = Some(as_of);
}

fn hold() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::HoldKept, says, base, change);
    vec![
        row(
            "a cordon of a node that an operator holds",
            quarantined,
            [
                |world| {
                    world.request("n1", RequestKind::Hold);
                    world.see(Fact::Request { node: node_name("n1"), request: None });
                },
                |world| world.request("n1", RequestKind::Hold),
            ],
        ),
        row(
            "an order to the agent of a held node, where a record of it is fine",
            repairing,
            [
                |world| {
                    world.request("n1", RequestKind::Hold);
                    world.effects.clear();
                    world.order_record("n1", Stage::Held, |_| {});
                },
                |world| world.request("n1", RequestKind::Hold),
            ],
        ),
        row(
            "a return of a node that an operator holds",
            qualified,
            [|world| world.request("n2", RequestKind::Hold), |world| world.request("n1", RequestKind::Hold)],
        ),
        row(
            "a checkpoint request on a held node",
            || {
                let mut world = draining();
                world.effects.clear();
                let gang = id("g");
                let urgency = Urgency::Minutes;
                world.order(
                    "n1",
                    Step::AskCheckpoint { gang, drain: BEFORE, urgency, answer_by: NOW + Span::minutes(10) },
                );
                world
            },
            [as_it_is, |world| world.request("n1", RequestKind::Hold)],
        ),
    ]
}
