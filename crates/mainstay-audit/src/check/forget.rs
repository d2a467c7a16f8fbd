//! Invariant 20, gone-before-forgotten: a status that is deleted too early loses the stage and the history of its node.

use std::collections::BTreeSet;

use mainstay_model::{Epoch, FORGOTTEN_MAX, NodeName, RequestKind, Span, Stage};

use super::{AuditContext, fence};
use crate::state::{GONE_KEPT, Node, is_out};
use crate::{Invariant, Violation};

/// Minimum time for which the status of a node that was being treated is kept.
const TREATED_KEPT: Span = Span::hours(90 * 24);

/// Finds the statuses that this decision deletes too early.
pub(super) fn too_early(scene: &AuditContext<'_>) -> Vec<Violation> {
    let forgotten = &scene.decision.forgotten;
    let of = |node: Option<&NodeName>, detail: String| Violation {
        invariant: Invariant::GoneBeforeForgotten,
        node: node.cloned(),
        detail,
    };
    if forgotten.is_empty() {
        return Vec::new();
    }
    let mut broken = Vec::new();
    if forgotten.len() > FORGOTTEN_MAX {
        broken.push(of(None, format!("{} statuses are deleted; the maximum is {FORGOTTEN_MAX}", forgotten.len())));
    }
    if scene.picture.cell().epoch == Epoch(0) {
        broken.push(of(None, "a status is deleted without a leader".to_owned()));
    }
    broken.extend(fence::stale(scene).map(|detail| of(None, detail)));
    let stored: BTreeSet<&NodeName> = scene.ordered.iter().map(|ordered| &ordered.effect.node).collect();
    for name in forgotten {
        let is_changed = stored.contains(name).then(|| "the same decision has an effect on the node".to_owned());
        let reason = is_changed.or_else(|| needed(scene, name));
        broken.extend(reason.map(|detail| of(Some(name), detail)));
    }
    broken
}

/// Returns why the status of a node is still needed, if it is.
fn needed(scene: &AuditContext<'_>, name: &NodeName) -> Option<String> {
    let Some(node) = scene.picture.node(name) else { return Some("nothing is known of the node".to_owned()) };
    let Some(gone_at) = node.gone_at() else { return Some("the node is registered".to_owned()) };
    let gone_for = scene.now.since(gone_at);
    if gone_for < GONE_KEPT {
        return Some(format!("the node is gone for {} ms only; the minimum is {} ms", gone_for.0, GONE_KEPT.0));
    }
    if scene.picture.work().on(name).len() > 0 {
        return Some("a gang still runs on the node".to_owned());
    }
    if node.request().is_some_and(|request| request != RequestKind::Retire) {
        return Some("an operator has an open request for the node".to_owned());
    }
    treated(scene, node)
}

fn treated(scene: &AuditContext<'_>, node: &Node) -> Option<String> {
    let record = node.record()?;
    let is_treated = is_out(record.stage) || matches!(record.stage, Stage::Bootstrapping | Stage::Held);
    let is_recent = scene.now.since(record.since) < TREATED_KEPT;
    (is_treated && is_recent).then(|| format!("the node left while it was in stage {:?}", record.stage))
}
