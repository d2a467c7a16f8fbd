//! Removal of nodes: budgets (1), the stored intent before the action (7), and limits of the decision itself (8).

use mainstay_model::{
    Budget, Execution, Level, NodeLimit, PlannedWork, Ppm, Ready, Repairer, Schedulable, Stage, Step, WaitingOn,
};

use super::{Row, as_it_is, draining, qualified, quarantined};
use crate::tests::world::{World, list, name};
use crate::{EFFECTS_MAX, Invariant};

pub(super) fn rows() -> Vec<Row> {
    [budget(), intent(), bounded()].into_iter().flatten().collect()
}

fn share(ppm: u32) -> Budget {
    Budget { level: Some(Level::Rack), most: NodeLimit::Share(Ppm(ppm)) }
}

fn lost(world: &mut World, node: &'static str) {
    world.node(node, |facts| facts.ready = Ready::Unknown);
}

fn waits_for_part_above_a_floor(world: &mut World) {
    world.policy.as_mut().unwrap().floor = Some(NodeLimit::Nodes(1));
    world.record_with("n2", Stage::Repairing, |persisted| persisted.repairer = Repairer::Technician);
}

fn set_budgets(world: &mut World, budgets: impl IntoIterator<Item = Budget>) {
    world.policy.as_mut().unwrap().budgets = list(budgets);
}

fn budget() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::BudgetKept, says, base, change);
    vec![
        row(
            "a second node of the rack while the first one does not answer",
            quarantined,
            [|world| lost(world, "n3"), |world| lost(world, "n2")],
        ),
        row(
            "a node whose rack has one that another tool cordoned",
            quarantined,
            [
                |world| world.keep_away("n3", Schedulable::NotByOthers),
                |world| world.keep_away("n2", Schedulable::NotByOthers),
            ],
        ),
        row(
            "a node whose rack has one that is out of service only in the stored status",
            quarantined,
            [|world| world.record("n3", Stage::Maintenance), |world| world.record("n2", Stage::Maintenance)],
        ),
        row(
            "a node whose rack has one that waits for a part, in a pool without a floor",
            quarantined,
            [waits_for_part_above_a_floor, |world| {
                world.record_with("n2", Stage::Repairing, |persisted| persisted.repairer = Repairer::Technician);
            }],
        ),
        row(
            "a node whose rack has one that is repaired, in a pool with a floor",
            quarantined,
            [waits_for_part_above_a_floor, |world| {
                world.policy.as_mut().unwrap().floor = Some(NodeLimit::Nodes(1));
                world.record("n2", Stage::Repairing);
            }],
        ),
        row(
            "a node that waits for a part while it is tested",
            World::calm,
            [
                |world| {
                    world.record("n1", Stage::Repairing);
                    world.order_record("n1", Stage::Repairing, |persisted| persisted.repairer = Repairer::Technician);
                },
                |world| {
                    world.record("n1", Stage::Repairing);
                    world.order_record("n1", Stage::Qualifying, |persisted| persisted.repairer = Repairer::Technician);
                },
            ],
        ),
        row(
            "two nodes of one rack in one decision",
            World::calm,
            [
                |world| ["n1", "n3"].into_iter().for_each(|node| world.order_record(node, Stage::Quarantined, |_| {})),
                |world| ["n1", "n2"].into_iter().for_each(|node| world.order_record(node, Stage::Quarantined, |_| {})),
            ],
        ),
        row(
            "more than the pool may lose, although each rack has room",
            World::calm,
            [
                |world| {
                    set_budgets(world, [Budget { level: None, most: NodeLimit::Nodes(2) }, share(500_000)]);
                    lost(world, "n3");
                    world.order_record("n1", Stage::Quarantined, |_| {});
                },
                |world| {
                    set_budgets(world, [Budget { level: None, most: NodeLimit::Nodes(1) }, share(500_000)]);
                    lost(world, "n3");
                    world.order_record("n1", Stage::Quarantined, |_| {});
                },
            ],
        ),
        row(
            "a share that rounds down to nothing",
            quarantined,
            [|world| set_budgets(world, [share(500_000)]), |world| set_budgets(world, [share(499_999)])],
        ),
        row("a node of a pool that has no budget", quarantined, [as_it_is, |world| set_budgets(world, [])]),
        row(
            "nodes that do not say which rack they are in, one after the other",
            quarantined,
            [
                |world| world.node("n1", |facts| facts.domains.clear()),
                |world| {
                    world.node("n1", |facts| facts.domains.clear());
                    world.node("n3", |facts| {
                        facts.domains.clear();
                        facts.ready = Ready::No;
                    });
                },
            ],
        ),
        row(
            "maintenance by Mainstay that was not planned",
            || {
                let mut world = World::calm();
                lost(&mut world, "n2");
                world
            },
            [
                |world| {
                    world.node("n1", |facts| facts.planned = PlannedWork::Maintenance);
                    world.order_record("n1", Stage::Maintenance, |_| {});
                },
                |world| world.order_record("n1", Stage::Maintenance, |_| {}),
            ],
        ),
        row(
            "a node in service that is to be tested, as if it were new",
            || {
                let mut world = World::calm();
                lost(&mut world, "n2");
                world
            },
            [
                |world| {
                    world.record("n1", Stage::Bootstrapping);
                    world.order_record("n1", Stage::Qualifying, |_| {});
                },
                |world| {
                    world.record("n1", Stage::InService);
                    world.order_record("n1", Stage::Qualifying, |_| {});
                },
            ],
        ),
    ]
}

