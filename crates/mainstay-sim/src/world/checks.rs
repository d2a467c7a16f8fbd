//! Periodic checks of the properties, and of the end of the recovery phase.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{
    BreakerState, Mode, NodeSummary, Persisted, PlannedWork, Proposal, ProposalOutcome, Ready, RequestKind, RuleName,
    Schedulable, Serial, Span, Stage, Timestamp, WaitingOn,
};

use super::World;
use crate::fleet::NodeKind;
use crate::machine::{Fault, Machine, Repaired};
use crate::property::UNREACHABLE;
use crate::{FaultClass, InjectionKind, Situation, fleet};

/// A person's word is heeded within this time: the longest stall of a watch, the latest fact, and a moment.
const HEEDED_WITHIN: Span = Span::minutes(25);

/// A report arrives within this time, unless the watch stalls.
const HEARD_WITHIN: Span = Span::minutes(5);

impl World {
    /// Checks every property.
    pub(crate) fn check_properties(&mut self) {
        let now = self.now;
        if let Err(difference) = self.engine.recount() {
            self.promises.record_violation(now, "stored counts equal recomputed counts", difference);
        }
        for node in 0..self.shape.nodes {
            let name = &self.names[node as usize];
            let (Some(persisted), Some(line)) = (self.engine.persisted(name), self.engine.report(name)) else {
                continue;
            };
            self.promises.look_at(node, persisted, line.waiting_on, now);
            let is_avoidable = self.promises.calm_for(now) >= HEEDED_WITHIN
                && line.stage == Stage::Suspect
                && line.waiting_on == WaitingOn::Budget;
            if is_avoidable && is_forgotten(&self.machines[node as usize], now) {
                let what = format!("{name}: new jobs do not avoid it");
                self.promises.record_violation(now, "a flagged node that waits is avoided", what);
            }
            if let Some(what) = unheeded(&self.machines[node as usize], line.stage, line.waiting_on, now) {
                self.promises.record_violation(now, "an operator's request is carried out", format!("{name}: {what}"));
            }
        }
        self.check_dry_run_budget();
        let machines = &self.machines;
        let why = |node: u32| self.engine.why(&self.names[node as usize]).map(|why| why.to_string());
        self.promises.look_at_waits(now, |node| machines[node as usize].part_is_late, why);
    }

    /// While nothing may be done, no more is decided on paper than the budgets allow.
    fn check_dry_run_budget(&mut self) {
        let Some(since) = self.observing_since else { return };
        let (mut by_rack, mut by_pool): (BTreeMap<(NodeKind, u32), u32>, BTreeMap<NodeKind, u32>) = Default::default();
        let on_paper = |persisted: &Persisted, registered_at: Timestamp| {
            let open = persisted.proposals.as_slice().last().filter(|last| last.happened == ProposalOutcome::Pending);
            // While the node was deleted, another one got its place.
            open.is_some_and(|proposal: &Proposal| proposal.decided_at >= since.max(registered_at))
        };
        for (node, name) in (0..).zip(self.names.iter()) {
            // What is out anyway spends nothing on paper.
            let machine = &self.machines[node as usize];
            let takes_work = machine.facts.ready == Ready::Yes && machine.facts.schedulable == Schedulable::Yes;
            let is_on_paper = |persisted| on_paper(persisted, machine.registered_at);
            if takes_work && self.engine.persisted(name).is_some_and(is_on_paper) {
                let kind = machine.kind;
                *by_rack.entry((kind, self.hall.rack(node).start)).or_default() += 1;
                *by_pool.entry(kind).or_default() += 1;
            }
        }
        let rack = by_rack.iter().find(|((kind, _), nodes)| **nodes > self.rack_nodes_out_max(*kind));
        let pool = by_pool.iter().find(|(kind, nodes)| **nodes > self.nodes_out_max(**kind));
        for (nodes, place) in [(rack.map(|(_, nodes)| *nodes), "rack"), (pool.map(|(_, nodes)| *nodes), "pool")] {
            if let Some(nodes) = nodes {
                let what = format!("{nodes} nodes of one {place} are out of service in the dry run");
                self.promises.record_violation(self.now, "dry-run decisions use the dry-run budget", what);
            }
        }
    }

    /// Whether every node is well, in service and waited for by nobody.
    pub(crate) fn is_calm(&self) -> bool {
        self.unsettled().next().is_none()
    }

    /// Whether a node is in service and nothing is wrong with it.
    pub(crate) fn is_well(&self, node: u32) -> bool {
        let machine = &self.machines[node as usize];
        machine.seen.stage == Stage::InService && machine.faults.is_empty()
    }

