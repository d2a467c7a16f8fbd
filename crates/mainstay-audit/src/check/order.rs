//! Invariants 10, empty-before-order, 16, attempts-capped, and 17, quarantined-before-order: orders to the executor of a
//! node.

use mainstay_model::{RepairStep, Schedulable, Task, Timestamp};

use super::{AuditContext, OrderedEffect};

/// Finds jobs that an order to the node's agent would interrupt. A reboot or a test stops a gang like an eviction does,
/// but without its grace period.
pub(super) fn ordered_under_work(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let order = ordered.order().map(|new| &new.order).filter(|order| order.task != Task::Rung(RepairStep::Capture))?;
    let mut gangs = scene.picture.work().on(&ordered.effect.node);
    let left = gangs.len();
    let gang = gangs.next()?;
    let task = match &order.task {
        Task::Rung(rung) => format!("{rung:?}"),
        Task::Suite(suite) => format!("suite {suite}"),
    };
    Some(format!("{task} is ordered while gang {gang} still runs on the node (gangs on the node: {left})"))
}

/// Returns the repair step that is ordered too often, if any.
pub(super) fn too_often(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let (node, _) = ordered.registered()?;
    let attempt = ordered.order()?.attempt.as_ref().filter(|attempt| attempt.rung != RepairStep::Capture)?;
    let (limit, window) = scene.picture.attempts(node, &attempt.rule);
    let known = node.record().map_or(&[][..], |record| record.attempts());
    let counts = |(step, at): &&(RepairStep, Timestamp)| *step == attempt.rung && scene.now.since(*at) < window;
    let times = u32::try_from(known.iter().filter(counts).count()).unwrap_or(u32::MAX).saturating_add(1);
    let step = attempt.rung;
    (times > limit).then(|| format!("{step:?} is ordered {times} times within the window; the maximum is {limit}"))
}

/// Returns why a node is not protected from new jobs, if it is not.
pub(super) fn not_quarantined(_: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let (_, registration) = ordered.registered()?;
    let order = &ordered.order()?.order;
    match registration.schedulable {
        Schedulable::NotByUs => None,
        Schedulable::Yes => Some(format!("{} is ordered while the node gets new jobs", order.id)),
        Schedulable::NotByOthers => {
            Some(format!("{} is ordered without Mainstay's quarantine taint; only others cordoned the node", order.id))
        }
    }
}
