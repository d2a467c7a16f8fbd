//! Stored incidents, as far as they are compared with the engine's.

use mainstay_api::{Incident, IncidentStatus};
use mainstay_model::{RuleName, Subject, Timestamp};

use crate::object_conditions::{FIRST_GENERATION, is_of_incident};

/// An Incident object, with its suspected cause and rule converted to the model.
#[derive(Debug, Clone)]
pub(crate) struct StoredIncident {
    pub(crate) object: Incident,
    /// Suspected cause and rule. None if it has no valid status yet.
    pub(crate) about: Option<(Subject, RuleName)>,
}

impl StoredIncident {
    pub(super) fn of(object: Incident) -> Self {
        let status = object.status.as_ref();
        let about = status.and_then(|status| Some((Subject::try_from(&status.subject).ok()?, status.rule.clone())));
        Self { object, about }
    }

    pub(crate) fn status(&self) -> Option<&IncidentStatus> {
        self.object.status.as_ref()
    }

    /// Generation of the object, which each edit of its spec raises.
    pub(crate) fn generation(&self) -> i64 {
        self.object.metadata.generation.unwrap_or(FIRST_GENERATION)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.status().is_some_and(|status| status.closed_at.is_none())
    }

    pub(crate) fn closed_at(&self) -> Option<Timestamp> {
        self.status().and_then(|status| status.closed_at).map(Into::into)
    }
}

/// Whether two statuses are equal, ignoring the writer, growing counts and the conditions of other clients.
pub(crate) fn same(a: &IncidentStatus, b: &IncidentStatus) -> bool {
    let plain = |status: &IncidentStatus| {
        let mut status = status.clone();
        status.epoch = 0;
        status.lost_gpu_seconds = 0;
        status.conditions.0.retain(is_of_incident);
        status.evidence.iter_mut().for_each(|evidence| evidence.count = 0);
        status
    };
    plain(a) == plain(b)
}
