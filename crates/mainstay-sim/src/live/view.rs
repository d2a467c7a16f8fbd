//! What anybody may see of a live fleet: what stands in the store and in the books. What is wrong in truth is not shown.

use std::collections::BTreeMap;

use mainstay_model::{
    BootId, Contract, GangId, NodeFacts, NodeName, Persisted, Ready, Report, Request, Span, Stage, Timestamp,
};

use super::LiveFleet;
use super::gpu_readings::{GpuReadings, Load, gpu_readings};
use crate::event_log::{Checkpoint, DecisionLine, JobLog, LogLine, StageChange};
use crate::fleet::GPUS;
use crate::job::{Job, State};
use crate::machine::{Machine, Power};
use crate::{Cause, Loss};

/// Checkpoints that are told of one job.
const CHECKPOINTS_MAX: usize = 8;

/// One node.
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    /// Its number: nodes that share a rack, a leaf, a spine follow each other.
    pub number: u32,
    /// Its name.
    pub name: &'a NodeName,
    /// What the backend says of it: registration, domains, pool, whether it takes work.
    pub facts: &'a NodeFacts,
    /// What its agent last reported: boot, inventory (driver, product, GPUs, adapters), evidence.
    pub report: Option<&'a Report>,
    /// When its agent was last heard, heartbeats included.
    pub heard_at: Timestamp,
    /// What is on record about it.
    pub recorded: Option<&'a Persisted>,
    /// What a person asks of it.
    pub request: Option<&'a Request>,
    /// The job on it, by number.
    pub job: Option<u32>,
    power: Power,
    now: Timestamp,
}

impl NodeView<'_> {
    /// The boot it last reported from.
    #[must_use]
    pub fn boot_id(&self) -> Option<&BootId> {
        self.report.map(|report| &report.boot_id)
    }

    /// What a GPU shows; nothing while the machine is down. Decoration: no sensor reads it, and the
    /// brain never sees it.
    #[must_use]
    pub fn gpu_readings(&self, gpu: u32) -> Option<GpuReadings> {
        let load = if self.job.is_some() { Load::Busy } else { Load::Idle };
        let is_there = self.power == Power::Up && self.facts.ready == Ready::Yes && gpu < GPUS;
        is_there.then(|| gpu_readings(self.number, gpu, load, self.now))
    }
}

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// It waits for nodes.
    Waiting,
    /// It runs.
    Running,
    /// It runs, and was asked to save.
    Saving,
    /// It is done.
    Done,
}

/// One job.
#[derive(Debug, Clone, Copy)]
pub struct JobView<'a> {
    live: &'a LiveFleet,
    job: &'a Job,
}

impl<'a> JobView<'a> {
    /// Its number, as nodes name it.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.job.number
    }

    /// Its name, which is also the name of its gang.
    #[must_use]
    pub fn name(&self) -> String {
        self.job.name()
    }

    /// Its gang, as the brain knows it.
    #[must_use]
    pub fn gang(&self) -> GangId {
        self.job.gang()
    }

    /// GPUs that it asks for.
    #[must_use]
    pub const fn gpus(&self) -> u32 {
        self.job.nodes_wanted * GPUS
    }

    /// What it promises about saving.
    #[must_use]
    pub const fn contract(&self) -> Contract {
        self.job.contract
    }

    /// Nodes it runs on, by number; none while it waits. They come from the simulator's own first fit, which stands in for
    /// a scheduler.
    #[must_use]
    pub fn nodes(&self) -> &'a [u32] {
        &self.job.nodes
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> JobState {
        let saving = self.job.stuck.is_none() && self.job.asked.values().any(|asked| asked.saved_step.is_none());
        match self.job.state {
            State::Waiting => JobState::Waiting,
            State::Running if saving => JobState::Saving,
            State::Running => JobState::Running,
            State::Finished => JobState::Done,
        }
    }

    /// When it was submitted.
    #[must_use]
    pub const fn submitted_at(&self) -> Timestamp {
        self.job.submitted_at
    }

    /// The step it is at, or starts again from.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.job.step(self.live.now())
    }

    /// When it ran, what stopped it, what that cost and what asking first has kept.
    #[must_use]
    pub fn log(&self) -> &'a JobLog {
        self.live.job_log(self.job.number)
    }

    /// When it last began; none while it waits for the first time.
    #[must_use]
    pub fn started_at(&self) -> Option<Timestamp> {
        self.log().attempts().next_back().map(|attempt| attempt.started_at)
    }

    /// The latest saves, oldest first.
    #[must_use]
    pub fn checkpoints(&self) -> Vec<Checkpoint> {
        let mut all: Vec<Checkpoint> = self.log().checkpoints().copied().collect();
        if self.job.state == State::Running {
            let own = self.job.own_saves(self.live.now());
            all.extend(own.map(|(at, step)| Checkpoint { at, step, asked: false }));
        }
        all.sort_by_key(|checkpoint| checkpoint.step);
        all.dedup_by_key(|checkpoint| checkpoint.step);
        all.drain(..all.len().saturating_sub(CHECKPOINTS_MAX));
        all
    }
}

