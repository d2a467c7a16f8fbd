//! Decisions that are not executed, because the mode or a missing approval prevents it, and what then happens to the node.

use mainstay_model::{
    ActionKind, Cause, NodeIndex, PastIncident, Proposal, ProposalOutcome, Ready, RuleName, Schedulable, Serial, Stage,
    Timestamp, WaitingOn,
};

use super::Settled;
use super::cause::{REQUEST, cause_of};
use super::orders::action;
use crate::breakers;
use crate::guard::Guard;
use crate::index::Index;
use crate::state::State;
use crate::state::node::Node;
use crate::view::{Signals, signals};

/// Records a decision that is not executed, or the outcome of the last one.
pub(super) fn update(state: &mut State, index: &mut Index, id: NodeIndex, settled: &Settled, now: Timestamp) {
    let waits = matches!(settled.waiting_on, WaitingOn::Mode | WaitingOn::Approval);
    let node = state.node(id);
    let happened = outcome(node);
    let is_open = node.open_proposal().is_some();
    let ends = is_open && happened != ProposalOutcome::Pending;
    let is_suspect = node.status.stage == Stage::Suspect;
    let begins = !is_open && waits && is_suspect && happened == ProposalOutcome::Pending;
    if !ends && !begins {
        return;
    }
    let events = breakers::events(state, id);
    if ends {
        end(state.node_mut(id), happened, now);
    } else {
        let is_lost = signals(state, state.node(id), now) == Signals::Both;
        let keeps_incidents = state.is_on(Guard::Incidents);
        let node = state.node_mut(id);
        let Cause { rule, device, .. } = cause_of(node, &settled.findings, is_lost);
        let action = action(node, ActionKind::Cordon);
        let proposal = Proposal { action, rule: rule.clone(), decided_at: now, happened, happened_at: None };
        node.status.proposals.push_forgetting_oldest(proposal);
        if keeps_incidents && rule != REQUEST {
            keep_incident(node, rule, device, now);
        }
    }
    breakers::update(state, index, id, events);
}

fn outcome(node: &Node) -> ProposalOutcome {
    match (node.status.stage, node.ready(), node.schedulable()) {
        (Stage::InService, _, _) => ProposalOutcome::Recovered,
        (Stage::Maintenance, _, _) => ProposalOutcome::RemovedByOthers,
        (Stage::Suspect, Ready::No | Ready::Unknown, _) => ProposalOutcome::NodeLost,
        (Stage::Suspect, Ready::Yes, Schedulable::NotByOthers) => ProposalOutcome::RemovedByOthers,
        (Stage::Suspect, Ready::Yes, Schedulable::Yes | Schedulable::NotByUs) => ProposalOutcome::Pending,
        (Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying, _, _) => {
            ProposalOutcome::Executed
        }
        (Stage::Held | Stage::Retired | Stage::Bootstrapping | Stage::Upgrading, _, _) => ProposalOutcome::Superseded,
    }
}

fn end(node: &mut Node, happened: ProposalOutcome, now: Timestamp) {
    let Some(last) = node.status.proposals.iter_mut().last() else { return };
    last.happened = happened;
    last.happened_at = Some(now);
    let decided_at = last.decided_at;
    if matches!(happened, ProposalOutcome::Executed | ProposalOutcome::Superseded) {
        // The repair, or the operator, decides now whether it is an incident.
        node.status.incidents.retain(|incident| incident.at != decided_at);
    }
}

/// Keeps the incident of a dry-run removal. Without it, a cell that only observes would never find a lemon.
fn keep_incident(node: &mut Node, rule: RuleName, device: Option<Serial>, at: Timestamp) {
    let board = node.report.as_ref().map(|report| report.inventory.board.clone());
    node.status.incidents.push_forgetting_oldest(PastIncident { serial: device.or(board), rule, at });
}
