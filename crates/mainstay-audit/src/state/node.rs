//! The auditor's state of one node. It is small, because there are 100,000 nodes: no evidence, no inventory, no
//! history.

use mainstay_model::{
    BootId, ClaimId, Need, NodeFacts, NodeUid, Nonce, Order, Persisted, PlannedWork, Power, Ready, RepairStep,
    Repairer, Report, RequestKind, RuleName, Schedulable, Sequence, Stage, Task, Timestamp, Transition, Urgency,
    Verdict,
};

use super::scopes::{Membership, Presence};

/// The rule of a removal that an operator requested.
const REQUEST: &str = "request";

/// The node's registration in the backend.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    pub(crate) uid: NodeUid,
    pub(crate) membership: Membership,
    pub(crate) ready: Ready,
    pub(crate) schedulable: Schedulable,
    pub(crate) planned: PlannedWork,
    pub(crate) power: Power,
}

/// The stored status of the node.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) stage: Stage,
    pub(crate) since: Timestamp,
    repairer: Repairer,
    /// Urgency of the stored cause; `None` without a cause.
    pub(crate) urgency: Option<Urgency>,
    /// The claim that is granted.
    pub(crate) granted: Option<ClaimId>,
    /// What the grant allows.
    pub(crate) granted_need: Need,
    /// None for a node that was never treated, as most were not.
    past: Option<Box<Past>>,
    trial: Option<Box<Qualification>>,
}

/// What was done to the node, as far as its stored status goes back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Past {
    orders: Box<[Order]>,
    attempts: Box<[(RepairStep, Timestamp)]>,
    /// Times at which Mainstay removed the node.
    removals: Box<[Timestamp]>,
}

/// The suite run whose result would qualify the node.
#[derive(Debug, Clone)]
enum Qualification {
    /// A suite that was ordered while the node was removed, with its boot.
    Ordered { nonce: Nonce, boot_id: BootId },
    /// The first known status had the node back in service after Qualifying, so the order is not known.
    BeforeOurTime,
}

/// Results of the qualification tests, the worst one for each nonce.
#[derive(Debug, Clone)]
struct Results {
    uid: NodeUid,
    boot_id: BootId,
    sequence: Sequence,
    worst: Vec<(Nonce, Verdict)>,
}

/// The state of one node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    registration: Option<Registration>,
    record: Option<Record>,
    /// Registration in the agent's last report.
    reported_by: Option<NodeUid>,
    results: Option<Box<Results>>,
    request: Option<RequestKind>,
    /// Since when the node is not registered, as far as the auditor knows. It means nothing for a registered node.
    gone_at: Timestamp,
}

// === impl Record ===

impl Record {
    pub(crate) fn orders(&self) -> &[Order] {
        self.past.as_ref().map_or(&[], |past| &past.orders)
    }

    pub(crate) fn attempts(&self) -> &[(RepairStep, Timestamp)] {
        self.past.as_ref().map_or(&[], |past| &past.attempts)
    }

    /// Returns the times at which Mainstay removed the node.
    pub(crate) fn removals(&self) -> &[Timestamp] {
        self.past.as_ref().map_or(&[], |past| &past.removals)
    }

    /// Returns the removal of the node that `persisted` adds, and its rule. An operator's request is not a rule.
    pub(crate) fn new_removal<'a>(&self, persisted: &'a Persisted) -> Option<(&'a RuleName, Timestamp)> {
        let last = persisted.history.as_slice().iter().rev().find(|transition| transition.to == Stage::Quarantined)?;
        let is_new = !self.removals().contains(&last.at) && last.rule.as_str() != REQUEST;
        is_new.then_some((&last.rule, last.at))
    }
}

// === impl Node: asking ===

impl Node {
    pub(crate) const fn registration(&self) -> Option<&Registration> {
        self.registration.as_ref()
    }

    pub(crate) const fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    pub(crate) const fn request(&self) -> Option<RequestKind> {
        self.request
    }

    /// Returns whether the backend would place jobs on the node.
    pub(crate) fn takes_work(&self) -> bool {
        self.registration
            .as_ref()
            .is_some_and(|backend| backend.ready == Ready::Yes && backend.schedulable == Schedulable::Yes)
    }

