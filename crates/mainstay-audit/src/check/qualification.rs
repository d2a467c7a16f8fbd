//! Invariant 4, qualified-before-return: a node gets no jobs before it passes its qualification. The auditor does not
//! know what the suite tests.

use mainstay_model::{Ready, Schedulable, Step};

use super::{AuditContext, OrderedEffect};

/// Returns why a node must not return to service, if it must not.
pub(super) fn returned_unproven(_: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    match ordered.effect.step {
        Step::Uncordon => {}
        Step::Store(_) | Step::Order(_) | Step::Cordon | Step::AskCheckpoint { .. } | Step::Stop { .. } => return None,
        Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => return None,
    }
    let (node, registration) = ordered.registered()?;
    let wrong = match (registration.schedulable, registration.ready) {
        (Schedulable::Yes, _) => Some("the node is already schedulable"),
        (Schedulable::NotByOthers, _) => {
            Some("another tool or an operator cordoned the node, so Mainstay must not uncordon it")
        }
        (Schedulable::NotByUs, Ready::No) => Some("the node is not ready"),
        (Schedulable::NotByUs, Ready::Unknown) => Some("the node is not reachable"),
        (Schedulable::NotByUs, Ready::Yes) if node.is_reported_by_another() => {
            Some("its last report belongs to another registration")
        }
        (Schedulable::NotByUs, Ready::Yes) => node.unproven(),
    };
    wrong.map(ToOwned::to_owned)
}
