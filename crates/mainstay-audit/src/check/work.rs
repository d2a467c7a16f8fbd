//! Invariant 3, asked-before-stopped: protection of running jobs.

use mainstay_model::{Contract, GangId, NodeName, Span, Stage, Step, Urgency};

use super::{AuditContext, OrderedEffect};
use crate::state::Node;

/// Returns why a gang must not be stopped yet, if it must not.
pub(super) fn stopped_unasked(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let gang = match &ordered.effect.step {
        Step::Stop { gang } => gang,
        Step::Store(_) | Step::Order(_) | Step::Cordon | Step::Uncordon | Step::AskCheckpoint { .. } => return None,
        Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => return None,
    };
    match scene.picture.work().contract(gang) {
        None => Some(format!("the checkpoint contract of gang {gang} is unknown")),
        // Such a gang gets its termination grace period, which an eviction respects.
        Some(Contract::None | Contract::OnStop { .. }) => None,
        Some(Contract::OnRequest) => owed(scene, ordered, gang),
    }
}

fn owed(scene: &AuditContext<'_>, ordered: &OrderedEffect<'_>, gang: &GangId) -> Option<String> {
    let record = ordered.record();
    if record.and_then(|record| record.urgency) == Some(Urgency::Now) {
        return None;
    }
    let asks: Vec<_> = scene.picture.work().asks(gang).collect();
    if asks.is_empty() {
        return Some(format!("gang {gang} got no checkpoint request"));
    }
    // A request counts for every node of the gang, as long as the drain that caused it goes on.
    let is_current = |node: &NodeName, drain| match scene.picture.node(node).and_then(Node::record) {
        Some(record) if record.stage == Stage::Draining => drain >= record.since,
        // Whether the node may be drained at all is another invariant.
        Some(_) | None => *node == ordered.effect.node,
    };
    let current: Vec<_> = asks.iter().filter(|(node, ask)| is_current(node, ask.drain)).collect();
    let Some(left) = current.iter().map(|(_, ask)| ask.answer_by.since(scene.now)).min() else {
        return Some(format!("the checkpoint request of gang {gang} belongs to another drain"));
    };
    let is_settled = left == Span::ZERO || current.iter().any(|(_, ask)| ask.is_answered);
    (!is_settled).then(|| format!("gang {gang} has not answered the checkpoint request and has {} ms left", left.0))
}
