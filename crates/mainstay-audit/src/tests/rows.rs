//! The table: what is legal, and the smallest change that is not.

mod counts;
mod fence;
mod forget;
mod grant;
mod mode;
mod qualification;
mod removal;
mod work;

use mainstay_model::{Contract, RepairStep, Schedulable, Stage, Step, Task, Verdict};

use super::world::{BEFORE, World, id, list, ordered};
use crate::Invariant;

/// One violation with its nearest legal neighbour.
pub(super) struct Row {
    pub(super) invariant: Invariant,
    /// What an engineer would say of the violation.
    pub(super) description: &'static str,
    pub(super) base: fn() -> World,
    pub(super) legal: fn(&mut World),
    pub(super) caught: fn(&mut World),
}

impl Row {
    /// The legal change of the base comes first, the illegal one second.
    fn new(invariant: Invariant, says: &'static str, base: fn() -> World, change: [fn(&mut World); 2]) -> Self {
        Self { invariant, description: says, base, legal: change[0], caught: change[1] }
    }
}

pub(super) fn all() -> Vec<Row> {
    let all = [
        removal::rows(),
        fence::rows(),
        mode::rows(),
        work::rows(),
        qualification::rows(),
        counts::rows(),
        grant::rows(),
        forget::rows(),
    ];
    all.into_iter().flatten().collect()
}

/// For rows whose base is legal as it is.
fn as_it_is(_: &mut World) {}

/// n1 is to be removed, and that intent is stored; it is cordoned now.
pub(super) fn quarantined() -> World {
    let mut world = World::calm();
    world.record("n1", Stage::Quarantined);
    world.order("n1", Step::Cordon);
    world
}

/// n1 is being drained; gang g saved as it was asked to, and is stopped now.
fn draining() -> World {
    let mut world = World::calm();
    world.record("n1", Stage::Draining);
    world.keep_away("n1", Schedulable::NotByUs);
    world.gang("g", &["n1", "n3"], Contract::OnRequest);
    world.asked("g", "n1", BEFORE, Some(4_000));
    world.order("n1", Step::Stop { gang: id("g") });
    world
}

/// n1 is removed and runs no jobs; its agent is ordered to reboot it now.
fn repairing() -> World {
    let mut world = World::calm();
    world.record("n1", Stage::Repairing);
    world.keep_away("n1", Schedulable::NotByUs);
    world.order_task("n1", ordered("reboot-n1", "3-a", Task::Rung(RepairStep::Reboot)));
    world
}

/// n1 was removed by Mainstay and passed the ordered suite; it returns to service now.
fn qualified() -> World {
    let mut world = qualifying();
    world.results("n1", &[("3-b", Verdict::Passed), ("3-b", Verdict::Passed)], |_| {});
    world.record_with("n1", Stage::InService, |written| written.orders = list([]));
    world.order("n1", Step::Uncordon);
    world
}

/// n1 was removed by Mainstay, and a suite was ordered.
fn qualifying() -> World {
    let mut world = World::calm();
    world.record("n1", Stage::Quarantined);
    world.keep_away("n1", Schedulable::NotByUs);
    world.record_with("n1", Stage::Qualifying, |written| {
        written.orders = list([ordered("suite-n1", "3-b", Task::Suite("full".parse().unwrap()))]);
    });
    world
}
