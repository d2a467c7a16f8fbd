//! The evidence behind a rule on a node, looked up again in the state.

use mainstay_health::{self as health, Findings};
use mainstay_model::{Bounded, Ready, Response, RuleName, Serial, Timestamp};
use mainstay_remedy::verdict::UNREACHABLE;

use super::{EVIDENCE_MAX, Evidence};
use crate::plan::cause::{REQUEST, UNCONFIRMED};
use crate::state::State;
use crate::state::node::Node;
use crate::view;

/// A rule and the part that it concerns.
type About = (RuleName, Option<Serial>);

/// The rule behind the state of a node: the worst finding while it gets jobs, then the cause of its removal.
pub(super) fn rule_behind(node: &Node, findings: &Findings) -> Option<About> {
    let cause = node.status.cause.as_ref().map(|cause| (cause.rule.clone(), cause.device.clone()));
    let worst = findings.list.as_slice().first().filter(|finding| finding.response > Response::Note);
    let found = worst.map(|finding| (finding.rule.clone(), finding.device.clone()));
    found.filter(|_| node.status.stage.gets_jobs()).or(cause)
}

pub(crate) fn evidence(
    state: &State,
    node: &Node,
    rule: Option<&About>,
    now: Timestamp,
) -> Bounded<Evidence, EVIDENCE_MAX> {
    let all = rule.into_iter().flat_map(|(rule, device)| behind(state, node, rule, device.as_ref(), now));
    Bounded::within(all.take(EVIDENCE_MAX))
}

fn behind(state: &State, node: &Node, rule: &RuleName, device: Option<&Serial>, now: Timestamp) -> Vec<Evidence> {
    if *rule == REQUEST {
        let asked = node.request.clone().filter(|request| request.kind.takes_out());
        return asked.map(Evidence::Asked).into_iter().collect();
    }
    if *rule == UNREACHABLE || *rule == UNCONFIRMED {
        let backend = Some(node.ready()).filter(|ready| *ready != Ready::Yes).map(Evidence::Backend);
        let heard_at = node.report.as_ref().map(|report| report.at);
        return backend.into_iter().chain([Evidence::Agent { heard_at }]).collect();
    }
    let (evidence, arrivals) = (view::evidence(state, node), view::arrivals(state, node));
    let input = node.finding_input(&evidence, &arrivals);
    let counted = health::rule_evidence(state.rules(node), &input, (rule, device), now);
    let counted: Vec<Evidence> = counted.into_iter().map(Evidence::Counted).collect();
    if counted.is_empty() { missing(node).into_iter().collect() } else { counted }
}
fn missing(node: &Node) -> Option<Evidence> {
    let of = node.facts.as_ref()?.gpus;
    let inventory = &node.report.as_ref()?.inventory;
    let listed = u16::try_from(inventory.gpus.as_slice().len()).unwrap_or(u16::MAX);
    (inventory.gpus_unavailable.is_none() && listed < of).then_some(Evidence::Gpus { listed, of })
}
