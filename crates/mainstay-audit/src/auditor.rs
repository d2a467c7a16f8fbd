//! The auditor: it folds observations and checks decisions. It does not decide what should be done.

use mainstay_model::{Decision, Observation, Timestamp};

use crate::check::AuditContext;
use crate::state::State;
use crate::{Invariant, Violation};

/// Folds the same observations as the engine, with separate code, and checks decisions against the invariants.
#[derive(Debug, Clone, Default)]
pub struct Auditor {
    picture: State,
}

impl Auditor {
    /// Creates an auditor without observations, which therefore rejects every destructive effect.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds one observation into the state. It accepts every input and ignores what does not apply.
    pub fn observe(&mut self, observation: &Observation) {
        self.picture.fold(observation);
    }

    /// Returns all violations of this decision, by invariant and then in the order of the decision. A violation with a
    /// node concerns that node's effects; one without a node concerns the decision as a whole.
    #[must_use]
    pub fn audit(&self, decision: &Decision, now: Timestamp) -> Vec<Violation> {
        let scene = AuditContext::new(&self.picture, decision, now);
        Invariant::ALL.into_iter().flat_map(|invariant| scene.violations(invariant)).collect()
    }

    /// Returns the number of nodes that the auditor knows.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.picture.nodes()
    }

    #[cfg(test)]
    pub(crate) const fn picture(&self) -> &State {
        &self.picture
    }
}
