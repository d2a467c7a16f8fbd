//! Deletes the stored state of nodes that are gone, as the engine decides it. The audit log keeps the last state.

use mainstay_model::Decision;

use super::{AuditRejections, Leader};
use crate::audit_log::Entry;
use crate::error::Error;
use crate::write::Write;

impl Leader<'_> {
    /// Queues the deletions of a decision. A deletion that fails is decided again, but logged once.
    pub(super) fn forget_gone(&mut self, decision: &Decision, stopped: &AuditRejections) -> Result<(), Error> {
        let world = &self.world;
        self.forgetting.retain(|node| world.on_record(node).is_some());
        for node in decision.forgotten.iter().filter(|node| !stopped.stops(node)) {
            self.timed.remove(node);
            let state = self.engine.persisted(node).cloned().map(Box::new);
            if let Some(state) = state.filter(|_| self.forgetting.insert(node.clone())) {
                self.log(&Entry::Forgotten { node: node.clone(), state })?;
            }
            self.outbox.push(Write::ForgetNode { node: node.clone() });
        }
        Ok(())
    }
}
