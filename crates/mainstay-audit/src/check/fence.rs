//! Invariant 2, caused-and-fenced: who orders, on which node, from how fresh a view, and why. Whether the cause is a good
//! one is `mainstay-health`'s to know.

use mainstay_model::{Act, Epoch, Span, Stage, Task};

use super::{Ordered, Scene};
use crate::picture::Record;

/// A view older than this is no ground for anything destructive: watches are bookmarked every few seconds, so thirty
/// mean that one has stalled.
pub const VIEW_AGE_MAX: Span = Span::seconds(30);

/// What the effect lacks.
pub(super) fn unfenced(scene: &Scene<'_>, ordered: &Ordered<'_>) -> Option<String> {
    let effect = ordered.effect;
    let epoch = scene.picture.cell().epoch;
    if effect.epoch != epoch {
        return Some(format!("ordered by epoch {}, and the cell's is {}", effect.epoch.0, epoch.0));
    }
    if !ordered.is_act() {
        return None;
    }
    if epoch == Epoch(0) {
        return Some("nobody leads the cell".to_owned());
    }
    let Some((_, registration)) = ordered.registered() else {
        return Some("the node is not registered".to_owned());
    };
    if effect.expected.uid != registration.uid {
        return Some(format!("expects registration {}, and it is {}", effect.expected.uid, registration.uid));
    }
    let record = ordered.record();
    if let Some(record) = record
        && effect.expected.recorded != record.stage
    {
        return Some(format!("expects {:?} on record, and it is {:?}", effect.expected.recorded, record.stage));
    }
    if matches!(effect.act, Act::Uncordon) {
        return None;
    }
    if is_without_cause(ordered, record) {
        return Some("no cause is on record".to_owned());
    }
    stale(scene, record)
}

/// Whether a node is taken out or repaired for no stated reason. A suite after planned work needs none.
fn is_without_cause(ordered: &Ordered<'_>, record: Option<&Record>) -> bool {
    match &ordered.effect.act {
        Act::Record(persisted) => {
            persisted.cause.is_none() && ordered.orders.iter().any(|order| matches!(order.task, Task::Rung(_)))
        }
        Act::Cordon | Act::AskCheckpoint { .. } | Act::Evict { .. } => record.is_some_and(|record| {
            record.urgency.is_none() && matches!(record.stage, Stage::Quarantined | Stage::Draining | Stage::Repairing)
        }),
        Act::Uncordon => false,
    }
}

fn stale(scene: &Scene<'_>, record: Option<&Record>) -> Option<String> {
    let Some(as_of) = scene.picture.synced_as_of() else { return Some("no complete view was ever seen".to_owned()) };
    let age = scene.now.since(as_of);
    if age > VIEW_AGE_MAX {
        return Some(format!("the view is {} ms old; at most {} are fresh", age.0, VIEW_AGE_MAX.0));
    }
    let written_at = record.map(|record| record.written_at).filter(|written_at| as_of < *written_at)?;
    Some(format!("the view is {} ms older than our last write about the node", written_at.since(as_of).0))
}
