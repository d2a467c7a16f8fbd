//! Orders to a node's agent: the next repair step or suite, and how the last order ended.

use mainstay_arbiter::permit;
use mainstay_model::{
    ATTEMPTS_KEPT, ActionKind, Attempt, Bounded, Literal, NewOrder, NodeIndex, Nonce, Order, OrderId, OrderOutcome,
    Permit, Power, Ready, RepairStep, Repairer, RequestKind, Schedulable, Stage, SuiteName, Task, Timestamp, Verdict,
};
use mainstay_remedy::ladder::{self, Caps, Climb, Plan};
use mainstay_remedy::life::{Machine, Orders, Repair, Trial};
use mainstay_remedy::limits;
use mainstay_remedy::verdict::UNREACHABLE;

use super::cause::steps_of;
use super::treatment;
use crate::guard::Guard;
use crate::state::State;
use crate::state::node::Node;
use crate::view::{self, Signals};

/// The suite of a pool whose policy names none.
const STANDARD_SUITE: Literal<SuiteName> = SuiteName::literal("standard");

/// Attempted repair steps of a status.
type Attempts = Bounded<Attempt, ATTEMPTS_KEPT>;

/// The next step of the node's repair plan.
pub(crate) fn next_step(state: &State, node: &Node, now: Timestamp) -> Climb {
    let Some(cause) = &node.status.cause else { return Climb::Exhausted };
    let policy = state.policy(node);
    let plan = policy.and_then(|policy| policy.ladders.get(&cause.rule));
    let mut caps =
        plan.map_or_else(Caps::default, |plan| Caps { attempts_max: plan.attempts_max, window: plan.window });
    if !state.is_on(Guard::AttemptCap) {
        caps.attempts_max = u32::MAX;
    }
    let machine = view::machine(state, node, now);
    let steps: Vec<RepairStep> =
        steps_of(cause, policy).iter().copied().filter(|step| can_run(*step, node, machine)).collect();
    let plan =
        Plan { steps: &steps, device: cause.device.as_ref(), since: node.removed_at(), tested_at: node.tested_at() };
    ladder::climb(&plan, node.status.attempts.as_slice(), caps, now)
}

/// Whether a step has an executor: the agent of a machine that answers, a BMC, or a technician. The power of a machine that
/// only does not answer is not touched, because it may still run jobs.
fn can_run(step: RepairStep, node: &Node, machine: Machine) -> bool {
    match step {
        RepairStep::Capture | RepairStep::RestartService | RepairStep::ResetGpu | RepairStep::Reboot => {
            machine == Machine::Answers
        }
        RepairStep::PowerCycle => node.power() != Power::Unknown && machine != Machine::Silent,
        RepairStep::Replace => true,
    }
}

/// Whether a machine that was not reachable is back, so that it can be tested. Tests that failed are not repeated without a
/// repair.
fn is_back(state: &State, node: &Node, now: Timestamp) -> bool {
    let was_lost = node.status.cause.as_ref().is_some_and(|cause| cause.rule == UNREACHABLE);
    let reported_at = node.report.as_ref().map(|report| report.at);
    was_lost
        && node.tested_at().is_none()
        && view::signals(state, node, now) == Signals::Reachable
        && reported_at.is_some_and(|at| now.since(at) < limits::REPORT_WITHIN)
}

/// The progress of the repair.
pub(crate) fn repair(state: &State, node: &Node, now: Timestamp) -> Repair {
    match step_order(node) {
        Some((order, _)) if outcome(node, order) == Some(OrderOutcome::Done) => Repair::Done,
        Some(_) => Repair::Ordered,
        None => match next_step(state, node, now) {
            Climb::Try(RepairStep::PowerCycle) | Climb::Exhausted if is_back(state, node, now) => Repair::Done,
            Climb::Try(_) => Repair::Due,
            Climb::Exhausted => Repair::Exhausted,
        },
    }
}

/// Whether a step of the node's repair was executed, so that the tests are next.
pub(super) fn is_repaired(state: &State, node: &Node, now: Timestamp) -> bool {
    node.status.stage == Stage::Repairing && repair(state, node, now) == Repair::Done
}

/// Who repairs the node: a technician where no automatic step is left, or where an operator had the node drained.
pub(super) fn repairer(state: &State, node: &Node, now: Timestamp) -> Repairer {
    let is_exhausted = node.status.stage == Stage::Repairing && repair(state, node, now) == Repair::Exhausted;
    let is_requested = matches!(state.request(node), Some(RequestKind::Drain | RequestKind::Quarantine));
    let is_drained = node.status.stage == Stage::Draining && node.gangs.is_empty() && is_requested;
    if is_exhausted || is_drained { Repairer::Technician } else { Repairer::Mainstay }
}

