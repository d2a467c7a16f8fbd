//! Node lifecycle: one enum of stages, one struct of facts, one function. The engine collects the facts. The action in
//! a stage follows from the stage alone.

use mainstay_model::{Permit, PlannedWork, RequestKind, Schedulable, Stage, WaitingOn};

/// The next stage of a node, or the reason why it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Move to this stage.
    Go(Stage),
    /// Give the order that the stage needs, and wait for this.
    Order(WaitingOn),
    /// Stay, because of this reason.
    Wait(WaitingOn),
}

/// Health of the node according to its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The node has no relevant finding.
    Clear,
    /// A finding is watched, and no job needs to stop.
    Watched,
    /// A rule flags the node for removal.
    Condemned,
}

/// The arbiter's answer to the claim that wants the node out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The claim is granted.
    Granted,
    /// The claim waits for this reason.
    Waits(WaitingOn),
}

/// Whether the budgets are kept with a node out of service that Mainstay removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// The budgets are kept.
    Kept,
    /// Other nodes use the budget meanwhile.
    Lost,
}

/// Whether the rule that flags the node may remove it; see [`crate::breaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaker {
    /// The rule may remove the node, or an operator requested it.
    Closed,
    /// The rule may not remove the node, because it removed too many others.
    Open,
}

/// The suspected cause of the findings on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blamed {
    /// The node itself is the cause.
    Node,
    /// A cause shared with other nodes: removing them one by one repairs nothing.
    Domain,
}

/// The first measure once the node runs no jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// A repair comes first.
    Repair,
    /// A test comes first, because it is unclear whether there is a fault.
    Test,
}

/// Jobs on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// No job is left.
    Gone,
    /// At least one job still has time to save.
    Saving,
    /// Jobs are being stopped.
    Leaving,
}

/// Whether the machine can carry out orders, and whether it may still run jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// It answers.
    Answers,
    /// It does not answer, and no other path shows that it is dead, or nothing can turn it off.
    Silent,
    /// Another path shows that it is dead, and its BMC can turn it off.
    Dead,
    /// It is off.
    Off,
}

/// Progress of the repair in this removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// The next step has to be ordered.
    Due,
    /// The agent has an order for a step.
    Ordered,
    /// A step that can repair the fault was executed.
    Done,
    /// No step is left to try.
    Exhausted,
}

/// Whether the node can get an order now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    /// Its grant is stored, Mainstay's quarantine taint is on it, and it runs no job.
    Accepted,
    /// One of these is missing.
    NotYet,
}

/// Progress of the qualification in this removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// The qualification has to be ordered.
    Due,
    /// The qualification is ordered or running.
    Running,
    /// Every test passed.
    Passed,
    /// A test failed or did not finish, or the time limit is over.
    Failed,
}

/// Whether a passed qualification is still valid when the node returns to service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The qualification is valid, or none was needed.
    Stands,
    /// The machine rebooted or registered again since, or a test of the same suite had another result. The earlier pass
    /// is therefore not valid.
    Lapsed,
}

/// Who removed the node from service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenOut {
    /// A rule of Mainstay, or an operator through Mainstay.
    ByUs,
    /// Another tool or an operator, for planned work.
    ByOthers,
}

/// All facts that the next step depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Health according to the findings.
    pub health: Health,
    /// An operator's request, if any.
    pub request: Option<RequestKind>,
    /// Planned work on the node.
    pub planned: PlannedWork,
    /// The suspected cause.
    pub blamed: Blamed,
    /// Whether the circuit breaker of the rule allows the removal.
    pub breaker: Breaker,
    /// Whether a repair or a test comes first.
    pub first: First,
    /// The arbiter's answer to the claim on the node.
    pub ruling: Ruling,
    /// Whether the budgets are kept with the node out of service.
    pub budget: Budget,
    /// Whether the next action out of this stage is allowed.
    pub permit: Permit,
    /// Who removed the node, if it is out of service.
    pub taken_out: TakenOut,
    /// Whether the node gets new jobs.
    pub schedulable: Schedulable,
    /// Jobs on the node.
    pub work: Work,
    /// Whether the machine answers.
    pub machine: Machine,
    /// Progress of the repair.
    pub repair: Repair,
    /// Progress of the qualification.
    pub trial: Trial,
    /// Whether the node can get an order now.
    pub orders: Orders,
    /// Whether the last qualification is still valid, until the node gets jobs again.
    pub proof: Proof,
}

