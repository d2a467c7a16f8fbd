//! Invariant 2, caused-and-fenced: checks epoch, registration, stage, cause and age of the view. `mainstay-health`
//! decides whether the cause is a good one.

use mainstay_model::{Epoch, Span, Stage, Step, Task};

use super::{AuditContext, OrderedEffect};
use crate::state::Record;

/// Maximum age of the view for a destructive effect. Watches receive a bookmark every minute, so three minutes without one
/// mean that a watch has stalled.
pub const VIEW_AGE_MAX: Span = Span::minutes(3);

/// Returns what the effect lacks, if anything.
pub(super) fn unfenced(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let effect = ordered.effect;
    let epoch = scene.picture.cell().epoch;
    if effect.epoch != epoch {
        return Some(format!("the effect has epoch {}, but the Cell has epoch {}", effect.epoch.0, epoch.0));
    }
    if !ordered.is_act() {
        return None;
    }
    if epoch == Epoch(0) {
        return Some("the Cell has no leader".to_owned());
    }
    let Some((_, registration)) = ordered.registered() else {
        return Some("the node is not registered".to_owned());
    };
    if effect.expected.uid != registration.uid {
        return Some(format!(
            "the effect expects registration {}, but the node has {}",
            effect.expected.uid, registration.uid
        ));
    }
    let record = ordered.record();
    if let Some(record) = record
        && effect.expected.recorded != record.stage
    {
        return Some(format!(
            "the effect expects the stored stage {:?}, but it is {:?}",
            effect.expected.recorded, record.stage
        ));
    }
    // Other invariants have stricter rules for orders and for a return.
    let is_cordon = matches!(effect.step, Step::Cordon | Step::Avoid);
    if is_cordon && effect.expected.schedulable != registration.schedulable {
        return Some(format!(
            "the effect expects schedulable {:?}, but it is {:?}",
            effect.expected.schedulable, registration.schedulable
        ));
    }
    if matches!(effect.step, Step::Uncordon | Step::EndAvoid) {
        return None;
    }
    if is_without_cause(ordered, record) {
        return Some("no cause is stored".to_owned());
    }
    stale(scene)
}

/// Returns whether a node is removed or repaired without a stored cause. A suite after planned work needs none.
fn is_without_cause(ordered: &OrderedEffect<'_>, record: Option<&Record>) -> bool {
    match &ordered.effect.step {
        Step::Order(new) => {
            matches!(new.order.task, Task::Rung(_)) && record.is_some_and(|record| record.urgency.is_none())
        }
        Step::Avoid => record.is_some_and(|record| record.urgency.is_none()),
        Step::Cordon | Step::AskCheckpoint { .. } | Step::Stop { .. } | Step::PowerOff | Step::ReleasePods => record
            .is_some_and(|record| {
                record.urgency.is_none()
                    && matches!(record.stage, Stage::Quarantined | Stage::Draining | Stage::Repairing)
            }),
        Step::Store(_) | Step::Uncordon | Step::EndAvoid => false,
    }
}

pub(super) fn stale(scene: &AuditContext<'_>) -> Option<String> {
    let Some(as_of) = scene.picture.synced_as_of() else {
        return Some("the auditor never received a complete view".to_owned());
    };
    let age = scene.now.since(as_of);
    if age > VIEW_AGE_MAX {
        return Some(format!("the view is {} ms old; the maximum is {} ms", age.0, VIEW_AGE_MAX.0));
    }
    let led_since = Some(scene.picture.led_since()).filter(|since| as_of < *since)?;
    Some(format!("the view is {} ms older than the current leadership", led_since.since(as_of).0))
}
