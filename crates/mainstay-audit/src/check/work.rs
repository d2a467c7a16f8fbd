//! Invariants 3, asked-before-stopped, and 10, empty-before-order: protection of running jobs.

use mainstay_model::{Action, Contract, GangId, RepairStep, Stage, Task, Urgency};

use super::{AuditContext, OrderedEffect};

/// Returns why a gang must not be stopped yet, if it must not.
pub(super) fn stopped_unasked(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let gang = match &ordered.effect.act {
        Action::Evict { gang } => gang,
        Action::Record(_) | Action::Cordon | Action::Uncordon | Action::AskCheckpoint { .. } => return None,
    };
    match scene.picture.work().contract(gang) {
        None => Some(format!("the checkpoint contract of gang {gang} is unknown")),
        // Such a gang gets its termination grace period, which an eviction respects.
        Some(Contract::None | Contract::OnStop { .. }) => None,
        Some(Contract::OnRequest) => owed(scene, ordered, gang),
    }
}

fn owed(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>, gang: &GangId) -> Option<String> {
    let record = ordered.record();
    if record.and_then(|record| record.urgency) == Some(Urgency::Now) {
        return None;
    }
    let Some(ask) = scene.picture.work().ask(gang, &ordered.effect.node) else {
        return Some(format!("gang {gang} got no checkpoint request"));
    };
    let draining = record.filter(|record| record.stage == Stage::Draining);
    if draining.is_some_and(|record| ask.drain < record.since) {
        return Some(format!("gang {gang} got a checkpoint request only in an earlier drain"));
    }
    let is_settled = ask.is_answered || ask.answer_by <= scene.now;
    (!is_settled).then(|| {
        format!(
            "gang {gang} has not answered the checkpoint request and has {} ms left",
            ask.answer_by.since(scene.now).0
        )
    })
}

/// Finds jobs that an order to the node's agent would interrupt. A reboot or a test stops a gang like an eviction does,
/// but without its grace period.
pub(super) fn ordered_under_work(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let order = ordered.orders.iter().find(|order| order.task != Task::Rung(RepairStep::Capture))?;
    let mut gangs = scene.picture.work().on(&ordered.effect.node);
    let left = gangs.len();
    let gang = gangs.next()?;
    let task = match &order.task {
        Task::Rung(rung) => format!("{rung:?}"),
        Task::Suite(suite) => format!("suite {suite}"),
    };
    Some(format!("{task} is ordered while gang {gang} still runs on the node (gangs on the node: {left})"))
}
