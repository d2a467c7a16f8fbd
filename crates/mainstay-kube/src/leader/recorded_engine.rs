//! The engine of one leadership, with its journal: every input and every decision is recorded. Reading goes to the engine.

use std::ops::Deref;

use mainstay_engine::Engine;
use mainstay_engine::record::{self, Entry};
use mainstay_model::{Decision, Observation, Timestamp};

use crate::journal::Journal;

/// An engine whose inputs are recorded.
pub(crate) struct RecordedEngine<'a> {
    engine: Engine,
    journal: &'a mut Journal,
}

impl<'a> RecordedEngine<'a> {
    pub(crate) fn new(journal: &'a mut Journal) -> Self {
        journal.begin();
        Self { engine: Engine::new(), journal }
    }

    /// Replaces the engine by a new one, which has observed nothing.
    pub(crate) fn begin_again(&mut self) {
        self.journal.begin();
        self.engine = Engine::new();
    }

    pub(crate) fn observe(&mut self, observation: Observation) {
        self.engine.observe(&observation);
        self.journal.add(|| Entry::Observe(observation));
    }

    pub(crate) fn decide(&mut self, now: Timestamp) -> Decision {
        let decision = self.engine.decide(now);
        self.journal.add(|| Entry::Decide { now });
        self.journal.add_decision(&decision);
        decision
    }

    /// Hands what was recorded to the journal's thread, and a snapshot where the journal needs one.
    pub(crate) fn commit(&mut self) {
        self.journal.commit();
        self.journal.snapshot_if_due(|| record::snapshot(&self.engine));
    }
}

impl Deref for RecordedEngine<'_> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}
