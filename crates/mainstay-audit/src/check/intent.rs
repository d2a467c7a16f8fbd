//! Invariant 7, intent-before-act: whoever reads the record after a crash must know what may have been begun.

use mainstay_model::{Act, Stage};

use super::{Ordered, Scene};

/// What was not on record first.
pub(super) fn without_intent(_: &Scene<'_>, ordered: &Ordered<'_>) -> Option<String> {
    let act = match ordered.effect.act {
        Act::Cordon => "it is cordoned",
        Act::AskCheckpoint { .. } => "its work is asked to save",
        Act::Evict { .. } => "its work is stopped",
        Act::Uncordon => "it is given work again",
        // An order is written together with its intent.
        Act::Record(_) => return None,
    };
    let (node, _) = ordered.registered()?;
    match node.record() {
        None => Some(format!("{act} with nothing on record")),
        Some(record) if follows_from(&ordered.effect.act, record.stage) => None,
        Some(record) => Some(format!("{act} with {:?} on record", record.stage)),
    }
}

const fn follows_from(act: &Act, stage: Stage) -> bool {
    match act {
        Act::Record(_) => true,
        Act::AskCheckpoint { .. } | Act::Evict { .. } => matches!(stage, Stage::Draining),
        // A held node is kept as it is.
        Act::Cordon => match stage {
            Stage::Quarantined
            | Stage::Draining
            | Stage::Repairing
            | Stage::Qualifying
            | Stage::Maintenance
            | Stage::Upgrading
            | Stage::Retired => true,
            Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Held => false,
        },
        // Suspect, because something may be said about it between the record and the act.
        Act::Uncordon => matches!(stage, Stage::Qualifying | Stage::InService | Stage::Suspect),
    }
}
