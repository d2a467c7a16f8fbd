//! Compares a fresh read with what an effect expects. Every difference ends the effect without a request.

use mainstay_model::{Effect, Outcome, Reason, Step};

use crate::backend::{StoredIntent, TargetState};

/// Why the stored status does not permit the effect, if it does not. The grant must be stored. The stage and the operator's request must be
/// the ones that the decision was made on.
pub(crate) fn of_intent(effect: &Effect, stored: Option<&StoredIntent>) -> Option<Outcome> {
    let is_granted = stored.is_some_and(|stored| {
        stored.stage == effect.expected.recorded
            && stored.request == effect.expected.request
            && stored.claim.is_some()
            && stored.claim == effect.claim
    });
    (!is_granted).then_some(Outcome::Conflict)
}

/// Why the target does not permit the effect, if it does not.
pub(crate) fn of_target(effect: &Effect, state: &TargetState) -> Option<Outcome> {
    if state.uid != effect.expected.uid {
        return Some(Outcome::Conflict);
    }
    if depends_on_taints(&effect.step) && state.schedulable != effect.expected.schedulable {
        return Some(Outcome::Conflict);
    }
    if effect.step.order().is_some() && effect.expected.is_empty && state.is_empty != Some(true) {
        return Some(Outcome::Conflict);
    }
    let by = state.treated_by.as_ref().filter(|_| disturbs(&effect.step))?;
    Some(Outcome::Refused(Reason::lossy(&format!("{by} treats this node now"))))
}

/// Whether the step is right only for a node with the taints that the decision saw. Jobs are asked and stopped under any cordon of the
/// node.
const fn depends_on_taints(step: &Step) -> bool {
    match step {
        Step::Order(_) | Step::Cordon | Step::Uncordon | Step::Avoid | Step::EndAvoid => true,
        Step::PowerOff | Step::ReleasePods => true,
        Step::Store(_) | Step::AskCheckpoint { .. } | Step::Stop { .. } => false,
    }
}

/// Whether the step disturbs a node or its jobs. A return only undoes what Mainstay did.
pub(crate) const fn disturbs(step: &Step) -> bool {
    match step {
        Step::Order(_) | Step::Cordon | Step::Avoid | Step::PowerOff | Step::ReleasePods => true,
        Step::AskCheckpoint { .. } | Step::Stop { .. } => true,
        Step::Store(_) | Step::Uncordon | Step::EndAvoid => false,
    }
}
