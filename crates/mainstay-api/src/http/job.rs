//! Jobs: where they run, what stopped them and what that cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// GPUs it asks for; none where only its nodes are known.
    pub gpus: Option<u32>,
    /// Nodes it runs on.
    pub nodes: u32,
    /// What it is doing.
    pub state: JobState,
    /// When it last began.
    pub started_at: Option<i64>,
    /// How often it began; none where nobody counts it.
    pub attempts: Option<u32>,
    /// GPU time it lost; none where nobody counts it.
    pub lost_gpu_seconds: Option<u64>,
    /// GPU time that asking first has kept for it; none where nobody counts it.
    pub saved_gpu_seconds: Option<u64>,
    /// When it last saved.
    pub last_checkpoint_at: Option<i64>,
}

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum JobState {
    /// It waits for nodes.
    Waiting,
    /// It runs.
    Running,
    /// It was asked to save.
    Saving,
    /// It is done.
    Done,
}

/// Everything about a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobDetail {
    /// It in short.
    #[serde(flatten)]
    pub job: Job,
    /// The nodes it runs on; a gang has at most 16,384.
    pub nodes_list: Vec<String>,
    /// And the rest.
    #[serde(flatten)]
    pub record: JobRecord,
}

/// What there is to a job beside its line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobRecord {
    /// The latest times that it ran, oldest first, at most 16.
    pub attempts_list: Vec<JobAttempt>,
    /// The latest saves, oldest first, at most 8.
    pub checkpoints: Vec<JobCheckpoint>,
    /// The latest times that it was stopped, oldest first, at most 16.
    pub interruptions: Vec<JobInterruption>,
}

/// One time that a job ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobAttempt {
    /// When it began.
    pub started_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// How.
    pub ended: Option<String>,
    /// On how many nodes.
    pub nodes: u32,
    /// GPU time that its end cost.
    pub lost_gpu_seconds: u64,
}

/// A save.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobCheckpoint {
    /// When.
    pub at: i64,
    /// At which step.
    pub step: u64,
}

/// A time that a job was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobInterruption {
    /// When.
    pub at: i64,
    /// By which incident.
    pub incident: Option<String>,
    /// How.
    pub text: String,
    /// GPU time lost.
    pub lost_gpu_seconds: u64,
}
