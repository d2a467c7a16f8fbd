//! Jobs: gangs that want whole nodes, save now and then, and start again where they last saved. How far a job is, is
//! arithmetic: nothing happens while it runs well.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{Checkpoints, Contract, GangId, GangName, Literal, Namespace, Span, Timestamp};

use crate::Cause;
use crate::fleet::{GPUS, text};
use crate::model::{FailureModel, Parameter};
use crate::rng::{Purpose, RandomStream, span_seconds, stream};

const NAMESPACE: Literal<Namespace> = Namespace::literal("jobs");

/// What the name of a job begins with where nobody gave it another.
const KIND: &str = "j";

/// Nodes that a job asks for, and how often among a hundred. Most jobs are small and most GPU time is in large ones, as
/// in every published trace; the numbers are ours.
const SIZES: [(u32, f64); 9] =
    [(1, 69.0), (2, 11.0), (4, 8.0), (8, 5.0), (16, 3.0), (32, 2.0), (64, 1.2), (128, 0.6), (256, 0.2)];

/// No job asks for more than one in so many of the fleet's nodes.
const FLEET_SHARE: u32 = 8;

/// As fast as a job can go: progress is counted in millionths of it.
const FULL_PACE: u64 = 1_000_000;

/// How many saves of its own are told: the latest matter.
const OWN_SAVES_MAX: u64 = 8;

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It waits for nodes.
    Waiting,
    Running,
    Finished,
}

/// A job.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) number: u32,
    /// What its name begins with; the number follows.
    pub(crate) kind: &'static str,
    pub(crate) submitted_at: Timestamp,
    pub(crate) nodes_wanted: u32,
    pub(crate) contract: Contract,
    /// A save that it is asked for takes so long.
    pub(crate) save: Span,
    /// How long it takes until it makes progress.
    pub(crate) start: Span,
    pub(crate) state: State,
    pub(crate) nodes: Vec<u32>,
    /// Dead machines that still list its pods.
    pub(crate) left_behind: BTreeSet<u32>,
    /// When it was last seen to make progress; none where it does not show it.
    pub(crate) progressed_at: Option<Timestamp>,
    /// Rises with everything that makes an older plan for this job void.
    pub(crate) turn: u32,
    /// Since when it cannot go on, and why.
    pub(crate) stuck: Option<(Timestamp, Cause)>,
    /// Progress from which on its results are wrong.
    pub(crate) tainted: Option<Span>,
    /// What stopped it the last time: what starting again is booked on.
    pub(crate) stopped_by: Option<Cause>,
    /// What it was asked, by the node it was about.
    pub(crate) asked: BTreeMap<u32, CheckpointRequest>,
    /// Who told it to stop.
    pub(crate) leaving: Option<StopSource>,
    /// Whether we stopped it the last time although it could have gone on.
    pub(crate) drained: bool,
    /// Progress that it needs.
    work: Span,
    /// It saves after so much progress, by itself.
    period: Span,
    /// Progress that is safe.
    saved: Span,
    /// What was safe before it first saved because it was asked; none where it was not.
    unasked: Option<Span>,
    /// Progress at the mark, and how fast it goes on since, in millionths.
    progress: Span,
    marked_at: Timestamp,
    pace: u64,
    /// Its pace if no node is slow. The rest of the time goes into its saves.
    best_pace: u64,
}

/// Origin of a stop: an eviction by the engine, or technicians at work on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSource {
    /// The brain, by an eviction.
    Brain,
    /// People who work on a node.
    People,
    /// A drain tool that acts in place of Mainstay.
    Tool,
}

/// A request to a job to save, with its drain and its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckpointRequest {
    /// Since when the node was Draining.
    pub(crate) drain: Timestamp,
    /// Until when it is waited for.
    pub(crate) answer_by: Timestamp,
    /// The step it saved.
    pub(crate) saved_step: Option<u64>,
}

/// Progress and time that a job loses when it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostProgress {
    /// Progress that has to be made again.
    pub(crate) redone: Span,
    /// How long it could not go on.
    pub(crate) hung: Span,
    /// Progress that only a save it was asked for kept.
    pub(crate) spared: Span,
}

/// Size, contract and durations from which a job is created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobSpec {
    pub(crate) kind: &'static str,
    pub(crate) submitted_at: Timestamp,
    pub(crate) nodes: u32,
    pub(crate) contract: Contract,
    pub(crate) save: Span,
    pub(crate) start: Span,
    pub(crate) work: Span,
    pub(crate) period: Span,
    /// How long each of its saves blocks it.
    pub(crate) pause: Span,
    /// Progress that earlier days made.
    pub(crate) saved: Span,
}

