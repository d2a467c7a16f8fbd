//! Submission, placement, interruption and end of jobs. Placement is the simulator's own first fit, lowest numbers
//! first and suspects last; it stands in for a scheduler and claims nothing.

use mainstay_model::{Contract, Fact, PlannedWork, Span, Stage, Timestamp};

use super::World;
use super::drain_tool::ToolPhase;
use super::event::Event;
use super::fact_delivery::Object;
use crate::fleet::NodeKind;
use crate::job::{CheckpointRequest, State, StopSource};
use crate::machine::{Machine, Power};
use crate::model::Parameter;
use crate::rng::{Purpose, span_seconds, stream};
use crate::{Cause, FaultClass, Situation};

/// A scheduler makes a pass at most this often.
const PASS: Span = Span::seconds(10);

/// How many waiting jobs a pass looks at.
const LOOKED_AT_MAX: usize = 256;

/// A job that promised nothing is gone this long after it was told to go.
const GRACE: Span = Span::seconds(30);

impl World {
    pub(super) fn submits(&mut self, job: u32) {
        self.queue.push_back(job);
        self.will_place();
    }

    /// There may be something to place.
    pub(super) fn will_place(&mut self) {
        if !self.placing && !self.queue.is_empty() {
            self.placing = true;
            let pass = i64::try_from(PASS.0).unwrap_or(i64::MAX);
            let at = Timestamp((self.now.0 / pass + 1) * pass);
            self.agenda.add(at, Event::Places);
        }
    }

    pub(super) fn place(&mut self) {
        self.placing = false;
        let mut passed_over = Vec::new();
        for _ in 0..LOOKED_AT_MAX {
            let Some(job) = self.queue.pop_front() else { break };
            let wanted = self.job(job).nodes_wanted as usize;
            match self.first_fit(job, wanted) {
                Some(nodes) => self.begins(job, &nodes),
                None => passed_over.push(job),
            }
        }
        for job in passed_over.into_iter().rev() {
            self.queue.push_front(job);
        }
    }

    /// The first free nodes of a pool from the job's own place on; those that something is said about come last, as their
    /// stage promises. Each job has its place, so that one node more or less does not move all jobs: two policies on one seed
    /// stay comparable.
    fn first_fit(&self, job: u32, wanted: usize) -> Option<Vec<u32>> {
        if self.free.len() < wanted {
            return None;
        }
        self.hall.kinds().iter().find_map(|kind| self.first_fit_of(*kind, job, wanted))
    }

    fn first_fit_of(&self, kind: NodeKind, job: u32, wanted: usize) -> Option<Vec<u32>> {
        let suspect = |node: &&u32| {
            let recorded = self.machines[**node as usize].recorded.as_ref();
            recorded.is_some_and(|recorded| recorded.stage == Stage::Suspect)
        };
        let suspect = |node: &&u32| suspect(node) || self.machines[**node as usize].facts.avoided;
        let place = stream(self.seed, Purpose::Placement, u64::from(job)).below(self.shape.nodes);
        let from_place = || self.free.range(place..).chain(self.free.range(..place));
        let free = || from_place().filter(|node| self.machines[**node as usize].kind == kind);
        let nodes: Vec<u32> =
            free().filter(|node| !suspect(node)).chain(free().filter(suspect)).take(wanted).copied().collect();
        (nodes.len() == wanted).then_some(nodes)
    }

    pub(super) fn begins(&mut self, job: u32, nodes: &[u32]) {
        if let Some(node) = nodes.first() {
            let kind = self.machine(*node).kind;
            self.counts(kind.job().word());
        }
        for node in nodes {
            self.free.remove(node);
            self.machine(*node).job = Some(job);
            self.settle_unusable(*node);
        }
        let held = u32::try_from(nodes.len()).unwrap_or(0);
        let now = self.now;
        self.books.held.set(self.books.held.value + held, now);
        // The progress of an earlier attempt does not count for this one.
        self.job(job).progressed_at = None;
        let ends_at = self.job(job).begins(nodes.to_vec(), now);
        let mut again = 0;
        if let Some(cause) = self.job(job).stopped_by {
            self.wanted_again -= self.job(job).nodes_wanted;
            self.settle_held_up();
            again = self.jobs[job as usize].gpu_seconds(self.jobs[job as usize].start);
            self.books.lose(cause, again, |loss| &mut loss.restarting_gpu_seconds);
            if std::mem::take(&mut self.job(job).drained) {
                self.books.work.drained_gpu_seconds += again;
            }
        }
        self.logs(job, |log| log.begins(now, nodes, again));
        let turn = self.job(job).turn;
        self.agenda.add(ends_at, Event::Finishes { job, turn });
        self.tell_gang(job);
        self.meets_faults(job, nodes);
    }

