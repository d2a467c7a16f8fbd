//! Operations of a live fleet: inject faults, apply user actions, read the state, fill the event log.

use mainstay_engine::Engine;
use mainstay_model::{Effect, Mode, NodeName, Request, Span, Timestamp};

use super::World;
use super::agent::{UNHEARD_AFTER, last_beat};
use super::event::{Event, FaultEnd};
use crate::event_log::{AttemptEnd, EventLog, Interruption, JobLog};
use crate::fleet;
use crate::injected_fault::{InjectedFault, InjectionEvent};
use crate::job::{Job, LostProgress};
use crate::machine::{Fault, FaultVisibility, Machine};
use crate::signature::{JobImpact, SignatureChoice};
use crate::{Cause, FaultClass, ScheduledFault};

// === impl World: a look ===

impl World {
    pub(crate) const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn machines(&self) -> &[Machine] {
        &self.machines
    }

    pub(crate) fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    pub(crate) fn name(&self, node: u32) -> &NodeName {
        &self.names[node as usize]
    }

    /// The number of a node that there is.
    pub(crate) fn number(&self, name: &NodeName) -> Option<u32> {
        let number = fleet::number(name).filter(|number| *number < self.shape.nodes)?;
        (self.name(number) == name).then_some(number)
    }

    /// The nodes below the leaf that is above this one, it included.
    pub(crate) fn leaf_of(&self, node: u32) -> std::ops::Range<u32> {
        let first = node - node % self.shape.nodes_per_leaf;
        first..(first + self.shape.nodes_per_leaf).min(self.shape.nodes)
    }

    /// When the agent of a node was last heard: most of its heartbeats change nothing and are not told.
    pub(crate) fn heard_at(&self, node: u32) -> Timestamp {
        let machine = &self.machines[node as usize];
        let speaks = machine.speaks(self.now);
        if speaks { machine.reported_at.max(last_beat(node, self.now)) } else { machine.reported_at }
    }

    pub(crate) const fn mode(&self) -> Mode {
        self.cell.mode
    }
}

// === impl World: acts ===

impl World {
    /// Something is going to happen that nobody had written down before.
    pub(crate) fn plants(&mut self, planted: InjectionEvent) {
        self.agenda.add(planted.at, Event::Trouble { number: self.script.len() });
        self.script.push(planted);
    }

    /// Something breaks now, in this manner.
    pub(crate) fn breaks_now(&mut self, class: FaultClass, manner: SignatureChoice, node: u32, device: u32, key: u64) {
        let node = match class.reach() {
            crate::class::FaultScope::Rack => node - node % self.shape.nodes_per_rack,
            crate::class::FaultScope::Leaf => node - node % self.shape.nodes_per_leaf,
            crate::class::FaultScope::Node => node,
        };
        let voice = self.voices.in_manner(class, manner);
        self.breaks_as(&ScheduledFault { at: self.now, class, node, device, key }, voice);
    }

    /// A leaf goes down for a while, and with it the links of its nodes and every word from them: unlike the crash that a
    /// run draws, where only the links of the compute fabric go.
    pub(crate) fn leaf_goes_down(&mut self, node: u32, lasts: Span, key: u64) {
        let (class, now) = (FaultClass::LeafSwitchCrash, self.now);
        let leaf = self.leaf_of(node);
        self.books.class(class).faults += 1;
        let lines: Vec<String> = self
            .voices
            .get(class, 0)
            .map_or_else(Vec::new, |voice| voice.lines(&fleet::gpu_place(0), &fleet::nic_place(0)).collect());
        for node in leaf.clone() {
            self.tell_last_beat(node);
            self.machine(node).silent_until = Some(now + lasts);
            self.machine(node).faults.push(Fault {
                key,
                class,
                voice: 0,
                device: 0,
                to_work: JobImpact::Stops,
                mends_at: None,
                began_at: now,
                told: FaultVisibility::Nothing,
                reported_at: None,
                counts: node == leaf.start,
                polled: true,
                suspected_at: None,
                taken_out_at: None,
            });
            if let Some(chronicle) = &mut self.chronicle {
                lines.iter().for_each(|line| chronicle.record_log_line(node, now, line));
            }
            self.hits(node, Cause::Fault(class), key);
            let unheard = InjectedFault::Unready { node, lasts: Span(lasts.0.saturating_sub(UNHEARD_AFTER.0)) };
            self.plants(InjectionEvent { at: now + UNHEARD_AFTER, trouble: unheard });
            self.agenda.add(now + lasts, Event::Passes { node, key });
            self.agenda.add(now + lasts, Event::Ends { node, ending: FaultEnd::Silence });
        }
    }

