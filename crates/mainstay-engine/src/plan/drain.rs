//! The next step for each gang on a node that is being drained: the facts about both become the input of the drain cost
//! model.

use std::fmt;

use mainstay_model::{ActionKind, DrainRule, GangId, NodeName, Permit, Stage, Timestamp};
use mainstay_remedy::drain::{self, Asked, GangStep};
use mainstay_remedy::weigh::{self, Case, Plan, Weighed};

use super::cause::urgency;
use crate::guard::Guard;
use crate::index::Index;
use crate::spares;
use crate::state::State;
use crate::state::gangs::Gang;
use crate::state::node::Node;
use crate::view::permit;

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
pub(crate) fn step(state: &State, node: &Node, id: &GangId, now: Timestamp) -> GangStep {
    let Some(gang) = state.gangs.list.get(id) else { return GangStep::Stop };
    if !state.is_on(Guard::CheckpointWait) {
        return GangStep::Stop;
    }
    let (urgency, asked) = (urgency(node), asked(state, node, gang));
    let answer_within = state.deadlines(node).answer(urgency);
    drain::next(gang.contract, urgency, asked, || plan(state, node, gang, now), answer_within, now)
}

/// The checkpoint request that counts for a gang: one of this drain, or of another node of the gang that is being drained.
/// A gang is asked once, however many of its nodes have to be drained. A request of an earlier drain does not count,
/// because the job continued after it. One for a node that is deleted meanwhile counts: the job still has it.
fn asked(state: &State, node: &Node, gang: &Gang) -> Option<Asked> {
    let of = |node: &Node| gang.asked.get(&node.name).copied().filter(|asked| asked.drain >= node.status.since);
    let others = || in_drains(state, gang).filter(|_| state.is_on(Guard::OneDisruption));
    let of_others = || others().filter_map(of).min_by_key(|asked| asked.answer_by);
    of(node).or_else(of_others)
}

/// The nodes of a gang in the stage Draining, deleted ones as well.
fn in_drains<'a>(state: &'a State, gang: &'a Gang) -> impl Iterator<Item = &'a Node> {
    gang.nodes.iter().map(|id| state.node(*id)).filter(|node| node.status.stage == Stage::Draining)
}

/// The nodes of a gang that are being drained.
fn draining<'a>(state: &'a State, gang: &'a Gang) -> impl Iterator<Item = &'a Node> {
    in_drains(state, gang).filter(|node| node.facts.is_some())
}

/// Whether the drain of this node acts for the gang. Of all nodes that need the same step, the one whose drain began first
/// does, so that the gang is asked once and stopped once.
pub(crate) fn acts_for(state: &State, node: &Node, id: &GangId, now: Timestamp) -> bool {
    let Some(gang) = state.gangs.list.get(id) else { return true };
    let of = |node: &Node| match step(state, node, id, now) {
        GangStep::Ask { .. } => 0,
        GangStep::AwaitAnswer { .. } | GangStep::AwaitCheckpoint { .. } => 1,
        GangStep::Stop => 2,
    };
    let (mine, began) = (of(node), (node.status.since, &node.name));
    let is_earlier = |other: &Node| (other.status.since, &other.name) < began;
    let may_act = |other: &Node| permit(state, other, ActionKind::Drain) == Permit::Granted;
    !state.is_on(Guard::OneDisruption)
        || !draining(state, gang).any(|other| is_earlier(other) && may_act(other) && of(other) == mine)
}

fn plan(state: &State, node: &Node, gang: &Gang, now: Timestamp) -> Plan {
    let case = case(state, node, gang, now);
    if uses_cost_model(state, node) { weigh::weigh(&case).plan } else { weigh::unweighed(&case) }
}

fn uses_cost_model(state: &State, node: &Node) -> bool {
    let rule = state.policy(node).map(|policy| policy.drain_rule).unwrap_or_default();
    state.is_on(Guard::DrainCost) && rule == DrainRule::CostModel
}

fn case(state: &State, node: &Node, gang: &Gang, now: Timestamp) -> Case {
    let nodes = u32::try_from(gang.nodes.len()).unwrap_or(u32::MAX);
    let gpus = u32::from(node.gpus());
    let (urgency, deadlines) = (urgency(node), state.deadlines(node));
    Case {
        now,
        urgency,
        hazard: state.policy(node).map(|policy| policy.hazards).unwrap_or_default().of(urgency),
        answer_within: deadlines.answer(urgency),
        answer_min: deadlines.answer_min,
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
        GangStep::Ask { answer_by: until } | GangStep::AwaitAnswer { until } | GangStep::AwaitCheckpoint { until } => {
            Some(until)
        }
        GangStep::Stop => None,
    }
}

/// When the first gang on a node that is being drained must have saved.
pub(crate) fn first_deadline(state: &State, node: &Node, now: Timestamp) -> Option<Timestamp> {
    if node.status.stage != Stage::Draining {
        return None;
    }
    let deadlines = node.gangs.iter().filter_map(|id| match step(state, node, id, now) {
        GangStep::AwaitAnswer { until } | GangStep::AwaitCheckpoint { until } => Some(until),
        GangStep::Ask { .. } | GangStep::Stop => None,
    });
    deadlines.min()
}

/// The options for every gang that must leave its node and has no checkpoint request yet.
pub(crate) fn weighings<'a>(
    state: &'a State,
    index: &'a Index,
    now: Option<Timestamp>,
) -> impl Iterator<Item = Weighing> + 'a {
    let nodes = index.emptying.iter().map(|id| state.node(*id)).filter(|node| uses_cost_model(state, node));
    let gangs = nodes.flat_map(|node| node.gangs.iter().map(move |id| (node, id)));
    gangs.filter_map(move |(node, id)| {
        let gang = state.gangs.list.get(id)?;
        let now = now.filter(|_| asked(state, node, gang).is_none())?;
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