    pub(super) fn tell_gang(&mut self, job: u32) {
        let facts = self.gang_facts(job);
        let gang = self.job(job).gang();
        self.tell(Object::Gang(job), Fact::Gang { gang, facts });
    }

    /// A job that starts on a node that is broken finds out at once, and so does whoever listens.
    fn meets_faults(&mut self, job: u32, nodes: &[u32]) {
        for node in nodes {
            let Some(fault) = self.machine(*node).stopping() else { continue };
            let (class, key) = (fault.class, fault.key);
            let start = self.job(job).start;
            self.agenda.add(self.now + start, Event::Speaks { node: *node, key });
            self.job(job).stuck = Some((self.now + start, Cause::Fault(class)));
            let dies_at = self.now + start + self.hangs(key);
            let turn = self.job(job).turn;
            self.agenda.add(dies_at, Event::Dies { job, turn });
            return;
        }
        self.paces(job);
    }

    /// The work on a node cannot go on.
    pub(super) fn hits(&mut self, node: u32, cause: Cause, key: u64) {
        let Some(job) = self.machine(node).job else { return };
        self.sticks(job, cause, self.hangs(key));
    }

    /// A job makes no progress any more, and is ended after this time.
    pub(super) fn sticks(&mut self, job: u32, cause: Cause, hangs: Span) {
        if self.job(job).stuck.is_some() {
            return;
        }
        self.settle_pace(job);
        let now = self.now;
        self.job(job).stuck = Some((now, cause));
        let turn = self.job(job).turn;
        self.agenda.add(now + hangs, Event::Dies { job, turn });
    }

    /// How long a job hangs before its own watchdog ends it.
    fn hangs(&self, key: u64) -> Span {
        let most = self.model.get(Parameter::JobHangSecondsMax);
        span_seconds(5.0 + stream(self.seed, Purpose::Hang, key).unit() * most)
    }

    /// A job goes as fast as its slowest node.
    pub(super) fn paces(&mut self, job: u32) {
        if self.job(job).state != State::Running || self.job(job).stuck.is_some() {
            return;
        }
        let slow = |world: &Self, node: u32| {
            let machine = &world.machines[node as usize];
            let slow = machine.faults.iter().filter(|fault| fault.class == FaultClass::FailSlowOnset);
            slow.map(|fault| world.slowness(fault.key)).fold(1.0, f64::max)
        };
        let nodes = self.jobs[job as usize].nodes.clone();
        let times = nodes.iter().map(|node| slow(self, *node)).fold(1.0, f64::max);
        let before = self.job(job).checkpoints().every;
        self.settle_pace_to(job, times);
        if self.job(job).checkpoints().every != before {
            self.tell_gang(job);
        }
        let (ends_at, turn) = (self.job(job).ends_at(), self.job(job).turn);
        self.agenda.add(ends_at, Event::Finishes { job, turn });
    }

    fn settle_pace(&mut self, job: u32) {
        self.settle_pace_to(job, 1.0);
    }

    fn settle_pace_to(&mut self, job: u32, times: f64) {
        let now = self.now;
        self.logs_own_saves(job);
        let cost = self.job(job).slows(times, now);
        let lost = self.jobs[job as usize].gpu_seconds(cost);
        if lost > 0 {
            self.books.lose(Cause::Fault(FaultClass::FailSlowOnset), lost, |loss| &mut loss.slowed_gpu_seconds);
            self.logs(job, |log| log.loses(lost));
        }
    }

    fn slowness(&self, key: u64) -> f64 {
        let (least, most) =
            (self.model.get(Parameter::FailSlowFactorMin), self.model.get(Parameter::FailSlowFactorMax));
        least + stream(self.seed, Purpose::Slowness, key).unit() * (most - least).max(0.0)
    }

    pub(super) fn finishes(&mut self, job: u32, turn: u32) {
        if self.job(job).turn != turn || self.job(job).stuck.is_some() {
            return;
        }
        self.settle_pace(job);
        self.books.work.finished += 1;
        let now = self.now;
        self.logs(job, |log| log.finishes(now));
        let nodes = self.job(job).nodes.clone();
        self.job(job).finishes();
        self.gives_back(job, &nodes);
    }

    pub(super) fn dies(&mut self, job: u32, turn: u32) {
        if self.job(job).turn == turn
            && let Some((_, cause)) = self.job(job).stuck
        {
            self.stops(job, cause);
        }
    }

