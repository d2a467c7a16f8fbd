//! Modes: Cell, pool, kind of action, and an operator's approval (6).

use mainstay_model::{ActionKind, CellFacts, Epoch, Execution, Fact, Mode, RequestKind, Stage, Task};

use super::{Row, as_it_is, draining, qualified, qualifying, quarantined, repairing};
use crate::Invariant;
use crate::tests::world::{World, list, name, ordered};

fn set_mode(world: &mut World, mode: Mode) {
    world.policy.as_mut().unwrap().mode = mode;
}

fn promote(world: &mut World, kind: ActionKind, mode: Mode) {
    world.policy.as_mut().unwrap().promotions.insert(kind, mode);
}

pub(super) fn rows() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::NothingAboveTheMode, says, base, change);
    vec![
        row(
            "a cordon where we only observe",
            quarantined,
            [
                |world| {
                    set_mode(world, Mode::Observe);
                    world.effects[0].execution = Execution::DryRun;
                },
                |world| set_mode(world, Mode::Observe),
            ],
        ),
        row(
            "an action while the kill switch is set",
            quarantined,
            [
                |world| {
                    world.cell.mode = Mode::Observe;
                    world.effects.clear();
                    world.order_record("n1", Stage::Quarantined, |_| {});
                },
                |world| world.cell.mode = Mode::Observe,
            ],
        ),
        row(
            "an action that is not approved by its id",
            quarantined,
            [
                |world| {
                    world.cell.mode = Mode::Propose;
                    world.cell.approvals = list([name("act-n1")]);
                },
                |world| {
                    world.cell.mode = Mode::Propose;
                    world.cell.approvals = list([name("act-n2")]);
                },
            ],
        ),
        row(
            "a request, which is no approval",
            draining,
            [
                |world| {
                    set_mode(world, Mode::Propose);
                    world.cell.approvals = list([name("act-n1")]);
                },
                |world| {
                    set_mode(world, Mode::Propose);
                    world.request("n1", RequestKind::Drain);
                },
            ],
        ),
        row(
            "a reboot after the approval of another action on the node",
            repairing,
            [
                |world| {
                    world.cell.mode = Mode::Propose;
                    world.cell.approvals = list([name("reboot-n1")]);
                },
                |world| {
                    world.cell.mode = Mode::Propose;
                    world.cell.approvals = list([name("act-n1")]);
                },
            ],
        ),
        row(
            "a reboot where reboots need an approval",
            repairing,
            [
                |world| {
                    promote(world, ActionKind::Reboot, Mode::Propose);
                    world.cell.approvals = list([name("reboot-n1")]);
                },
                |world| promote(world, ActionKind::Reboot, Mode::Propose),
            ],
        ),
        row(
            "a promotion of another kind",
            repairing,
            [
                |world| {
                    set_mode(world, Mode::Observe);
                    promote(world, ActionKind::Reboot, Mode::Act);
                },
                |world| {
                    set_mode(world, Mode::Observe);
                    promote(world, ActionKind::ResetGpu, Mode::Act);
                },
            ],
        ),
        row(
            "a return where returns need an approval",
            qualified,
            [as_it_is, |world| {
                promote(world, ActionKind::Return, Mode::Propose);
            }],
        ),
        row(
            "a cell that was restored from a backup",
            quarantined,
            [|world| restored(world, Epoch(2), Epoch(3)), |world| restored(world, Epoch(9), Epoch(3))],
        ),
        row(
            "a suite, by a pool without a policy",
            qualifying,
            [
                |world| order_suite(world),
                |world| {
                    world.policy = None;
                    order_suite(world);
                },
            ],
        ),
    ]
}

fn restored(world: &mut World, earlier: Epoch, now: Epoch) {
    for epoch in [earlier, now] {
        world.see(Fact::Cell(CellFacts { epoch, ..world.cell.clone() }));
    }
}

fn order_suite(world: &mut World) {
    world.order_task("n1", ordered("suite-n1-again", "3-d", Task::Suite(name("full"))));
}
