//! What must still be known of nodes that are gone.

use mainstay_model::{Contract, Epoch, Fact, RequestKind, Span, Stage, Timestamp};

use super::{Row, as_it_is};
use crate::Invariant;
use crate::tests::world::{NOW, World, name, node_name};

/// The last moment at which a node can be gone for long enough.
const A_DAY_AGO: Timestamp = Timestamp(NOW.0 - 24 * 3_600_000);
/// The same for a node that was being treated.
const A_QUARTER_AGO: Timestamp = Timestamp(NOW.0 - 90 * 24 * 3_600_000);

/// n1 is gone for a day and was in service; its status is deleted now.
fn gone() -> World {
    let mut world = World::calm();
    world.record("n1", Stage::InService);
    world.see_at(A_DAY_AGO, Fact::NodeGone { node: name("n1") });
    world.forgotten.push(node_name("n1"));
    world
}

/// n5 is not registered, and its stored status is known for more than 90 days.
fn gone_for_a_quarter(stage: Stage, since: Timestamp) -> World {
    let mut world = World::calm();
    let persisted = Box::new(mainstay_model::Persisted::new(stage, since));
    world.see_at(A_QUARTER_AGO, Fact::Recorded { node: name("n5"), persisted });
    world.forgotten.push(node_name("n5"));
    world
}

pub(super) fn rows() -> Vec<Row> {
    let row = |says, change| Row::new(Invariant::GoneBeforeForgotten, says, gone, change);
    let treated = |says, base, change| Row::new(Invariant::GoneBeforeForgotten, says, base, change);
    let back: fn(&mut World) = |world| world.node("n1", |_| {});
    vec![
        row("a node that is back, and would be forgotten", [as_it_is, back]),
        row(
            "a node that is gone for less than a day",
            [as_it_is, |world| {
                back_and_gone(world, A_DAY_AGO + Span(1));
            }],
        ),
        row("a node that was never there", [as_it_is, |world| world.forgotten.push(node_name("n9"))]),
        row(
            "a gone node that a gang names",
            [|world| world.gang("g", &["n2"], Contract::None), |world| world.gang("g", &["n1", "n2"], Contract::None)],
        ),
        row(
            "a gone node that an operator holds",
            [|world| world.request("n1", RequestKind::Retire), |world| world.request("n1", RequestKind::Hold)],
        ),
        row("a status that a process deletes that does not lead", [as_it_is, |world| world.cell.epoch = Epoch(0)]),
        row(
            "a status that is deleted with an old view",
            [
                |world| world.synced_as_of = Some(NOW - Span::minutes(3)),
                |world| world.synced_as_of = Some(NOW - Span::minutes(3) - Span(1)),
            ],
        ),
        row(
            "more deletions than one decision may have",
            [as_it_is, |world| {
                for number in 0..mainstay_model::FORGOTTEN_MAX {
                    let node = format!("gone-{number}");
                    let persisted = Box::new(mainstay_model::Persisted::new(Stage::InService, A_DAY_AGO));
                    world.see_at(A_DAY_AGO, Fact::Recorded { node: name(&node), persisted });
                    world.forgotten.push(name(&node));
                }
            }],
        ),
        treated(
            "a node that went away during its repair, less than 90 days ago",
            || gone_for_a_quarter(Stage::InService, A_QUARTER_AGO),
            [|world| restore(world, A_QUARTER_AGO), |world| restore(world, A_QUARTER_AGO + Span(1))],
        ),
    ]
}

/// n1 is registered again and leaves at this time.
fn back_and_gone(world: &mut World, at: Timestamp) {
    world.node("n1", |_| {});
    world.see_at(at, Fact::NodeGone { node: name("n1") });
}

/// The stored status of n5 shows that it is in repair since this time.
fn restore(world: &mut World, since: Timestamp) {
    let persisted = Box::new(mainstay_model::Persisted::new(Stage::Repairing, since));
    world.see_at(A_QUARTER_AGO, Fact::Recorded { node: name("n5"), persisted });
}
