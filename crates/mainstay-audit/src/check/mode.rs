//! Invariant 6, nothing-above-the-mode. The API server enforces the mode of the Cell; modes per pool and per kind of
//! action are enforced here.

use mainstay_model::{ActionKind, Mode, OrderId, RepairStep, Step, Task};

use super::{AuditContext, OrderedEffect};
use crate::state::Node;

/// Returns why the mode does not allow the effect, if it does not.
pub(super) fn above_the_mode(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let (node, _) = ordered.registered()?;
    let above = |kind: ActionKind, named: &OrderId| above(scene, node, kind, named);
    let action = &ordered.effect.id;
    match &ordered.effect.step {
        Step::Cordon | Step::Avoid => above(ActionKind::Cordon, action),
        Step::AskCheckpoint { .. } | Step::Stop { .. } | Step::ReleasePods => above(ActionKind::Drain, action),
        Step::PowerOff => above(ActionKind::PowerCycle, action),
        Step::Uncordon | Step::EndAvoid => above(ActionKind::Return, action),
        // The API server identifies an order by its own id, so approving a drain does not approve a reboot.
        Step::Order(new) => above(kind(&new.order.task), &new.order.id),
        Step::Store(_) => None,
    }
}

/// An operator's request is not an approval: the API server checks approvals only.
fn above(scene: &AuditContext<'_>, node: &Node, kind: ActionKind, named: &OrderId) -> Option<String> {
    match scene.picture.mode(node, kind) {
        Mode::Act => None,
        Mode::Propose if scene.picture.cell().approvals.as_slice().contains(named) => None,
        Mode::Propose => Some(format!("{kind:?} needs an approval in mode Propose, and {named} is not approved")),
        Mode::Observe => Some(format!("{kind:?} is not allowed in mode Observe")),
    }
}

/// Returns the kind of action an order counts as. A capture is part of the drain, a suite is part of the return.
const fn kind(task: &Task) -> ActionKind {
    match task {
        Task::Rung(RepairStep::Capture | RepairStep::Replace) => ActionKind::Drain,
        Task::Rung(RepairStep::RestartService) => ActionKind::RestartService,
        Task::Rung(RepairStep::ResetGpu) => ActionKind::ResetGpu,
        Task::Rung(RepairStep::Reboot) => ActionKind::Reboot,
        Task::Rung(RepairStep::PowerCycle) => ActionKind::PowerCycle,
        Task::Suite(_) => ActionKind::Return,
    }
}
