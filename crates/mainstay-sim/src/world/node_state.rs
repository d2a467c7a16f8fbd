//! State of the nodes after a decision, entered into the accounting with the ground truth.

use mainstay_model::{Decision, NodeSummary, PlannedWork, Ready, Schedulable, Stage, WaitingOn};

use super::World;
use crate::accounting::{OTHERS, PLANNED, UNREADY};
use crate::event_log::StageChange;
use crate::fleet;
use crate::machine::{Machine, Repaired};

/// Rules that are not the brain's own judgement of a node.
const REQUEST: &str = "request";

impl World {
    pub(super) fn stand(&mut self, decision: &Decision) {
        for line in &decision.report {
            let Some(node) = fleet::number(&line.node).filter(|node| *node < self.shape.nodes) else { continue };
            self.stands(node, line);
            self.update_lemon_status(node, &line.node);
            self.sees_who_waits(node);
            self.closes_ticket(node);
        }
    }

    fn stands(&mut self, node: u32, line: &NodeSummary) {
        let now = self.now;
        self.promises.waits(node, line.waiting_on, now);
        let before = self.machines[node as usize].seen;
        if (before.stage, before.waiting_on) != (line.stage, line.waiting_on) {
            self.notes(|| format!("{} is {:?}: {}", line.node, line.stage, line.message));
        }
        let rule = line.cause.as_ref().map_or(0, |cause| self.books.rule(cause.as_str()));
        if before.waiting_on != line.waiting_on {
            self.books.waited(before.waiting_on, now.since(before.waiting_since));
            if line.waiting_on != WaitingOn::Nothing {
                *self.books.brain.waits.entry(line.waiting_on).or_default() += 1;
            }
            self.machine(node).seen.waiting_on = line.waiting_on;
            self.machine(node).seen.waiting_since = now;
        }
        let (was_out, is_out) = (before.stage.is_treated(), line.stage.is_treated());
        if before.stage != line.stage
            && let Some(chronicle) = &mut self.chronicle
        {
            let (node, from, to, rule) = (line.node.clone(), before.stage, line.stage, line.cause.clone());
            chronicle.moves(StageChange { at: now, node, from, to, rule });
        }
        if before.stage != line.stage || before.rule != rule {
            let seen = &mut self.machine(node).seen;
            seen.stage = line.stage;
            seen.rule = rule;
            self.settle_out(node);
        }
        if line.stage != Stage::InService {
            self.suspected(node);
        }
        let asked = line.cause.as_ref().is_none_or(|cause| cause.as_str() == REQUEST);
        if is_out && !was_out {
            self.machine(node).seen.taken_out_at = Some(now);
            if !asked {
                if let Some(persisted) = self.engine.persisted(&line.node) {
                    let kind = self.machines[node as usize].kind;
                    let pool = (kind.pool(), self.pool_nodes(kind));
                    self.promises.taken_out(node, persisted, pool, now);
                }
                self.taken_out(node);
                self.check_crash(node, line);
                let kind = self.machines[node as usize].kind;
                self.counts(kind.removal().word());
            }
        }
        if before.stage == Stage::Qualifying && line.stage != Stage::Qualifying {
            self.check_return(node, line);
        }
        if line.stage.gets_jobs() {
            self.machine(node).repaired = Repaired::Nothing;
        }
        if line.stage == Stage::InService
            && let Some(since) = self.machine(node).seen.taken_out_at.take()
        {
            self.books.came_back(now.since(since));
        }
    }

    fn suspected(&mut self, node: u32) {
        let now = self.now;
        let mut faults = std::mem::take(&mut self.machine(node).faults);
        for fault in &mut faults {
            if fault.class.condemns() && fault.counts && fault.suspected_at.is_none() {
                fault.suspected_at = Some(now);
                self.books.detected(fault, now);
            }
        }
        self.machine(node).faults = faults;
    }

    /// A rule took a node out: rightly where a fault that condemns is there.
    fn taken_out(&mut self, node: u32) {
        let now = self.now;
        self.books.quarantines.total += 1;
        let mut faults = std::mem::take(&mut self.machine(node).faults);
        let mut right = false;
        for fault in faults.iter_mut().filter(|fault| fault.class.condemns()) {
            right = true;
            if fault.taken_out_at.is_none() && fault.counts {
                fault.taken_out_at = Some(now);
                self.books.taken_out(fault, now);
            }
        }
        self.machine(node).faults = faults;
        if right {
            self.books.quarantines.right += 1;
            return;
        }
        self.books.quarantines.wrong += 1;
        let passing = self.machine(node).faults.first().map(|fault| fault.class);
        let looked_like = self.machine(node).false_alarm.map(|(class, _)| class).or(passing);
        if let Some(class) = looked_like {
            self.books.class(class).falsely_taken_out += 1;
        }
    }

    /// Books the time that a node was out so far, and from now on what it is out for.
    pub(super) fn settle_out(&mut self, node: u32) {
        let now = self.now;
        let (stage, rule) = (self.machines[node as usize].seen.stage, why_out(&self.machines[node as usize]));
        let rule = match rule {
            OutOfServiceReason::No => None,
            OutOfServiceReason::Rule(rule) => Some(rule),
            OutOfServiceReason::Named(name) => Some(self.books.rule(name)),
        };
        let before = self.machine(node).out.take();
        if let Some((rule, stage, since)) = before {
            self.books.was_out(rule, stage, now.since(since));
        }
        self.machine(node).out = rule.map(|rule| (rule, stage, now));
        let nodes = self.books.out.value + u32::from(rule.is_some()) - u32::from(before.is_some());
        self.books.out.set(nodes, now);
    }

    pub(super) fn settle_all_out(&mut self) {
        for node in 0..self.shape.nodes {
            self.settle_out(node);
        }
    }
}

/// Why a node is not in service.
enum OutOfServiceReason {
    No,
    Rule(u16),
    Named(&'static str),
}

fn why_out(machine: &Machine) -> OutOfServiceReason {
    let facts = &machine.facts;
    match machine.seen.stage {
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => {
            OutOfServiceReason::Rule(machine.seen.rule)
        }
        Stage::Maintenance | Stage::Upgrading | Stage::Bootstrapping | Stage::Retired => {
            OutOfServiceReason::Named(PLANNED)
        }
        Stage::InService | Stage::Suspect | Stage::Held if facts.planned != PlannedWork::Nothing => {
            OutOfServiceReason::Named(PLANNED)
        }
        Stage::InService | Stage::Suspect | Stage::Held if facts.ready != Ready::Yes => {
            OutOfServiceReason::Named(UNREADY)
        }
        Stage::InService | Stage::Suspect | Stage::Held if facts.schedulable != Schedulable::Yes => {
            OutOfServiceReason::Named(OTHERS)
        }
        Stage::InService | Stage::Suspect | Stage::Held => OutOfServiceReason::No,
    }
}
