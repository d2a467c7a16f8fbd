//! Invariant 4, qualified-before-return: a node meets no tenant before it is proven. What the suite tests is not known
//! here.

use mainstay_model::{Act, Ready, Schedulable};

use super::{Ordered, Scene};

/// Why a node may not be given work again.
pub(super) fn returned_unproven(_: &Scene<'_>, ordered: &Ordered<'_>) -> Option<String> {
    match ordered.effect.act {
        Act::Uncordon => {}
        Act::Record(_) | Act::Cordon | Act::AskCheckpoint { .. } | Act::Evict { .. } => return None,
    }
    let (node, registration) = ordered.registered()?;
    let wrong = match (registration.schedulable, registration.ready) {
        (Schedulable::Yes, _) => Some("it takes work already"),
        (Schedulable::NotByOthers, _) => Some("somebody else keeps work away, and it is theirs to let it in"),
        (Schedulable::NotByUs, Ready::No) => Some("it is not ready"),
        (Schedulable::NotByUs, Ready::Unknown) => Some("it does not answer"),
        (Schedulable::NotByUs, Ready::Yes) if node.is_reported_by_another() => {
            Some("its last report belongs to another registration")
        }
        (Schedulable::NotByUs, Ready::Yes) => node.unproven(),
    };
    wrong.map(ToOwned::to_owned)
}
