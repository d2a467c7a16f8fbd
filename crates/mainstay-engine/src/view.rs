//! The view of one node: its findings, its signals, and everything else that its next step depends on, as plain values.

use std::borrow::Cow;

use mainstay_arbiter::domains::Ledger;
use mainstay_arbiter::permit;
use mainstay_arbiter::ruling::Ruling;
use mainstay_health::{self as health, Findings};
use mainstay_model::{
    ActionKind, Arrivals, Code, Detail, Evidence, EvidenceKey, Permit, PlannedWork, Power, Ready, Response, RuleName,
    Schedulable, Serial, Source, Stage, Timestamp, Verdict, WaitingOn,
};
use mainstay_remedy::ladder::Climb;
use mainstay_remedy::life::{self, Budget, Facts, Health, Machine, Proof, TakenOut, Work};
use mainstay_remedy::limits;

use crate::guard::Guard;
use crate::plan::drain;
use crate::plan::effects::keeps_budget;
use crate::plan::orders::{self, action};
use crate::shared_cause::{self, Explained};
use crate::state::State;
use crate::state::node::Node;
use crate::{breakers, claims};

/// Everything that the next step of a node depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Findings that count against the node itself: no shared cause explains them and no breaker stops their rule.
    pub(crate) own: Findings,
    /// The rule that flags the node for removal.
    pub(crate) accuser: Option<RuleName>,
    /// Input of the state machine.
    pub(crate) facts: Facts,
    /// When time alone changes the arbiter's ruling.
    pub(crate) ruled_at: Option<Timestamp>,
}

/// What backend and agent together show about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signals {
    /// The backend sees the node.
    Reachable,
    /// One of the two does not see the node.
    One,
    /// Neither sees the node.
    Both,
}

/// Builds the view of a node from its findings.
pub(crate) fn view(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> View {
    let explained = shared_cause::explain(state, node, findings, now);
    let own = if let Explained::Partly(own) = &explained { own } else { findings };
    let own = breakers::not_stopped(state, node, own, now).unwrap_or_else(|| own.clone());
    let health = health_of(state, node, &own, now);
    let accuser = breakers::accuser(state, node, health, &own, now);
    let permit = permit_of_stage(state, node, now);
    let ruling = ruling(state, node, permit, now);
    let facts = Facts {
        health,
        request: state.request(node),
        planned: if state.is_on(Guard::PlannedWork) { node.planned() } else { PlannedWork::Nothing },
        blamed: shared_cause::blamed(state, node, &explained, accuser.as_ref(), now),
        breaker: breakers::breaker(state, node, accuser.as_ref(), now),
        first: breakers::first(state, node, now),
        ruling: match ruling {
            Ruling::Granted => life::Ruling::Granted,
            Ruling::Waits(on, _) => life::Ruling::Waits(on),
            Ruling::Void => life::Ruling::Waits(WaitingOn::Nothing),
        },
        budget: budget(state, node),
        permit,
        taken_out: if node.status.cause.is_some() { TakenOut::ByUs } else { TakenOut::ByOthers },
        schedulable: node.schedulable(),
        work: work(state, node, now),
        machine: machine(state, node, now),
        repair: orders::repair(state, node, now),
        trial: orders::trial(state, node, now),
        orders: orders::takes_orders(state, node),
        proof: proof(node),
    };
    let ruled_at = if let Ruling::Waits(_, until) = ruling { until } else { None };
    View { own, accuser, facts, ruled_at }
}

/// The arbiter's ruling on the claim on a suspect node. Other nodes have a grant or no claim.
fn ruling(state: &State, node: &Node, permit: Permit, now: Timestamp) -> Ruling {
    if node.status.stage != Stage::Suspect {
        return Ruling::Void;
    }
    claims::ruling(state, node, &claims::claim(state, node), permit, now)
}

/// The findings on a node, worst first.
pub(crate) fn findings(state: &State, node: &Node, now: Timestamp) -> Findings {
    let (evidence, arrivals) = (evidence(state, node), arrivals(state, node));
    health::findings(state.rules(node), &node.finding_input(&evidence, &arrivals), now)
}

/// Evidence of the node's agent. If the pool's policy maps them to a rule, conditions of other agents and unknown error
/// lines are added. They have no count over time, so they count as long as they are reported.
pub(crate) fn evidence<'a>(state: &State, node: &'a Node) -> Cow<'a, [Evidence]> {
    let reported = node.report.as_deref().map_or(&[][..], |report| &report.evidence);
    let overrides = state.policy(node).map_or(&[][..], |policy| policy.overrides.as_slice());
    let maps = |source, code: &Code| overrides.iter().any(|one| one.source == source && one.code == *code);
    let conditions = node.conditions.as_slice().iter();
    let conditions = conditions.filter(|one| maps(Source::External, &one.code));
    let conditions = conditions.map(|one| of_node(Source::External, &one.code, one.since, one.since));
    let lines = node.report.as_deref().map_or(&[][..], |report| report.unrecognised.as_slice()).iter();
    let lines = lines.filter(|line| maps(Source::Unrecognised, &line.code));
    let lines = lines.map(|line| of_node(Source::Unrecognised, &line.code, line.first_seen_at, line.last_seen_at));
    let mut mapped = conditions.chain(lines).peekable();
    if mapped.peek().is_none() {
        return reported.into();
    }
    reported.iter().cloned().chain(mapped).collect()
}

