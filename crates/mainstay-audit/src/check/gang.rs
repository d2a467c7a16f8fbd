//! Invariant 15, gang-disturbed-once: claims on one gang are joined.

use std::collections::BTreeSet;

use mainstay_model::{GangId, Stage, Step, Timestamp};

use super::{AuditContext, OrderedEffect};
use crate::state::Node;
use crate::{Invariant, Violation};

/// Finds gangs that this decision disturbs more than once, or again.
pub(super) fn disturbed_again(scene: &AuditContext<'_>) -> Vec<Violation> {
    let (mut asked, mut stopped): (BTreeSet<&GangId>, BTreeSet<&GangId>) = (BTreeSet::new(), BTreeSet::new());
    let mut broken = Vec::new();
    for ordered in &scene.ordered {
        let detail = match &ordered.effect.step {
            Step::AskCheckpoint { gang, answer_by, .. } if asked.insert(gang) => {
                open_request(scene, ordered, gang, *answer_by)
            }
            Step::AskCheckpoint { gang, .. } => Some(format!("gang {gang} gets two checkpoint requests")),
            Step::Stop { gang } if stopped.insert(gang) => None,
            Step::Stop { gang } => Some(format!("gang {gang} is stopped twice")),
            Step::Store(_) | Step::Order(_) | Step::Cordon | Step::Uncordon | Step::Avoid | Step::EndAvoid => None,
            Step::PowerOff | Step::ReleasePods => None,
        };
        let node = Some(ordered.effect.node.clone());
        let violation = |detail| Violation { invariant: Invariant::GangDisturbedOnce, node, detail };
        broken.extend(detail.map(violation));
    }
    broken
}

/// Returns the request of another running drain that is open and has no later deadline.
fn open_request(
    scene: &AuditContext<'_>,
    ordered: &OrderedEffect<'_>,
    gang: &GangId,
    answer_by: Timestamp,
) -> Option<String> {
    let mut asks = scene.picture.work().asks(gang);
    let (node, _) = asks.find(|(node, ask)| {
        let record = scene.picture.node(node).and_then(Node::record);
        let is_running = record.is_some_and(|record| record.stage == Stage::Draining && ask.drain >= record.since);
        let is_open = !ask.is_answered && ask.answer_by > scene.now;
        is_running && is_open && ask.answer_by <= answer_by && **node != ordered.effect.node
    })?;
    Some(format!("gang {gang} already has a checkpoint request because of {node}"))
}
