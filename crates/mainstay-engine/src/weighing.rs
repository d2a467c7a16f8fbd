//! When each gang on a node that is being emptied is stopped: what is known of both becomes a case, and what was weighed
//! becomes the next step.

use std::fmt;

use mainstay_model::{GangId, NodeName, Timestamp};
use mainstay_remedy::drain::{self, Step};
use mainstay_remedy::weigh::{self, Case, Plan, Weighed};

use crate::Engine;
use crate::effects::urgency;
use crate::node::Node;
use crate::switch::Switch;
use crate::work::Gang;

/// What was weighed for one gang, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighing {
    /// The node that is being emptied.
    pub node: NodeName,
    /// The gang.
    pub gang: GangId,
    /// What each way would lose, and which was chosen.
    pub weighed: Weighed,
}

impl Engine {
    /// What comes next for a gang on a node that is being drained.
    pub(crate) fn step(&self, node: &Node, id: &GangId, now: Timestamp) -> Step {
        let Some(gang) = self.gangs.get(id) else { return Step::Stop };
        if !self.switches.is_on(Switch::CheckpointWait) {
            return Step::Stop;
        }
        // A question of an earlier drain is not one of this: whatever was saved then, work went on.
        let asked = gang.asked.get(&node.name).copied().filter(|asked| asked.drain >= node.persisted.since);
        drain::next(gang.contract, urgency(node), asked, || self.plan(node, gang, now), now)
    }

    fn plan(&self, node: &Node, gang: &Gang, now: Timestamp) -> Plan {
        let case = self.case(node, gang, now);
        if self.switches.is_on(Switch::Weigh) { weigh::weigh(&case).plan } else { weigh::unweighed(&case) }
    }

    fn case(&self, node: &Node, gang: &Gang, now: Timestamp) -> Case {
        let nodes = u32::try_from(gang.nodes.len()).unwrap_or(u32::MAX);
        let gpus = node.facts.as_ref().map_or(0, |facts| u32::from(facts.gpus));
        Case {
            now,
            urgency: urgency(node),
            hazard: weigh::hazard(urgency(node)),
            gpus: nodes.saturating_mul(gpus),
            contract: gang.contract,
            checkpoints: gang.checkpoints,
            spare: self.spare_for(node),
            since: node.persisted.since,
        }
    }

    /// What is weighed for every gang that has to leave its node and was not asked yet, as of the last decision.
    pub fn weighings(&self) -> impl Iterator<Item = Weighing> + '_ {
        let now = self.decided_at.filter(|_| self.switches.is_on(Switch::Weigh));
        let nodes = self.emptying.iter().map(|index| self.node(*index));
        let gangs = nodes.flat_map(|node| node.gangs.iter().map(move |id| (node, id)));
        gangs.filter_map(move |(node, id)| {
            let gang = self.gangs.get(id)?;
            let is_asked = gang.asked.get(&node.name).is_some_and(|asked| asked.drain >= node.persisted.since);
            let weighed = weigh::weigh(&self.case(node, gang, now.filter(|_| !is_asked)?));
            Some(Weighing { node: node.name.clone(), gang: GangId::clone(id), weighed })
        })
    }
}

impl fmt::Display for Weighing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Weighed { plan, now, ask, at_checkpoint } = &self.weighed;
        write!(f, "stopping {} now would lose {now}", self.gang.name)?;
        if let Some(ask) = ask {
            write!(f, ", asking it {ask}")?;
        }
        if let Some(at_checkpoint) = at_checkpoint {
            write!(f, ", waiting for its checkpoint {at_checkpoint}")?;
        }
        f.write_str(" GPU-hours")?;
        match plan {
            Plan::Now => f.write_str(": it is stopped now"),
            Plan::AskAndWait { .. } => f.write_str(": it is asked"),
            Plan::AtCheckpoint { .. } => f.write_str(": its checkpoint is waited for"),
        }
    }
}