/// Lost and saved GPU time of a live fleet.
#[derive(Debug, Clone, Copy)]
pub struct AccountingView<'a> {
    /// GPU time lost, by what it was lost to and how.
    pub lost: &'a BTreeMap<Cause, Loss>,
    /// All of it.
    pub lost_gpu_seconds: u64,
    /// GPU time that was not lost because jobs were asked to save before we stopped them.
    pub saved_gpu_seconds: u64,
    /// How often a job was asked, and how often it saved in time.
    pub saves_asked: u64,
    /// In time.
    pub saves_answered: u64,
    /// Violations that the auditor found; nothing else is worth reading where there is one.
    pub violations: u64,
}

// === impl LiveFleet ===

impl LiveFleet {
    /// Every node, in the order of the hall: spine, leaf, rack, place.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        self.world.machines().iter().map(|machine| self.view(machine))
    }

    /// One node by name.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<NodeView<'_>> {
        self.node_at(self.world.number(name)?)
    }

    /// One node by number.
    #[must_use]
    pub fn node_at(&self, number: u32) -> Option<NodeView<'_>> {
        self.world.machines().get(number as usize).map(|machine| self.view(machine))
    }

    fn view<'a>(&'a self, machine: &'a Machine) -> NodeView<'a> {
        NodeView {
            number: machine.number,
            name: self.world.name(machine.number),
            facts: &machine.facts,
            report: machine.reported.as_deref(),
            heard_at: self.world.heard_at(machine.number),
            recorded: machine.recorded.as_deref(),
            request: machine.request.as_ref(),
            job: machine.job,
            power: machine.power,
            now: self.now(),
        }
    }

    /// The lines that a node last printed, oldest first, at most 32.
    pub fn lines(&self, node: &NodeName) -> impl Iterator<Item = &LogLine> {
        let number = self.world.number(node);
        self.chronicle().into_iter().zip(number).flat_map(|(chronicle, number)| chronicle.lines(number))
    }

    /// Every job, by number.
    pub fn jobs(&self) -> impl Iterator<Item = JobView<'_>> {
        self.world.jobs().iter().map(|job| JobView { live: self, job })
    }

    /// One job by number.
    #[must_use]
    pub fn job(&self, number: u32) -> Option<JobView<'_>> {
        self.world.jobs().get(number as usize).map(|job| JobView { live: self, job })
    }

    /// One job by name.
    #[must_use]
    pub fn job_named(&self, name: &str) -> Option<JobView<'_>> {
        self.jobs().find(|job| job.name() == name)
    }

    /// The books.
    #[must_use]
    pub fn books(&self) -> AccountingView<'_> {
        let books = &self.world.books;
        AccountingView {
            lost: books.lost(),
            lost_gpu_seconds: books.lost_gpu_seconds(),
            saved_gpu_seconds: self.chronicle().map_or(0, |chronicle| chronicle.saved_gpu_seconds),
            saves_asked: books.work.saves_asked,
            saves_answered: books.work.saves_answered,
            violations: books.brain.violations,
        }
    }

    /// GPU time lost since a moment of the last day, to the minute.
    #[must_use]
    pub fn lost_since(&self, at: Timestamp) -> u64 {
        let before = self.chronicle().map_or(0, |chronicle| chronicle.lost_before(at));
        self.books().lost_gpu_seconds.saturating_sub(before)
    }

    /// What was decided since a moment, oldest first: the last 4,096 at most.
    pub fn decisions_since(&self, at: Timestamp) -> impl Iterator<Item = &DecisionLine> {
        self.chronicle().into_iter().flat_map(move |chronicle| chronicle.decisions_since(at))
    }

    /// Changes of stage since a moment, oldest first: the last 4,096 at most.
    pub fn moves_since(&self, at: Timestamp) -> impl Iterator<Item = &StageChange> {
        self.chronicle().into_iter().flat_map(move |chronicle| chronicle.moves_since(at))
    }

    /// Nodes that are not in service by a rule, or by people: in any stage from quarantined to retired.
    #[must_use]
    pub fn nodes_out(&self) -> u32 {
        let is_in = |stage: Stage| matches!(stage, Stage::InService | Stage::Suspect | Stage::Bootstrapping);
        let out = self.world.machines().iter().filter(|machine| !is_in(machine.seen.stage)).count();
        u32::try_from(out).unwrap_or(u32::MAX)
    }

    /// How long the fleet has been watched.
    #[must_use]
    pub fn age(&self) -> Span {
        self.now().since(Self::BEGINS_AT)
    }
}
