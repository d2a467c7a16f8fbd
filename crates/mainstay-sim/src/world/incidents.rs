//! Incidents that meet jobs, agents and repairs at a bad moment: agents that are rolled out while orders wait, partitions,
//! faults during tests, crashed and hung jobs, operators who undo a cordon, and parts that take weeks.

use mainstay_model::{Contract, OrderOutcome, Ready, RepairStep, Response, Schedulable, Serial, Span, Task, Verdict};

use super::event::{Event, FaultEnd};
use super::{RAISED_FLOOR, World};
use crate::fleet::gpu_place;
use crate::injected_fault::Incident;
use crate::job::{Job, JobSpec, State};
use crate::machine::Power;
use crate::signature::SignatureChoice;
use crate::{Cause, FaultClass, InjectionKind, ScheduledFault};

/// A rollout goes from node to node this fast.
const ROLLOUT_EVERY: Span = Span::seconds(20);

/// A fault during tests begins this long after they did.
const INTO_TESTS: Span = Span::minutes(5);

/// The application errors that each GPU of a crashed job logs: an illegal address, a page fault, a stopped channel.
const CRASH_CODES: [&str; 3] = ["13, Graphics SM Warp Exception", "31, MMU Fault", "43, Ch 00000010"];

/// What the names of the jobs that take spare nodes begin with.
const SMALL_JOB: &str = "small-";

/// What a memory error logs that stopped one process only.
const CONTAINED: &str = "Contained: DRAM";

impl World {
    pub(super) fn incident(&mut self, incident: Incident) {
        match incident {
            Incident::AgentRollout { first, nodes, down } => {
                for number in 0..nodes {
                    let node = (first + number) % self.shape.nodes;
                    self.agenda
                        .add(self.now + Span(ROLLOUT_EVERY.0 * u64::from(number)), Event::AgentStops { node, down });
                }
            }
            Incident::Partition { node, lasts } => self.is_cut_off(node, lasts),
            Incident::FaultDuringTests { fault } => self.during_tests.push_back(fault),
            Incident::CrashedJob { node, key } => self.job_crashes(node, key),
            Incident::CordonUndone { node } => self.cordon_is_undone(node),
            Incident::TwoNodesOfOneGang { fault } => self.two_nodes_of_one_gang(&fault),
            Incident::TwoGpusOfOneNode { fault } => self.two_gpus_of_one_node(&fault),
            Incident::HungJob { number, lasts } => self.job_hangs(number, lasts),
            Incident::PartOnBackOrder { fault } => self.part_is_on_back_order(&fault),
            Incident::SparesTaken { lasts } => self.spares_are_taken(lasts),
            Incident::FloorRaised { lasts } => {
                self.sets_floor(RAISED_FLOOR);
                self.ends_after(0, FaultEnd::Floor, lasts);
                self.counts(InjectionKind::FloorRaised.word());
            }
        }
    }

    /// An agent stops to be replaced. What it had begun ends without a result that anybody could trust.
    pub(super) fn agent_stops(&mut self, node: u32, down: Span) {
        let now = self.now;
        let machine = self.machine(node);
        if !machine.speaks(now) {
            return;
        }
        for order in std::mem::take(&mut machine.running) {
            match order.task {
                Task::Suite(_) => machine.ends_test(order.nonce, Verdict::Unknown),
                // The BMC carries on without the agent.
                Task::Rung(RepairStep::PowerCycle) => machine.running.push(order),
                Task::Rung(_) => machine.ends_order(order.nonce, OrderOutcome::Failed),
            }
        }
        machine.silent_until = Some(now + down);
        self.agenda.add(now + down, Event::Ends { node, ending: FaultEnd::Silence });
        self.counts(InjectionKind::AgentRollout.word());
    }

    /// The API server hears neither kubelet nor agent of a machine that works on.
    fn is_cut_off(&mut self, node: u32, lasts: Span) {
        let now = self.now;
        if !self.machine(node).speaks(now) || self.machine(node).facts.ready != Ready::Yes {
            return;
        }
        self.loses_touch(node, Ready::Unknown);
        self.machine(node).silent_until = Some(now + lasts);
        self.agenda.add(now + lasts, Event::Ends { node, ending: FaultEnd::Silence });
        self.agenda.add(now + lasts, Event::Ends { node, ending: FaultEnd::Unready });
        self.counts(InjectionKind::Partition.word());
    }

    /// Tests begin: one of the faults that wait for that begins a little later, on another GPU each time.
    pub(super) fn tests_begin(&mut self, node: u32) {
        self.machine(node).tested_since = Some(self.now);
        let findings = self.engine.found(&crate::fleet::name(node));
        let machine = self.machine(node);
        let gpus: Vec<Serial> = (0..machine.kind.gpus()).map(|gpu| machine.gpu_serial(gpu)).collect();
        let flags = findings.into_iter().filter(|finding| finding.response == Response::Remove);
        let on_gpus =
            flags.filter_map(|finding| Some((finding.rule, finding.device.filter(|part| gpus.contains(part))?)));
        machine.flagged_before_tests = on_gpus.collect();
        if self.calm {
            return;
        }
        let Some(fault) = self.during_tests.pop_front() else { return };
        let at = self.now + INTO_TESTS;
        self.agenda.add(at, Event::Breaks { onset: Box::new(ScheduledFault { at, node, ..fault }) });
        self.counts(InjectionKind::FaultDuringTests.word());
    }