    /// A job is stopped, whoever stops it, and waits to start again.
    pub(super) fn stops(&mut self, job: u32, cause: Cause) {
        if self.job(job).state != State::Running {
            return;
        }
        if self.job(job).stuck.is_none() {
            self.settle_pace(job);
        }
        let now = self.now;
        self.logs_own_saves(job);
        let nodes = self.job(job).nodes.clone();
        let stopped = self.job(job).stops(cause, now);
        let (redone, hung) = {
            let job = &self.jobs[job as usize];
            (job.gpu_seconds(stopped.redone), job.gpu_seconds(stopped.hung))
        };
        self.logs_stop(job, cause, stopped, &nodes);
        self.books.lose(cause, redone, |loss| &mut loss.redone_gpu_seconds);
        self.books.lose(cause, hung, |loss| &mut loss.hung_gpu_seconds);
        *self.books.work.interruptions.entry(cause).or_default() += 1;
        self.wanted_again += self.job(job).nodes_wanted;
        self.gives_back(job, &nodes);
        // Whoever was stopped through no fault of its own does not wait behind everybody else.
        self.queue.push_front(job);
        self.will_place();
    }

    fn gives_back(&mut self, job: u32, nodes: &[u32]) {
        for node in nodes {
            self.machine(*node).job = None;
            // The pods of a dead machine keep their state until its kubelet is back, or they are released.
            if self.machine(*node).power == Power::Down {
                self.machine(*node).left_behind = Some(job);
                self.job(job).left_behind.insert(*node);
                self.counts(Situation::PodsLeftBehind.word());
            }
            self.settle_free(*node);
            self.tool_reboots(*node);
        }
        let held = u32::try_from(nodes.len()).unwrap_or(0);
        let now = self.now;
        self.books.held.set(self.books.held.value.saturating_sub(held), now);
        self.tell_end(job);
        self.will_place();
    }

    /// A job does not run any more, or not on a node.
    fn tell_end(&mut self, job: u32) {
        let is_listed = self.job(job).state == State::Running || !self.job(job).left_behind.is_empty();
        if is_listed {
            return self.tell_gang(job);
        }
        let gang = self.job(job).gang();
        self.tell(Object::Gang(job), Fact::GangGone { gang });
    }

    /// The pods of a dead machine are gone.
    pub(super) fn pods_go(&mut self, node: u32) {
        let Some(job) = self.machine(node).left_behind.take() else { return };
        self.job(job).left_behind.remove(&node);
        self.tell_end(job);
    }

    /// Those who watch the job itself see that it makes progress, whatever the backend hears of its nodes.
    pub(super) fn shows_progress(&mut self, node: u32) {
        let now = self.now;
        let Some(job) = self.machine(node).job.filter(|job| job % 3 != 0) else { return };
        let is_whole = self.job(job).state == State::Running && self.job(job).left_behind.is_empty();
        let progressed_at = self.job(job).stuck.map_or(now, |(since, _)| since.min(now));
        if is_whole && self.job(job).progressed_at != Some(progressed_at) {
            self.job(job).progressed_at = Some(progressed_at);
            self.tell_gang(job);
        }
    }

    /// Brings the list of free nodes in line with one node.
    pub(super) fn settle_free(&mut self, node: u32) {
        if self.machine(node).is_free() {
            if self.free.insert(node) {
                self.will_place();
            }
        } else {
            self.free.remove(&node);
        }
        self.settle_unusable(node);
    }

    /// Books a node that holds no job and could not run one, known or not.
    pub(super) fn settle_unusable(&mut self, node: u32) {
        let now = self.now;
        let machine = self.machine(node);
        let is_unusable = machine.job.is_none() && (!machine.is_free() || machine.stopping().is_some());
        let was = std::mem::replace(&mut machine.is_unusable, is_unusable);
        if was != is_unusable {
            let nodes = self.books.unusable.value + u32::from(is_unusable) - u32::from(was);
            self.books.unusable.set(nodes, now);
        }
        self.settle_held_up();
    }

    fn settle_held_up(&mut self) {
        let free = u32::try_from(self.free.len()).unwrap_or(u32::MAX);
        let held_up = free.min(self.wanted_again);
        if held_up != self.books.held_up.value {
            self.books.held_up.set(held_up, self.now);
        }
    }

    /// A job is asked to save because of a node.
    pub(super) fn asked(&mut self, job: u32, node: u32, asked: CheckpointRequest) {
        if self.job(job).state != State::Running {
            return;
        }
        self.books.work.saves_asked += 1;
        self.job(job).asked.insert(node, asked);
        self.tell_asked(job, node);
        if self.job(job).stuck.is_none() {
            let (save, turn) = (self.job(job).save, self.job(job).turn);
            self.agenda.add(self.now + save, Event::Saved { job, turn });
        }
    }

