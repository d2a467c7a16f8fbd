//! The next step for each gang on a node that is being drained: the facts about both become the input of the drain cost
//! model.

use std::fmt;

use mainstay_model::{GangId, NodeName, Stage, Timestamp};
use mainstay_remedy::drain::{self, Asked, Step};
use mainstay_remedy::weigh::{self, Case, Plan, Weighed};

use super::cause::urgency;
use crate::guard::Guard;
use crate::index::Index;
use crate::spares;
use crate::state::State;
use crate::state::gangs::Gang;
use crate::state::node::Node;

/// The options for one gang, with their costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighing {
    /// The node that is being drained.
    pub node: NodeName,
    /// The gang on the node.
    pub gang: GangId,
    /// The cost of each option, and the choice.
    pub weighed: Weighed,
}

/// The next step for a gang on a node that is being drained.
pub(crate) fn step(state: &State, node: &Node, id: &GangId, now: Timestamp) -> Step {
    let Some(gang) = state.gangs.list.get(id) else { return Step::Stop };
    if !state.is_on(Guard::CheckpointWait) {
        return Step::Stop;
    }
    drain::next(gang.contract, urgency(node), asked(node, gang), || plan(state, node, gang, now), now)
}

/// The checkpoint request of this drain. A request of an earlier drain does not count, because jobs continued after it.
fn asked(node: &Node, gang: &Gang) -> Option<Asked> {
    gang.asked.get(&node.name).copied().filter(|asked| asked.drain >= node.status.since)
}

fn plan(state: &State, node: &Node, gang: &Gang, now: Timestamp) -> Plan {
    let case = case(state, node, gang, now);
    if state.is_on(Guard::DrainCost) { weigh::weigh(&case).plan } else { weigh::unweighed(&case) }
}

fn case(state: &State, node: &Node, gang: &Gang, now: Timestamp) -> Case {
    let nodes = u32::try_from(gang.nodes.len()).unwrap_or(u32::MAX);
    let gpus = node.facts.as_ref().map_or(0, |facts| u32::from(facts.gpus));
    Case {
        now,
        urgency: urgency(node),
        hazard: weigh::hazard(urgency(node)),
        gpus: nodes.saturating_mul(gpus),
        contract: gang.contract,
        checkpoints: gang.checkpoints,
        spare: spares::spare_for(state, node),
        since: node.status.since,
    }
}

/// Until when a gang may take to save; none where it gets no time.
pub(crate) fn saves_until(state: &State, node: &Node, id: &GangId, now: Timestamp) -> Option<Timestamp> {
    match step(state, node, id, now) {
        Step::Ask { answer_by: until } | Step::AwaitAnswer { until } | Step::AwaitCheckpoint { until } => Some(until),
        Step::Stop => None,
    }
}

/// When the first gang on a node that is being drained must have saved.
pub(crate) fn first_deadline(state: &State, node: &Node, now: Timestamp) -> Option<Timestamp> {
    if node.status.stage != Stage::Draining {
        return None;
    }
    let deadlines = node.gangs.iter().filter_map(|id| match step(state, node, id, now) {
        Step::AwaitAnswer { until } | Step::AwaitCheckpoint { until } => Some(until),
        Step::Ask { .. } | Step::Stop => None,
    });
    deadlines.min()
}

/// The options for every gang that must leave its node and has no checkpoint request yet.
pub(crate) fn weighings<'a>(
    state: &'a State,
    index: &'a Index,
    now: Option<Timestamp>,
) -> impl Iterator<Item = Weighing> + 'a {
    let now = now.filter(|_| state.is_on(Guard::DrainCost));
    let nodes = index.emptying.iter().map(|id| state.node(*id));
    let gangs = nodes.flat_map(|node| node.gangs.iter().map(move |id| (node, id)));
    gangs.filter_map(move |(node, id)| {
        let gang = state.gangs.list.get(id)?;
        let now = now.filter(|_| asked(node, gang).is_none())?;
        let weighed = weigh::weigh(&case(state, node, gang, now));
        Some(Weighing { node: node.name.clone(), gang: GangId::clone(id), weighed })
    })
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
