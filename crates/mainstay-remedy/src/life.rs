//! The life of a node: one stage enum, one struct of facts, one function. What the facts are is the engine's to find
//! out; what to do once a stage is reached follows from the stage alone.

use mainstay_model::{Planned, RequestKind, Schedulable, Stage, WaitingOn};

use crate::permit::Permit;

/// Where a node goes, or what it waits on where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// On to this stage.
    Go(Stage),
    /// Nowhere, because of this.
    Wait(WaitingOn),
}

/// What is thought of the node's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// Nothing speaks against it.
    Clear,
    /// Something does, and nothing needs stopping for it.
    Watched,
    /// A rule wants it out.
    Condemned,
}

/// Whether another node may go out here; see [`crate::arbiter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// There is room, or the node is out already.
    Free,
    /// There is none.
    Spent,
}

/// Whether the rule that wants the node out may take it out; see [`crate::breaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaker {
    /// It may, or a person asked.
    Closed,
    /// It may not: it took out too many others.
    Open,
}

/// Who is blamed for what was found on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blamed {
    /// The node.
    Node,
    /// Something that it shares with its neighbours: taking them out one by one mends nothing.
    Domain,
}

/// What comes first once the node is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// A repair.
    Repair,
    /// A test: whether anything is wrong is the question.
    Test,
}

/// The work on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// None is left.
    Gone,
    /// Somebody still has time to save.
    Saving,
    /// It is being stopped.
    Leaving,
}

/// How the repair of this round stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// A rung is to be ordered.
    Due,
    /// The agent was ordered to carry out a rung.
    Ordered,
    /// A rung that mends was carried out.
    Done,
    /// Nothing is left to be tried.
    Exhausted,
}

/// How the qualification of this round stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// To be ordered, or running.
    Running,
    /// Every test passed.
    Passed,
    /// A test failed or did not run to its end, or the time is over.
    Failed,
}

/// Whether what a node proved still stands when it is given work again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It does, or nothing had to be proven.
    Stands,
    /// The machine was booted or registered anew since, or a test of the same suite ended otherwise: what passed then
    /// says nothing of it now.
    Lapsed,
}

/// Who took the node out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenOut {
    /// A rule of ours, or a person through us.
    ByUs,
    /// Somebody who had work to do on it.
    ByOthers,
}

/// Everything the next step depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What health says.
    pub health: Health,
    /// What a person asks.
    pub request: Option<RequestKind>,
    /// Planned work.
    pub planned: Planned,
    /// Whose fault it is.
    pub blamed: Blamed,
    /// Whether the rule behind it is under suspicion itself.
    pub breaker: Breaker,
    /// What is to be done with it first.
    pub first: First,
    /// Whether there is room for it to go out.
    pub budget: Budget,
    /// Whether the next act out of this stage is allowed.
    pub permit: Permit,
    /// Who took it out, where it is out.
    pub taken_out: TakenOut,
    /// Whether new work is kept away.
    pub schedulable: Schedulable,
    /// What runs there.
    pub work: Work,
    /// The repair.
    pub repair: Repair,
    /// The qualification.
    pub trial: Trial,
    /// Whether the last one still stands, until the node takes work again.
    pub proof: Proof,
}

