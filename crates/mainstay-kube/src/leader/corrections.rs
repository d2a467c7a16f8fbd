//! Stored node states that are written although the engine decides nothing new. Those that claim an action which was never
//! executed, which an older version stored in mode Act (see [`crate::execution`]), are replaced by the engine's own. Where
//! only the condition does not show the last edit of the object, only the condition is written: the engine's own state may hold an
//! order that no executor has accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainstay_model::{Decision, NodeName, RuleName, Step};
use tokio::time::Instant;

use super::Leader;
use crate::error::Error;
use crate::object_conditions;
use crate::write::Write;

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
        let is_only_stale = |node: &NodeName| !overstated.contains(node);
        let decided: BTreeSet<&NodeName> =
            decision.effects.iter().filter(|effect| is_record(&effect.step)).map(|effect| &effect.node).collect();
        let due = overstated.union(stale).filter(|node| !self.corrected.written_at.contains_key(*node));
        let due: Vec<(NodeName, bool)> =
            due.take(AT_ONCE_MAX).map(|node| (node.clone(), is_only_stale(node))).collect();
        let Ok(rule) = RuleName::parse(RULE) else { return Ok(()) };
        for (node, is_only_stale) in due {
            let is_decided = decided.contains(&node);
            self.corrected.written_at.insert(node.clone(), Instant::now());
            if is_only_stale {
                self.correct_condition(node, is_decided);
                continue;
            }
            let state = self.engine.persisted(&node).filter(|_| !is_decided).cloned();
            if let Some(state) = state {
                self.record(&node, &state, &rule)?;
            }
        }
        Ok(())
    }

    fn correct_condition(&mut self, node: NodeName, is_decided: bool) {
        let (Some(stored), Some(line)) = (self.world.on_record(&node), self.engine.report(&node)) else { return };
        if is_decided {
            return;
        }
        let generation = self.world.generation(&node);
        let conditions = object_conditions::of_node(stored.stage, stored.since, generation, stored.condition);
        let (waiting_on, message) = (line.waiting_on, line.message);
        self.outbox.push(Write::Wait { node, waiting_on, message, conditions: Some(conditions) });
    }
}
