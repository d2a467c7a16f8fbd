//! One training job that takes the whole fleet except its spare nodes, as published pre-training runs did.

use mainstay_model::{Contract, Span, Timestamp};
use serde::{Deserialize, Serialize};

use crate::fleet::GPUS;
use crate::job::{Job, JobSpec};

const KIND: &str = "training-";

/// Size and durations of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Training {
    /// GPUs of the job; whole nodes.
    pub gpus: u32,
    /// Progress between two checkpoints.
    pub checkpoint: Span,
    /// How long each checkpoint blocks the job.
    pub save: Span,
    /// From the allocation of nodes to the first step, including loading the last checkpoint.
    pub start: Span,
}

/// What became of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrainingOutcome {
    /// Effective training time ratio: time of training whose result was kept, as a share of the time, in millionths. A job
    /// that runs slower than it could is training too, as in published ratios.
    pub ettr_ppm: u64,
    /// Share of the time that slow nodes cost, in millionths; not part of the ratio.
    pub slowed_ppm: u64,
    /// How long the job waited for nodes.
    pub waited_seconds: u64,
    /// How often technicians repaired a node.
    pub node_repairs: u64,
}

impl Training {
    /// The job, submitted when the run begins. It has more work than it can do until the end.
    pub(crate) fn job(&self, until: Timestamp) -> Job {
        let work = Span(u64::try_from(until.0).unwrap_or(u64::MAX / 4).saturating_mul(2));
        let spec = JobSpec {
            kind: KIND,
            submitted_at: Timestamp(0),
            nodes: self.gpus / GPUS,
            contract: Contract::None,
            save: self.save,
            start: self.start,
            work,
            period: self.checkpoint,
            pause: self.save,
            saved: Span::ZERO,
        };
        Job::new(0, spec)
    }
}