    /// Returns whether the node counts against budgets. A held node does if it gets no jobs, but not because it is
    /// held.
    pub(crate) fn presence(&self) -> Presence {
        let recorded_out = self.record.as_ref().is_some_and(|record| is_out(record.stage));
        let is_parked = self.record.as_ref().is_some_and(|record| match record.stage {
            Stage::Retired => true,
            Stage::Repairing | Stage::Draining => record.repairer.is_technician(),
            Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Quarantined => false,
            Stage::Qualifying | Stage::Maintenance | Stage::Upgrading | Stage::Held => false,
        });
        match (recorded_out || !self.takes_work(), is_parked) {
            (true, true) => Presence::Parked,
            (true, false) => Presence::Out,
            (false, _) => Presence::TakesWork,
        }
    }

    /// Returns whether the last report was made under another registration than the current one.
    pub(crate) fn is_reported_by_another(&self) -> bool {
        let uid = self.registration.as_ref().map(|registration| &registration.uid);
        self.reported_by.is_some() && self.reported_by.as_ref() != uid
    }

    /// Returns what is missing for the qualification; `None` if the node is qualified.
    pub(crate) fn unproven(&self) -> Option<&'static str> {
        let Some(trial) = self.record.as_ref().and_then(|record| record.trial.as_deref()) else {
            return Some("no suite was ordered since the node was removed");
        };
        let Some(results) = self.results.as_deref() else { return Some("no result was reported") };
        if self.registration.as_ref().map(|registration| &registration.uid) != Some(&results.uid) {
            return Some("the results belong to another registration");
        }
        match trial {
            Qualification::Ordered { nonce, boot_id } => match results.worst.iter().find(|(of, _)| of == nonce) {
                None => Some("no result carries the nonce of the suite that was ordered"),
                Some(_) if results.boot_id != *boot_id => Some("the results are from another boot than the order"),
                Some((_, Verdict::Passed)) => None,
                Some((_, Verdict::Failed)) => Some("a test of the suite failed"),
                Some((_, Verdict::Unknown)) => Some("a test of the suite did not finish"),
            },
            Qualification::BeforeOurTime => {
                let passed = results.worst.iter().any(|(_, worst)| *worst == Verdict::Passed);
                if passed { None } else { Some("no suite passed") }
            }
        }
    }

    /// Returns since when the node is gone; `None` for a registered node.
    pub(crate) fn gone_at(&self) -> Option<Timestamp> {
        self.registration.is_none().then_some(self.gone_at)
    }

    /// Returns whether nothing is stored about a node that is gone. A stored status is kept, because it is not sent again
    /// when the node returns.
    pub(crate) const fn is_forgettable(&self) -> bool {
        self.registration.is_none() && self.request.is_none() && self.record.is_none()
    }
}

// === impl Node: folding ===

impl Node {
    pub(super) fn fold_facts(&mut self, facts: &NodeFacts, membership: Membership) {
        self.registration = Some(Registration {
            uid: facts.uid.clone(),
            membership,
            ready: facts.ready,
            power: facts.power,
            schedulable: facts.schedulable,
            planned: facts.planned,
        });
        // The node had jobs again, so an earlier pass is no longer valid.
        if let (Schedulable::Yes, Some(record)) = (facts.schedulable, &mut self.record) {
            record.trial = None;
        }
    }

    /// Creates the state of a node that is not registered yet.
    pub(super) fn unregistered(at: Timestamp) -> Self {
        Self { gone_at: at, ..Self::default() }
    }

    pub(super) fn unregister(&mut self, at: Timestamp) -> Option<Registration> {
        self.gone_at = if self.registration.is_some() { at } else { self.gone_at.min(at) };
        self.registration.take()
    }

    pub(super) fn fold_record_gone(&mut self) {
        self.record = None;
    }

    pub(super) const fn fold_request(&mut self, request: Option<RequestKind>) {
        self.request = request;
    }

