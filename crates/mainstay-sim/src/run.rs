//! A run: a fleet, its failure model, so many days, and what they showed.

mod history;
#[cfg(test)]
mod tests;

use mainstay_engine::Guards;
use mainstay_model::{Span, Timestamp};

pub use history::history;

use crate::fault_schedule::fault_schedule;
use crate::fleet::{self, Drivers, Hall};
use crate::injected_fault::{InjectedFault, InjectionEvent};
use crate::options::Options;
use crate::outcome::{self, Outcome};
use crate::world::{Heartbeats, Plan, StoreBehaviour, World};
use crate::{BudgetUse, DurationSummary, EngineCounters, JobTotals, Lemons, Quarantines, Run, Series, job};

/// How far a run is, in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Until here.
    pub done: Timestamp,
    /// Of this.
    pub of: Timestamp,
}

/// How often progress is told, at most.
const TOLD_MAX: i64 = 200;

/// Lives through the days that the options say. The same options give the same outcome, on any machine.
pub fn run(options: &Options, progress: &mut dyn FnMut(Progress)) -> Outcome {
    run_with(options, Heartbeats::Telling, progress)
}

/// The days that the options say: a fair world, in which the failure model alone breaks things.
pub(crate) fn plan(options: &Options, heartbeats: Heartbeats) -> Plan {
    let nodes = options.gpus / fleet::GPUS;
    let until = Timestamp(0) + Span::hours(24 * options.days);
    let script = fault_schedule(&options.model, &fleet::shape(nodes), options.seed, until);
    let script = script.into_iter().map(|onset| InjectionEvent { at: onset.at, trouble: InjectedFault::Fault(onset) });
    Plan {
        nodes,
        seed: options.seed,
        until,
        starts_at: Timestamp(0),
        jobs: options.training.map_or_else(
            || job::jobs(&options.model, options.seed, options.jobs, nodes, until),
            |training| vec![training.job(until)],
        ),
        model: options.model.clone(),
        policies: options.policies.clone(),
        script: script.collect(),
        weather: StoreBehaviour::Fair,
        guards: Guards::all_on(),
        heartbeats,
        drivers: Drivers::One,
        hall: Hall::Uniform,
    }
}

pub(crate) fn run_with(options: &Options, heartbeats: Heartbeats, progress: &mut dyn FnMut(Progress)) -> Outcome {
    let plan = plan(options, heartbeats);
    let nodes = plan.nodes;
    let mut world = World::new(plan);
    run_to_end(&mut world, progress);
    let mut outcome = blank(options, nodes);
    outcome.training = options.training.is_some().then(|| world.training()).flatten();
    world.close(&mut outcome);
    outcome
}

/// Steps the world until its end, and reports progress.
fn run_to_end(world: &mut World, progress: &mut dyn FnMut(Progress)) {
    let until = world.until;
    let mut told = 0;
    while world.step() {
        let share = world.now.0.saturating_mul(TOLD_MAX) / until.0.max(1);
        if share > told {
            told = share;
            progress(Progress { done: world.now, of: until });
        }
    }
    progress(Progress { done: until, of: until });
}

fn blank(options: &Options, nodes: u32) -> Outcome {
    Outcome {
        format: outcome::FORMAT,
        run: Run {
            gpus: options.gpus,
            nodes,
            days: options.days,
            seed: options.seed,
            rates: options.rates.word().to_owned(),
            jobs: options.jobs,
            settings: options.settings.clone(),
        },
        work: JobTotals::default(),
        lost: std::collections::BTreeMap::new(),
        out_gpu_seconds: std::collections::BTreeMap::new(),
        out_by_stage_gpu_seconds: std::collections::BTreeMap::new(),
        classes: std::collections::BTreeMap::new(),
        quarantines: Quarantines::default(),
        detect: DurationSummary::default(),
        quarantine: DurationSummary::default(),
        back: DurationSummary::default(),
        lemons: Lemons::default(),
        budget: BudgetUse::default(),
        engine: EngineCounters::default(),
        series: Series::default(),
        training: None,
    }
}
