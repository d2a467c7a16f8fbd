//! Jobs: where they run, what interrupted them and what that cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Unique id of the job.
    pub id: String,
    /// Name of the job for display.
    pub name: String,
    /// Number of GPUs the job requests. Null where only its nodes are known.
    pub gpus: Option<u32>,
    /// Number of nodes the job runs on.
    pub nodes: u32,
    /// Current state of the job.
    pub state: JobState,
    /// Time of the latest start, in milliseconds since the Unix epoch.
    pub started_at: Option<i64>,
    /// Number of starts. Null where they are not counted.
    pub attempts: Option<u32>,
    /// GPU time the job lost, in GPU-seconds. Null where it is not measured.
    pub lost_gpu_seconds: Option<u64>,
    /// GPU time saved by requesting checkpoints, in GPU-seconds. Null where it is not measured.
    pub saved_gpu_seconds: Option<u64>,
    /// Time of the latest checkpoint, in milliseconds since the Unix epoch.
    pub last_checkpoint_at: Option<i64>,
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum JobState {
    /// The job waits for nodes.
    Waiting,
    /// The job runs on its nodes.
    Running,
    /// The job was asked to save a checkpoint.
    Saving,
    /// The job has ended.
    Done,
}

/// All data about a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobDetail {
    /// Summary of the job.
    #[serde(flatten)]
    pub job: Job,
    /// Names of the job's nodes. A gang has at most 16,384.
    pub nodes_list: Vec<String>,
    /// Details of the job.
    #[serde(flatten)]
    pub record: JobRecord,
}

/// Details of a job beyond its summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobRecord {
    /// Latest attempts, oldest first, at most 16.
    pub attempts_list: Vec<JobAttempt>,
    /// Latest checkpoints, oldest first, at most 8.
    pub checkpoints: Vec<JobCheckpoint>,
    /// Latest interruptions, oldest first, at most 16.
    pub interruptions: Vec<JobInterruption>,
}

/// One attempt of a job, from start to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobAttempt {
    /// Time at which the attempt started, in milliseconds since the Unix epoch.
    pub started_at: i64,
    /// Time at which the attempt ended, in milliseconds since the Unix epoch. Null while it runs.
    pub ended_at: Option<i64>,
    /// Why the attempt ended, as text.
    pub ended: Option<String>,
    /// Number of nodes the attempt ran on.
    pub nodes: u32,
    /// GPU time lost when the attempt ended, in GPU-seconds.
    pub lost_gpu_seconds: u64,
}

/// One checkpoint of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobCheckpoint {
    /// Time of the checkpoint, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Training step that the checkpoint holds.
    pub step: u64,
}

/// One interruption of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobInterruption {
    /// Time of the interruption, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Incident that interrupted the job.
    pub incident: Option<String>,
    /// How the job was interrupted, as text.
    pub text: String,
    /// GPU time lost to the interruption, in GPU-seconds.
    pub lost_gpu_seconds: u64,
}