    pub(super) fn saved(&mut self, job: u32, turn: u32) {
        // A change of pace is no reason not to save; what stopped it is.
        if self.job(job).state != State::Running || self.job(job).stuck.is_some() || self.job(job).turn < turn {
            return;
        }
        let now = self.now;
        let open: Vec<u32> =
            self.job(job).asked.iter().filter(|(_, asked)| asked.saved_step.is_none()).map(|(node, _)| *node).collect();
        if open.is_empty() {
            return;
        }
        let step = self.job(job).saves_as_asked(now);
        let cost = self.jobs[job as usize].gpu_seconds(self.jobs[job as usize].save);
        let cause = open.first().map_or(Cause::People, |node| self.machines[*node as usize].blame());
        self.books.lose(cause, cost, |loss| &mut loss.saving_gpu_seconds);
        self.books.work.drained_gpu_seconds += cost;
        self.logs_own_saves(job);
        self.logs(job, |log| {
            log.saves(now, step, true);
            log.pays_for_saving(cost);
        });
        for node in open {
            if let Some(asked) = self.job(job).asked.get_mut(&node) {
                asked.saved_step = Some(step);
                let in_time = now <= asked.answer_by;
                self.books.work.saves_answered += u64::from(in_time);
            }
            self.tell_asked(job, node);
        }
    }

    fn tell_asked(&mut self, job: u32, node: u32) {
        let Some(CheckpointRequest { drain, answer_by, saved_step }) = self.job(job).asked.get(&node).copied() else {
            return;
        };
        let gang = self.job(job).gang();
        let node = self.names[node as usize].clone();
        self.tell(Object::Gang(job), Fact::Asked { gang, node, drain, answer_by, saved_step });
    }

    /// A job is told to stop, and gets what it is owed: time to save where it saves when it is stopped, else its grace.
    pub(super) fn told_to_stop(&mut self, job: u32, by: StopSource) {
        if self.job(job).state != State::Running || self.job(job).leaving.is_some() {
            return;
        }
        if by == StopSource::Brain && !self.has_spare(job) {
            self.counts(Situation::DrainWithoutSpare.word());
        }
        self.job(job).leaving = Some(by);
        let (contract, save, goes_on) = {
            let job = self.job(job);
            (job.contract, job.save, job.stuck.is_none())
        };
        let owed = match contract {
            Contract::OnStop { .. } if goes_on => save,
            Contract::OnStop { .. } | Contract::None | Contract::OnRequest => GRACE,
        };
        let turn = self.job(job).turn;
        self.agenda.add(self.now + owed, Event::Left { job, turn });
    }

    /// Whether a job could start again on another node of its pool in place of one that it loses.
    fn has_spare(&self, job: u32) -> bool {
        let kind = |node: &u32| self.machines[*node as usize].kind;
        let pool = self.jobs[job as usize].nodes.first().map(kind);
        self.free.iter().any(|node| Some(kind(node)) == pool)
    }

    pub(super) fn left(&mut self, job: u32, turn: u32) {
        let Some(teller) = self.job(job).leaving.filter(|_| self.jobs[job as usize].turn >= turn) else { return };
        let now = self.now;
        let saves = matches!(self.job(job).contract, Contract::OnStop { .. });
        if saves && self.job(job).stuck.is_none() {
            self.logs_own_saves(job);
            let step = self.job(job).saves(now);
            self.logs(job, |log| log.saves(now, step, false));
        }
        let nodes = self.job(job).nodes.clone();
        let stuck = self.job(job).stuck.map(|(_, cause)| cause);
        if stuck.is_none() {
            self.books.work.healthy_stops += 1;
        }
        if stuck.is_none() && teller == StopSource::Brain {
            self.job(job).drained = true;
            self.books.work.drains += 1;
            let lost = self.job(job).unsaved(now);
            self.books.work.drained_gpu_seconds += self.jobs[job as usize].gpu_seconds(lost);
        }
        let sick = nodes.iter().map(|node| &self.machines[*node as usize]);
        let is_out = |machine: &&Machine| {
            let is_at_work = machine.facts.planned != PlannedWork::Nothing;
            let is_drained = machine.tool.phase != ToolPhase::Idle;
            machine.seen.taken_out_at.is_some() || machine.request.is_some() || is_at_work || is_drained
        };
        let sick = sick.filter(is_out);
        let blamed = sick.map(Machine::blame).next();
        self.stops(job, stuck.or(blamed).unwrap_or(Cause::FalseAlarm));
    }
}
