//! What is known of one node: what the backend, its agent, people and the record say, and what was last made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_health::{FindingInput, NodeFault};
use mainstay_model::{
    Arrivals, BootId, Bounded, Evidence, ExternalCondition, GangId, Inventory, NodeFacts, NodeName, NodeSummary,
    NodeUid, Nonce, OrderId, OrderOutcome, Persisted, PlaceIndex, PlannedWork, PoolName, Proposal, ProposalOutcome,
    Ready, Reason, Request, RuleName, Schedulable, Sequence, Stage, Timestamp, UnrecognisedLine, Verdict, WaitingOn,
};
use mainstay_remedy::arbiter::{Membership, Presence};

/// What its agent last said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) uid: NodeUid,
    pub(crate) boot_id: BootId,
    pub(crate) sequence: Sequence,
    pub(crate) at: Timestamp,
    pub(crate) inventory: Inventory,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) outcomes: Vec<(OrderId, OrderOutcome)>,
    pub(crate) results: Vec<(Nonce, Verdict)>,
    /// Error lines that no parser knows.
    pub(crate) unrecognised: Bounded<UnrecognisedLine, 8>,
}

/// What proved a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proven {
    pub(crate) boot_id: BootId,
    /// Whose results; none where nobody had to order a suite.
    pub(crate) nonce: Option<Nonce>,
}

/// One node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: NodeName,
    pub(crate) facts: Option<Box<NodeFacts>>,
    pub(crate) heard: Option<Box<Heard>>,
    pub(crate) request: Option<Request>,
    /// What other agents complain about.
    pub(crate) complaints: Bounded<ExternalCondition, 16>,
    /// What we know, and what of it is on record.
    pub(crate) persisted: Persisted,
    pub(crate) recorded: Option<Box<Persisted>>,
    /// When the record last changed what may be done: a view must be newer than that.
    pub(crate) recorded_at: Timestamp,
    /// Whether we have asked for a record ourselves since we started.
    pub(crate) has_written: bool,
    /// Acts that the backend refused, and when; not asked for again for a while, or until something changes.
    pub(crate) refused: BTreeMap<OrderId, Timestamp>,
    pub(crate) gangs: BTreeSet<Arc<GangId>>,
    pub(crate) membership: Membership,
    pub(crate) presence: Presence,
    pub(crate) waiting_on: WaitingOn,
    pub(crate) message: Reason,
    pub(crate) wake_at: Option<Timestamp>,
    /// Whether it is counted as free for work.
    pub(crate) is_spare: bool,
    /// Whether it is among those who wait for room in its domains.
    pub(crate) waits_for_room: bool,
    /// What it has in common with others, and what it shows of what they may show as well.
    pub(crate) places: Box<[PlaceIndex]>,
    pub(crate) shows: Vec<NodeFault>,
    /// The rule that wants it out, and in which pool.
    pub(crate) wanted_by: Option<Box<(PoolName, RuleName)>>,
    /// Whether nothing was left to decide when it was last looked at: it is in service, waits on nothing, all of it is on
    /// record, and no cordon of ours is to be lifted. That stays so, whoever works there and whatever becomes of the
    /// cell, the view and the budgets, until a fact about the node or its pool, or a timer, marks it.
    pub(crate) is_calm: bool,
    /// What proved it before it went back into service. After a restart the record alone speaks for it.
    pub(crate) proven: Option<Box<Proven>>,
    /// Before this, evidence alone is not written down again.
    pub(crate) record_after: Timestamp,
    pub(crate) record_pause_seconds: u32,
}

