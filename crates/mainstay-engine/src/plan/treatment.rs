//! Which parts of a node the repair steps of this removal treated. A step for one GPU does not treat another one: each
//! faulty part is treated before the node is tested, and the tests settle the findings on treated parts only.

use mainstay_health::{self as health, Findings};
use mainstay_model::{Arrivals, Attempt, Bounded, Cause, Finding, RepairStep, Response, RuleName, Serial, Timestamp};

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

/// The findings without those that the repair steps of this removal treated and that did not appear again. They say
/// nothing about what is still wrong, so they do not raise the cause.
pub(super) fn without_treated(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Findings {
    if steps(node).next().is_none() || !state.is_on(Guard::EachPart) {
        return findings.clone();
    }
    let during = during_tests(state, node, now);
    let is_again = |finding: &Finding| {
        let mut again = during.list.as_slice().iter();
        again.any(|one| (&one.rule, &one.device) == (&finding.rule, &finding.device))
    };
    let is_open = |finding: &&Finding| !is_finding_treated(node, finding) || is_again(finding);
    let list: Vec<Finding> = findings.list.as_slice().iter().filter(is_open).cloned().collect();
    Findings { list: Bounded::within(list), ..findings.clone() }
}

/// Whether a fault appeared since the node entered its qualification. Tests that come before any repair judge the rule that
/// removed the node, so their results alone count; evidence that arrived meanwhile counts after the return.
pub(crate) fn has_new_fault(state: &State, node: &Node, now: Timestamp) -> bool {
    let is_repaired = node.status.cause.is_none() || steps(node).next().is_some();
    is_repaired && flagging(state, node, &during_tests(state, node, now), now).next().is_some()
}

/// Whether the tests settle the findings behind these arrivals. Without a repair step they settle all of them, and for a
/// rule that was stopped the tests alone count.
pub(super) fn is_settled(state: &State, node: &Node, entry: &Arrivals, now: Timestamp) -> bool {
    let is_of_rule = |rule: &RuleName| state.rules(node).leads_to(entry.source, &entry.code, rule);
    let mut rules = state.rules(node).of_code(entry.source, &entry.code);
    is_treated(node, entry.device.as_ref(), is_of_rule)
        || rules.any(|rule| !breakers::was_never_stopped(state, node, rule, now))
        || !state.is_on(Guard::EachPart)
}

/// What was found since the node entered its qualification: new evidence, and GPUs that are missing now.
fn during_tests(state: &State, node: &Node, now: Timestamp) -> Findings {
    let evidence = node.report.as_deref().map_or(&[][..], |report| &report.evidence);
    let arrivals = health::since_tests(&view::arrivals(state, node));
    health::findings(state.rules(node), &node.finding_input(evidence, &arrivals), now)
}

/// The findings that flag the node for removal, worst first. A rule that was stopped decides nothing: a sensor that raises
/// false alarms raises them during the tests too, and they would confirm it.
fn flagging(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> impl Iterator<Item = Finding> {
    let flags = |finding: &&Finding| finding.response == Response::Remove && state.is_on(Guard::EachPart);
    let may_decide = |finding: &&Finding| breakers::was_never_stopped(state, node, &finding.rule, now);
    let list: Vec<Finding> = findings.list.as_slice().iter().filter(flags).filter(may_decide).cloned().collect();
    list.into_iter()
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
    let mut steps = steps(node).peekable();
    let treats = |attempt: &Attempt| match attempt.rung {
        RepairStep::Capture => false,
        RepairStep::RestartService => is_of_rule(&attempt.rule),
        RepairStep::ResetGpu => attempt.device.is_none() || attempt.device.as_ref() == device,
        RepairStep::Reboot | RepairStep::PowerCycle | RepairStep::Replace => true,
    };
    steps.peek().is_none() || steps.any(treats)
}

/// The repair steps of this removal.
fn steps(node: &Node) -> impl Iterator<Item = &Attempt> {
    let of_removal = |attempt: &&Attempt| attempt.ordered_at >= node.removed_at() && node.status.cause.is_some();
    let attempts = node.status.attempts.as_slice().iter().filter(of_removal);
    attempts.filter(|attempt| attempt.rung != RepairStep::Capture)
}
