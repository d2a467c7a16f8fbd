//! Invariant 6, nothing-above-the-mode. The same ceiling is kept by the API server; pools and kinds are ours to keep.

use mainstay_model::{Act, ActionKind, Mode, Order, OrderId, Rung, Task};

use super::{Ordered, Scene};
use crate::picture::Node;

/// What the mode does not allow.
pub(super) fn above_the_mode(scene: &Scene<'_>, ordered: &Ordered<'_>) -> Option<String> {
    let (node, _) = ordered.registered()?;
    let above = |kind: ActionKind, named: &OrderId| above(scene, node, kind, named);
    let action = &ordered.effect.action;
    match &ordered.effect.act {
        Act::Cordon => above(ActionKind::Cordon, action),
        Act::AskCheckpoint { .. } | Act::Evict { .. } => above(ActionKind::Drain, action),
        Act::Uncordon => above(ActionKind::Return, action),
        // The API server knows an order by its own id, so that a yes to a drain is none to a reboot. Where the server
        // does not ask, because only the pool does, a yes to the drain is one to the capture that comes with it.
        Act::Record(_) => ordered.orders.iter().find_map(|order| {
            let is_part_of_drain = order.task == Task::Rung(Rung::Capture) && scene.picture.ceiling() == Mode::Act;
            above(kind(order), if is_part_of_drain { action } else { &order.id })
        }),
    }
}

/// A person's request is not an approval: the server sees approvals and no requests.
fn above(scene: &Scene<'_>, node: &Node, kind: ActionKind, named: &OrderId) -> Option<String> {
    match scene.picture.mode(node, kind) {
        Mode::Act => None,
        Mode::Propose if scene.picture.cell().approvals.as_slice().contains(named) => None,
        Mode::Propose => Some(format!("{kind:?} needs a yes here, and nobody approved {named}")),
        Mode::Observe => Some(format!("{kind:?} is not allowed here: the mode is Observe")),
    }
}

/// Which kind an order counts as. A capture comes with the drain, a suite with the return.
const fn kind(order: &Order) -> ActionKind {
    match order.task {
        Task::Rung(Rung::Capture | Rung::Replace) => ActionKind::Drain,
        Task::Rung(Rung::RestartService) => ActionKind::RestartService,
        Task::Rung(Rung::ResetGpu) => ActionKind::ResetGpu,
        Task::Rung(Rung::Reboot) => ActionKind::Reboot,
        Task::Rung(Rung::PowerCycle) => ActionKind::PowerCycle,
        Task::Suite(_) => ActionKind::Return,
    }
}
