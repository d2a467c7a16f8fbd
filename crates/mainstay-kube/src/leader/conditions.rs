//! Conditions on operators' objects: whether a FleetPolicy or a Fabric is in effect, and the conditions of the Cell.

use std::time::Duration;

use mainstay_api::{Condition, ConditionStatus};
use mainstay_model::{Literal, Reason, RuleName, Timestamp};
use tokio::time::Instant;

use super::Leader;
use crate::execution::{self, MODE_HONOURED};
use crate::world::{ConfigKind, ConfigStatus};
use crate::write::{Target, Write};

/// Longest time between two updates of these conditions.
const JUDGE_EVERY: Duration = Duration::from_mins(1);
/// Time between two searches for reports of deleted nodes.
const SWEEP_EVERY: Duration = Duration::from_mins(10);
/// Reports checked in one search.
const SWEEP_MAX: usize = 64;

// Types and reasons of the Cell's conditions.
const ALONE: Literal<RuleName> = RuleName::literal("Alone");
const NO_OTHER: Literal<RuleName> = RuleName::literal("NoOther");
const SECOND_REMEDIATOR: Literal<RuleName> = RuleName::literal("SecondRemediator");
const CURRENT: Literal<RuleName> = RuleName::literal("Current");
const NOT_RESTORED: Literal<RuleName> = RuleName::literal("NotRestored");
const RESTORED_STORE: Literal<RuleName> = RuleName::literal("RestoredStore");
const IN_EFFECT: Literal<RuleName> = RuleName::literal("InEffect");
const NO_PERMISSION: Literal<RuleName> = RuleName::literal("NoPermissionToAct");

/// Times of the latest condition update and of the latest search for orphaned reports.
#[derive(Debug, Default)]
pub(super) struct CheckTimes {
    judged_at: Option<Instant>,
    swept_at: Option<Instant>,
}

impl Leader<'_> {
    pub(super) fn update_conditions(&mut self, now: Timestamp) {
        let due = self.looked.judged_at.is_none_or(|at| at.elapsed() >= JUDGE_EVERY);
        if self.world.config_changed() || due {
            self.looked.judged_at = Some(Instant::now());
            self.queue_config_conditions(now);
            if !self.queue_cell_conditions(now) {
                self.looked.judged_at = None;
            }
        }
        if self.looked.swept_at.is_none_or(|at| at.elapsed() >= SWEEP_EVERY) {
            self.looked.swept_at = Some(Instant::now());
            for node in self.world.orphans(SWEEP_MAX) {
                self.outbox.push(Write::Orphan { node });
            }
        }
    }

    fn queue_config_conditions(&mut self, now: Timestamp) {
        let mut writes = Vec::new();
        for ((kind, name), judged) in self.world.judged() {
            let placed = match kind {
                ConfigKind::Fabric => Some(self.world.placed(name)),
                ConfigKind::Policy => None,
            };
            let untold = judged.pending_condition(now);
            if (untold.is_none() && placed == judged.placed_told)
                || self.outbox.is_on_the_way(&Target::Written(*kind, name.clone()))
            {
                continue;
            }
            let Some(condition) = untold.or_else(|| ConfigStatus::accepted(&judged.stored_conditions)) else {
                continue;
            };
            writes.push(Write::Judged { kind: *kind, name: name.clone(), condition: Box::new(condition), placed });
        }
        writes.into_iter().for_each(|write| self.outbox.push(write));
    }

    /// Writes the Cell's conditions where they changed. False where another write to the Cell has to end first.
    fn queue_cell_conditions(&mut self, now: Timestamp) -> bool {
        let Some(cell) = self.world.cell_seen() else { return true };
        let generation = cell.metadata.generation.unwrap_or(0);
        let told = cell.status.as_ref().map(|status| status.conditions.0.as_slice()).unwrap_or_default();
        let mut others: Vec<&str> = self.world.others().values().filter_map(|others| others.remediator).collect();
        others.sort_unstable();
        others.dedup();
        let alone = if others.is_empty() {
            (ALONE, true, NO_OTHER, "No other tool repairs nodes in this cluster.".to_owned())
        } else {
            let who = others.join(", ");
            (
                ALONE,
                false,
                SECOND_REMEDIATOR,
                format!("{who} also repairs nodes here. Disable it for pools that Mainstay manages."),
            )
        };
        let known = if self.seen > self.epoch {
            let (seen, epoch) = (self.seen.0, self.epoch.0);
            let text = format!(
                "etcd was restored: epochs up to {seen} may have been used, and the Cell has epoch {epoch}. Mainstay only observes until the epoch is above {seen}."
            );
            (CURRENT, false, RESTORED_STORE, text)
        } else {
            (CURRENT, true, NOT_RESTORED, "Neither the Cell nor the Lease shows that etcd was restored.".to_owned())
        };
        let mode = cell.spec.mode;
        let honoured = match self.world.capability().notice(mode) {
            None => (MODE_HONOURED, true, IN_EFFECT, execution::in_effect_words(mode)),
            Some(notice) => (MODE_HONOURED, false, NO_PERMISSION, notice),
        };
        let wanted: Vec<Condition> = [alone, known, honoured]
            .into_iter()
            .map(|(type_, holds, reason, message)| {
                let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
                let before = told.iter().find(|one| one.type_ == type_ && one.status == status);
                Condition {
                    type_: type_.get(),
                    status,
                    reason: reason.get(),
                    message: Reason::lossy(&message),
                    observed_generation: generation,
                    last_transition_time: before.map_or(now.into(), |before| before.last_transition_time),
                }
            })
            .collect();
        let is_told = |wanted: &Condition| {
            told.iter().any(|one| {
                (&one.type_, one.status, &one.reason, &one.message)
                    == (&wanted.type_, wanted.status, &wanted.reason, &wanted.message)
            })
        };
        if wanted.iter().all(is_told) {
            return true;
        }
        let is_free = !self.outbox.is_on_the_way(&Target::Cell);
        if is_free {
            self.outbox.push(Write::Cell { record: None, conditions: wanted });
        }
        is_free
    }
}
