//! Job accounting of a run: GPU time by use, faults by response, and durations. GPU time by what became of it, faults
//! by what was made of them, and how long things took. It is written from the truth, which the brain never sees.

use std::collections::BTreeMap;

use mainstay_model::{Span, Stage, Timestamp, WaitingOn};

use crate::FaultClass;
use crate::fleet::GPUS;
use crate::machine::Fault;
use crate::outcome::{
    BudgetUse, Cause, ClassOutcome, DurationSummary, EngineCounters, JobTotals, Loss, Quarantines, Series,
};

/// How many values a series has.
const STEPS: u64 = 120;

/// A quantity that changes now and then, and its sum over time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    pub(crate) value: u32,
    pub(crate) peak: u32,
    since: Timestamp,
    millis: u64,
}

impl Meter {
    pub(crate) fn set(&mut self, value: u32, now: Timestamp) {
        self.millis += now.since(self.since).0 * u64::from(self.value);
        self.since = self.since.max(now);
        self.value = value;
        self.peak = self.peak.max(value);
    }

    pub(crate) fn seconds(mut self, now: Timestamp) -> u64 {
        self.set(self.value, now);
        self.millis / 1_000
    }
}

/// Durations in whole seconds, kept until they are summarised.
#[derive(Debug, Clone, Default)]
pub(crate) struct Durations(Vec<u64>);

impl Durations {
    pub(crate) fn add(&mut self, span: Span) {
        self.0.push(span.0 / 1_000);
    }

    fn times(mut self) -> DurationSummary {
        self.0.sort_unstable();
        let at = |share: usize| self.0.get((self.0.len() * share / 100).min(self.0.len().saturating_sub(1))).copied();
        DurationSummary {
            count: u64::try_from(self.0.len()).unwrap_or(u64::MAX),
            p50_seconds: at(50).unwrap_or_default(),
            p95_seconds: at(95).unwrap_or_default(),
            max_seconds: self.0.last().copied().unwrap_or_default(),
        }
    }
}

/// GPU time, faults and waits of a run, counted from the simulator's ground truth.
#[derive(Debug, Clone)]
pub(crate) struct Accounting {
    pub(crate) work: JobTotals,
    pub(crate) brain: EngineCounters,
    pub(crate) quarantines: Quarantines,
    pub(crate) held: Meter,
    pub(crate) out: Meter,
    /// Nodes that hold no job and could not run one.
    pub(crate) unusable: Meter,
    /// Free nodes that interrupted jobs wait with: each job for the nodes that are missing.
    pub(crate) held_up: Meter,
    lost: BTreeMap<Cause, Loss>,
    classes: BTreeMap<FaultClass, ClassOutcome>,
    taken_out_after: BTreeMap<FaultClass, Durations>,
    /// Rules by number; number 0 is no rule.
    rules: Vec<String>,
    out_by_rule: BTreeMap<u16, u64>,
    out_by_stage: BTreeMap<Stage, u64>,
    detect: Durations,
    quarantine: Durations,
    back: Durations,
    budget_waits: u64,
    budget_waited: u64,
    series: Series,
    lost_total: u64,
    lost_at_step: u64,
    next_step_at: Timestamp,
}

/// Why a node that the brain calls in service is not: the rules that are not the brain's.
pub(crate) const PLANNED: &str = "planned";
pub(crate) const UNREADY: &str = "unready";
pub(crate) const OTHERS: &str = "others";

impl Accounting {
    pub(crate) fn new(starts_at: Timestamp, until: Timestamp) -> Self {
        let step_seconds = (until.since(starts_at).0 / 1_000 / STEPS).max(1);
        Self {
            work: JobTotals::default(),
            brain: EngineCounters::default(),
            quarantines: Quarantines::default(),
            held: Meter::default(),
            out: Meter::default(),
            unusable: Meter::default(),
            held_up: Meter::default(),
            lost: BTreeMap::new(),
            classes: BTreeMap::new(),
            taken_out_after: BTreeMap::new(),
            rules: vec![String::new()],
            out_by_rule: BTreeMap::new(),
            out_by_stage: BTreeMap::new(),
            detect: Durations::default(),
            quarantine: Durations::default(),
            back: Durations::default(),
            budget_waits: 0,
            budget_waited: 0,
            series: Series { step_seconds, ..Series::default() },
            lost_total: 0,
            lost_at_step: 0,
            next_step_at: starts_at + Span(step_seconds * 1_000),
        }
    }

    /// The number of a rule.
    pub(crate) fn rule(&mut self, name: &str) -> u16 {
        let known = self.rules.iter().position(|rule| rule == name);
        let number = known.unwrap_or_else(|| {
            self.rules.push(name.to_owned());
            self.rules.len() - 1
        });
        u16::try_from(number).unwrap_or(0)
    }