/// Returns the next stage. This is the only transition rule.
#[must_use]
pub fn next(stage: Stage, facts: &Facts) -> Next {
    // An operator's hold stops everything, in every stage.
    if facts.request == Some(RequestKind::Hold) && !matches!(stage, Stage::Held | Stage::Retired) {
        return Next::Go(Stage::Held);
    }
    // Another actor uncordoned the node, or Mainstay's cordon was never applied, and meanwhile another node used the
    // budget. The node waits for its turn. In its current stage it would count against a budget that it does not have.
    if is_ours_to_cordon(stage, facts) && facts.budget == Budget::Lost {
        return Next::Go(Stage::Suspect);
    }
    match stage {
        Stage::InService => in_service(facts),
        Stage::Suspect => suspect(facts),
        Stage::Quarantined => quarantined(facts),
        Stage::Draining => draining(facts),
        Stage::Repairing => repairing(facts),
        Stage::Qualifying => qualifying(facts),
        Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading => planned_work(stage, facts),
        Stage::Held => held(facts),
        // An operator who requests the node back has installed a machine that is worth a test.
        Stage::Retired if facts.request == Some(RequestKind::Return) => Next::Go(Stage::Qualifying),
        Stage::Retired => Next::Wait(WaitingOn::Nothing),
    }
}

/// What overrules the wait that the state machine chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overruling {
    /// Mainstay's cordon is missing, and other nodes use the budget that it needs.
    pub lost_budget: bool,
    /// The last report belongs to another registration of the node.
    pub foreign_report: bool,
    /// The node is beyond the time limit of its stage.
    pub past_limit: bool,
    /// What keeps an action from being executed now.
    pub obstacle: Option<WaitingOn>,
}

/// Returns what the node waits for in the end. Together with [`next`], this decides every wait.
#[must_use]
pub fn wait(on: WaitingOn, overruling: Overruling) -> WaitingOn {
    if overruling.past_limit {
        return WaitingOn::Operator;
    }
    let on = if overruling.lost_budget { WaitingOn::Budget } else { on };
    let on = if on == WaitingOn::Nothing && overruling.foreign_report { WaitingOn::Report } else { on };
    if on == WaitingOn::Operator { on } else { overruling.obstacle.unwrap_or(on) }
}

/// A node without jobs that is to be retired is neither repaired nor qualified first. A running order is not cancelled.
fn is_to_retire(facts: &Facts) -> bool {
    facts.request == Some(RequestKind::Retire)
        && facts.taken_out == TakenOut::ByUs
        && facts.work == Work::Gone
        && facts.repair != Repair::Ordered
}

fn is_ours_to_cordon(stage: Stage, facts: &Facts) -> bool {
    stage.is_treated() && facts.schedulable == Schedulable::Yes && facts.taken_out == TakenOut::ByUs
}

fn in_service(facts: &Facts) -> Next {
    match (stage_of(facts.planned), facts.request, facts.health) {
        (Some(planned), _, _) => Next::Go(planned),
        (None, Some(request), _) if request.takes_out() => Next::Go(Stage::Suspect),
        (None, _, Health::Watched | Health::Condemned) => Next::Go(Stage::Suspect),
        // The node is back, and the observations do not show it yet.
        (None, _, Health::Clear) if facts.schedulable == Schedulable::NotByUs => match facts.proof {
            Proof::Stands => permitted_or(facts, WaitingOn::WatchSync),
            Proof::Lapsed => prove(facts),
        },
        (None, _, Health::Clear) => Next::Wait(WaitingOn::Nothing),
    }
}

/// A node that Mainstay removed is drained and qualified before it returns.
fn prove(facts: &Facts) -> Next {
    Next::Go(if facts.work == Work::Gone { Stage::Qualifying } else { Stage::Draining })
}

