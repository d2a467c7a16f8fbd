//! Why a node is out of service: an operator's request, the worst finding, or no signal. A worse fault that is found later
//! raises the cause. Nothing lowers it, because the first fault is still there.

use std::cmp::Ordering;

use mainstay_health::Findings;
use mainstay_model::{
    Bounded, Cause, Finding, Literal, Policy, RepairStep, Response, RuleName, Stage, Timestamp, Urgency,
};
use mainstay_remedy::verdict::UNREACHABLE;

use super::treatment;
use crate::breakers;
use crate::guard::Guard;
use crate::state::State;
use crate::state::node::Node;
use crate::view::{Signals, signals};

/// The cause of an operator's request.
pub(crate) const REQUEST: Literal<RuleName> = RuleName::literal("request");
/// The cause of a change of stage for planned work.
pub(crate) const PLANNED_WORK: Literal<RuleName> = RuleName::literal("planned-work");
/// The cause while only one of two signals reports the node as unreachable.
pub(crate) const UNCONFIRMED: Literal<RuleName> = RuleName::literal("unconfirmed-unreachable");

/// The raised cause of a node that is out of service; none where nothing worse was found since.
pub(crate) fn raised(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Option<Cause> {
    // No signal during a repair is expected: the machine reboots.
    let may_be_lost = match node.status.stage {
        Stage::Quarantined | Stage::Draining => true,
        Stage::Repairing => false,
        Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Qualifying => return None,
        Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => return None,
    };
    let known = node.status.cause.as_ref().filter(|_| state.is_on(Guard::Escalation))?;
    let is_lost = may_be_lost && signals(state, node, now) == Signals::Both;
    // A stopped rule neither removes a node nor decides how it is repaired.
    let own = breakers::not_stopped(state, node, findings, now);
    let findings = treatment::without_treated(state, node, own.as_ref().unwrap_or(findings), now);
    let is_flagged = findings.list.as_slice().first().is_some_and(|worst| worst.response == Response::Remove);
    if !is_flagged && !is_lost {
        return None;
    }
    worse_of(known, cause_of(node, &findings, is_lost), state.policy(node))
}

/// The cause after a later finding; none where that is not worse. The time for running jobs may only get shorter. The
/// repair follows the stronger plan, and of two equal plans the more urgent one.
fn worse_of(known: &Cause, found: Cause, policy: Option<&Policy>) -> Option<Cause> {
    let urgency = known.urgency.min(found.urgency);
    // The first step decides: a plan that starts with a reboot is stronger than one that starts with a reset.
    let is_stronger = match steps_of(&found, policy).cmp(steps_of(known, policy)) {
        Ordering::Greater => true,
        Ordering::Equal => found.urgency < known.urgency,
        Ordering::Less => false,
    };
    let worse = if is_stronger { Cause { urgency, ..found } } else { Cause { urgency, ..known.clone() } };
    (worse != *known).then_some(worse)
}

/// The repair plan for a cause: the pool's own, or that of the cause.
pub(crate) fn steps_of<'a>(cause: &'a Cause, policy: Option<&'a Policy>) -> &'a [RepairStep] {
    let plan = policy.and_then(|policy| policy.ladders.get(&cause.rule));
    plan.map_or(cause.rungs.as_slice(), |plan| plan.rungs.as_slice())
}

/// The cause for which a node leaves service: a request, the worst finding, or no signal.
pub(crate) fn cause_of(node: &Node, findings: &Findings, is_lost: bool) -> Cause {
    let requested = node.request.as_ref().is_some_and(|request| request.kind.takes_out());
    let worst: Option<&Finding> = findings.list.as_slice().first().filter(|finding| finding.response > Response::Note);
    match worst {
        Some(finding) if finding.response == Response::Remove || !(requested || is_lost) => Cause {
            rule: finding.rule.clone(),
            urgency: findings.urgency().unwrap_or(finding.urgency),
            device: finding.device.clone(),
            rungs: finding.rungs.clone(),
        },
        Some(_) | None if requested => {
            Cause { rule: REQUEST.get(), urgency: Urgency::NextCheckpoint, device: None, rungs: Bounded::new() }
        }
        Some(_) | None => Cause {
            rule: if is_lost { UNREACHABLE } else { UNCONFIRMED }.get(),
            // Its jobs hang already.
            urgency: Urgency::Now,
            device: None,
            rungs: Bounded::try_from(vec![RepairStep::Capture, RepairStep::PowerCycle, RepairStep::Replace])
                .unwrap_or_default(),
        },
    }
}

/// The time that running jobs on a node get.
pub(crate) fn urgency(node: &Node) -> Urgency {
    node.status.cause.as_ref().map_or(Urgency::NextCheckpoint, |cause| cause.urgency)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(rule: &str, urgency: Urgency, step: RepairStep) -> Cause {
        Cause { rule: rule.parse().unwrap(), urgency, device: None, rungs: Bounded::within([step]) }
    }

    #[test]
    fn the_stronger_plan_and_the_shorter_time_count_whichever_fault_they_come_from() {
        let (reset, reboot) = (RepairStep::ResetGpu, RepairStep::Reboot);
        let after = |known, found| worse_of(&known, found, None);
        let urgent_reset = || cause("a", Urgency::Now, reset);
        let slow_reboot = || cause("b", Urgency::Minutes, reboot);
        let urgent_reboot = Some(cause("b", Urgency::Now, reboot));
        assert_eq!(after(urgent_reset(), slow_reboot()), urgent_reboot);
        assert_eq!(after(slow_reboot(), urgent_reset()), urgent_reboot);
        assert_eq!(after(urgent_reset(), cause("c", Urgency::Minutes, reset)), None);
    }
}