    /// Whether anything is wrong with a node in truth.
    pub(crate) fn is_broken(&self, node: u32) -> bool {
        !self.machines[node as usize].faults.is_empty()
    }

    fn unsettled(&self) -> impl Iterator<Item = (u32, String)> + '_ {
        self.machines.iter().filter_map(|machine| {
            let line = self.engine.report(&self.names[machine.number as usize])?;
            // Its part comes weeks after the end of the run.
            let waits_for_part = machine.part_is_late && machine.crew;
            let settled = waits_for_part
                || line.stage == Stage::InService
                && line.waiting_on == WaitingOn::Nothing
                && machine.facts.ready == Ready::Yes
                && machine.facts.schedulable == Schedulable::Yes
                && machine.facts.planned == PlannedWork::Nothing
                && machine.request.is_none()
                // Nobody can know of wrong results before somebody looks at them.
                && machine.faults.iter().all(|fault| fault.class == FaultClass::GpuSilentDataCorruption);
            let how = || {
                let faults: Vec<&str> = machine.faults.iter().map(|fault| fault.class.word()).collect();
                format!(
                    "{:?}, waits on {}; {:?}, {:?}, {:?}, request {:?}, crew {}, faults {faults:?}",
                    line.stage,
                    line.waiting_on.word(),
                    machine.facts.ready,
                    machine.facts.schedulable,
                    machine.facts.planned,
                    machine.request.as_ref().map(|request| request.kind),
                    machine.crew,
                )
            };
            (!settled).then(|| (machine.number, how()))
        })
    }

    /// The calm did not come in time: says who is still waiting.
    pub(crate) fn still_waiting(&mut self) {
        let found: Vec<(u32, String)> = self.unsettled().take(5).collect();
        for (node, how) in found {
            let what = format!("{}: {how}", fleet::name(node));
            self.promises.record_violation(self.now, "every healthy node returns to service in time", what);
        }
    }

    /// What happened, how often.
    pub(crate) fn happened(&self) -> BTreeMap<String, u64> {
        let brain = &self.books.brain;
        let mut happened: BTreeMap<String, u64> = self.books.faults().collect();
        happened.insert("taken-out".to_owned(), self.books.quarantines.total);
        happened.insert("late-fact".to_owned(), self.wire.late);
        let counted = |word: &'static str| self.counted.get(word).copied().unwrap_or(0);
        happened.extend(InjectionKind::ALL.map(|kind| (kind.word().to_owned(), counted(kind.word()))));
        let waited = |on: WaitingOn| brain.waits.get(&on).copied().unwrap_or(0);
        let breakers = |state: &'static str| self.breakers_seen.get(state).copied().unwrap_or(0);
        for situation in Situation::ALL {
            let times = match situation {
                Situation::LostEffect => brain.effects_lost,
                Situation::SpentBudget => waited(WaitingOn::Budget),
                Situation::SpentFloor => waited(WaitingOn::CapacityFloor),
                Situation::BreakerOpen => breakers("open"),
                Situation::BreakerHalfOpen => breakers("half-open"),
                Situation::BreakerClosed => breakers("closed"),
                Situation::PodsLeftBehind | Situation::DrainWithoutSpare => counted(situation.word()),
                Situation::RemovalHgx | Situation::RemovalMig | Situation::RemovalNvl72 => counted(situation.word()),
                Situation::JobHgx | Situation::JobMig | Situation::JobNvl72 => counted(situation.word()),
            };
            happened.insert(situation.word().to_owned(), times);
        }
        happened
    }

    /// Counts how often a breaker opened, was tried on a node, and closed.
    pub(super) fn watches_breakers(&mut self) {
        let lines = self.engine.breakers();
        for kind in self.hall.kinds() {
            let stopped = lines.iter().filter(|line| line.pool == kind.pool());
            self.stopped_rules.extend(stopped.map(|line| (*kind, line.rule.clone())));
        }
        let seen: BTreeMap<RuleName, BreakerState> = lines.into_iter().map(|line| (line.rule, line.state)).collect();
        if seen == self.breakers {
            return;
        }
        let rules: BTreeSet<&RuleName> = seen.keys().chain(self.breakers.keys()).collect();
        for rule in rules {
            let word = match (self.breakers.get(rule), seen.get(rule)) {
                (before, after) if before == after => continue,
                (_, Some(BreakerState::Open)) => "open",
                (_, Some(BreakerState::HalfOpen)) => "half-open",
                (_, Some(BreakerState::Closed) | None) => "closed",
            };
            *self.breakers_seen.entry(word).or_default() += 1;
        }
        self.breakers = seen;
    }

    /// A rule took out a node that nothing was ever wrong with, except that jobs crashed on it.
    pub(super) fn check_crash(&mut self, node: u32, line: &NodeSummary) {
        let machine = &self.machines[node as usize];
        let is_unreachable = line.cause.as_ref().is_some_and(|cause| cause.as_str() == UNREACHABLE);
        if machine.crashed_at.is_some() && machine.was_always_sound && !is_unreachable {
            let what = format!("{}: removed by {:?}", line.node, line.cause);
            self.promises.record_violation(self.now, "a crashed job removes no node", what);
        }
    }

    /// A node whose tests passed goes back into service. A fault that began during the tests and was reported in time must
    /// have failed them, and a part that was flagged and not treated must be treated first.
    pub(super) fn check_return(&mut self, node: u32, line: &NodeSummary) {
        let machine = &self.machines[node as usize];
        let Some(since) = machine.tested_since else { return };
        // Tests before any repair judge the rule, and evidence of a rule that was stopped decides nothing.
        let was_stopped = |rule: &RuleName| self.stopped_rules.contains(&(machine.kind, rule.clone()));
        let is_removed = machine.request.as_ref().is_some_and(|request| request.kind.takes_out());
        let is_kept = machine.facts.schedulable == Schedulable::NotByUs;
        if machine.repaired == Repaired::Nothing || !machine.has_passed() || !is_kept || is_removed {
            return;
        }
        let is_heard = |at: Timestamp| self.now.since(at) > HEARD_WITHIN;
        let is_new = |fault: &&Fault| fault.class.condemns() && fault.began_at >= since;
        let mut faults = machine.faults.iter().filter(is_new);
        let is_flagged = matches!(line.stage, Stage::Suspect | Stage::Quarantined);
        // What its leaf switch explains is no fault of the node.
        let is_shared = line.waiting_on == WaitingOn::SharedCause;
        let by_stopped_rule = line.cause.as_ref().is_none_or(was_stopped);
        let heard = faults.find(|fault| fault.reported_at.is_some_and(is_heard));
        let new = heard.filter(|_| is_flagged && !by_stopped_rule && !is_shared).map(|fault| fault.class.word());
        let is_open = |(rule, gpu): &&(RuleName, Serial)| !machine.repaired.has_treated(gpu) && !was_stopped(rule);
        let mut flagged = machine.flagged_before_tests.iter();
        let untreated = flagged.find(is_open).filter(|_| line.stage.gets_jobs()).map(|(rule, _)| rule.clone());
        if let Some(class) = new {
            let what = format!("{}: {class} was reported during its tests", fleet::name(node));
            self.promises.record_violation(self.now, "a fault during the tests fails them", what);
        }
        if let Some(rule) = untreated {
            let what = format!("{}: {rule} flagged a part that no step treated", fleet::name(node));
            self.promises.record_violation(self.now, "passed tests clear treated parts only", what);
        }
    }

    /// Keeps a line for whoever reads the story later.
    pub(super) fn notes(&mut self, line: impl FnOnce() -> String) {
        if let Some(diary) = &mut self.diary {
            diary.push((self.now, line()));
        }
    }

    /// Notes since when nothing may be done.
    pub(super) fn observes(&mut self, mode: Mode, now: Timestamp) {
        self.observing_since = (mode == Mode::Observe).then(|| self.observing_since.unwrap_or(now));
    }
}

/// Whether a node that waits for a budget gets jobs like any other. A request removes it without a rule.
fn is_forgotten(machine: &Machine, now: Timestamp) -> bool {
    let gets_jobs = machine.facts.ready == Ready::Yes && machine.facts.schedulable == Schedulable::Yes;
    let waits_long = now.since(machine.seen.waiting_since) >= HEEDED_WITHIN;
    gets_jobs && waits_long && machine.request.is_none() && !machine.facts.avoided
}

/// What a person asked for and did not get in time.
fn unheeded(machine: &Machine, stage: Stage, waiting_on: WaitingOn, now: Timestamp) -> Option<String> {
    let kind = machine.request.as_ref()?.kind;
    if now.since(machine.requested_at) < HEEDED_WITHIN {
        return None;
    }
    let heeded = match kind {
        RequestKind::Hold => stage == Stage::Held || stage == Stage::Retired,
        RequestKind::Quarantine | RequestKind::Drain | RequestKind::Retire => {
            stage != Stage::InService || waiting_on != WaitingOn::Nothing
        }
        RequestKind::Return => true,
    };
    (!heeded).then(|| format!("asked to {kind:?}, and is {stage:?}, waiting on {}", waiting_on.word()))
}