/// The jobs of a run, by time of submission.
pub(crate) fn jobs(model: &FailureModel, seed: u64, count: u32, nodes: u32, until: Timestamp) -> Vec<Job> {
    let largest = (nodes / FLEET_SHARE).max(1);
    let weights = SIZES.map(|(_, weight)| weight);
    let mean_nodes = SIZES.iter().map(|(size, weight)| f64::from((*size).min(largest)) * weight).sum::<f64>()
        / weights.iter().sum::<f64>();
    let run_seconds = f64::from(u32::try_from(until.0 / 1_000).unwrap_or(u32::MAX));
    let held = f64::from(nodes) * run_seconds * model.get(Parameter::JobFleetShare);
    let sigma = model.get(Parameter::JobLnSecondsSigma);
    // The mean of a lognormal is its median times exp(sigma² / 2).
    let median = held / (f64::from(count.max(1)) * mean_nodes) / libm::exp(sigma * sigma / 2.0);
    let mut jobs: Vec<Job> = (0..count)
        .map(|number| {
            let mut chance = stream(seed, Purpose::Job, u64::from(number));
            let submitted_at = Timestamp(0) + span_seconds(chance.unit() * run_seconds);
            let size = SIZES.get(chance.pick(&weights)).map_or(1, |(size, _)| *size).min(largest);
            let work = chance.lognormal(median, sigma).clamp(300.0, run_seconds / 2.0);
            let minutes = model.get(Parameter::JobCheckpointMinutes);
            let period = chance.lognormal(minutes * 60.0, 0.5).clamp(120.0, 6.0 * 3_600.0);
            let save = chance.lognormal(model.get(Parameter::JobSaveSeconds), 0.5).clamp(5.0, 1_200.0);
            let contract = contract(model, &mut chance);
            let wish = JobSpec {
                kind: KIND,
                submitted_at,
                nodes: size,
                contract,
                save: span_seconds(save),
                start: span_seconds(model.get(Parameter::JobStartSeconds)),
                work: span_seconds(work),
                period: span_seconds(period),
                pause: Span::ZERO,
                saved: Span::ZERO,
            };
            Job::new(number, wish)
        })
        .collect();
    jobs.sort_by_key(|job| (job.submitted_at, job.number));
    for (number, job) in (0..).zip(&mut jobs) {
        job.number = number;
    }
    jobs
}

fn contract(model: &FailureModel, chance: &mut RandomStream) -> Contract {
    let on_request = model.get(Parameter::JobSavesOnRequestShare);
    let on_stop = model.get(Parameter::JobSavesOnStopShare);
    match chance.pick(&[on_request, on_stop, (1.0 - on_request - on_stop).max(0.0)]) {
        0 => Contract::OnRequest,
        1 => Contract::OnStop { within: Span::minutes(2) },
        _ => Contract::None,
    }
}

// === impl Job ===