    /// A job crashes: each of its GPUs logs what a program that crashes leaves behind, and nothing is broken.
    fn job_crashes(&mut self, node: u32, key: u64) {
        let now = self.now;
        let machine = self.machine(node);
        if !machine.speaks(now) {
            return;
        }
        let gpus = machine.kind.gpus();
        let lines = (0..gpus).flat_map(|gpu| {
            CRASH_CODES.map(|code| {
                format!("NVRM: Xid (PCI:{}): {}", gpu_place(gpu), code.replacen(", ", ", pid=4242, name=python3, ", 1))
            })
        });
        let lines: Vec<String> = lines.collect();
        let mut is_news = false;
        for line in &lines {
            is_news |= machine.hears(line, now);
        }
        machine.crashed_at = Some(now);
        if is_news {
            self.will_report(node);
        }
        self.hits(node, Cause::Fault(FaultClass::SoftwareAndWatchdog), key);
        self.counts(InjectionKind::CrashedJob.word());
    }

    /// An operator removes Mainstay's taint from the next node that has it.
    fn cordon_is_undone(&mut self, node: u32) {
        let all = self.shape.nodes;
        let ours = |node: &u32| self.machines[*node as usize].facts.schedulable == Schedulable::NotByUs;
        let Some(node) = (0..all).map(|number| (node + number) % all).find(ours) else { return };
        let machine = self.machine(node);
        let by_others = std::mem::take(&mut machine.by_others_too);
        machine.facts.schedulable = if by_others { Schedulable::NotByOthers } else { Schedulable::Yes };
        self.notes(|| format!("an operator undoes the cordon of {}", crate::fleet::name(node)));
        self.tell_node(node);
        self.counts(InjectionKind::CordonUndone.word());
    }

    /// Two nodes of the largest gang break at once, and its job could go on.
    fn two_nodes_of_one_gang(&mut self, fault: &ScheduledFault) {
        let runs = |job: &&Job| job.state == State::Running && job.stuck.is_none() && job.nodes.len() >= 2;
        let Some(job) = self.jobs.iter().filter(runs).max_by_key(|job| (job.nodes.len(), job.number)) else { return };
        let voice = self.voices.in_manner(fault.class, SignatureChoice::Saying("Row Remapper: New row"));
        let both = [job.nodes[0], job.nodes[job.nodes.len() / 2]];
        for (node, number) in both.into_iter().zip(0..) {
            self.breaks_as(&ScheduledFault { node, key: fault.key ^ number << 50, ..*fault }, voice);
        }
        self.counts(InjectionKind::TwoNodesOfOneGang.word());
    }

    /// A GPU breaks, and the next one logs the same error. It works, but that is unknown before it was reset.
    fn two_gpus_of_one_node(&mut self, fault: &ScheduledFault) {
        let voice = self.voices.in_manner(fault.class, SignatureChoice::Saying(CONTAINED));
        let now = self.now;
        let machine = self.machine(fault.node);
        if machine.power != Power::Up || !machine.faults.is_empty() {
            return;
        }
        let next = (fault.device + 1) % machine.kind.gpus();
        machine.hears(&format!("NVRM: Xid (PCI:{}): 94, pid=7062, {CONTAINED}", gpu_place(next)), now);
        self.breaks_as(fault, voice);
        self.counts(InjectionKind::TwoGpusOfOneNode.word());
    }

    /// Small jobs take every free node, so that no stopped job finds a spare.
    fn spares_are_taken(&mut self, lasts: Span) {
        for node in self.free.clone() {
            let Ok(number) = u32::try_from(self.jobs.len()) else { return };
            let wish = JobSpec {
                kind: SMALL_JOB,
                submitted_at: self.now,
                nodes: 1,
                contract: Contract::None,
                save: Span::seconds(30),
                start: Span::seconds(30),
                work: lasts,
                period: Span::minutes(10),
                pause: Span::ZERO,
                saved: Span::ZERO,
            };
            self.jobs.push(Job::new(number, wish));
            self.begins(number, &[node]);
            self.counts(InjectionKind::SparesTaken.word());
        }
    }

    /// A job stops making progress, and its pods go on as if nothing were wrong.
    fn job_hangs(&mut self, number: u32, lasts: Span) {
        let runs = |job: &&Job| job.state == State::Running && job.stuck.is_none();
        let running: Vec<u32> = self.jobs.iter().filter(runs).map(|job| job.number).collect();
        let Some(job) = running.get(number as usize % running.len().max(1)).copied() else { return };
        self.sticks(job, Cause::Fault(FaultClass::SoftwareAndWatchdog), lasts);
        self.counts(InjectionKind::HungJob.word());
    }

    /// A GPU breaks for good, and its part does not come before the end of the run.
    fn part_is_on_back_order(&mut self, fault: &ScheduledFault) {
        let voice = self.voices.in_manner(fault.class, SignatureChoice::Saying("All reserved rows"));
        let machine = self.machine(fault.node);
        if machine.power != Power::Up || !machine.faults.is_empty() {
            return;
        }
        self.breaks_as(fault, voice);
        let machine = self.machine(fault.node);
        machine.part_is_late = true;
        for fault in &mut machine.faults {
            fault.mends_at = Some(RepairStep::Replace);
        }
        self.counts(InjectionKind::PartOnBackOrder.word());
    }
}
