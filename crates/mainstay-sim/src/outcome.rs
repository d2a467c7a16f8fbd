//! What a run showed, in whole numbers: the same type as the JSON of `mainstay sim run -o json`. How it reads on a
//! terminal is the program's.

use std::collections::BTreeMap;

use mainstay_model::{Stage, WaitingOn};
use serde::{Deserialize, Serialize};

use crate::{FaultClass, TrainingOutcome};

/// The format that this version writes.
pub const FORMAT: u32 = 1;

/// Everything a run showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Which format this is.
    pub format: u32,
    /// What was run.
    pub run: Run,
    /// What became of the jobs.
    pub work: JobTotals,
    /// GPU time lost, by what it was lost to.
    pub lost: BTreeMap<Cause, Loss>,
    /// GPU time of nodes that were not in service, by the rule that took them out, or `planned`, `unready`, `others`.
    pub out_gpu_seconds: BTreeMap<String, u64>,
    /// The same by stage.
    pub out_by_stage_gpu_seconds: BTreeMap<Stage, u64>,
    /// Per class of fault: what there was, what the brain saw of it, what it did.
    pub classes: BTreeMap<FaultClass, ClassOutcome>,
    /// Every time a node was taken out by a rule.
    pub quarantines: Quarantines,
    /// From the beginning of a fault that condemns until somebody suspects its node.
    pub detect: DurationSummary,
    /// From there until the node is quarantined.
    pub quarantine: DurationSummary,
    /// From the quarantine until the node is back in service.
    pub back: DurationSummary,
    /// Who was called a lemon.
    #[serde(default)]
    pub lemons: Lemons,
    /// How the budgets were used.
    pub budget: BudgetUse,
    /// What the brain did.
    pub engine: EngineCounters,
    /// How it went over time.
    pub series: Series,
    /// What became of the one training job, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingOutcome>,
}

/// What was run: with the version of the program, all that the outcome depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// GPUs in the fleet.
    pub gpus: u32,
    /// Nodes in the fleet.
    pub nodes: u32,
    /// Virtual days.
    pub days: u32,
    /// The seed.
    pub seed: u64,
    /// The rates: `low`, `base`, `high`, `stress`.
    pub rates: String,
    /// Jobs that were submitted.
    pub jobs: u32,
    /// Every setting that differs from its default, `name=value` as on the command line.
    pub settings: BTreeMap<String, String>,
}

/// Finished and interrupted jobs of a run, and the GPU time they used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobTotals {
    /// Jobs that ran to their end.
    pub finished: u64,
    /// Jobs that ran when the run ended.
    pub running: u64,
    /// Jobs that waited for nodes when the run ended.
    pub waiting: u64,
    /// How often a job was stopped before its end, by what stopped it.
    pub interruptions: BTreeMap<Cause, u64>,
    /// How often a job was asked to save, and saved in time.
    pub saves_asked: u64,
    /// Of these, how often it saved in time.
    pub saves_answered: u64,
    /// How often we stopped a job that could have gone on.
    pub drains: u64,
    /// GPU time that this cost, of what was lost: done again, saving because we asked, starting again.
    pub drained_gpu_seconds: u64,
    /// How often anyone stopped a job that could have gone on: Mainstay, a drain tool or a technician.
    pub healthy_stops: u64,
    /// GPU time of nodes that held no job and could not run one, known or not.
    pub unusable_gpu_seconds: u64,
    /// GPU time of free nodes that interrupted jobs waited with for the nodes that were missing.
    pub held_up_gpu_seconds: u64,
    /// GPU time there was.
    pub gpu_seconds: u64,
    /// GPU time that jobs held.
    pub held_gpu_seconds: u64,
    /// GPU time that went into results: what was held, less what was lost.
    pub useful_gpu_seconds: u64,
}

/// What time was lost to. In JSON its word, because it is a key there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Cause {
    /// A fault of this class.
    Fault(FaultClass),
    /// An alarm behind which there was nothing.
    FalseAlarm,
    /// A person's request, or planned work.
    People,
}

impl Cause {
    /// The word: that of the class, `false-alarm` or `people`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fault(class) => class.word(),
            Self::FalseAlarm => "false-alarm",
            Self::People => "operators",
        }
    }
}

impl From<Cause> for String {
    fn from(cause: Cause) -> Self {
        cause.word().to_owned()
    }
}