impl Job {
    pub(crate) fn new(number: u32, wish: JobSpec) -> Self {
        // The pauses are spread over the time between two saves.
        let best_pace = FULL_PACE.saturating_mul(wish.period.0) / (wish.period.0 + wish.pause.0).max(1);
        Self {
            number,
            kind: wish.kind,
            submitted_at: wish.submitted_at,
            nodes_wanted: wish.nodes,
            contract: wish.contract,
            save: wish.save,
            start: wish.start,
            state: State::Waiting,
            nodes: Vec::new(),
            left_behind: BTreeSet::new(),
            progressed_at: None,
            turn: 0,
            stuck: None,
            tainted: None,
            stopped_by: None,
            asked: BTreeMap::new(),
            leaving: None,
            drained: false,
            work: wish.work,
            period: wish.period,
            saved: wish.saved,
            unasked: None,
            progress: wish.saved,
            marked_at: wish.submitted_at,
            pace: best_pace,
            best_pace,
        }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}{}", self.kind, self.number)
    }

    pub(crate) fn gang(&self) -> GangId {
        GangId { namespace: NAMESPACE.get(), name: text(GangName::parse, &self.name()) }
    }

    /// The job behind a gang.
    pub(crate) fn number_of(gang: &GangId) -> Option<usize> {
        gang.name.as_str().trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()
    }

    /// GPU time of all its nodes together.
    pub(crate) fn gpu_seconds(&self, span: Span) -> u64 {
        span.0 * u64::from(self.nodes_wanted) * u64::from(GPUS) / 1_000
    }

    /// It begins on these nodes; answers when it will end if nothing happens.
    pub(crate) fn begins(&mut self, nodes: Vec<u32>, now: Timestamp) -> Timestamp {
        self.state = State::Running;
        self.nodes = nodes;
        self.turn += 1;
        self.progress = self.saved;
        self.marked_at = now + self.start;
        self.pace = self.best_pace;
        self.ends_at()
    }

    /// When it will end at its present pace.
    pub(crate) fn ends_at(&self) -> Timestamp {
        let left = self.work.0.saturating_sub(self.progress.0);
        self.marked_at + Span(left.saturating_mul(FULL_PACE) / self.pace.max(1))
    }

    /// How far it is.
    pub(crate) fn progress(&self, now: Timestamp) -> Span {
        let until = self.stuck.map_or(now, |(since, _)| since.min(now));
        let made = until.since(self.marked_at).0.saturating_mul(self.pace) / FULL_PACE;
        Span((self.progress.0 + made).min(self.work.0))
    }

    /// Goes on at another pace, so many times slower than it could; answers how much time the old pace had cost.
    pub(crate) fn slows(&mut self, times: f64, now: Timestamp) -> Span {
        let before = self.progress;
        self.progress = self.progress(now);
        let possible = now.since(self.marked_at).0.saturating_mul(self.best_pace) / FULL_PACE;
        let cost = possible.saturating_sub(self.progress.0 - before.0);
        self.marked_at = now.max(self.marked_at);
        self.pace = span_seconds(1_000.0 / times.max(1.0)).0.saturating_mul(self.best_pace) / FULL_PACE;
        self.turn += 1;
        Span(if self.stuck.is_some() { 0 } else { cost })
    }

    /// What is safe by now: what it saved when it was asked, or the last save of its own.
    pub(crate) fn safe(&self, now: Timestamp) -> Span {
        self.saved_of(self.tainted.map_or(self.progress(now), |tainted| tainted.min(self.progress(now))))
    }

    /// What it would lose by being stopped now. Results that are wrong are lost anyway.
    pub(crate) fn unsaved(&self, now: Timestamp) -> Span {
        Span(self.progress(now).0 - self.saved_of(self.progress(now)).0)
    }

    fn saved_of(&self, progress: Span) -> Span {
        let own = progress.0 / self.period.0.max(1) * self.period.0;
        Span(own.max(self.saved.0.min(progress.0)))
    }

    /// What it tells of its own saves, when it begins and when its pace changes: from then on they follow from each
    /// other.
    pub(crate) fn checkpoints(&self) -> Checkpoints {
        let period = self.period.0.saturating_mul(FULL_PACE) / self.pace.max(1);
        let behind = (self.progress.0 % self.period.0.max(1)).saturating_mul(FULL_PACE) / self.pace.max(1);
        Checkpoints { last: Some(self.marked_at - Span(behind)), every: Some(Span(period)), save: Some(self.save) }
    }

    /// It saves now, as it was asked to; answers the step.
    pub(crate) fn saves(&mut self, now: Timestamp) -> u64 {
        self.saved = self.progress(now);
        self.saved.0 / 1_000
    }

    /// The same because somebody asked for it; what that is worth shows when it is stopped.
    pub(crate) fn saves_as_asked(&mut self, now: Timestamp) -> u64 {
        self.unasked.get_or_insert(self.saved);
        self.saves(now)
    }

    /// The step that it is at; where it does not run, the one it starts again from.
    pub(crate) fn step(&self, now: Timestamp) -> u64 {
        let progress = if self.state == State::Running { self.progress(now) } else { self.saved };
        progress.0 / 1_000
    }

    /// Saves of its own since its pace last changed, oldest first: when, and the step.
    pub(crate) fn own_saves(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, u64)> + '_ {
        let period = self.period.0.max(1);
        let (first, last) = (self.progress.0 / period + 1, self.progress(now).0 / period);
        (first.max((last + 1).saturating_sub(OWN_SAVES_MAX))..=last).map(move |number| {
            let made = (number * period).saturating_sub(self.progress.0);
            let after = made.saturating_mul(FULL_PACE) / self.pace.max(1);
            (self.marked_at + Span(after), number * period / 1_000)
        })
    }

    /// It is stopped and will start again where it saved.
    pub(crate) fn stops(&mut self, cause: Cause, now: Timestamp) -> LostProgress {
        let (progress, safe) = (self.progress(now), self.safe(now));
        let own = progress.0 / self.period.0.max(1) * self.period.0;
        let spared = self.unasked.map_or(0, |unasked| safe.0.saturating_sub(own.max(unasked.0)));
        let hung = self.stuck.map_or(Span::ZERO, |(since, _)| now.since(since));
        self.saved = safe;
        self.leaves(State::Waiting);
        self.stopped_by = Some(cause);
        LostProgress { redone: Span(progress.0 - safe.0), hung, spared: Span(spared) }
    }

    /// It is done.
    pub(crate) fn finishes(&mut self) {
        self.leaves(State::Finished);
    }

    fn leaves(&mut self, state: State) {
        self.state = state;
        self.nodes.clear();
        self.turn += 1;
        self.stuck = None;
        self.tainted = None;
        self.unasked = None;
        self.asked.clear();
        self.leaving = None;
    }
}
