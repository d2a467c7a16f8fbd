//! Why a node is out: a person's request, the worst finding, or silence. A worse fault that comes while the node is on its
//! way out, or under repair, raises the cause; nothing lowers it, because whatever was found first is still there.

use std::cmp::Ordering;

use mainstay_health::Findings;
use mainstay_model::{
    Bounded, Cause, Finding, Literal, NodeIndex, Policy, RepairStep, Response, RuleName, Stage, Timestamp, Urgency,
};
use mainstay_remedy::verdict::UNREACHABLE;

use crate::Engine;
use crate::node::Node;
use crate::sight::Witnesses;
use crate::switch::Switch;

impl Engine {
    /// Raises the cause of a node that is out where something worse was found since.
    pub(crate) fn worsen(&mut self, index: NodeIndex, findings: &Findings, now: Timestamp) {
        let node = self.node(index);
        // Silence during a repair is our own doing: the machine is being booted.
        let may_be_lost = match node.persisted.stage {
            Stage::Quarantined | Stage::Draining => true,
            Stage::Repairing => false,
            Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Qualifying => return,
            Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => return,
        };
        let Some(known) = node.persisted.cause.as_ref().filter(|_| self.switches.is_on(Switch::Worsening)) else {
            return;
        };
        let both = may_be_lost && self.witnesses(node, now) == Witnesses::Both;
        let is_condemned = findings.list.as_slice().first().is_some_and(|worst| worst.response == Response::Remove);
        if !is_condemned && !both {
            return;
        }
        if let Some(raised) = raised(known, cause_of(node, findings, both), self.policy(node)) {
            self.node_mut(index).persisted.cause = Some(raised);
        }
    }
}

/// The cause after a fault that was found later; none where that is no worse. How long work is waited for may only get
/// shorter; what is tried follows the stronger ladder, and of two alike the more urgent.
fn raised(known: &Cause, found: Cause, policy: Option<&Policy>) -> Option<Cause> {
    let urgency = known.urgency.min(found.urgency);
    // Harsher from the first rung on: a ladder that begins with a reboot is stronger than one that begins with a reset.
    let stronger = match rungs_of(&found, policy).cmp(rungs_of(known, policy)) {
        Ordering::Greater => true,
        Ordering::Equal => found.urgency < known.urgency,
        Ordering::Less => false,
    };
    let raised = if stronger { Cause { urgency, ..found } } else { Cause { urgency, ..known.clone() } };
    (raised != *known).then_some(raised)
}

/// What to try for a cause: as the pool says, or as the cause does.
pub(crate) fn rungs_of<'a>(cause: &'a Cause, policy: Option<&'a Policy>) -> &'a [RepairStep] {
    let ladder = policy.and_then(|policy| policy.ladders.get(&cause.rule));
    ladder.map_or(cause.rungs.as_slice(), |ladder| ladder.rungs.as_slice())
}

/// The cause of what a person asked for.
pub(crate) const REQUEST: Literal<RuleName> = RuleName::literal("request");
/// The cause of a drain for planned work.
pub(crate) const PLANNED_WORK: Literal<RuleName> = RuleName::literal("planned-work");
/// The cause while only one of two signals reports the node as unreachable.
pub(crate) const UNCONFIRMED: Literal<RuleName> = RuleName::literal("unconfirmed-unreachable");

/// Why the node is not simply in service: a person's request, the worst finding, or silence.
pub(crate) fn cause_of(node: &Node, findings: &Findings, both_witnesses: bool) -> Cause {
    let asked = node.request.as_ref().is_some_and(|request| request.kind.takes_out());
    let worst: Option<&Finding> = findings.list.as_slice().first().filter(|finding| finding.response > Response::Note);
    match worst {
        Some(finding) if finding.response == Response::Remove || !(asked || both_witnesses) => Cause {
            rule: finding.rule.clone(),
            urgency: findings.urgency().unwrap_or(finding.urgency),
            device: finding.device.clone(),
            rungs: finding.rungs.clone(),
        },
        Some(_) | None if asked => {
            Cause { rule: REQUEST.get(), urgency: Urgency::NextCheckpoint, device: None, rungs: Bounded::new() }
        }
        Some(_) | None => Cause {
            rule: if both_witnesses { UNREACHABLE } else { UNCONFIRMED }.get(),
            // Its work hangs already.
            urgency: Urgency::Now,
            device: None,
            rungs: Bounded::try_from(vec![RepairStep::Capture, RepairStep::PowerCycle, RepairStep::Replace])
                .unwrap_or_default(),
        },
    }
}