    /// These nodes cry wolf one after the other, all in the same words.
    pub(crate) fn cries(&mut self, nodes: &[u32], class: FaultClass, manner: SignatureChoice, over: Span, key: u64) {
        let voice = self.voices.in_manner(class, manner);
        let count = u64::try_from(nodes.len()).unwrap_or(1).max(1);
        for (number, node) in (0_u64..).zip(nodes) {
            let at = self.now + Span(over.0 / count * number);
            self.agenda.add(at, Event::Alarms { node: *node, class, voice, key });
        }
    }

    pub(crate) fn sets_mode(&mut self, mode: Mode) {
        self.cell.mode = mode;
        self.tell_cell();
        self.ask_brain();
    }

    pub(crate) fn is_asked(&mut self, node: u32, request: Option<Request>) {
        self.asks(node, request);
        self.ask_brain();
    }
}

// === impl World: the chronicle ===

impl World {
    pub(super) fn chronicles(&mut self, effect: &Effect) {
        let Some(chronicle) = &mut self.chronicle else { return };
        let number = fleet::number(&effect.node).filter(|number| *number < self.shape.nodes);
        let recorded = number.and_then(|number| self.machines[number as usize].recorded.as_deref());
        chronicle.record_decision(self.now, effect, recorded);
    }

    pub(super) fn logs(&mut self, job: u32, note: impl FnOnce(&mut JobLog)) {
        if let Some(chronicle) = &mut self.chronicle {
            note(chronicle.job(job));
        }
    }

    /// Writes down what a job has saved by itself, before its pace changes and nobody can tell any more.
    pub(super) fn logs_own_saves(&mut self, job: u32) {
        if let Some(chronicle) = &mut self.chronicle {
            for (at, step) in self.jobs[job as usize].own_saves(self.now) {
                chronicle.job(job).saves(at, step, false);
            }
        }
    }

    /// A job was stopped: what it cost, and what asking first has kept.
    pub(super) fn logs_stop(&mut self, job: u32, cause: Cause, stopped: LostProgress, nodes: &[u32]) {
        let (machines, stopped_job) = (&self.machines, &self.jobs[job as usize]);
        let Some(chronicle) = &mut self.chronicle else { return };
        let by_us = stopped_job.drained;
        let is_why = |node: &&u32| {
            let machine = &machines[**node as usize];
            machine.blame() == cause && (machine.seen.taken_out_at.is_some() || !machine.faults.is_empty())
        };
        let saved_gpu_seconds = if by_us { stopped_job.gpu_seconds(stopped.spared) } else { 0 };
        // Rounded one by one, as in the books.
        let hung_and_redone = stopped_job.gpu_seconds(stopped.redone) + stopped_job.gpu_seconds(stopped.hung);
        let interruption = Interruption {
            at: self.now,
            ended: if by_us { AttemptEnd::Drained(cause) } else { AttemptEnd::Failed(cause) },
            node: nodes.iter().find(is_why).copied(),
            step: stopped_job.step(self.now),
            hung_seconds: stopped.hung.0 / 1_000,
            lost_gpu_seconds: hung_and_redone,
            saved_gpu_seconds,
        };
        chronicle.saved_gpu_seconds += saved_gpu_seconds;
        chronicle.job(job).stops(interruption);
    }

    /// Begins to write down what happens.
    pub(crate) fn is_watched(&mut self) {
        self.chronicle.get_or_insert_with(EventLog::default);
    }

    /// Notes how much was lost by now.
    pub(crate) fn tallies(&mut self) {
        let lost = self.books.lost_gpu_seconds();
        if let Some(chronicle) = &mut self.chronicle {
            chronicle.record_loss(self.now, lost);
        }
    }
}