impl TryFrom<String> for Cause {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "false-alarm" => Ok(Self::FalseAlarm),
            "operators" => Ok(Self::People),
            other => FaultClass::of(other).map(Self::Fault).ok_or_else(|| format!("no cause is called {other}")),
        }
    }
}

/// GPU time lost, by how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Loss {
    /// Work since the last save that has to be done again.
    pub redone_gpu_seconds: u64,
    /// GPUs that were held by a job that could not go on.
    pub hung_gpu_seconds: u64,
    /// Starting again.
    pub restarting_gpu_seconds: u64,
    /// Saving because somebody asked.
    pub saving_gpu_seconds: u64,
    /// Running at the pace of a slow node.
    pub slowed_gpu_seconds: u64,
}

impl Loss {
    /// All of it.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.redone_gpu_seconds
            + self.hung_gpu_seconds
            + self.restarting_gpu_seconds
            + self.saving_gpu_seconds
            + self.slowed_gpu_seconds
    }
}

/// What became of the faults of one class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClassOutcome {
    /// Faults that began, relapses included.
    pub faults: u64,
    /// Of these, relapses.
    pub relapses: u64,
    /// Of the faults, those that any sensor told of before they were over: the ceiling of recall.
    pub told: u64,
    /// Of the faults, those whose node was taken out for a rule while they lasted.
    pub taken_out: u64,
    /// Alarms that looked like this class and had nothing behind them: with `told`, the ceiling of precision.
    pub false_alarms: u64,
    /// Of these, alarms for which a node was taken out.
    pub falsely_taken_out: u64,
    /// From the beginning of a fault until its node was taken out.
    pub taken_out_after: DurationSummary,
}

/// How often nodes were taken out by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quarantines {
    /// In all.
    pub total: u64,
    /// With a fault behind it that condemns.
    pub right: u64,
    /// Without.
    pub wrong: u64,
}

/// Count, median, 95th percentile and maximum of a set of durations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DurationSummary {
    /// How many.
    pub count: u64,
    /// Half of them are at most this.
    pub p50_seconds: u64,
    /// 19 of 20 are at most this.
    pub p95_seconds: u64,
    /// The longest.
    pub max_seconds: u64,
}

/// Names held against the truth. A lemon is *struck* when its first incident is on record, 14 days before the end or
/// earlier.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lemons {
    /// Lemons in the fleet.
    pub nodes: u64,
    /// Of these, struck.
    pub struck: u64,
    /// Of the struck, named within 14 days, or by their third incident where that is later.
    pub named: u64,
    /// Of the struck, those with three incidents.
    pub struck_thrice: u64,
    /// Of these, named in time.
    pub named_thrice: u64,
    /// Of the struck, those that somebody would name who knew how often each node fails in truth, at one sound node in a
    /// thousand a month: the ceiling.
    pub nameable: u64,
    /// How often a node that is none was newly named.
    pub named_falsely: u64,
    /// Days of nodes that are none.
    pub sound_node_days: u64,
}

/// How the budgets were used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetUse {
    /// How many nodes may be out at once in all.
    pub nodes_max: u64,
    /// How many were, at most.
    pub nodes_peak: u64,
    /// How many were on average, in thousandths of a node.
    pub nodes_mean_milli: u64,
    /// How often a node had to wait for room.
    pub waits: u64,
    /// How long, summed over nodes.
    pub waited_seconds: u64,
}

/// Observations, decisions, effects and waits of the engine in one run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineCounters {
    /// Facts it was told.
    pub observations: u64,
    /// Decisions it was asked for; every one was audited.
    pub decisions: u64,
    /// Effects it ordered, by word: `record`, `cordon`, `uncordon`, `ask`, `evict`.
    pub effects: BTreeMap<String, u64>,
    /// Effects that the backend lost or refused.
    pub effects_lost: u64,
    /// How often the leader was replaced.
    pub restarts: u64,
    /// How often a node waited, by on what.
    pub waits: BTreeMap<WaitingOn, u64>,
    /// Violations that the auditor found.
    pub violations: u64,
}

/// How it went over time, one value a step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// The length of a step.
    pub step_seconds: u64,
    /// Nodes out of service at the end of the step.
    pub nodes_out: Vec<u32>,
    /// GPU time of work lost within the step.
    pub lost_gpu_seconds: Vec<u64>,
    /// GPUs that jobs held at the end of the step.
    pub gpus_held: Vec<u32>,
}
