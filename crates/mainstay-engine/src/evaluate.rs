//! One node at a time: what is known of it becomes the facts that its life depends on, the life moves on until it waits,
//! and orders are written where a stage needs them.

use mainstay_health::{self as health, Findings};
use mainstay_model::{
    ActionKind, Bounded, Cause, Effect, NodeIndex, NodeSummary, Proposal, ProposalOutcome, Ready, Reason, RequestKind,
    Response, Schedulable, Span, Stage, Timestamp, Transition, Urgency, WaitingOn,
};
use mainstay_remedy::life::{self, Facts, Next};
use mainstay_remedy::limits;

use crate::Engine;
use crate::blame::Explained;
use crate::cause::{PLANNED_WORK, REQUEST, cause_of};
use crate::node::{Node, Proven};
use crate::orders::{action, suite_order};
use crate::sight::Witnesses;
use crate::switch::Switch;

/// A life settles within this many steps; more would be a circle, which is ours to mend and not to follow.
const STEPS_MAX: u32 = 12;

/// Hour windows of the catalogue lapse on their own; a node under suspicion is looked at again no later than this.
const LOOK_AGAIN: Span = Span::hours(1);

impl Engine {
    /// Moves a node on as far as it can go now, and answers what should be done about it.
    pub(crate) fn evaluate(&mut self, index: NodeIndex, mut findings: Findings, now: Timestamp) -> Vec<Effect> {
        if self.node(index).facts.is_none() {
            self.node_mut(index).is_calm = false;
            self.wake(index, None);
            self.wait_for_room(index, false);
            self.wait_for_approval(index, false);
            self.unwant(index);
            self.settle_emptying(index);
            return Vec::new();
        }
        self.take_back_orders(index);
        let mut waiting_on = WaitingOn::Nothing;
        let mut accuser = None;
        for _ in 0..STEPS_MAX {
            self.worsen(index, &findings, now);
            self.end_orders(index, now);
            self.write_orders(index, now);
            let explained = self.explain(self.node(index), &findings, now);
            let own = if let Explained::Partly(own) = &explained { own } else { &findings };
            let unstopped = self.unstopped(self.node(index), own, now);
            let own = unstopped.as_ref().unwrap_or(own);
            let health = self.health(index, own, now);
            accuser = self.accuser(self.node(index), health, own, now);
            let blamed = self.blames(self.node(index), &explained, accuser.as_ref(), now);
            let facts = Facts { blamed, ..self.facts(index, health, accuser.as_ref(), now) };
            match life::next(self.node(index).persisted.stage, &facts) {
                Next::Go(stage) => {
                    self.enter(index, stage, own, now);
                    // A return forgets what led there.
                    findings = self.findings(index, now);
                }
                Next::Wait(on) => {
                    waiting_on = on;
                    break;
                }
            }
        }
        self.propose(index, waiting_on, &findings, now);
        self.settle_presence(index);
        self.settle_emptying(index);
        if self.wants_cordon(self.node(index)) && !self.has_room(self.node(index)) {
            waiting_on = WaitingOn::Budget;
        }
        self.wait_for_room(index, waiting_on == WaitingOn::Budget);
        let is_suspect = self.node(index).persisted.stage == Stage::Suspect;
        self.wait_for_approval(index, is_suspect && waiting_on == WaitingOn::Approval);
        let breaker_at = self.want(index, accuser, now);
        self.settle_show(index, &findings, now);
        if waiting_on == WaitingOn::Nothing && self.node(index).is_heard_as_another() {
            waiting_on = WaitingOn::Report;
        }
        let waiting_on = self.past_limit(index, waiting_on, now);
        let (effects, wake_at) = self.effects(index, waiting_on, now);
        let waiting_on = match effects.held_back {
            Some(obstacle) if waiting_on != WaitingOn::Operator => obstacle,
            Some(_) | None => waiting_on,
        };
        let message = self.message(index, &findings);
        self.stand(index, waiting_on, &message, effects.is_on_record);
        let wake_at = [wake_at, findings.changes_at, self.limit_at(index, now), breaker_at].into_iter().flatten().min();
        self.wake(index, wake_at);
        effects.list
    }

