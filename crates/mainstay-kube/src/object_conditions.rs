//! Conditions of GpuNodes and Incidents, for `kubectl wait`. Each object has one: a node is `InService` or not, and an
//! incident is `Closed` or not. Details are in the other fields of their status.

use mainstay_api::{Condition, ConditionStatus, Conditions, IncidentStatus};
use mainstay_model::{Literal, Reason, RuleName, Stage, Timestamp};

const IN_SERVICE: Literal<RuleName> = RuleName::literal("InService");
const CLOSED: Literal<RuleName> = RuleName::literal("Closed");
const OPEN: Literal<RuleName> = RuleName::literal("Open");

/// Generation of an object without an edit since it was created.
pub(crate) const FIRST_GENERATION: i64 = 1;

/// The stored condition of one object, without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredCondition {
    status: ConditionStatus,
    observed_generation: i64,
    since: Timestamp,
}

impl StoredCondition {
    /// The condition `InService` among these.
    pub(crate) fn in_service(conditions: &Conditions) -> Option<Self> {
        conditions.0.iter().find(|one| one.type_ == IN_SERVICE).map(Self::of)
    }

    fn of(condition: &Condition) -> Self {
        Self {
            status: condition.status,
            observed_generation: condition.observed_generation,
            since: condition.last_transition_time.into(),
        }
    }

    /// Whether it is the right condition of a node in this stage whose object has this generation.
    pub(crate) fn fits(&self, stage: Stage, generation: i64) -> bool {
        self.status == status(stage == Stage::InService) && self.observed_generation == generation
    }
}

/// Conditions of a node that entered this stage at this time.
pub(crate) fn of_node(
    stage: Stage,
    entered_at: Timestamp,
    generation: i64,
    stored: Option<StoredCondition>,
) -> Conditions {
    let status = status(stage == Stage::InService);
    // From one stage out of service to the next, the condition does not change.
    let since = stored.filter(|stored| stored.status == status).map_or(entered_at, |stored| stored.since);
    let message = if stage == Stage::InService {
        "The node is in service.".to_owned()
    } else {
        format!("The node is in stage {stage:?}.")
    };
    let reason = RuleName::parse(&format!("{stage:?}")).unwrap_or_else(|_| IN_SERVICE.get());
    Conditions(vec![Condition {
        type_: IN_SERVICE.get(),
        status,
        reason,
        message: Reason::lossy(&message),
        observed_generation: generation,
        last_transition_time: since.into(),
    }])
}

/// Conditions of an incident with this status.
pub(crate) fn of_incident(incident: &IncidentStatus, generation: i64) -> Conditions {
    let (reason, message, since) = match incident.closed_at {
        Some(closed_at) => (CLOSED, "The incident is closed.", closed_at),
        None => (OPEN, "The incident is open.", incident.opened_at),
    };
    Conditions(vec![Condition {
        type_: CLOSED.get(),
        status: status(incident.closed_at.is_some()),
        reason: reason.get(),
        message: Reason::lossy(message),
        observed_generation: generation,
        last_transition_time: since,
    }])
}

/// Whether the condition of an incident is ours. Other clients may add their own.
pub(crate) fn is_of_incident(condition: &Condition) -> bool {
    condition.type_ == CLOSED
}

const fn status(holds: bool) -> ConditionStatus {
    if holds { ConditionStatus::True } else { ConditionStatus::False }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_changes_its_time_only_with_its_status() {
        let at = Timestamp;
        let of = |stage, entered_at, stored| {
            let conditions = of_node(stage, at(entered_at), 1, stored);
            (conditions.0[0].status, StoredCondition::in_service(&conditions))
        };
        let (status, suspect) = of(Stage::Suspect, 1_000, None);
        assert_eq!(status, ConditionStatus::False);
        let (_, quarantined) = of(Stage::Quarantined, 2_000, suspect);
        assert_eq!(quarantined.map(|stored| stored.since), Some(at(1_000)));
        let (status, back) = of(Stage::InService, 3_000, quarantined);
        assert_eq!((status, back.map(|stored| stored.since)), (ConditionStatus::True, Some(at(3_000))));
    }

    #[test]
    fn a_condition_is_stale_after_an_edit_of_the_spec() {
        let stored = StoredCondition::in_service(&of_node(Stage::InService, Timestamp(0), 1, None)).unwrap();
        assert!(stored.fits(Stage::InService, 1));
        assert!(!stored.fits(Stage::InService, 2) && !stored.fits(Stage::Suspect, 1));
    }
}