/// Arrivals of evidence without those of parts that were removed.
pub(crate) fn arrivals<'a>(state: &State, node: &'a Node) -> Cow<'a, [Arrivals]> {
    let all = node.status.arrivals.as_slice();
    let Some(parts) = installed_parts(state, node) else { return all.into() };
    let is_here = |arrivals: &Arrivals| arrivals.device.as_ref().is_none_or(|device| parts.contains(&device));
    if all.iter().all(is_here) { all.into() } else { all.iter().filter(|one| is_here(one)).cloned().collect() }
}

/// The serials of the installed parts; none where they are not known. A GPU that fell off the bus is not listed either.
/// So the list counts only if it has as many GPUs as the node should have.
pub(crate) fn installed_parts<'a>(state: &State, node: &'a Node) -> Option<Vec<&'a Serial>> {
    let (report, facts) = (node.report.as_deref()?, node.facts.as_deref()?);
    let gpus = report.inventory.gpus.as_slice();
    if !state.is_on(Guard::HistoryBySerial) || gpus.len() < usize::from(facts.gpus) {
        return None;
    }
    let nics = report.inventory.nics.as_slice().iter().map(|nic| &nic.serial);
    let gpus = gpus.iter().map(|gpu| &gpu.serial);
    Some(gpus.chain(nics).chain([&report.inventory.board]).collect())
}

/// When the machine last showed without its kubelet that it is alive: its agent reported, or a gang on it made progress.
pub(crate) fn last_alive(state: &State, node: &Node) -> Option<Timestamp> {
    let reported_at = node.report.as_ref().map(|report| report.at);
    progress(state, node).chain(reported_at).max()
}

/// When the gangs on a node last made progress.
fn progress<'a>(state: &'a State, node: &'a Node) -> impl Iterator<Item = Timestamp> + 'a {
    node.gangs.iter().filter_map(|id| state.gangs.list.get(id)?.progressed_at)
}

/// Whether the machine can carry out orders. Kubelet and agent use the API server, so a partition of the network looks like
/// a dead machine. It is dead only where another path shows it: its BMC, or a gang that stopped.
pub(crate) fn machine(state: &State, node: &Node, now: Timestamp) -> Machine {
    if signals(state, node, now) != Signals::Both {
        return Machine::Answers;
    }
    let has_stopped = progress(state, node).any(|at| now.since(at) >= limits::REPORT_WITHIN);
    match node.power() {
        Power::Off => Machine::Off,
        Power::On | Power::Unknown if !state.is_on(Guard::PowerOffFirst) => Machine::Off,
        Power::On if has_stopped || !state.is_on(Guard::SecondPath) => Machine::Dead,
        Power::On | Power::Unknown => Machine::Silent,
    }
}

/// Whether backend and agent see the node.
pub(crate) fn signals(state: &State, node: &Node, now: Timestamp) -> Signals {
    let is_silent = last_alive(state, node).is_none_or(|at| now.since(at) >= limits::REPORT_WITHIN);
    match (node.ready(), is_silent) {
        (Ready::Yes, _) => Signals::Reachable,
        (Ready::No | Ready::Unknown, true) => Signals::Both,
        (Ready::No | Ready::Unknown, false) if state.is_on(Guard::TwoSignals) => Signals::One,
        (Ready::No | Ready::Unknown, false) => Signals::Both,
    }
}

