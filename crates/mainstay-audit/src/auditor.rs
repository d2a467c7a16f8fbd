//! The auditor itself: what it has seen, and the question it answers. It holds no opinion on what should be done.

use mainstay_model::{Decision, Observation, Timestamp};

use crate::check::Scene;
use crate::picture::Picture;
use crate::{Invariant, Violation};

/// Folds the same facts as the engine, with other code, and checks decisions against the invariants alone.
#[derive(Debug, Clone, Default)]
pub struct Auditor {
    picture: Picture,
}

impl Auditor {
    /// One that has seen nothing, and therefore lets nothing destructive pass.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds a fact into the picture. Total: whatever it says, it is taken or left.
    pub fn observe(&mut self, observation: &Observation) {
        self.picture.fold(observation);
    }

    /// Everything that is wrong with this decision, by invariant, then in the order of the decision. A violation that
    /// names a node is about that node's effects; one that names none is about the decision as a whole.
    #[must_use]
    pub fn audit(&self, decision: &Decision, now: Timestamp) -> Vec<Violation> {
        let scene = Scene::new(&self.picture, decision, now);
        Invariant::ALL.into_iter().flat_map(|invariant| scene.violations(invariant)).collect()
    }

    #[cfg(test)]
    pub(crate) const fn picture(&self) -> &Picture {
        &self.picture
    }
}
