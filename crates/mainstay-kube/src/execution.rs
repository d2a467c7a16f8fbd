//! What this process may execute on the cluster. Modes, stored node states and our own taint pass through here before the engine
//! reads them. So the engine never decides, and no view shows, an action that this installation cannot carry out. The simulator
//! and the demo do not use this module.

use std::time::Duration;

use kube::Client;
use mainstay_api::{Cell, ConditionStatus, GROUP};
use mainstay_model::{Bounded, Literal, Mode, Persisted, Proposal, ProposalOutcome, RuleName, Stage, Transition};
use tokio::time::sleep;

use crate::error::{Backoff, Error, Failure};
use crate::permission::{Access, may};

/// What the leader may execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Capability {
    /// Nothing: every decision is a dry run. So it is without the permission to act.
    #[default]
    Observe,
    /// Actions on nodes and jobs, as far as the mode allows them.
    Act,
}

/// Type of the Cell's condition that shows whether its mode is in effect.
pub(crate) const MODE_HONOURED: Literal<RuleName> = RuleName::literal("ModeHonoured");

/// Questions for the permissions while the server does not answer.
const TRIES_MAX: u32 = 8;
/// Time between two questions while it leads, in Leases.
const ASK_EVERY: u32 = 4;

/// Every permission that acting needs. The API server grants all of them together, with `render --allow-actions`.
const NEEDED: [Access<'static>; 3] = [
    Access { verb: "patch", group: None, resource: "nodes", subresource: None },
    Access { verb: "create", group: None, resource: "pods", subresource: Some("eviction") },
    Access { verb: "create", group: Some(GROUP), resource: "checkpointrequests", subresource: None },
];

impl Capability {
    /// What the API server permits this process. It asks again while the server does not answer.
    pub(crate) async fn granted(client: &Client) -> Result<Self, Error> {
        let mut pauses = Backoff::new();
        for _ in 1..TRIES_MAX {
            match Self::permitted(client).await {
                Err(Error::Server(_)) => sleep(pauses.after(&Failure::Broken)).await,
                answer => return answer,
            }
        }
        Self::permitted(client).await
    }

    /// Returns when the API server permits something else.
    pub(crate) async fn changed(self, client: &Client, lease: Duration) {
        loop {
            sleep(lease * ASK_EVERY).await;
            // Without an answer nothing is known to have changed.
            if Self::permitted(client).await.is_ok_and(|permitted| permitted != self) {
                return;
            }
        }
    }

    async fn permitted(client: &Client) -> Result<Self, Error> {
        for access in NEEDED {
            if !may(client, access).await? {
                return Ok(Self::Observe);
            }
        }
        Ok(Self::Act)
    }

    /// What the leader may execute, as the leader wrote it to the Cell.
    pub(crate) fn shown_by(cell: &Cell) -> Self {
        let conditions = cell.status.as_ref().map(|status| status.conditions.0.as_slice()).unwrap_or_default();
        let is_honoured = conditions.iter().any(|condition| {
            condition.type_ == MODE_HONOURED
                && condition.status == ConditionStatus::True
                && condition.message.as_str() == in_effect_words(cell.spec.mode)
        });
        if is_honoured && cell.spec.mode > Mode::Observe { Self::Act } else { Self::Observe }
    }

    /// The mode that the engine runs with when an operator set this one.
    pub(crate) fn in_effect(self, requested: Mode) -> Mode {
        match self {
            Self::Observe => Mode::Observe,
            Self::Act => requested,
        }
    }

    /// Why the mode that an operator set has no effect; none where it is in effect.
    pub(crate) fn notice(self, requested: Mode) -> Option<String> {
        (requested > self.in_effect(requested)).then(|| {
            format!(
                "Mode {requested:?} has no effect: the controller has no permission to act. Decisions are recorded as dry runs. \
                 Install the permission with `mainstay render --part policy --allow-actions`."
            )
        })
    }

    /// Whether a quarantine taint on a node can be the work of this controller.
    pub(crate) fn can_taint(self) -> bool {
        self == Self::Act
    }
}

/// Message of the condition where the mode is in effect. It names the mode, so that a change of the mode shows at once.
pub(crate) fn in_effect_words(mode: Mode) -> String {
    format!("Mode {mode:?} is in effect.")
}

/// A stored node state without the actions that it claims and that were never executed. Gives none where it claims no
/// such action. Versions before this one moved a node to Quarantined in mode Act, and did not cordon it.
///
/// The count of removals stays, because it is part of every action's id and an id must never be used twice.
pub(crate) fn corrected(stored: &Persisted, capability: Capability) -> Option<Persisted> {
    let claims = claims_action(stored.stage)
        || stored.history.as_slice().iter().any(|step| claims_action(step.to))
        || stored.proposals.as_slice().iter().any(claims_execution);
    if capability.can_taint() || !claims {
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
