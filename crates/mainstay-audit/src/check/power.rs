//! Invariant 19, power-confirmed: a machine that does not answer may still run jobs.

use mainstay_model::{Power, Ready, Span, Step};

use super::{AuditContext, OrderedEffect};

/// A gang that made no progress for this long has stopped.
const STOPPED_AFTER: Span = Span::minutes(15);

/// Returns why the power must not be turned off, or the pods must not be released, if so.
pub(super) fn unconfirmed(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let (_, registration) = ordered.registered()?;
    match ordered.effect.step {
        Step::PowerOff if registration.ready == Ready::Yes => Some("the node is reachable".to_owned()),
        Step::PowerOff => {
            let mut progress = scene.picture.work().progress(&ordered.effect.node);
            let has_stopped = progress.any(|at| scene.now.since(at) >= STOPPED_AFTER);
            (!has_stopped).then(|| "no gang on the node is known to have stopped".to_owned())
        }
        Step::ReleasePods => (registration.power != Power::Off).then(|| "the machine is not off".to_owned()),
        Step::Store(_) | Step::Order(_) | Step::Cordon | Step::Uncordon | Step::Avoid | Step::EndAvoid => None,
        Step::AskCheckpoint { .. } | Step::Stop { .. } => None,
    }
}
