//! Which parts of a node the repair steps of this removal treated. A step for one GPU does not treat another one: each
//! faulty part is treated before the node is tested, and the tests settle the findings on treated parts only.

use mainstay_health::{self as health, Findings};
use mainstay_model::{Arrivals, Attempt, Cause, Finding, RepairStep, Response, RuleName, Serial, Timestamp};

use crate::guard::Guard;
use crate::state::State;
use crate::state::node::Node;
use crate::{breakers, view};

/// The cause that the repair goes on with after a step for another part; none where every faulty part was treated.
pub(super) fn next_part(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Option<Cause> {
    flagging(state, node, findings, now).find(|finding| !is_finding_treated(node, finding)).map(|next| of(node, &next))
}

/// The cause that the repair goes on with after failed tests: a treated part that showed a fault during the tests, or else
/// a part that was not treated.
pub(super) fn after_tests(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Option<Cause> {
    let during = during_tests(state, node, now);
    let again = flagging(state, node, &during, now).find(|finding| is_finding_treated(node, finding));
    again.map(|again| of(node, &again)).or_else(|| next_part(state, node, findings, now))
}

/// Whether a fault appeared since the node entered its qualification.
pub(crate) fn has_new_fault(state: &State, node: &Node, now: Timestamp) -> bool {
    flagging(state, node, &during_tests(state, node, now), now).next().is_some()
}

/// Whether the tests settle the findings behind these arrivals. Without a repair step they settle all of them.
pub(super) fn is_settled(state: &State, node: &Node, entry: &Arrivals) -> bool {
    let is_of_rule = |rule: &RuleName| state.rules(node).leads_to(entry.source, &entry.code, rule);
    is_treated(node, entry.device.as_ref(), is_of_rule) || !state.is_on(Guard::EachPart)
}

/// What was found since the node entered its qualification: new evidence, and GPUs that are missing now.
fn during_tests(state: &State, node: &Node, now: Timestamp) -> Findings {
    let evidence = node.report.as_deref().map_or(&[][..], |report| &report.evidence);
    let arrivals = health::since_tests(&view::arrivals(state, node));
    health::findings(state.rules(node), &node.finding_input(evidence, &arrivals), now)
}

/// The findings that flag the node for removal, worst first. A stopped rule decides nothing.
fn flagging(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> impl Iterator<Item = Finding> {
    let own = breakers::not_stopped(state, node, findings, now).unwrap_or_else(|| findings.clone());
    let list: Vec<Finding> = own.list.into();
    let is_on = state.is_on(Guard::EachPart);
    list.into_iter().take_while(move |finding| is_on && finding.response == Response::Remove)
}

fn of(node: &Node, finding: &Finding) -> Cause {
    let known = node.status.cause.as_ref().map(|cause| cause.urgency);
    Cause {
        rule: finding.rule.clone(),
        urgency: known.map_or(finding.urgency, |known| known.min(finding.urgency)),
        device: finding.device.clone(),
        rungs: finding.rungs.clone(),
    }
}

fn is_finding_treated(node: &Node, finding: &Finding) -> bool {
    is_treated(node, finding.device.as_ref(), |rule| *rule == finding.rule)
}

fn is_treated(node: &Node, device: Option<&Serial>, is_of_rule: impl Fn(&RuleName) -> bool) -> bool {
    let of_removal = |attempt: &&Attempt| attempt.ordered_at >= node.removed_at() && node.status.cause.is_some();
    let attempts = node.status.attempts.as_slice().iter().filter(of_removal);
    let mut steps = attempts.filter(|attempt| attempt.rung != RepairStep::Capture).peekable();
    let treats = |attempt: &Attempt| match attempt.rung {
        RepairStep::Capture => false,
        RepairStep::RestartService => is_of_rule(&attempt.rule),
        RepairStep::ResetGpu => attempt.device.is_none() || attempt.device.as_ref() == device,
        RepairStep::Reboot | RepairStep::PowerCycle | RepairStep::Replace => true,
    };
    steps.peek().is_none() || steps.any(treats)
}
