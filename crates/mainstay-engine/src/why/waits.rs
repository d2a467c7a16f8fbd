//! The details of each wait, looked up where it was decided: breakers, budgets, shared causes, orders, modes, requests.

use std::collections::BTreeSet;

use mainstay_arbiter::ruling::Ruling;
use mainstay_health::Findings;
use mainstay_model::{
    ActionKind, Bounded, GangId, Mode, OrderOutcome, PlannedWork, RepairStep, RequestKind, Schedulable, Span, Stage,
    Task, Timestamp, WaitingOn,
};
use mainstay_remedy::ladder::{self, Climb};
use mainstay_remedy::life::{Machine, Work};
use mainstay_remedy::limits;
use mainstay_remedy::verdict::UNREACHABLE;

use super::{After, Call, Cap, Doubt, Few, Spent, TestProgress, Unseen, Wait};
use crate::index::Index;
use crate::plan::orders::{self, action};
use crate::plan::{drain, treatment};
use crate::state::State;
use crate::state::node::Node;
use crate::view::{self, Signals, kind_of_stage, ledger, machine, permit_of_stage, signals, work};
use crate::{breakers, claims, shared_cause};

/// What a node waits on, and until when at most.
pub(super) fn wait(
    state: &State,
    index: &Index,
    node: &Node,
    findings: &Findings,
    now: Timestamp,
) -> (Wait, Option<Timestamp>) {
    match node.waiting_on {
        WaitingOn::Nothing => (Wait::Nothing, None),
        WaitingOn::Approval => {
            let kind = kind_of_stage(state, node, now);
            (Wait::Approval { action: action(node, kind), kind, cap: cap(state, node, kind) }, None)
        }
        WaitingOn::Breaker => breaker_wait(state, index, node, now),
        WaitingOn::Budget => (Wait::Budget(spent(state, node, now)), None),
        WaitingOn::CapacityFloor => (floor_wait(state, node), None),
        WaitingOn::Freeze => (Wait::Freeze, ruled_until(state, node, now)),
        WaitingOn::RateLimit => (rate_wait(state, node), ruled_until(state, node, now)),
        WaitingOn::Window => (Wait::Window, ruled_until(state, node, now)),
        WaitingOn::Checkpoint => checkpoint_wait(state, node, now),
        WaitingOn::SharedCause => (Wait::SharedCause(shared_cause::of_flag(state, node).map(Box::new)), None),
        WaitingOn::Drain => (Wait::Drain { gangs: gangs(node), machine: machine(state, node, now) }, None),
        WaitingOn::WatchSync => (Wait::WatchSync(unseen(state, node, now)), None),
        WaitingOn::Leadership => (Wait::Leadership, None),
        WaitingOn::Mode => {
            let kind = kind_of_stage(state, node, now);
            (Wait::Mode { action: action(node, kind), kind, cap: cap(state, node, kind) }, None)
        }
        WaitingOn::Order => order_wait(state, node, now),
        WaitingOn::Operator => (Wait::Operator(call(state, node, now)), None),
        WaitingOn::Qualification => qualification_wait(state, node, now),
        WaitingOn::Report => (Wait::Report, None),
        WaitingOn::SecondSignal => signal_wait(state, node, findings, now),
    }
}

/// The open order for a suite, and how far it is.
fn qualification_wait(state: &State, node: &Node, now: Timestamp) -> (Wait, Option<Timestamp>) {
    let open = orders::suite_order(node);
    let is_not_run = open.is_some_and(|order| orders::outcome(node, order) == Some(OrderOutcome::NotRun));
    let progress = if is_not_run {
        TestProgress::NotRun
    } else if treatment::has_new_fault(state, node, now) {
        TestProgress::NewFault
    } else {
        TestProgress::Running
    };
    let until = open.map(|order| if is_not_run { order.start_by } else { order.done_by });
    let order = open.and_then(|order| match &order.task {
        Task::Suite(suite) => Some((order.id.clone(), suite.clone())),
        Task::Rung(_) => None,
    });
    (Wait::Qualification { order, progress }, until)
}