/// The progress of the qualification. Evidence of a fault that arrives during the tests fails them.
pub(crate) fn trial(state: &State, node: &Node, now: Timestamp) -> Trial {
    if !state.is_on(Guard::Requalify) {
        return Trial::Passed;
    }
    let Some(order) = suite_order(node) else { return Trial::Due };
    let report = node.report.as_deref();
    let results = report.map(|report| report.results.iter().filter(|(nonce, _)| *nonce == order.nonce));
    let (mut any, mut all_passed) = (false, true);
    for (_, verdict) in results.into_iter().flatten() {
        any = true;
        all_passed &= *verdict == Verdict::Passed;
    }
    match (any, all_passed) {
        (true, true) if !treatment::has_new_fault(state, node, now) => Trial::Passed,
        (true, _) => Trial::Failed,
        (false, _) if now >= order.done_by => Trial::Failed,
        (false, _) => Trial::Running,
    }
}

/// Removes orders that ended without a repair, so that the next step can be tried, and suites that prove nothing any more,
/// so that they are ordered again. An order that did not run is given again after its latest start, and does not count as
/// an attempt.
pub(super) fn end(state: &State, node: &Node, now: Timestamp) -> Option<(Bounded<Order, 4>, Attempts)> {
    let (mut orders, mut attempts) = (node.status.orders.clone(), node.status.attempts.clone());
    let is_not_run = |order: &Order| {
        let has_not_run = match outcome(node, order) {
            Some(OrderOutcome::NotRun) => now >= order.start_by,
            Some(OrderOutcome::Done | OrderOutcome::Failed) => false,
            None => now >= order.done_by && is_agent_away(node, order),
        };
        has_not_run && state.is_on(Guard::UntriedStep)
    };
    if let Some(void) = suite_order(node).filter(|order| is_void(node, order) || is_not_run(order)) {
        orders.retain(|order| order.nonce != void.nonce);
    }
    if let Some((order, step)) = step_order(node) {
        let has_ended = match outcome(node, order) {
            // A step below the first one of the plan was ordered before the cause was raised.
            Some(OrderOutcome::Done) => {
                step == RepairStep::Capture || first_repair(state, node).is_some_and(|first| step < first)
            }
            Some(OrderOutcome::Failed) => true,
            Some(OrderOutcome::NotRun) => is_not_run(order) || !state.is_on(Guard::UntriedStep),
            None => state.is_on(Guard::OrderExpiry) && now >= order.done_by,
        };
        if has_ended {
            orders.retain(|one| one.nonce != order.nonce);
        }
        if is_not_run(order) {
            attempts.remove_last(|attempt| attempt.rung == step);
        }
    }
    (orders != node.status.orders).then_some((orders, attempts))
}

/// Whether the agent of a node that Kubernetes sees sent no report since the order could be started: it is being replaced,
/// and did not run the order. A machine that does not answer at all may have hung in it.
fn is_agent_away(node: &Node, order: &Order) -> bool {
    let has_reported = node.report.as_ref().is_some_and(|report| report.at >= order.start_by);
    node.ready() == Ready::Yes && !has_reported
}

/// The first step of the node's plan that repairs something.
pub(crate) fn first_repair(state: &State, node: &Node) -> Option<RepairStep> {
    let cause = node.status.cause.as_ref()?;
    steps_of(cause, state.policy(node)).iter().copied().find(|step| *step != RepairStep::Capture)
}

/// Whether the node has an order that is not stored and would not be given now: meanwhile the mode was lowered, a job
/// started, the machine rebooted, or the time of the order is over.
pub(super) fn is_withdrawn(state: &State, node: &Node, now: Timestamp) -> bool {
    node.unstored_order().is_some_and(|order| now >= is_surely_lost_at(order) || !would_give(state, node, order))
}

/// From when on a view that is recent enough to act shows whether the order was stored in time to be run. Until then it may
/// have been stored without being seen, and a second order would run too.
pub(super) fn is_surely_lost_at(order: &Order) -> Timestamp {
    order.start_by + limits::VIEW_FRESH
}

/// The kind of action that an order is.
pub(super) const fn kind(order: &Order) -> ActionKind {
    match order.task {
        Task::Rung(step) => permit::kind_of(step),
        Task::Suite(_) => ActionKind::Return,
    }
}

fn would_give(state: &State, node: &Node, order: &Order) -> bool {
    view::permit(state, node, kind(order)) == Permit::Granted
        && takes_orders(state, node) == Orders::Accepted
        && order.epoch == state.cell.epoch
        && node.report.as_ref().is_some_and(|report| report.boot_id == order.boot_id)
}