/// The one transition rule.
#[must_use]
pub fn next(stage: Stage, facts: &Facts) -> Next {
    // A person's hold stops everything, wherever the node is.
    if facts.request == Some(RequestKind::Hold) && !matches!(stage, Stage::Held | Stage::Retired) {
        return Next::Go(Stage::Held);
    }
    // Others gave it work again, or our cordon never came, and meanwhile its place was taken: it waits for its turn like
    // everybody else. Waiting where it is, it would keep a place that it does not have.
    if is_ours_to_cordon(stage, facts) && facts.budget == Budget::Spent {
        return Next::Go(Stage::Suspect);
    }
    match stage {
        Stage::InService => in_service(facts),
        Stage::Suspect => suspect(facts),
        Stage::Quarantined => quarantined(facts),
        Stage::Draining => match (facts.work, facts.request) {
            (Work::Saving, _) => Next::Wait(WaitingOn::Checkpoint),
            (Work::Leaving, _) => Next::Wait(WaitingOn::Drain),
            (Work::Gone, Some(RequestKind::Return)) => Next::Go(Stage::Qualifying),
            (Work::Gone, Some(RequestKind::Drain | RequestKind::Quarantine)) => Next::Wait(WaitingOn::Operator),
            (Work::Gone, Some(RequestKind::Retire)) => Next::Go(Stage::Retired),
            (Work::Gone, Some(RequestKind::Hold) | None) => match facts.first {
                First::Repair => Next::Go(Stage::Repairing),
                First::Test => Next::Go(Stage::Qualifying),
            },
        },
        // Work slipped in while our cordon was gone: it is asked to leave before anything else is ordered.
        Stage::Repairing if facts.work != Work::Gone && facts.repair == Repair::Due => Next::Go(Stage::Draining),
        Stage::Qualifying if facts.work != Work::Gone && facts.taken_out == TakenOut::ByUs => Next::Go(Stage::Draining),
        Stage::Repairing | Stage::Qualifying if is_to_retire(facts) => Next::Go(Stage::Retired),
        Stage::Repairing => match (facts.request, facts.repair) {
            (Some(RequestKind::Return), _) | (_, Repair::Done) => Next::Go(Stage::Qualifying),
            (_, Repair::Ordered) => Next::Wait(WaitingOn::Order),
            (_, Repair::Due) => permitted_or(facts, WaitingOn::Order),
            (_, Repair::Exhausted) => Next::Wait(WaitingOn::Operator),
        },
        Stage::Qualifying if facts.taken_out == TakenOut::ByOthers && facts.schedulable == Schedulable::Yes => {
            Next::Go(Stage::InService)
        }
        Stage::Qualifying => match (facts.trial, facts.permit) {
            (Trial::Running, _) => permitted_or(facts, WaitingOn::Qualification),
            // Whoever asked for the return learns that it failed; trying for ever would only hide it.
            (Trial::Failed, _) if facts.request == Some(RequestKind::Return) => Next::Wait(WaitingOn::Operator),
            (Trial::Failed, _) => Next::Go(Stage::Repairing),
            (Trial::Passed, Permit::Granted) => Next::Go(Stage::InService),
            (Trial::Passed, Permit::NeedsApproval | Permit::OnPaper) => Next::Wait(facts.permit.waiting_on()),
        },
        Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading => match (stage_of(facts.planned), facts.permit) {
            (Some(planned), _) if planned == stage => Next::Wait(WaitingOn::Operator),
            (Some(planned), _) => Next::Go(planned),
            // We had taken it out before they came: it is proven before it returns.
            (None, _) if facts.schedulable == Schedulable::NotByUs => Next::Go(Stage::Qualifying),
            // Others took it out. While they still keep work away it can be proven; once they give it back it is back,
            // because keeping it out would be a disruption of our own.
            (None, Permit::Granted) if facts.work == Work::Gone && facts.schedulable != Schedulable::Yes => {
                Next::Go(Stage::Qualifying)
            }
            (None, Permit::Granted | Permit::NeedsApproval | Permit::OnPaper) => Next::Go(Stage::InService),
        },
        Stage::Held => match (facts.request, facts.schedulable) {
            (Some(RequestKind::Hold), _) => Next::Wait(WaitingOn::Operator),
            // What we had taken out before the hold is emptied and proven before it returns.
            (_, Schedulable::NotByUs) if facts.work == Work::Gone => Next::Go(Stage::Qualifying),
            (_, Schedulable::NotByUs) => Next::Go(Stage::Draining),
            (_, Schedulable::Yes | Schedulable::NotByOthers) => Next::Go(Stage::InService),
        },
        // Whoever asks for it back has put a machine there that is worth a test.
        Stage::Retired if facts.request == Some(RequestKind::Return) => Next::Go(Stage::Qualifying),
        Stage::Retired => Next::Wait(WaitingOn::Nothing),
    }
}

/// What is empty and to be retired is neither mended nor proven first. An order that is under way is not called back.
fn is_to_retire(facts: &Facts) -> bool {
    facts.request == Some(RequestKind::Retire)
        && facts.taken_out == TakenOut::ByUs
        && facts.work == Work::Gone
        && facts.repair != Repair::Ordered
}