impl Node {
    pub(crate) fn new(name: NodeName, stage: Stage, at: Timestamp) -> Self {
        Self {
            name,
            facts: None,
            heard: None,
            request: None,
            complaints: Bounded::new(),
            persisted: Persisted::new(stage, at),
            recorded: None,
            recorded_at: Timestamp(i64::MIN),
            has_written: false,
            refused: BTreeMap::new(),
            gangs: BTreeSet::new(),
            membership: Membership::default(),
            presence: Presence::In,
            waiting_on: WaitingOn::Nothing,
            message: Reason::lossy(""),
            wake_at: None,
            is_spare: false,
            waits_for_room: false,
            places: Box::default(),
            shows: Vec::new(),
            wanted_by: None,
            is_calm: false,
            proven: None,
            record_after: at,
            record_pause_seconds: 1,
        }
    }

    /// All that health judges it by, with this evidence and these arrivals.
    pub(crate) fn sight<'a>(&'a self, evidence: &'a [Evidence], arrivals: &'a [Arrivals]) -> FindingInput<'a> {
        let inventory = self.heard.as_deref().map(|heard| &heard.inventory);
        FindingInput { facts: self.facts.as_deref(), inventory, evidence, arrivals }
    }

    pub(crate) fn line(&self) -> NodeSummary {
        NodeSummary {
            node: self.name.clone(),
            stage: self.persisted.stage,
            waiting_on: self.waiting_on,
            cause: self.persisted.cause.as_ref().map(|cause| cause.rule.clone()),
            message: self.message.clone(),
        }
    }

    pub(crate) fn is_of_interest(&self) -> bool {
        self.facts.is_some() && (self.persisted.stage != Stage::InService || self.waiting_on != WaitingOn::Nothing)
    }

    pub(crate) fn ready(&self) -> Ready {
        self.facts.as_ref().map_or(Ready::Unknown, |facts| facts.ready)
    }

    /// Whether it takes no work whatever we do: it does not answer, or others cordoned it.
    pub(crate) fn is_out_anyway(&self) -> bool {
        self.ready() != Ready::Yes || self.schedulable() == Schedulable::NotByOthers
    }

    /// Whether the last report was of an earlier registration: what it said is not about this one.
    pub(crate) fn is_heard_as_another(&self) -> bool {
        match (self.facts.as_ref(), self.heard.as_ref()) {
            (Some(facts), Some(heard)) => facts.uid != heard.uid,
            (Some(_) | None, Some(_) | None) => false,
        }
    }

    /// Whether it takes work and has none.
    pub(crate) fn takes_more(&self) -> bool {
        self.facts.is_some() && self.presence == Presence::In && self.gangs.is_empty()
    }

    /// Whether work is still to leave it.
    pub(crate) fn is_emptying(&self) -> bool {
        self.facts.is_some() && self.persisted.stage == Stage::Draining && !self.gangs.is_empty()
    }

    pub(crate) fn schedulable(&self) -> Schedulable {
        self.facts.as_ref().map_or(Schedulable::Yes, |facts| facts.schedulable)
    }

    pub(crate) fn planned(&self) -> PlannedWork {
        self.facts.as_ref().map_or(PlannedWork::Nothing, |facts| facts.planned)
    }

    /// Whether the stage on record is the stage we think it is in, and its work is owed as much time.
    pub(crate) fn is_recorded(&self) -> bool {
        let urgency = |persisted: &Persisted| persisted.cause.as_ref().map(|cause| cause.urgency);
        self.recorded.as_ref().is_some_and(|recorded| {
            recorded.stage == self.persisted.stage && urgency(recorded) == urgency(&self.persisted)
        })
    }

    /// The decision that stands on paper or waits for a person, if there is one.
    pub(crate) fn open_proposal(&self) -> Option<&Proposal> {
        self.persisted.proposals.as_slice().last().filter(|proposal| proposal.happened == ProposalOutcome::Pending)
    }

    /// When this round began: the last time it was taken out.
    pub(crate) fn round_at(&self) -> Timestamp {
        let history = self.persisted.history.as_slice();
        let taken_out = history.iter().rev().find(|transition| transition.to == Stage::Quarantined);
        taken_out.map_or(self.persisted.since, |transition| transition.at)
    }
}
