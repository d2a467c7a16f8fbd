//! What a run depends on, within stated bounds. It knows the names of settings and what they may be; how they arrive
//! (a command line, a sweep) is for others.

mod setting;
mod setting_list;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{Mode, Ppm, Span};
use mainstay_text::Problem;

pub use self::setting_list::{Setting, SettingKind, settings};
use crate::{FailureModel, Rates, Training};

/// The smallest fleet: one node.
pub const GPUS_MIN: u32 = 8;
/// The largest fleet.
pub const GPUS_MAX: u32 = 1_000_000;
/// GPUs of a node.
pub const GPUS_PER_NODE: u32 = 8;
/// The longest run.
pub const DAYS_MAX: u32 = 366;
/// The most jobs: what the largest fleet gets in the longest run, and a little more.
pub const JOBS_MAX: u32 = 25_000_000;

/// Jobs per GPU in thirty days where nobody says another number: 200,000 for 100,000 GPUs.
const JOBS_PER_GPU_MONTH: u64 = 2;

/// The nodes of a training job for each spare node.
const SPARE_ONE_IN: u32 = 20;

/// Whether a drain waits for a job's checkpoint before it stops the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointPolicy {
    /// What each way would lose is weighed: stopping now, asking, or waiting for the gang's own checkpoint.
    Wait,
    /// Those that save on request are asked and waited for, the others are stopped at once; nothing is weighed.
    Ask,
    /// Nobody is asked: a drain stops work at once, as tools do that know a timer only.
    AtOnce,
}

/// What the operator of the virtual fleet allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    /// How far the brain may go.
    pub mode: Mode,
    /// Whether work is waited for.
    pub checkpoint: CheckpointPolicy,
    /// How many nodes of a rack may be out at once.
    pub rack_nodes_out_max: u32,
    /// Which share of all nodes may be out at once.
    pub fleet_out_max: Ppm,
    /// A tool that drains on a timer and acts in place of Mainstay. It is for runs in which Mainstay observes.
    pub drain_tool: Option<DrainTool>,
}

/// A tool that cordons what a rule flags, drains it, reboots it and returns it untested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainTool {
    /// When it stops the jobs of a cordoned node; never where absent.
    pub stops_jobs_after: Option<Span>,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            mode: Mode::Act,
            checkpoint: CheckpointPolicy::Wait,
            rack_nodes_out_max: 2,
            fleet_out_max: Ppm(30_000),
            drain_tool: None,
        }
    }
}

/// What a run depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// GPUs in the fleet; whole nodes of eight.
    pub gpus: u32,
    /// Virtual days.
    pub days: u32,
    /// The seed.
    pub seed: u64,
    /// Which rates.
    pub rates: Rates,
    /// Jobs submitted over the days.
    pub jobs: u32,
    /// One training job in place of these.
    pub training: Option<Training>,
    /// What breaks, and how.
    pub model: FailureModel,
    /// What the operator allows.
    pub policies: Policies,
    /// Every setting that differs from its default, as an outcome tells it.
    pub settings: BTreeMap<String, String>,
    /// Every name that was set, also to its default: none is set twice.
    said: BTreeSet<String>,
}

impl Options {
    /// A run with the default policies and two jobs per GPU in thirty days.
    ///
    /// # Errors
    ///
    /// A fleet that is not made of whole nodes or is out of bounds, or too many days.
    pub fn new(gpus: u32, days: u32, seed: u64, rates: Rates) -> Result<Self, Problem> {
        if !(GPUS_MIN..=GPUS_MAX).contains(&gpus) || !gpus.is_multiple_of(GPUS_PER_NODE) {
            let below = (gpus / GPUS_PER_NODE * GPUS_PER_NODE).clamp(GPUS_MIN, GPUS_MAX);
            return Err(Problem {
                what: format!("invalid fleet size: {gpus} GPUs"),
                detail: format!("nodes have {GPUS_PER_NODE} GPUs; a fleet has {GPUS_MIN} to {GPUS_MAX} GPUs."),
                hint: format!("use --gpus {below}"),
            });
        }
        if !(1..=DAYS_MAX).contains(&days) {
            return Err(Problem {
                what: format!("invalid duration: {days} days"),
                detail: format!("a run has 1 to {DAYS_MAX} virtual days."),
                hint: "run several seeds instead of one longer run".into(),
            });
        }
        let jobs = u64::from(gpus) * JOBS_PER_GPU_MONTH * u64::from(days) / 30;
        Ok(Self {
            gpus,
            days,
            seed,
            rates,
            jobs: u32::try_from(jobs).unwrap_or(JOBS_MAX),
            training: None,
            model: FailureModel::built_in(rates),
            policies: Policies::default(),
            settings: BTreeMap::new(),
            said: BTreeSet::new(),
        })
    }

    /// One training job in place of all others. Its fleet is the nodes of the job and one spare in twenty.
    ///
    /// # Errors
    ///
    /// As for [`Options::new`].
    pub fn training(training: Training, days: u32, seed: u64, rates: Rates) -> Result<Self, Problem> {
        let spares = (training.gpus / GPUS_PER_NODE).div_ceil(SPARE_ONE_IN) * GPUS_PER_NODE;
        Ok(Self { jobs: 1, training: Some(training), ..Self::new(training.gpus + spares, days, seed, rates)? })
    }

    /// Another number of jobs over the days.
    ///
    /// # Errors
    ///
    /// More than [`JOBS_MAX`].
    pub fn submit(&mut self, jobs: u32) -> Result<(), Problem> {
        if jobs > JOBS_MAX {
            return Err(Problem {
                what: format!("too many jobs: {jobs}"),
                detail: format!("the limit is {JOBS_MAX} jobs."),
                hint: "use fewer jobs, or omit --jobs for two per GPU in thirty days".into(),
            });
        }
        self.jobs = jobs;
        Ok(())
    }
}
