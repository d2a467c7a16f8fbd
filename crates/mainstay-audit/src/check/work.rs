//! Invariants 3, asked-before-stopped, and 10, empty-before-order: what running work is owed.

use mainstay_model::{Act, Contract, GangId, Rung, Stage, Task, Urgency};

use super::{Ordered, Scene};

/// What a gang is still owed that is to be stopped.
pub(super) fn stopped_unasked(scene: &Scene<'_>, ordered: &Ordered<'_>) -> Option<String> {
    let gang = match &ordered.effect.act {
        Act::Evict { gang } => gang,
        Act::Record(_) | Act::Cordon | Act::Uncordon | Act::AskCheckpoint { .. } => return None,
    };
    match scene.picture.work().contract(gang) {
        None => Some(format!("nobody knows what gang {gang} promised")),
        // What it gets is its termination grace, which an eviction gives.
        Some(Contract::None | Contract::OnStop { .. }) => None,
        Some(Contract::OnRequest) => owed(scene, ordered, gang),
    }
}

fn owed(scene: &Scene<'_>, ordered: &Ordered<'_>, gang: &GangId) -> Option<String> {
    let record = ordered.record();
    if record.and_then(|record| record.urgency) == Some(Urgency::Now) {
        return None;
    }
    let Some(ask) = scene.picture.work().ask(gang, &ordered.effect.node) else {
        return Some(format!("gang {gang} was not asked to save"));
    };
    let draining = record.filter(|record| record.stage == Stage::Draining);
    if draining.is_some_and(|record| ask.drain < record.since) {
        return Some(format!("gang {gang} was asked in an earlier drain only"));
    }
    let is_settled = ask.is_answered || ask.answer_by <= scene.now;
    (!is_settled).then(|| format!("gang {gang} has not answered, and has {} ms left", ask.answer_by.since(scene.now).0))
}

/// Work that an order to the node's agent would hit. A reboot or a test stops a gang as surely as an eviction does, and
/// without its grace.
pub(super) fn ordered_under_work(scene: &Scene<'_>, ordered: &Ordered<'_>) -> Option<String> {
    let order = ordered.orders.iter().find(|order| order.task != Task::Rung(Rung::Capture))?;
    let mut gangs = scene.picture.work().on(&ordered.effect.node);
    let left = gangs.len();
    let gang = gangs.next()?;
    let task = match &order.task {
        Task::Rung(rung) => format!("{rung:?}"),
        Task::Suite(suite) => format!("suite {suite}"),
    };
    Some(format!("{task} is ordered while gang {gang} still runs there ({left} in all)"))
}