/// The signal that is missing, and until when the present ones count.
fn signal_wait(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> (Wait, Option<Timestamp>) {
    match signals(state, node, now) {
        Signals::One | Signals::Both => {
            let heard_at = node.report.as_ref().map(|report| report.at);
            let alive_at = view::last_alive(state, node);
            let progressed_at = alive_at.filter(|_| alive_at > heard_at);
            let blamed = shared_cause::of_rule(state, node, &UNREACHABLE.get()).map(Box::new);
            let until = alive_at.map(|at| at + limits::REPORT_WITHIN);
            (Wait::SecondSignal(Doubt::Agent { heard_at, progressed_at, blamed }), until)
        }
        Signals::Reachable => (Wait::SecondSignal(Doubt::Watched), findings.changes_at),
    }
}

/// The open order for a repair step, and what follows it.
fn order_wait(state: &State, node: &Node, now: Timestamp) -> (Wait, Option<Timestamp>) {
    let then = match orders::next_step(state, node, now) {
        Climb::Try(step) => Some(step),
        Climb::Exhausted => None,
    };
    let order = orders::step_order(node);
    let repairs = |step: RepairStep| orders::first_repair(state, node).is_some_and(|first| step >= first);
    let not_run = order.filter(|(order, _)| orders::outcome(node, order) == Some(OrderOutcome::NotRun));
    let after = match order.filter(|(_, step)| repairs(*step)) {
        _ if not_run.is_some() => After::Again,
        Some(_) => After::Test { otherwise: then },
        None => After::Rung(then),
    };
    let until = not_run.map(|(order, _)| order.start_by).or(order.map(|(order, _)| order.done_by));
    (Wait::Order { order: order.map(|(order, step)| (order.id.clone(), step)), after }, until)
}

fn breaker_wait(state: &State, index: &Index, node: &Node, now: Timestamp) -> (Wait, Option<Timestamp>) {
    let Some((pool, rule)) = node.flagged_by.as_deref() else { return (Wait::Breaker(None), None) };
    let line = breakers::lines(state, index, now).into_iter().find(|line| line.pool == *pool && line.rule == *rule);
    let book = if line.as_ref().is_some_and(|line| line.is_on_paper) {
        &state.counts.dry_run_breakers
    } else {
        &state.counts.breakers
    };
    let changes_at = book.standing(pool, rule, now).changes_at;
    (Wait::Breaker(line.map(Box::new)), changes_at)
}

/// Until when the arbiter's ruling on the claim is valid.
fn ruled_until(state: &State, node: &Node, now: Timestamp) -> Option<Timestamp> {
    let permit = permit_of_stage(state, node, now);
    let ruling = claims::ruling(state, node, &claims::claim(state, node), permit, now);
    if let Ruling::Waits(_, until) = ruling { until } else { None }
}

fn floor_wait(state: &State, node: &Node) -> Wait {
    let tally = state.counts.arbiter.domains.tally(node.membership.pool());
    let floor = state.policy(node).and_then(|policy| policy.floor).map_or(0, |floor| floor.of(tally.nodes));
    Wait::CapacityFloor { floor, in_service: tally.nodes.saturating_sub(tally.out) }
}

fn rate_wait(state: &State, node: &Node) -> Wait {
    let rate = state.policy(node).and_then(|policy| policy.rate);
    let (removals, per) = rate.map_or((0, Span::ZERO), |rate| (rate.grants, rate.per));
    Wait::RateLimit { removals, per }
}

/// Gangs that still have time, and until when the last of them has.
fn checkpoint_wait(state: &State, node: &Node, now: Timestamp) -> (Wait, Option<Timestamp>) {
    let owed = || node.gangs.iter().filter_map(|id| Some((id, drain::saves_until(state, node, id, now)?)));
    let until = owed().map(|(_, until)| until).max();
    (Wait::Checkpoint { gangs: Few::of(owed().map(|(id, _)| GangId::clone(id))) }, until)
}

/// The setting that prevents an action of this kind without an approval.
fn cap(state: &State, node: &Node, kind: ActionKind) -> Cap {
    let Some((pool, policy)) = node.facts.as_ref().map(|facts| &facts.pool).zip(state.policy(node)) else {
        return Cap::NoPolicy;
    };
    let promoted = policy.promotions.get(&kind);
    let mode: Mode = promoted.copied().unwrap_or(policy.mode);
    match (state.cell.mode <= mode, promoted) {
        (true, _) if state.cell.epoch < state.epoch_highest => Cap::Restored,
        (true, _) => Cap::Cell(state.cell.mode),
        (false, Some(_)) => Cap::Kind(pool.clone(), mode),
        (false, None) => Cap::Pool(pool.clone(), mode),
    }
}

/// The first budget that has no room for the node, and who has its places.
fn spent(state: &State, node: &Node, now: Timestamp) -> Spent {
    let ledger = ledger(node, permit_of_stage(state, node, now));
    let is_counted = |other: &Node| other.presence.holds_place(ledger, state.policy(node));
    let budgets = state.policy(node).map_or(&[][..], |policy| policy.budgets.as_slice());
    for budget in budgets {
        let Some(domain) = node.membership.at(budget.level) else { continue };
        let most = budget.most.of(state.counts.arbiter.domains.tally(domain).nodes);
        let shares = |other: &&Node| other.name != node.name && other.membership.at(budget.level) == Some(domain);
        let holders = state.names.values().map(|id| state.node(*id)).filter(shares);
        let held_by = Few::of(holders.filter(|other| is_counted(other)).map(|other| other.name.clone()));
        if held_by.all >= most {
            let level = budget.level;
            let domain = level.and_then(|level| node.facts.as_ref()?.domains.get(&level).cloned());
            return Spent::Full { level, domain, most, held_by, counted: ledger };
        }
    }
    Spent::NoBudget
}

fn unseen(state: &State, node: &Node, now: Timestamp) -> Unseen {
    let as_of = state.synced_as_of;
    if as_of.is_none_or(|as_of| now.since(as_of) > limits::VIEW_FRESH) {
        return Unseen::View { as_of };
    }
    if !node.is_stored() {
        return Unseen::Record;
    }
    match node.schedulable() {
        Schedulable::Yes => Unseen::Cordon,
        Schedulable::NotByUs if node.status.stage == Stage::InService => Unseen::Uncordon,
        Schedulable::NotByUs | Schedulable::NotByOthers => Unseen::Record,
    }
}

fn call(state: &State, node: &Node, now: Timestamp) -> Call {
    let stage = node.status.stage;
    let within = state.deadlines(node).stage(stage).unwrap_or(Span::ZERO);
    let is_past = now.since(node.status.since) >= within;
    let asked = |kinds: &[RequestKind]| node.request.clone().filter(|request| kinds.contains(&request.kind));
    let gone = work(state, node, now) == Work::Gone;
    let is_silent = machine(state, node, now) == Machine::Silent;
    let kept = match stage {
        Stage::Held => asked(&[RequestKind::Hold]).map(Call::Withdraw),
        Stage::Quarantined => asked(&[RequestKind::Quarantine]).map(Call::Withdraw),
        Stage::Draining if !gone && is_silent => Some(Call::Unreachable { gangs: gangs(node) }),
        Stage::Draining if gone => asked(&[RequestKind::Quarantine, RequestKind::Drain]).map(Call::Withdraw),
        Stage::Repairing if is_silent && orders::step_order(node).is_none() => {
            Some(Call::Unreachable { gangs: gangs(node) })
        }
        Stage::Repairing
            if orders::step_order(node).is_none() && orders::next_step(state, node, now) == Climb::Exhausted =>
        {
            let attempts = node.status.attempts.as_slice().iter();
            let lately = attempts.filter(|attempt| now.since(attempt.ordered_at) < ladder::WINDOW);
            let tried: BTreeSet<RepairStep> = lately.map(|attempt| attempt.rung).collect();
            Some(Call::Replace { tried: Bounded::within(tried) })
        }
        Stage::Qualifying => asked(&[RequestKind::Return]).filter(|_| !is_past).map(Call::Failed),
        Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading if !is_past => {
            Some(node.planned()).filter(|planned| *planned != PlannedWork::Nothing).map(Call::Finish)
        }
        Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading | Stage::InService | Stage::Suspect => None,
        Stage::Draining | Stage::Repairing | Stage::Retired => None,
    };
    kept.unwrap_or_else(|| Call::Stuck { within, gangs: gangs(node) })
}
fn gangs(node: &Node) -> Few<GangId> {
    Few::of(node.gangs.iter().map(|id| GangId::clone(id)))
}
