//! What is known of one node: facts from the backend, its agent and operators, its stored status, and the result of its
//! last evaluation.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_arbiter::domains::{Membership, Presence};
use mainstay_health::{FindingInput, NodeFault};
use mainstay_model::{
    Arrivals, BootId, Bounded, Evidence, ExternalCondition, GangId, Inventory, NodeFacts, NodeName, NodeSummary,
    NodeUid, Nonce, Order, OrderId, OrderOutcome, Persisted, PlaceIndex, PlannedWork, PoolName, Power, Proposal,
    ProposalOutcome, Ready, Reason, Request, RuleName, Schedulable, Sequence, Stage, Task, Timestamp, Transition,
    UnrecognisedLine, Verdict, WaitingOn,
};
use serde::{Deserialize, Serialize};

/// The last report of the node's agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastReport {
    pub(crate) uid: NodeUid,
    pub(crate) boot_id: BootId,
    pub(crate) sequence: Sequence,
    /// Time of arrival.
    pub(crate) at: Timestamp,
    pub(crate) inventory: Inventory,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) outcomes: Vec<(Nonce, OrderOutcome)>,
    pub(crate) results: Vec<(Nonce, Verdict)>,
    /// Error lines that no parser knows.
    pub(crate) unrecognised: Bounded<UnrecognisedLine, 8>,
}

/// The qualification that a node passed before it returned to service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Passed {
    pub(crate) boot_id: BootId,
    /// The nonce of its results; none where no suite was needed.
    pub(crate) nonce: Option<Nonce>,
}

/// One node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: NodeName,
    /// Facts from the backend; none where the node is not registered.
    pub(crate) facts: Option<Box<NodeFacts>>,
    /// Since when the node is not registered, as far as this engine knows. It means nothing for a registered node.
    pub(crate) gone_at: Timestamp,
    pub(crate) report: Option<Box<LastReport>>,
    pub(crate) request: Option<Request>,
    /// Conditions that other agents report.
    pub(crate) conditions: Bounded<ExternalCondition, 16>,
    /// The status as this engine knows it.
    pub(crate) status: Persisted,
    /// The status as it is stored.
    pub(crate) stored: Option<Box<Persisted>>,
    /// Whether this engine has written the status. Before that, the stored status is an earlier leader's.
    pub(crate) has_written: bool,
    /// Actions that the backend refused, for a gang or for the node, and when. They are not repeated for a while, or until
    /// the node's facts change. A disruption budget of one gang does not delay the others.
    pub(crate) refused: BTreeMap<(OrderId, Option<GangId>), Timestamp>,
    pub(crate) gangs: BTreeSet<Arc<GangId>>,
    pub(crate) membership: Membership,
    pub(crate) presence: Presence,
    pub(crate) waiting_on: WaitingOn,
    pub(crate) message: Reason,
    /// Whether the node counts as a spare of its pool.
    pub(crate) is_spare: bool,
    /// Groups of nodes that may share a cause with this node.
    pub(crate) places: Box<[PlaceIndex]>,
    /// The faults that the node shows to these groups.
    pub(crate) faults: Vec<NodeFault>,
    /// The pool and the rule that flags the node for removal.
    pub(crate) flagged_by: Option<Box<(PoolName, RuleName)>>,
    /// The pool and the other rules that found a fault on it which alone would remove it.
    pub(crate) also_flagged_by: Vec<(PoolName, RuleName)>,
    /// Whether its last evaluation left nothing to decide: the node is in service, waits for nothing, its status is stored,
    /// and no cordon of Mainstay is left. Jobs, the cell, the view and budgets cannot change that. A fact about the node or
    /// its pool, or a timer, ends it.
    pub(crate) is_idle: bool,
    /// Whether its last evaluation found that new jobs should avoid it.
    pub(crate) is_to_avoid: bool,
    /// The qualification before its return. After a restart it is unknown and the stored status counts alone.
    pub(crate) passed: Option<Box<Passed>>,
    /// New evidence alone is not stored before this time.
    pub(crate) store_after: Timestamp,
    pub(crate) store_pause_seconds: u32,
    /// When the order that is not stored yet was sent. Until it shows, no status is stored, which could remove it.
    pub(crate) order_sent: Option<Box<(Nonce, Timestamp)>>,
}

impl Node {
    pub(crate) fn new(name: NodeName, stage: Stage, at: Timestamp) -> Self {
        Self {
            name,
            facts: None,
            gone_at: at,
            report: None,
            request: None,
            conditions: Bounded::new(),
            status: Persisted::new(stage, at),
            stored: None,
            has_written: false,
            refused: BTreeMap::new(),
            gangs: BTreeSet::new(),
            membership: Membership::default(),
            presence: Presence::In,
            waiting_on: WaitingOn::Nothing,
            message: Reason::lossy(""),
            is_spare: false,
            places: Box::default(),
            faults: Vec::new(),
            flagged_by: None,
            also_flagged_by: Vec::new(),
            is_idle: false,
            is_to_avoid: false,
            passed: None,
            store_after: at,
            store_pause_seconds: 1,
            order_sent: None,
        }
    }

