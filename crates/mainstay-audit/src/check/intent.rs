//! Invariant 7, intent-before-act: after a crash, the stored status must show which actions may have begun.

use mainstay_model::{Stage, Step, Task};

use super::{AuditContext, OrderedEffect};

/// Returns the action whose intent is not stored, if any.
pub(super) fn without_intent(_: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let act = match ordered.effect.step {
        Step::Cordon => "cordon",
        Step::AskCheckpoint { .. } => "checkpoint request",
        Step::Stop { .. } => "eviction",
        Step::Uncordon => "uncordon",
        Step::Avoid | Step::EndAvoid => "avoid taint",
        Step::PowerOff => "power-off",
        Step::ReleasePods => "release of pods",
        Step::Order(_) => "order",
        Step::Store(_) => return None,
    };
    let (node, _) = ordered.registered()?;
    match node.record() {
        None => Some(format!("{act} without a stored stage")),
        Some(record) if follows_from(&ordered.effect.step, record.stage) => None,
        Some(record) => Some(format!("{act} while the stored stage is {:?}", record.stage)),
    }
}

const fn follows_from(act: &Step, stage: Stage) -> bool {
    match act {
        Step::Store(_) => true,
        Step::Order(new) => match new.order.task {
            Task::Rung(_) => matches!(stage, Stage::Repairing),
            Task::Suite(_) => matches!(stage, Stage::Qualifying),
        },
        Step::AskCheckpoint { .. } | Step::Stop { .. } | Step::PowerOff | Step::ReleasePods => {
            matches!(stage, Stage::Draining)
        }
        Step::Avoid => matches!(stage, Stage::Suspect),
        Step::EndAvoid => stage.gets_jobs(),
        // A held node is not changed.
        Step::Cordon => match stage {
            Stage::Quarantined
            | Stage::Draining
            | Stage::Repairing
            | Stage::Qualifying
            | Stage::Maintenance
            | Stage::Upgrading
            | Stage::Retired => true,
            Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Held => false,
        },
        // Suspect is allowed, because evidence may arrive between the status write and the action.
        Step::Uncordon => matches!(stage, Stage::Qualifying | Stage::InService | Stage::Suspect),
    }
}