fn intent() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::IntentBeforeAct, says, base, change);
    vec![
        row(
            "a cordon before it is on record",
            World::calm,
            [
                |world| {
                    world.record("n1", Stage::Quarantined);
                    world.order("n1", Step::Cordon);
                },
                |world| {
                    world.record("n1", Stage::Suspect);
                    world.order("n1", Step::Cordon);
                },
            ],
        ),
        row(
            "a cordon with nothing on record at all",
            World::calm,
            [as_it_is, |world| {
                world.order("n1", Step::Cordon);
            }],
        ),
        row(
            "a cordon of a node that is kept as it is",
            quarantined,
            [as_it_is, |world| {
                world.record("n1", Stage::Held);
                world.effects[0].expected.recorded = Stage::Held;
            }],
        ),
        row(
            "work stopped while the record says quarantined",
            draining,
            [as_it_is, |world| {
                world.record("n1", Stage::Quarantined);
                world.effects[0].expected.recorded = Stage::Quarantined;
            }],
        ),
        row(
            "a return while the stored stage is Held",
            qualified,
            [
                |world| {
                    world.record_with("n1", Stage::Suspect, |written| written.orders = list([]));
                    world.effects[0].expected.recorded = Stage::Suspect;
                },
                |world| {
                    world.record_with("n1", Stage::Held, |written| written.orders = list([]));
                    world.effects[0].expected.recorded = Stage::Held;
                },
            ],
        ),
    ]
}

fn bounded() -> Vec<Row> {
    let row = |says, base, change| Row::new(Invariant::Bounded, says, base, change);
    vec![
        row(
            "the same cordon twice",
            quarantined,
            [as_it_is, |world| {
                world.order("n1", Step::Cordon);
            }],
        ),
        row(
            "a cordon, and a dry-run uncordon",
            quarantined,
            [as_it_is, |world| {
                world.order("n1", Step::Uncordon).execution = Execution::DryRun;
            }],
        ),
        row(
            "two lines about one node",
            World::calm,
            [
                |world| {
                    world.line("n1", Stage::Suspect, WaitingOn::SecondSignal);
                    world.line("n2", Stage::Suspect, WaitingOn::SecondSignal);
                },
                |world| {
                    world.line("n1", Stage::Suspect, WaitingOn::SecondSignal);
                    world.line("n1", Stage::Suspect, WaitingOn::Budget);
                },
            ],
        ),
        row(
            "more effects than a full cell can need",
            World::calm,
            [|world| on_paper(world, EFFECTS_MAX), |world| on_paper(world, EFFECTS_MAX + 1)],
        ),
    ]
}

fn on_paper(world: &mut World, effects: usize) {
    world.order("n1", Step::Cordon).execution = Execution::DryRun;
    let effect = world.effects[0].clone();
    world.effects.extend((1..effects).map(|number| {
        let mut effect = effect.clone();
        effect.node = name(&format!("other-{number}"));
        effect
    }));
}
