//! A node that is flagged for removal and has to wait is avoided: new jobs prefer other nodes meanwhile. So a job that
//! restarts does not return to the node that made it fail. It uses no budget, because the node stays in service. Breakers
//! limit it: a rule that is stopped may be wrong.

use mainstay_model::{ActionKind, Grant, Need, NodeIndex, Permit, Ready, Schedulable, Stage, Timestamp, WaitingOn};

use crate::guard::Guard;
use crate::index::Index;
use crate::state::State;
use crate::view::permit;
use crate::{breakers, claims};

/// Decides whether new jobs should avoid a node, and grants it.
pub(super) fn update(state: &mut State, index: &Index, id: NodeIndex, waiting_on: WaitingOn, now: Timestamp) {
    let is_to_avoid = is_to_avoid(state, index, id, waiting_on);
    let node = state.node(id);
    let stage = node.status.stage;
    let is_granted = |grant: &Grant| grant.needs == Need::Avoid;
    let grant = match &node.status.grant {
        None if stage.gets_jobs() && (is_to_avoid || node.is_avoided()) => {
            Some(Box::new(claims::grant_avoid(state, node, now)))
        }
        Some(grant) if is_granted(grant) && !is_to_avoid && !node.is_avoided() => None,
        grant => grant.clone(),
    };
    let node = state.node_mut(id);
    node.is_to_avoid = is_to_avoid;
    node.status.grant = grant;
}

fn is_to_avoid(state: &State, index: &Index, id: NodeIndex, waiting_on: WaitingOn) -> bool {
    let node = state.node(id);
    let gets_jobs = node.ready() == Ready::Yes && node.schedulable() == Schedulable::Yes;
    let is_flagged = node.status.stage == Stage::Suspect && node.flagged_by.is_some() && state.is_on(Guard::Avoid);
    if !is_flagged || !gets_jobs || permit(state, node, ActionKind::Cordon) != Permit::Granted {
        return false;
    }
    match waiting_on {
        WaitingOn::Budget | WaitingOn::CapacityFloor | WaitingOn::RateLimit | WaitingOn::Freeze => true,
        WaitingOn::Window | WaitingOn::SharedCause => true,
        WaitingOn::Breaker => breakers::is_among_first(state, index, id),
        WaitingOn::Nothing | WaitingOn::Approval | WaitingOn::Checkpoint | WaitingOn::Drain => false,
        WaitingOn::WatchSync | WaitingOn::Leadership | WaitingOn::Mode | WaitingOn::Order => false,
        WaitingOn::Operator | WaitingOn::Qualification | WaitingOn::Report | WaitingOn::SecondSignal => false,
    }
}