fn suspect(facts: &Facts) -> Next {
    let asked = facts.request.is_some_and(RequestKind::takes_out);
    match (stage_of(facts.planned), asked, facts.health) {
        (Some(planned), _, _) => Next::Go(planned),
        // Mainstay's cordon was applied late.
        (None, false, Health::Clear | Health::Watched) if facts.schedulable == Schedulable::NotByUs => prove(facts),
        (None, false, Health::Clear) => Next::Go(Stage::InService),
        (None, false, Health::Watched) => Next::Wait(WaitingOn::SecondSignal),
        (None, false, Health::Condemned) if facts.blamed == Blamed::Domain => Next::Wait(WaitingOn::SharedCause),
        (None, false, Health::Condemned) if facts.breaker == Breaker::Open => Next::Wait(WaitingOn::Breaker),
        (None, true, _) | (None, false, Health::Condemned) => match facts.ruling {
            Ruling::Granted => Next::Go(Stage::Quarantined),
            Ruling::Waits(on) => Next::Wait(on),
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
        // A node must run no jobs before it is tested.
        (_, Schedulable::NotByUs | Schedulable::NotByOthers) => match facts.permit {
            Permit::Granted => Next::Go(Stage::Draining),
            Permit::NeedsApproval | Permit::OnPaper => Next::Wait(facts.permit.waiting_on()),
        },
    }
}

fn draining(facts: &Facts) -> Next {
    match (facts.work, facts.machine, facts.request) {
        // Its pods keep their state until the machine is off: a machine that does not answer may still run them.
        (Work::Saving | Work::Leaving, Machine::Silent, _) => Next::Wait(WaitingOn::Operator),
        (Work::Saving | Work::Leaving, Machine::Dead | Machine::Off, _) => permitted_or(facts, WaitingOn::Drain),
        (Work::Saving, Machine::Answers, _) => Next::Wait(WaitingOn::Checkpoint),
        (Work::Leaving, Machine::Answers, _) => Next::Wait(WaitingOn::Drain),
        (Work::Gone, _, Some(RequestKind::Return)) => Next::Go(Stage::Qualifying),
        (Work::Gone, _, Some(RequestKind::Drain | RequestKind::Quarantine)) => Next::Wait(WaitingOn::Operator),
        (Work::Gone, _, Some(RequestKind::Retire)) => Next::Go(Stage::Retired),
        (Work::Gone, _, Some(RequestKind::Hold) | None) => match facts.first {
            First::Repair => Next::Go(Stage::Repairing),
            First::Test => Next::Go(Stage::Qualifying),
        },
    }
}

fn repairing(facts: &Facts) -> Next {
    // A job started while the cordon was missing: it has to leave before another order is given.
    if facts.work != Work::Gone && facts.repair == Repair::Due {
        return Next::Go(Stage::Draining);
    }
    if is_to_retire(facts) {
        return Next::Go(Stage::Retired);
    }
    match (facts.request, facts.repair) {
        (Some(RequestKind::Return), _) | (_, Repair::Done) => Next::Go(Stage::Qualifying),
        (_, Repair::Ordered) => Next::Wait(WaitingOn::Order),
        (_, Repair::Due) => order_or(facts, WaitingOn::Order),
        (_, Repair::Exhausted) => Next::Wait(WaitingOn::Operator),
    }
}

fn qualifying(facts: &Facts) -> Next {
    // A job started while the cordon was missing: it has to leave before the tests.
    if facts.work != Work::Gone && facts.taken_out == TakenOut::ByUs {
        return Next::Go(Stage::Draining);
    }
    if is_to_retire(facts) {
        return Next::Go(Stage::Retired);
    }
    if facts.taken_out == TakenOut::ByOthers && facts.schedulable == Schedulable::Yes {
        return Next::Go(Stage::InService);
    }
    match (facts.trial, facts.permit) {
        (Trial::Due, _) => order_or(facts, WaitingOn::Qualification),
        (Trial::Running, _) => permitted_or(facts, WaitingOn::Qualification),
        // The operator who requested the return sees that it failed. To try for ever would only hide it.
        (Trial::Failed, _) if facts.request == Some(RequestKind::Return) => Next::Wait(WaitingOn::Operator),
        (Trial::Failed, _) => Next::Go(Stage::Repairing),
        (Trial::Passed, Permit::Granted) => Next::Go(Stage::InService),
        (Trial::Passed, Permit::NeedsApproval | Permit::OnPaper) => Next::Wait(facts.permit.waiting_on()),
    }
}

/// A node in a stage of planned work.
fn planned_work(stage: Stage, facts: &Facts) -> Next {
    match (stage_of(facts.planned), facts.permit) {
        (Some(planned), _) if planned == stage => Next::Wait(WaitingOn::Operator),
        (Some(planned), _) => Next::Go(planned),
        // Mainstay had removed the node before the planned work, so it is qualified before it returns.
        (None, _) if facts.schedulable == Schedulable::NotByUs => Next::Go(Stage::Qualifying),
        // Another actor removed the node. While it is still cordoned, it can be qualified. Once it is uncordoned it
        // is back in service, because keeping it out would be a disruption by Mainstay.
        (None, Permit::Granted) if facts.work == Work::Gone && facts.schedulable != Schedulable::Yes => {
            Next::Go(Stage::Qualifying)
        }
        (None, Permit::Granted | Permit::NeedsApproval | Permit::OnPaper) => Next::Go(Stage::InService),
    }
}

fn held(facts: &Facts) -> Next {
    match (facts.request, facts.schedulable) {
        (Some(RequestKind::Hold), _) => Next::Wait(WaitingOn::Operator),
        // What we had taken out before the hold is emptied and proven before it returns.
        (_, Schedulable::NotByUs) if facts.work == Work::Gone => Next::Go(Stage::Qualifying),
        (_, Schedulable::NotByUs) => Next::Go(Stage::Draining),
        (_, Schedulable::Yes | Schedulable::NotByOthers) => Next::Go(Stage::InService),
    }
}

fn order_or(facts: &Facts, waiting_on: WaitingOn) -> Next {
    match (facts.permit, facts.orders) {
        (Permit::Granted, Orders::Accepted) => Next::Order(waiting_on),
        (_, Orders::Accepted | Orders::NotYet) => permitted_or(facts, waiting_on),
    }
}

fn permitted_or(facts: &Facts, waiting_on: WaitingOn) -> Next {
    match facts.permit {
        Permit::Granted => Next::Wait(waiting_on),
        Permit::NeedsApproval | Permit::OnPaper => Next::Wait(facts.permit.waiting_on()),
    }
}

const fn stage_of(planned: PlannedWork) -> Option<Stage> {
    match planned {
        PlannedWork::Nothing => None,
        PlannedWork::Bootstrap => Some(Stage::Bootstrapping),
        PlannedWork::Maintenance => Some(Stage::Maintenance),
        PlannedWork::Upgrade => Some(Stage::Upgrading),
    }
}

#[cfg(test)]
mod tests;
