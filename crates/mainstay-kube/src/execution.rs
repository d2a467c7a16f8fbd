//! What this build can execute on a cluster. Modes, stored node states and our own taint pass through here before the
//! engine reads them. So the engine never decides, and no view shows, an action that this build cannot carry out.
//! Raising [`EXECUTES`] is the one change that lifts the limit; the simulator and the demo do not use this module.

use mainstay_model::{Bounded, Mode, Persisted, Proposal, ProposalOutcome, Stage, Transition};

/// The highest mode that this build can execute on a cluster.
pub(crate) const EXECUTES: Mode = Mode::Observe;

/// The mode that the engine runs with when an operator set this one.
pub(crate) fn in_effect(requested: Mode) -> Mode {
    requested.min(EXECUTES)
}

/// Why the mode that an operator set has no effect; none where it is in effect.
pub(crate) fn notice(requested: Mode) -> Option<String> {
    (requested > EXECUTES).then(|| {
        format!("Mode {requested:?} has no effect yet: this version only observes. Decisions are recorded as dry runs.")
    })
}

/// Whether a quarantine taint on a node can be the work of this build.
pub(crate) fn can_taint() -> bool {
    EXECUTES > Mode::Observe
}

/// A stored node state without the actions that it claims and that were never executed. Gives none where it claims no
/// such action. Versions before this one moved a node to Quarantined in mode Act, and did not cordon it.
///
/// The count of removals stays, because it is part of every action's id and an id must never be used twice.
pub(crate) fn corrected(stored: &Persisted) -> Option<Persisted> {
    let claims = claims_action(stored.stage)
        || stored.history.as_slice().iter().any(|step| claims_action(step.to))
        || stored.proposals.as_slice().iter().any(claims_execution);
    if can_taint() || !claims {
        return None;
    }
    let history: Vec<Transition> =
        stored.history.as_slice().iter().filter(|step| !claims_action(step.to)).cloned().collect();
    let proposals: Vec<Proposal> =
        stored.proposals.as_slice().iter().filter(|one| !claims_execution(one)).cloned().collect();
    // Without a cause there is nothing to suspect: the engine decides again from what is in service.
    let (stage, since) = match (claims_action(stored.stage), stored.cause.is_some()) {
        (false, _) => (stored.stage, stored.since),
        (true, true) => (Stage::Suspect, last_at(&history, Stage::Suspect).unwrap_or(stored.since)),
        (true, false) => (Stage::InService, stored.since),
    };
    Some(Persisted {
        stage,
        since,
        attempts: Bounded::new(),
        orders: Bounded::new(),
        history: Bounded::within(history),
        proposals: Bounded::within(proposals),
        ..stored.clone()
    })
}

fn last_at(history: &[Transition], stage: Stage) -> Option<mainstay_model::Timestamp> {
    history.last().filter(|step| step.to == stage).map(|step| step.at)
}

/// Whether a node can be in this stage only after an action on it was executed.
fn claims_action(stage: Stage) -> bool {
    stage.is_treated() || stage == Stage::Retired
}

fn claims_execution(proposal: &Proposal) -> bool {
    proposal.happened == ProposalOutcome::Executed
}

#[cfg(test)]
mod tests;