const fn is_ours_to_cordon(stage: Stage, facts: &Facts) -> bool {
    match stage {
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => {
            matches!(facts.schedulable, Schedulable::Yes) && matches!(facts.taken_out, TakenOut::ByUs)
        }
        Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Maintenance => false,
        Stage::Upgrading | Stage::Held | Stage::Retired => false,
    }
}

fn in_service(facts: &Facts) -> Next {
    match (stage_of(facts.planned), facts.request, facts.health) {
        (Some(planned), _, _) => Next::Go(planned),
        (None, Some(request), _) if request.takes_out() => Next::Go(Stage::Suspect),
        (None, _, Health::Watched | Health::Condemned) => Next::Go(Stage::Suspect),
        // It is back, and the world does not show it yet.
        (None, _, Health::Clear) if facts.schedulable == Schedulable::NotByUs => match facts.proof {
            Proof::Stands => permitted_or(facts, WaitingOn::WatchSync),
            Proof::Lapsed => Next::Go(Stage::Qualifying),
        },
        (None, _, Health::Clear) => Next::Wait(WaitingOn::Nothing),
    }
}

fn suspect(facts: &Facts) -> Next {
    let asked = facts.request.is_some_and(RequestKind::takes_out);
    match (stage_of(facts.planned), asked, facts.health) {
        (Some(planned), _, _) => Next::Go(planned),
        // A cordon of ours that came late: what we took out is emptied and proven before it returns.
        (None, false, Health::Clear | Health::Watched) if facts.schedulable == Schedulable::NotByUs => {
            Next::Go(if facts.work == Work::Gone { Stage::Qualifying } else { Stage::Draining })
        }
        (None, false, Health::Clear) => Next::Go(Stage::InService),
        (None, false, Health::Watched) => Next::Wait(WaitingOn::SecondSignal),
        (None, false, Health::Condemned) if facts.blamed == Blamed::Domain => Next::Wait(WaitingOn::SharedCause),
        (None, false, Health::Condemned) if facts.breaker == Breaker::Open => Next::Wait(WaitingOn::Breaker),
        (None, true, _) | (None, false, Health::Condemned) => match (facts.budget, facts.permit) {
            (Budget::Spent, _) => Next::Wait(WaitingOn::Budget),
            (Budget::Free, Permit::Granted) => Next::Go(Stage::Quarantined),
            (Budget::Free, Permit::NeedsApproval | Permit::OnPaper) => Next::Wait(facts.permit.waiting_on()),
        },
    }
}

fn quarantined(facts: &Facts) -> Next {
    match (facts.request, facts.schedulable) {
        (Some(RequestKind::Return), _) if facts.work == Work::Gone => Next::Go(Stage::Qualifying),
        // Our own cordon is not seen in the world yet.
        (_, Schedulable::Yes) => Next::Wait(WaitingOn::WatchSync),
        (Some(RequestKind::Quarantine), Schedulable::NotByUs | Schedulable::NotByOthers) => {
            Next::Wait(WaitingOn::Operator)
        }
        // What is to be tested has to be empty, too.
        (_, Schedulable::NotByUs | Schedulable::NotByOthers) => match facts.permit {
            Permit::Granted => Next::Go(Stage::Draining),
            Permit::NeedsApproval | Permit::OnPaper => Next::Wait(facts.permit.waiting_on()),
        },
    }
}

fn permitted_or(facts: &Facts, waiting_on: WaitingOn) -> Next {
    match facts.permit {
        Permit::Granted => Next::Wait(waiting_on),
        Permit::NeedsApproval | Permit::OnPaper => Next::Wait(facts.permit.waiting_on()),
    }
}

const fn stage_of(planned: Planned) -> Option<Stage> {
    match planned {
        Planned::Nothing => None,
        Planned::Bootstrap => Some(Stage::Bootstrapping),
        Planned::Maintenance => Some(Stage::Maintenance),
        Planned::Upgrade => Some(Stage::Upgrading),
    }
}

#[cfg(test)]
mod tests;
