//! Invariant 5, unknown-is-not-healthy. Checks readiness and registration only, because the auditor has no catalogue.

use mainstay_model::{NodeSummary, Ready, Stage, WaitingOn};

use super::AuditContext;
use crate::{Invariant, Violation};

/// Finds report lines that show a node with unknown state as healthy. It skips nodes without a line, so that the cost
/// depends on the size of the decision and not of the fleet.
pub(super) fn called_healthy(scene: &AuditContext<'_>) -> Vec<Violation> {
    let healthy = |line: &&NodeSummary| line.stage == Stage::InService && line.waiting_on == WaitingOn::Nothing;
    let broken = scene.decision.report.iter().filter(healthy).filter_map(|line| {
        let detail = unknown(scene, line)?.to_owned();
        Some(Violation { invariant: Invariant::UnknownIsNotHealthy, node: Some(line.node.clone()), detail })
    });
    broken.collect()
}

fn unknown(scene: &AuditContext<'_>, line: &NodeSummary) -> Option<&'static str> {
    let Some(node) = scene.picture.node(&line.node) else { return Some("the node is unknown") };
    match node.registration().map(|registration| registration.ready) {
        None => Some("the node is not registered"),
        Some(Ready::No) => Some("the node is not ready"),
        Some(Ready::Unknown) => Some("the node is not reachable"),
        Some(Ready::Yes) if node.is_reported_by_another() => Some("its last report belongs to another registration"),
        Some(Ready::Yes) => None,
    }
}