    /// Keeps how the node stands after it was looked at.
    fn stand(&mut self, index: NodeIndex, waiting_on: WaitingOn, message: &str, is_on_record: bool) {
        let node = self.node_mut(index);
        node.waiting_on = waiting_on;
        node.is_calm = node.persisted.stage == Stage::InService
            && waiting_on == WaitingOn::Nothing
            && is_on_record
            && node.schedulable() != Schedulable::NotByUs;
        if node.message.as_str() != message {
            node.message = Reason::lossy(message);
        }
        if waiting_on == WaitingOn::WatchSync {
            self.stale.insert(index);
        } else {
            self.stale.remove(&index);
        }
    }

    /// A node changes its stage.
    fn enter(&mut self, index: NodeIndex, stage: Stage, findings: &Findings, now: Timestamp) {
        let both = self.witnesses(self.node(index), now) == Witnesses::Both;
        let asked = self.request(self.node(index)).is_some_and(RequestKind::takes_out);
        let told = self.told(index);
        let word = self.word(self.node(index), stage);
        self.unwant(index);
        if stage == Stage::Repairing {
            self.keep_incident(index);
        }
        let node = self.node_mut(index);
        let rule = match stage {
            Stage::Suspect => {
                let cause = cause_of(node, findings, both);
                node.persisted.cause = Some(cause);
                node.persisted.cause.as_ref().map(|cause| cause.rule.clone())
            }
            Stage::Quarantined => {
                // The worst finding may have changed while it waited.
                node.persisted.cause = Some(cause_of(node, findings, both));
                node.persisted.round = node.persisted.round.saturating_add(1);
                // A person's word is no rule's, whatever was found beside it.
                let rule = node.persisted.cause.as_ref().map(|cause| cause.rule.clone());
                rule.filter(|_| !asked).or_else(|| Some(REQUEST.get()))
            }
            Stage::Draining | Stage::Repairing | Stage::Qualifying | Stage::Held | Stage::Retired => {
                node.persisted.cause.as_ref().map(|cause| cause.rule.clone())
            }
            Stage::InService | Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading => {
                node.persisted.cause.take().map(|cause| cause.rule)
            }
        };
        let came_back = stage == Stage::InService && node.persisted.stage == Stage::Qualifying;
        if came_back {
            health::forget_hours(&mut node.persisted);
            let nonce = suite_order(node).map(|order| order.nonce.clone());
            node.proven = node.heard.as_ref().map(|heard| Box::new(Proven { boot_id: heard.boot_id.clone(), nonce }));
        }
        node.persisted.orders = Bounded::new();
        node.persisted.stage = stage;
        node.persisted.since = now;
        let rule = rule.unwrap_or_else(|| PLANNED_WORK.get());
        node.persisted.history.push_forgetting_oldest(Transition { to: stage, at: now, rule, word });
        self.tell(index, told);
        self.settle_presence(index);
    }

    /// Keeps the decision that is not carried out beside what then happens.
    fn propose(&mut self, index: NodeIndex, waiting_on: WaitingOn, findings: &Findings, now: Timestamp) {
        let waits = matches!(waiting_on, WaitingOn::Mode | WaitingOn::Approval);
        let node = self.node(index);
        let happened = match (node.persisted.stage, node.ready(), node.schedulable()) {
            (Stage::InService, _, _) => ProposalOutcome::Recovered,
            (Stage::Maintenance, _, _) => ProposalOutcome::RemovedByOthers,
            (Stage::Suspect, Ready::No | Ready::Unknown, _) => ProposalOutcome::NodeLost,
            (Stage::Suspect, Ready::Yes, Schedulable::NotByOthers) => ProposalOutcome::RemovedByOthers,
            (Stage::Suspect, Ready::Yes, Schedulable::Yes | Schedulable::NotByUs) => ProposalOutcome::Pending,
            (_, _, _) => ProposalOutcome::Executed,
        };
        let open = node.open_proposal().is_some();
        let ends = open && happened != ProposalOutcome::Pending;
        let begins = !open && waits && node.persisted.stage == Stage::Suspect && happened == ProposalOutcome::Pending;
        if !ends && !begins {
            return;
        }
        let told = self.told(index);
        if ends {
            self.end_proposal(index, happened, now);
        } else {
            let both = self.witnesses(self.node(index), now) == Witnesses::Both;
            let node = self.node_mut(index);
            let Cause { rule, device, .. } = cause_of(node, findings, both);
            let action = action(node, ActionKind::Cordon);
            let proposal = Proposal { action, rule: rule.clone(), decided_at: now, happened, happened_at: None };
            node.persisted.proposals.push_forgetting_oldest(proposal);
            self.keep_incident_on_paper(index, rule, device, now);
        }
        self.tell(index, told);
    }