    /// Input of `mainstay-health` with this evidence and these arrivals.
    pub(crate) fn finding_input<'a>(&'a self, evidence: &'a [Evidence], arrivals: &'a [Arrivals]) -> FindingInput<'a> {
        let inventory = self.report.as_deref().map(|report| &report.inventory);
        FindingInput { facts: self.facts.as_deref(), inventory, evidence, arrivals }
    }

    pub(crate) fn summary(&self) -> NodeSummary {
        NodeSummary {
            node: self.name.clone(),
            stage: self.status.stage,
            waiting_on: self.waiting_on,
            cause: self.status.cause.as_ref().map(|cause| cause.rule.clone()),
            message: self.message.clone(),
        }
    }

    pub(crate) fn is_of_interest(&self) -> bool {
        self.facts.is_some() && (self.status.stage != Stage::InService || self.waiting_on != WaitingOn::Nothing)
    }

    pub(crate) fn ready(&self) -> Ready {
        self.facts.as_ref().map_or(Ready::Unknown, |facts| facts.ready)
    }

    pub(crate) fn schedulable(&self) -> Schedulable {
        self.facts.as_ref().map_or(Schedulable::Yes, |facts| facts.schedulable)
    }

    pub(crate) fn planned(&self) -> PlannedWork {
        self.facts.as_ref().map_or(PlannedWork::Nothing, |facts| facts.planned)
    }

    /// Number of GPUs: what the node should have, or what its agent lists where that is not known.
    pub(crate) fn gpus(&self) -> u16 {
        let expected = self.facts.as_ref().map_or(0, |facts| facts.gpus);
        let listed = self.report.as_ref().map_or(0, |report| report.inventory.gpus.as_slice().len());
        if expected == 0 { u16::try_from(listed).unwrap_or(u16::MAX) } else { expected }
    }

    /// Whether Mainstay's avoid taint is on the node.
    pub(crate) fn is_avoided(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.avoided)
    }

    pub(crate) fn power(&self) -> Power {
        self.facts.as_ref().map_or(Power::Unknown, |facts| facts.power)
    }

    /// Whether the node gets no jobs for a reason outside Mainstay: it is not reachable, or another actor cordoned it.
    pub(crate) fn is_out_anyway(&self) -> bool {
        self.ready() != Ready::Yes || self.schedulable() == Schedulable::NotByOthers
    }

    /// Whether the last report belongs to an earlier registration.
    pub(crate) fn is_reported_by_another(&self) -> bool {
        match (self.facts.as_ref(), self.report.as_ref()) {
            (Some(facts), Some(report)) => facts.uid != report.uid,
            (Some(_) | None, Some(_) | None) => false,
        }
    }

    /// Whether the node gets jobs and has none.
    pub(crate) fn can_be_spare(&self) -> bool {
        self.facts.is_some() && self.presence == Presence::In && self.gangs.is_empty()
    }

    /// Whether jobs still have to leave the node.
    pub(crate) fn is_emptying(&self) -> bool {
        self.facts.is_some() && self.status.stage == Stage::Draining && !self.gangs.is_empty()
    }

    /// Whether stage, urgency and grant are stored as this engine knows them.
    pub(crate) fn is_stored(&self) -> bool {
        let urgency = |status: &Persisted| status.cause.as_ref().map(|cause| cause.urgency);
        let key = |status: &Persisted| (status.stage, urgency(status), status.grant.clone());
        self.stored.as_ref().is_some_and(|stored| key(stored) == key(&self.status))
    }

    /// The order of the status that is not stored, so that its executor does not have it yet.
    pub(crate) fn unstored_order(&self) -> Option<&Order> {
        let stored = self.stored.as_ref().map_or(&[][..], |stored| stored.orders.as_slice());
        self.status.orders.as_slice().iter().find(|order| !stored.contains(order))
    }

    /// The status without an order that is not stored: an order is an effect of its own.
    pub(crate) fn storable(&self) -> Cow<'_, Persisted> {
        let Some(unstored) = self.unstored_order() else { return Cow::Borrowed(&self.status) };
        let mut status = self.status.clone();
        status.orders.retain(|order| order.nonce != unstored.nonce);
        // An order that was not given was not tried either.
        status.attempts.remove_last(|attempt| unstored.task == Task::Rung(attempt.rung));
        Cow::Owned(status)
    }

    /// The dry-run or proposed decision whose outcome is open.
    pub(crate) fn open_proposal(&self) -> Option<&Proposal> {
        self.status.proposals.as_slice().last().filter(|proposal| proposal.happened == ProposalOutcome::Pending)
    }

    /// The last removal from service.
    pub(crate) fn removal(&self) -> Option<&Transition> {
        self.status.history.as_slice().iter().rev().find(|transition| transition.to == Stage::Quarantined)
    }

    /// When the node was last removed from service.
    pub(crate) fn removed_at(&self) -> Timestamp {
        self.removal().map_or(self.status.since, |removal| removal.at)
    }

    /// Whether the node was removed and not tested since: its cordon was applied after the removal had ended.
    pub(crate) fn is_untested(&self) -> bool {
        self.removal().is_some() && self.tested_at().is_none()
    }

    /// When the last tests of this removal began.
    pub(crate) fn tested_at(&self) -> Option<Timestamp> {
        let history = self.status.history.as_slice().iter().rev();
        let mut of_removal = history.take_while(|transition| transition.to != Stage::Quarantined);
        of_removal.find(|transition| transition.to == Stage::Qualifying).map(|transition| transition.at)
    }
}
