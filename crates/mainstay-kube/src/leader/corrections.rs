//! Stored node states that are replaced by the engine's own, although it decides nothing new: those that claim an action which
//! was never executed, which an older version stored in mode Act (see [`crate::execution`]), and those whose condition does
//! not show the last edit of their object.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainstay_model::{Decision, NodeName, RuleName, Step};
use tokio::time::Instant;

use super::Leader;
use crate::error::Error;

/// A write that failed is tried again after this.
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// Nodes corrected in one decision at most.
const AT_ONCE_MAX: usize = 256;
/// The rule that audit log and Events name for a correction.
const RULE: &str = "not-executed";

/// Nodes whose stored state was replaced, with the time of the write.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    written_at: BTreeMap<NodeName, Instant>,
}

impl Leader<'_> {
    /// Writes the engine's state over each stored one that overstates or has a stale condition, where the decision itself
    /// does not.
    pub(super) fn correct_stored(&mut self, decision: &Decision) -> Result<(), Error> {
        let (overstated, stale) = (self.world.overstated(), self.world.stale_conditions());
        let is_wrong = |node: &NodeName| overstated.contains(node) || stale.contains(node);
        self.corrected.written_at.retain(|node, at| is_wrong(node) && at.elapsed() < AGAIN_AFTER);
        if overstated.is_empty() && stale.is_empty() {
            return Ok(());
        }
        let is_record = |act: &Step| match act {
            Step::Store(_) => true,
            Step::Order(_) | Step::Cordon | Step::Uncordon | Step::AskCheckpoint { .. } | Step::Stop { .. } => false,
            Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => false,
        };
        let decided: BTreeSet<&NodeName> =
            decision.effects.iter().filter(|effect| is_record(&effect.step)).map(|effect| &effect.node).collect();
        let due = overstated.union(stale).filter(|node| !self.corrected.written_at.contains_key(*node));
        let due: Vec<NodeName> = due.take(AT_ONCE_MAX).cloned().collect();
        let Ok(rule) = RuleName::parse(RULE) else { return Ok(()) };
        for node in due {
            let is_decided = decided.contains(&node);
            self.corrected.written_at.insert(node.clone(), Instant::now());
            let state = self.engine.persisted(&node).filter(|_| !is_decided).cloned();
            if let Some(state) = state {
                self.record(&node, &state, &rule)?;
            }
        }
        Ok(())
    }
}
