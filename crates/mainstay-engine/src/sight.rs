//! What is known of one node, turned into the facts that its life depends on: health, witnesses, budget, permit, work.

use std::borrow::Cow;

use mainstay_health::{self as health, Findings};
use mainstay_model::{
    ActionKind, Arrivals, Code, Detail, Evidence, EvidenceKey, ExternalCondition, NodeIndex, PlannedWork, Policy,
    Ready, RequestKind, Response, RuleName, Schedulable, Serial, Source, Stage, Timestamp, UnrecognisedLine, Verdict,
};
use mainstay_remedy::arbiter::{Ledger, Presence, Room};
use mainstay_remedy::ladder::Climb;
use mainstay_remedy::life::{Blamed, Budget, Facts, Health, Proof, TakenOut, Work};
use mainstay_remedy::limits;
use mainstay_remedy::permit::{self, Permit};

use crate::Engine;
use crate::node::Node;
use crate::orders::action;
use crate::switch::Switch;

impl Engine {
    /// What health says, and what the two witnesses (the backend and the agent) say of a node that does not answer.
    pub(crate) fn findings(&self, index: NodeIndex, now: Timestamp) -> Findings {
        let node = self.node(index);
        let (said, arrivals) = (self.said(node), self.own_arrivals(node));
        health::findings(&self.catalogue, self.policy(node), &node.sight(&said, &arrivals), now)
    }

    /// What its agent saw, and, as far as the pool's policy maps it, what other agents complain about and error lines that
    /// no parser knows. The policy does not name the rest. These are not counted over time, so they count as long as the
    /// other agent or the report has them.
    pub(crate) fn said<'a>(&self, node: &'a Node) -> Cow<'a, [Evidence]> {
        let heard = node.heard.as_deref().map_or(&[][..], |heard| &heard.evidence);
        let overrides = self.policy(node).map_or(&[][..], |policy| policy.overrides.as_slice());
        let maps = |source, code: &Code| overrides.iter().any(|one| one.source == source && one.code == *code);
        let complaints = node.complaints.as_slice().iter();
        let complaints = complaints.filter(|complaint| maps(Source::External, &complaint.code)).map(complained);
        let lines = node.heard.as_deref().map_or(&[][..], |heard| heard.unrecognised.as_slice()).iter();
        let lines = lines.filter(|line| maps(Source::Unrecognised, &line.code)).map(printed);
        let mut mapped = complaints.chain(lines).peekable();
        if mapped.peek().is_none() {
            return heard.into();
        }
        heard.iter().cloned().chain(mapped).collect()
    }

    /// Arrivals without those of parts that were replaced.
    pub(crate) fn own_arrivals<'a>(&self, node: &'a Node) -> Cow<'a, [Arrivals]> {
        let all = node.persisted.arrivals.as_slice();
        let Some(here) = self.own_parts(node) else { return all.into() };
        let is_here = |arrivals: &Arrivals| arrivals.device.as_ref().is_none_or(|device| here.contains(&device));
        if all.iter().all(is_here) { all.into() } else { all.iter().filter(|one| is_here(one)).cloned().collect() }
    }

    /// The parts that are there; none where that cannot be told. A part that is merely missing keeps its record: a GPU that
    /// fell off the bus is not listed either, so the node must list as many as it should have.
    pub(crate) fn own_parts<'a>(&self, node: &'a Node) -> Option<Vec<&'a Serial>> {
        let (heard, facts) = (node.heard.as_deref()?, node.facts.as_deref()?);
        let gpus = heard.inventory.gpus.as_slice();
        if !self.switches.is_on(Switch::HistoryBySerial) || gpus.len() < usize::from(facts.gpus) {
            return None;
        }
        let nics = heard.inventory.nics.as_slice().iter().map(|nic| &nic.serial);
        let gpus = gpus.iter().map(|gpu| &gpu.serial);
        Some(gpus.chain(nics).chain([&heard.inventory.board]).collect())
    }

    /// Whether the node is unreachable, and whether both witnesses say so.
    pub(crate) fn witnesses(&self, node: &Node, now: Timestamp) -> Witnesses {
        let heard_at = node.heard.as_ref().map(|heard| heard.at);
        let silent = heard_at.is_none_or(|at| now.since(at) >= limits::REPORT_WITHIN);
        match (node.ready(), silent) {
            (Ready::Yes, _) => Witnesses::Fine,
            (Ready::No | Ready::Unknown, true) => Witnesses::Both,
            (Ready::No | Ready::Unknown, false) if self.switches.is_on(Switch::TwoWitnesses) => Witnesses::One,
            (Ready::No | Ready::Unknown, false) => Witnesses::Both,
        }
    }

    pub(crate) fn health(&self, index: NodeIndex, findings: &Findings, now: Timestamp) -> Health {
        let worst = findings.list.as_slice().first().map(|finding| finding.response);
        match (worst, self.witnesses(self.node(index), now)) {
            (Some(Response::Remove), _) | (_, Witnesses::Both) => Health::Condemned,
            (Some(Response::Watch), _) | (_, Witnesses::One) => Health::Watched,
            (Some(Response::Note) | None, Witnesses::Fine) => Health::Clear,
        }
    }

    /// Everything its next step depends on.
    pub(crate) fn facts(&self, index: NodeIndex, health: Health, accuser: Option<&RuleName>, now: Timestamp) -> Facts {
        let node = self.node(index);
        let permit = self.permit_of_stage(node, now);
        Facts {
            health,
            request: self.request(node),
            planned: if self.switches.is_on(Switch::PlannedWork) { node.planned() } else { PlannedWork::Nothing },
            blamed: Blamed::Node,
            breaker: self.breaker(node, accuser, now),
            first: self.first(node, now),
            budget: self.budget(node, permit),
            permit,
            taken_out: if node.persisted.cause.is_some() { TakenOut::ByUs } else { TakenOut::ByOthers },
            schedulable: node.schedulable(),
            work: self.work(node, now),
            repair: self.repair(node, now),
            trial: self.trial(node, now),
            proof: proof(node),
        }
    }

    pub(crate) fn request(&self, node: &Node) -> Option<RequestKind> {
        node.request.as_ref().filter(|_| self.switches.is_on(Switch::Requests)).map(|request| request.kind)
    }

    pub(crate) fn policy(&self, node: &Node) -> Option<&Policy> {
        self.policies.get(&node.facts.as_ref()?.pool)
    }

    /// Whether there is room for the node to go out. One that we took out takes no more room, and stays out as long as its
    /// budgets are kept with it.
    pub(crate) fn budget(&self, node: &Node, permit: Permit) -> Budget {
        if !self.switches.is_on(Switch::Budget) || node.open_proposal().is_some() && permit == Permit::OnPaper {
            return Budget::Free;
        }
        if node.presence == Presence::Out {
            // Where our cordon stands already, going on takes nobody's place; waiting would hold one for nothing, and a
            // neighbour that stopped answering would wait for it in turn.
            let is_cordoned = node.schedulable() == Schedulable::NotByUs;
            return if is_cordoned || self.has_room(node) { Budget::Free } else { Budget::Spent };
        }
        match self.arbiter.room(self.policy(node), &node.membership, Self::ledger(node, permit)) {
            Room::Free => Budget::Free,
            Room::Spent(_) | Room::NoBudget => Budget::Spent,
        }
    }

    /// Which count a node is held against.
    pub(crate) fn ledger(node: &Node, permit: Permit) -> Ledger {
        match permit {
            Permit::Granted | Permit::NeedsApproval | Permit::OnPaper if node.is_out_anyway() => Ledger::Ours,
            Permit::OnPaper if node.presence != Presence::Out => Ledger::Paper,
            Permit::Granted | Permit::NeedsApproval | Permit::OnPaper => Ledger::Real,
        }
    }

    /// The permit for the next act out of the node's stage.
    pub(crate) fn permit_of_stage(&self, node: &Node, now: Timestamp) -> Permit {
        self.permit(node, self.kind_of_stage(node, now))
    }

    /// The next act out of the node's stage.
    pub(crate) fn kind_of_stage(&self, node: &Node, now: Timestamp) -> ActionKind {
        match node.persisted.stage {
            Stage::InService if node.schedulable() == Schedulable::NotByUs => ActionKind::Return,
            Stage::InService | Stage::Suspect | Stage::Held | Stage::Retired => ActionKind::Cordon,
            Stage::Quarantined | Stage::Draining => ActionKind::Drain,
            Stage::Repairing => match self.climb(node, now) {
                Climb::Try(rung) => permit::kind_of(rung),
                Climb::Exhausted => ActionKind::Drain,
            },
            Stage::Bootstrapping | Stage::Qualifying | Stage::Maintenance | Stage::Upgrading => ActionKind::Return,
        }
    }

    pub(crate) fn permit(&self, node: &Node, kind: ActionKind) -> Permit {
        if !self.switches.is_on(Switch::Mode) {
            return Permit::Granted;
        }
        permit::permit(&self.cell, self.policy(node), kind, &action(node, kind))
    }

    pub(crate) fn work(&self, node: &Node, now: Timestamp) -> Work {
        if node.gangs.is_empty() {
            return Work::Gone;
        }
        let saving = node.persisted.stage == Stage::Draining
            && node.gangs.iter().any(|gang| self.owed_until(node, gang, now).is_some());
        if saving { Work::Saving } else { Work::Leaving }
    }
}