/// Whether the node can get an order: its grant is stored, Mainstay's quarantine taint is on it, and it runs no job.
pub(crate) fn takes_orders(state: &State, node: &Node) -> Orders {
    let stored = node.stored.as_ref().and_then(|stored| stored.grant.as_ref());
    let is_granted = stored.is_some() && stored == node.status.grant.as_ref() || !state.is_on(Guard::IntentFirst);
    let is_tainted = node.schedulable() == Schedulable::NotByUs || !state.is_on(Guard::TaintFirst);
    let is_alone = node.gangs.is_empty() && is_tainted;
    if is_granted && is_alone && node.report.is_some() { Orders::Accepted } else { Orders::NotYet }
}

/// Gives the order that the stage needs. It is stored by an effect of its own.
pub(super) fn give(state: &mut State, id: NodeIndex, now: Timestamp) {
    if let Some(new) = due(state, state.node(id), now) {
        let forgotten = state.node_mut(id).status.add_order(&new);
        state.losses.orders += u64::from(forgotten.is_some());
    }
}

fn due(state: &State, node: &Node, now: Timestamp) -> Option<NewOrder> {
    let boot_id = node.report.as_ref().map(|report| report.boot_id.clone())?;
    let (id, task, within) = match node.status.stage {
        Stage::Repairing => match next_step(state, node, now) {
            Climb::Try(step) => {
                (action(node, permit::kind_of(step)), Task::Rung(step), state.deadlines(node).step(step))
            }
            Climb::Exhausted => return None,
        },
        Stage::Qualifying => {
            let suite = state.policy(node).and_then(|policy| policy.suite.clone());
            let suite = suite.unwrap_or_else(|| STANDARD_SUITE.get());
            (action(node, ActionKind::Return), Task::Suite(suite), state.deadlines(node).suite)
        }
        Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Quarantined | Stage::Draining => return None,
        Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => return None,
    };
    let (epoch, cause) = (state.cell.epoch, node.status.cause.as_ref());
    let attempt = match (&task, cause) {
        (Task::Rung(step), Some(cause)) => {
            Some(Attempt { rule: cause.rule.clone(), rung: *step, device: cause.device.clone(), ordered_at: now })
        }
        (Task::Rung(_) | Task::Suite(_), _) => None,
    };
    let device = cause.and_then(|cause| cause.device.clone());
    let nonce = Nonce::of(&id, epoch.0, now);
    let start_by = now + limits::ORDER_START;
    let order = Order { nonce, id, epoch, boot_id, task, device, start_by, done_by: start_by + within };
    Some(NewOrder { order, attempt })
}

/// The first word in the ids of actions of this kind.
pub(crate) const fn verb(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Cordon => "cordon",
        ActionKind::Drain => "drain",
        ActionKind::RestartService => "restart",
        ActionKind::ResetGpu => "reset",
        ActionKind::Reboot => "reboot",
        ActionKind::PowerCycle => "power",
        ActionKind::Return => "return",
    }
}

/// The id of an action of this kind in the current removal of the node, or in its next one.
pub(crate) fn action(node: &Node, kind: ActionKind) -> OrderId {
    let next = u32::from(matches!(node.status.stage, Stage::InService | Stage::Suspect));
    OrderId::of(verb(kind), &node.name, node.status.round.saturating_add(next))
}

/// The open order for a repair step.
pub(crate) fn step_order(node: &Node) -> Option<(&Order, RepairStep)> {
    node.status.orders.as_slice().iter().find_map(|order| match order.task {
        Task::Rung(step) => Some((order, step)),
        Task::Suite(_) => None,
    })
}

/// The open order for a suite.
pub(crate) fn suite_order(node: &Node) -> Option<&Order> {
    node.status.orders.as_slice().iter().find(|order| matches!(order.task, Task::Suite(_)))
}

/// Whether a suite proves nothing any more: the machine rebooted since the order, or the node got jobs again.
fn is_void(node: &Node, order: &Order) -> bool {
    let has_rebooted = node.report.as_ref().is_some_and(|report| report.boot_id != order.boot_id);
    let is_out_by_us = node.status.cause.is_some();
    has_rebooted || (is_out_by_us && node.schedulable() == Schedulable::Yes)
}

/// How an order ended. A reboot is done once the machine runs under another boot.
pub(crate) fn outcome(node: &Node, order: &Order) -> Option<OrderOutcome> {
    let report = node.report.as_deref()?;
    let reboots = matches!(order.task, Task::Rung(RepairStep::Reboot | RepairStep::PowerCycle));
    if reboots && report.boot_id != order.boot_id {
        return Some(OrderOutcome::Done);
    }
    report.outcomes.iter().find(|(nonce, _)| *nonce == order.nonce).map(|(_, outcome)| *outcome)
}