fn health_of(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Health {
    let worst = findings.list.as_slice().first().map(|finding| finding.response);
    match (worst, signals(state, node, now)) {
        (Some(Response::Remove), _) | (_, Signals::Both) => Health::Condemned,
        (Some(Response::Watch), _) | (_, Signals::One) => Health::Watched,
        (Some(Response::Note) | None, Signals::Reachable) => Health::Clear,
    }
}

/// Whether Mainstay removed the node and its cordon is not there.
pub(crate) fn is_uncordoned(node: &Node) -> bool {
    node.presence.is_ours() && node.schedulable() != Schedulable::NotByUs
}

/// Whether the budgets are kept with a node out of service that Mainstay removed.
fn budget(state: &State, node: &Node) -> Budget {
    if is_uncordoned(node) && !keeps_budget(state, node) { Budget::Lost } else { Budget::Kept }
}

/// The count that the removal of a node is compared with.
pub(crate) fn ledger(node: &Node, permit: Permit) -> Ledger {
    match permit {
        Permit::Granted | Permit::NeedsApproval | Permit::OnPaper if node.is_out_anyway() => Ledger::Ours,
        Permit::OnPaper if !node.presence.is_ours() => Ledger::Paper,
        Permit::Granted | Permit::NeedsApproval | Permit::OnPaper => Ledger::Real,
    }
}

/// The permit for the next action in the node's stage.
pub(crate) fn permit_of_stage(state: &State, node: &Node, now: Timestamp) -> Permit {
    let permit_of_kind = permit(state, node, kind_of_stage(state, node, now));
    let is_planned = matches!(node.status.stage, Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading);
    // Before Mainstay tests a node that others cordoned, it adds its own taint.
    if is_planned && permit_of_kind == Permit::Granted {
        return permit(state, node, ActionKind::Cordon);
    }
    permit_of_kind
}

/// The next action in the node's stage.
pub(crate) fn kind_of_stage(state: &State, node: &Node, now: Timestamp) -> ActionKind {
    match node.status.stage {
        Stage::InService if node.schedulable() == Schedulable::NotByUs => ActionKind::Return,
        Stage::InService | Stage::Suspect | Stage::Held | Stage::Retired => ActionKind::Cordon,
        Stage::Draining if !node.gangs.is_empty() && machine(state, node, now) == Machine::Dead => {
            ActionKind::PowerCycle
        }
        Stage::Quarantined | Stage::Draining => ActionKind::Drain,
        Stage::Repairing => match orders::next_step(state, node, now) {
            Climb::Try(step) => permit::kind_of(step),
            Climb::Exhausted => ActionKind::Drain,
        },
        Stage::Bootstrapping | Stage::Qualifying | Stage::Maintenance | Stage::Upgrading => ActionKind::Return,
    }
}

pub(crate) fn permit(state: &State, node: &Node, kind: ActionKind) -> Permit {
    if !state.is_on(Guard::Mode) {
        return Permit::Granted;
    }
    permit::permit(&state.cell, state.policy(node), kind, &action(node, kind))
}

pub(crate) fn work(state: &State, node: &Node, now: Timestamp) -> Work {
    if node.gangs.is_empty() {
        return Work::Gone;
    }
    let saves = node.status.stage == Stage::Draining
        && node.gangs.iter().any(|gang| drain::saves_until(state, node, gang, now).is_some());
    if saves { Work::Saving } else { Work::Leaving }
}

fn proof(node: &Node) -> Proof {
    if node.is_reported_by_another() {
        return Proof::Lapsed;
    }
    if node.is_untested() {
        return Proof::Lapsed;
    }
    let (Some(passed), Some(report)) = (&node.passed, &node.report) else { return Proof::Stands };
    let mut results = report.results.iter().filter(|(nonce, _)| Some(nonce) == passed.nonce.as_ref());
    let is_revoked = results.any(|(_, verdict)| *verdict != Verdict::Passed);
    if is_revoked || report.boot_id != passed.boot_id { Proof::Lapsed } else { Proof::Stands }
}

/// Evidence about the whole node. Its count is one: the agent drops an unknown line a day after its last occurrence, and
/// other agents end their conditions themselves.
fn of_node(source: Source, code: &Code, first_seen_at: Timestamp, last_seen_at: Timestamp) -> Evidence {
    let key = EvidenceKey { source, code: code.clone(), device: None, detail: Detail::NONE.get() };
    Evidence { key, count: 1, first_seen_at, last_seen_at }
}
