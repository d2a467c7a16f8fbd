//! Invariant 5, unknown-is-not-healthy. Only what the model can say without a catalogue: readiness and registration.

use mainstay_model::{Line, Ready, Stage, WaitingOn};

use super::Scene;
use crate::{Invariant, Violation};

/// Lines that call a node healthy of which that is not known. Nodes that no line names are not looked at: that would
/// cost the fleet and not the decision.
pub(super) fn called_healthy(scene: &Scene<'_>) -> Vec<Violation> {
    let healthy = |line: &&Line| line.stage == Stage::InService && line.waiting_on == WaitingOn::Nothing;
    let broken = scene.decision.report.iter().filter(healthy).filter_map(|line| {
        let detail = unknown(scene, line)?.to_owned();
        Some(Violation { invariant: Invariant::UnknownIsNotHealthy, node: Some(line.node.clone()), detail })
    });
    broken.collect()
}

fn unknown(scene: &Scene<'_>, line: &Line) -> Option<&'static str> {
    let Some(node) = scene.picture.node(&line.node) else { return Some("nobody has seen the node") };
    match node.registration().map(|registration| registration.ready) {
        None => Some("the node is not registered"),
        Some(Ready::No) => Some("the node is not ready"),
        Some(Ready::Unknown) => Some("the node does not answer"),
        Some(Ready::Yes) if node.is_reported_by_another() => Some("its last report belongs to another registration"),
        Some(Ready::Yes) => None,
    }
}