    /// GPU time is lost in one of the ways that a loss can be.
    pub(crate) fn lose(&mut self, cause: Cause, gpu_seconds: u64, way: impl FnOnce(&mut Loss) -> &mut u64) {
        *way(self.lost.entry(cause).or_default()) += gpu_seconds;
        self.lost_total += gpu_seconds;
    }

    pub(crate) fn class(&mut self, class: FaultClass) -> &mut ClassOutcome {
        self.classes.entry(class).or_default()
    }

    /// GPU time lost so far, by what it was lost to.
    pub(crate) const fn lost(&self) -> &BTreeMap<Cause, Loss> {
        &self.lost
    }

    /// All of it.
    pub(crate) const fn lost_gpu_seconds(&self) -> u64 {
        self.lost_total
    }

    /// How many faults there were of each class.
    pub(crate) fn faults(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.classes.iter().map(|(class, outcome)| (class.word().to_owned(), outcome.faults))
    }

    /// A fault's node is taken out while the fault lasts.
    pub(crate) fn taken_out(&mut self, fault: &Fault, now: Timestamp) {
        self.class(fault.class).taken_out += 1;
        self.taken_out_after.entry(fault.class).or_default().add(now.since(fault.began_at));
        if let Some(suspected_at) = fault.suspected_at {
            self.quarantine.add(now.since(suspected_at));
        }
    }

    pub(crate) fn detected(&mut self, fault: &Fault, now: Timestamp) {
        self.detect.add(now.since(fault.began_at));
    }

    pub(crate) fn came_back(&mut self, after: Span) {
        self.back.add(after);
    }

    /// A node was out for a rule.
    pub(crate) fn was_out(&mut self, rule: u16, stage: Stage, span: Span) {
        let gpu_seconds = span.0 * u64::from(GPUS) / 1_000;
        *self.out_by_rule.entry(rule).or_default() += gpu_seconds;
        *self.out_by_stage.entry(stage).or_default() += gpu_seconds;
    }

    /// A node waited on something.
    pub(crate) fn waited(&mut self, on: WaitingOn, span: Span) {
        if on == WaitingOn::Budget {
            self.budget_waits += 1;
            self.budget_waited += span.0 / 1_000;
        }
    }

    /// Fills the series up to now.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        while now >= self.next_step_at {
            self.series.nodes_out.push(self.out.value);
            self.series.gpus_held.push(self.held.value * GPUS);
            self.series.lost_gpu_seconds.push(self.lost_total - self.lost_at_step);
            self.lost_at_step = self.lost_total;
            self.next_step_at = self.next_step_at + Span(self.series.step_seconds * 1_000);
        }
    }

    /// Fills in what the books know of an outcome.
    pub(crate) fn close(mut self, nodes: u32, nodes_out_max: u32, now: Timestamp, outcome: &mut crate::Outcome) {
        self.tick(now);
        for (class, lengths) in std::mem::take(&mut self.taken_out_after) {
            self.class(class).taken_out_after = lengths.times();
        }
        let seconds = u64::try_from(now.0).unwrap_or(0) / 1_000;
        self.work.gpu_seconds = seconds * u64::from(nodes) * u64::from(GPUS);
        self.work.unusable_gpu_seconds = self.unusable.seconds(now) * u64::from(GPUS);
        self.work.held_up_gpu_seconds = self.held_up.seconds(now) * u64::from(GPUS);
        self.work.held_gpu_seconds = self.held.seconds(now) * u64::from(GPUS);
        self.work.useful_gpu_seconds = self.work.held_gpu_seconds.saturating_sub(self.lost_total);
        outcome.budget = BudgetUse {
            nodes_max: u64::from(nodes_out_max),
            nodes_peak: u64::from(self.out.peak),
            nodes_mean_milli: self.out.seconds(now) * 1_000 / seconds.max(1),
            waits: self.budget_waits,
            waited_seconds: self.budget_waited,
        };
        let rules = &self.rules;
        let name = |number: u16| rules.get(usize::from(number)).cloned().unwrap_or_default();
        outcome.out_gpu_seconds = self.out_by_rule.iter().map(|(rule, seconds)| (name(*rule), *seconds)).collect();
        outcome.out_by_stage_gpu_seconds = self.out_by_stage;
        outcome.work = self.work;
        outcome.lost = self.lost;
        outcome.classes = self.classes;
        outcome.quarantines = self.quarantines;
        outcome.detect = self.detect.times();
        outcome.quarantine = self.quarantine.times();
        outcome.back = self.back.times();
        outcome.engine = self.brain;
        outcome.series = self.series;
    }
}