    fn end_proposal(&mut self, index: NodeIndex, happened: ProposalOutcome, now: Timestamp) {
        let node = self.node_mut(index);
        let Some(last) = node.persisted.proposals.iter_mut().last() else { return };
        last.happened = happened;
        last.happened_at = Some(now);
        let decided_at = last.decided_at;
        if happened == ProposalOutcome::Executed {
            // What becomes of it now says whether it is an incident.
            node.persisted.incidents.retain(|incident| incident.at != decided_at);
        }
    }

    /// A node past the limit of its stage waits on a person, whatever else it waits on.
    fn past_limit(&self, index: NodeIndex, waiting_on: WaitingOn, now: Timestamp) -> WaitingOn {
        let past = self.limit_of(index).is_some_and(|at| now >= at);
        if past && self.switches.is_on(Switch::StageLimit) { WaitingOn::Operator } else { waiting_on }
    }

    pub(crate) fn limit_of(&self, index: NodeIndex) -> Option<Timestamp> {
        let persisted = &self.node(index).persisted;
        limits::stage_within(persisted.stage).map(|within| persisted.since + within)
    }

    /// When time alone changes something: a stage's limit, an order's, or the silence of an agent.
    fn limit_at(&self, index: NodeIndex, now: Timestamp) -> Option<Timestamp> {
        let node = self.node(index);
        let orders = node.persisted.orders.as_slice().iter().map(|order| order.expires_at);
        let silence =
            node.heard.as_ref().filter(|_| node.ready() != Ready::Yes).map(|heard| heard.at + limits::REPORT_WITHIN);
        let suspect = (node.persisted.stage == Stage::Suspect).then(|| now + LOOK_AGAIN);
        orders.chain(silence).chain(self.limit_of(index)).chain(suspect).filter(|at| *at > now).min()
    }

    /// How pressing a node's case is, for whose turn it is: the more pressing, the larger.
    pub(crate) fn pressure(&self, node: &Node) -> u8 {
        match node.persisted.cause.as_ref().map(|cause| cause.urgency) {
            Some(Urgency::Now) => 3,
            Some(Urgency::Minutes) => 2,
            Some(Urgency::NextCheckpoint) => 1,
            None => 0,
        }
    }

    /// How a node stands. Whoever is blamed is named as of now: others may show it since the node was last looked at.
    pub(crate) fn line(&self, node: &Node) -> NodeSummary {
        let line = node.line();
        match Some(line.waiting_on).filter(|on| *on == WaitingOn::SharedCause).and_then(|_| self.to_blame(node)) {
            Some(blamed) => {
                NodeSummary { message: Reason::lossy(&format!("{}: {}", line.message, blamed.subject)), ..line }
            }
            None => line,
        }
    }

    fn message(&self, index: NodeIndex, findings: &Findings) -> String {
        let node = self.node(index);
        let found =
            findings.list.as_slice().first().filter(|finding| finding.response > Response::Note).map(|finding| {
                match &finding.device {
                    Some(device) => format!("{} on {device}", finding.rule),
                    None => finding.rule.to_string(),
                }
            });
        found.or_else(|| node.persisted.cause.as_ref().map(|cause| cause.rule.to_string())).unwrap_or_default()
    }
}