fn proof(node: &Node) -> Proof {
    if node.is_heard_as_another() {
        return Proof::Lapsed;
    }
    let (Some(proven), Some(heard)) = (&node.proven, &node.heard) else { return Proof::Stands };
    let mut results = heard.results.iter().filter(|(nonce, _)| Some(nonce) == proven.nonce.as_ref());
    let taken_back = results.any(|(_, verdict)| *verdict != Verdict::Passed);
    if taken_back || heard.boot_id != proven.boot_id { Proof::Lapsed } else { Proof::Stands }
}

/// What the backend and the agent say together of a node that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Witnesses {
    Fine,
    One,
    Both,
}

/// An error line that no parser knows, as evidence about the node as a whole. It has one count: the agent drops it from its
/// report a day after the last line.
fn printed(line: &UnrecognisedLine) -> Evidence {
    Evidence {
        key: EvidenceKey {
            source: Source::Unrecognised,
            code: line.code.clone(),
            device: None,
            detail: Detail::NONE.get(),
        },
        count: 1,
        first_seen_at: line.first_seen_at,
        last_seen_at: line.last_seen_at,
    }
}

/// A complaint as evidence about the node as a whole.
fn complained(complaint: &ExternalCondition) -> Evidence {
    Evidence {
        key: EvidenceKey {
            source: Source::External,
            code: complaint.code.clone(),
            device: None,
            detail: Detail::NONE.get(),
        },
        count: 1,
        first_seen_at: complaint.since,
        last_seen_at: complaint.since,
    }
}