    pub(super) fn fold_report(&mut self, report: &Report) {
        if self.reported_by.as_ref() != Some(&report.uid) {
            self.reported_by = Some(report.uid.clone());
        }
        let is_older = self.results.as_deref().is_some_and(|known| {
            known.uid == report.uid && known.boot_id == report.boot_id && known.sequence > report.sequence
        });
        // A report without results removes none: a restarted agent lost them, but they did not fail.
        if is_older || report.results.as_slice().is_empty() {
            return;
        }
        let mut worst: Vec<(Nonce, Verdict)> = Vec::new();
        for (nonce, verdict) in report.results.as_slice() {
            match worst.iter_mut().find(|(of, _)| of == nonce) {
                // Passed is the lowest verdict.
                Some((_, known)) => *known = (*known).max(*verdict),
                None => worst.push((nonce.clone(), *verdict)),
            }
        }
        worst.shrink_to_fit();
        self.results = Some(Box::new(Results {
            uid: report.uid.clone(),
            boot_id: report.boot_id.clone(),
            sequence: report.sequence,
            worst,
        }));
    }

    pub(super) fn fold_record(&mut self, persisted: &Persisted, at: Timestamp) {
        if self.record.is_none() {
            self.gone_at = self.gone_at.max(at);
        }
        let trial = self.trial_after(persisted);
        let attempts = persisted.attempts.as_slice().iter();
        let past = Past {
            orders: persisted.orders.as_slice().into(),
            attempts: attempts.map(|attempt| (attempt.rung, attempt.ordered_at)).collect(),
            removals: removals(persisted.history.as_slice()).collect(),
        };
        self.record = Some(Record {
            stage: persisted.stage,
            since: persisted.since,
            repairer: persisted.repairer,
            urgency: persisted.cause.as_ref().map(|cause| cause.urgency),
            granted: persisted.grant.as_ref().map(|grant| grant.claim.clone()),
            granted_need: persisted.grant.as_ref().map_or(Need::Avoid, |grant| grant.needs),
            past: (past != Past::default()).then(|| Box::new(past)),
            trial: trial.map(Box::new),
        });
    }

    /// Returns what would qualify the node after this status is stored.
    fn trial_after(&mut self, persisted: &Persisted) -> Option<Qualification> {
        let first = self.record.is_none();
        let before = self.record.as_mut().and_then(|record| record.trial.take()).map(|trial| *trial);
        match persisted.stage {
            Stage::Qualifying => suite(persisted).or(before),
            Stage::InService | Stage::Suspect | Stage::Held if first => {
                let came_back = came_from_qualifying(persisted.history.as_slice());
                suite(persisted).or(came_back.then_some(Qualification::BeforeOurTime))
            }
            Stage::InService | Stage::Suspect | Stage::Held => before,
            // The node was changed, or is about to be: it needs a new qualification afterwards.
            Stage::Quarantined
            | Stage::Draining
            | Stage::Repairing
            | Stage::Bootstrapping
            | Stage::Maintenance
            | Stage::Upgrading
            | Stage::Retired => None,
        }
    }
}

/// Returns the times of removals in a history.
pub(crate) fn removals(history: &[Transition]) -> impl Iterator<Item = Timestamp> + '_ {
    history.iter().filter(|transition| transition.to == Stage::Quarantined).map(|transition| transition.at)
}

fn suite(persisted: &Persisted) -> Option<Qualification> {
    let mut suites = persisted.orders.as_slice().iter().filter(|order| matches!(order.task, Task::Suite(_)));
    let order = suites.next_back()?;
    Some(Qualification::Ordered { nonce: order.nonce.clone(), boot_id: order.boot_id.clone() })
}

fn came_from_qualifying(history: &[Transition]) -> bool {
    let before = history.iter().rev().map(|transition| transition.to).find(|to| !is_in_service_or_held(*to));
    before == Some(Stage::Qualifying)
}

const fn is_in_service_or_held(stage: Stage) -> bool {
    matches!(stage, Stage::InService | Stage::Suspect | Stage::Held)
}

/// Returns whether a node in this stage is out of service, whatever its state in the backend.
pub(crate) const fn is_out(stage: Stage) -> bool {
    match stage {
        Stage::Quarantined
        | Stage::Draining
        | Stage::Repairing
        | Stage::Qualifying
        | Stage::Maintenance
        | Stage::Upgrading => true,
        Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Held | Stage::Retired => false,
    }
}
