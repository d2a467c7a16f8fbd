//! A tool of today that acts in place of Mainstay: it cordons a node as soon as a rule flags it, waits for the job or for a
//! timer, reboots the node and returns it without tests. It has Mainstay's detection, and no budget, breaker, cost model
//! or request for a checkpoint. What a reboot did not repair goes to the technicians.

use mainstay_model::{PlannedWork, Ready, RepairStep, Response, Schedulable, Span, Timestamp};

use super::World;
use super::event::Event;
use crate::job::StopSource;
use crate::machine::Power;

/// How long after a report the tool looks at the findings.
const LOOKS_AFTER: Span = Span::seconds(10);
/// A node that is flagged this often within [`REPEATS_WITHIN`] of its return goes to a technician.
const REPEATS_MAX: u32 = 2;
const REPEATS_WITHIN: Span = Span::hours(24);

/// What the tool does with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ToolPhase {
    #[default]
    Idle,
    Drains,
    Reboots,
    /// A technician was called.
    Waits,
}

/// What the tool knows of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ToolView {
    pub(crate) phase: ToolPhase,
    /// How often it cordoned the node; a timer of an earlier cordon does nothing.
    cordons: u32,
    returned_at: Option<Timestamp>,
    repeats: u32,
    /// When the tool looks next.
    looks_at: Option<Timestamp>,
}

impl World {
    /// There may be something to see on a node.
    pub(super) fn tool_will_look(&mut self, node: u32) {
        if self.policies.drain_tool.is_none() || self.machine(node).tool.looks_at.is_some() {
            return;
        }
        let at = self.now + LOOKS_AFTER;
        self.machine(node).tool.looks_at = Some(at);
        self.agenda.add(at, Event::ToolLooks { node });
    }

    pub(super) fn tool_looks(&mut self, node: u32) {
        let Some(tool) = self.policies.drain_tool else { return };
        let machine = self.machine(node);
        machine.tool.looks_at = None;
        let is_free_to_act = machine.tool.phase == ToolPhase::Idle
            && machine.facts.planned == PlannedWork::Nothing
            && machine.facts.schedulable == Schedulable::Yes;
        let is_news = machine.facts.ready != Ready::Yes || machine.heard_at >= machine.tool.returned_at;
        if !is_free_to_act || !is_news {
            return;
        }
        let findings = self.engine.found(&self.names[node as usize]);
        let Some(finding) = findings.iter().find(|finding| finding.response == Response::Remove) else { return };
        let automatic = [RepairStep::RestartService, RepairStep::ResetGpu, RepairStep::Reboot, RepairStep::PowerCycle];
        let has_step = finding.rungs.as_slice().iter().any(|step| automatic.contains(step));
        let now = self.now;
        let machine = self.machine(node);
        let is_soon = machine.tool.returned_at.is_some_and(|at| now.since(at) <= REPEATS_WITHIN);
        machine.tool.repeats = if is_soon { machine.tool.repeats + 1 } else { 0 };
        machine.tool.cordons += 1;
        machine.tool.phase = ToolPhase::Drains;
        machine.facts.schedulable = Schedulable::NotByOthers;
        let cordon = machine.tool.cordons;
        if !has_step || machine.tool.repeats >= REPEATS_MAX {
            machine.tool.phase = ToolPhase::Waits;
        }
        self.tell_node(node);
        if self.machine(node).tool.phase == ToolPhase::Waits {
            self.work_begins(node, PlannedWork::Maintenance);
            self.opens_ticket(node);
            return;
        }
        if let Some(after) = tool.stops_jobs_after {
            self.agenda.add(now + after, Event::ToolStops { node, cordon });
        }
        self.tool_reboots(node);
    }

    /// The timer of a drain is over.
    pub(super) fn tool_stops(&mut self, node: u32, cordon: u32) {
        let machine = self.machine(node);
        let is_current = machine.tool.phase == ToolPhase::Drains && machine.tool.cordons == cordon;
        if let Some(job) = machine.job.filter(|_| is_current) {
            self.told_to_stop(job, StopSource::Tool);
        }
    }

    /// Reboots a node that it drains as soon as no job is left.
    pub(super) fn tool_reboots(&mut self, node: u32) {
        let machine = self.machine(node);
        if machine.tool.phase != ToolPhase::Drains || machine.job.is_some() {
            return;
        }
        machine.tool.phase = ToolPhase::Reboots;
        let step = if machine.power == Power::Up { RepairStep::Reboot } else { RepairStep::PowerCycle };
        let up_at = self.now + super::agent::down_for(step);
        self.mends(node, step, None);
        self.down_and_up(node, up_at, None);
    }

    /// The node is up again, or a technician is done with it: it gets jobs without a test.
    pub(super) fn tool_returns(&mut self, node: u32) {
        let now = self.now;
        let machine = self.machine(node);
        if matches!(machine.tool.phase, ToolPhase::Idle | ToolPhase::Drains) {
            return;
        }
        if machine.facts.planned != PlannedWork::Nothing {
            machine.tool.phase = ToolPhase::Waits;
            return;
        }
        machine.tool.phase = ToolPhase::Idle;
        machine.tool.returned_at = Some(now);
        machine.uncordon_by_others();
        self.tell_node(node);
    }
}
