//! The fleet at a glance: how it stands, what bounds the acts, what was decided and what would be done now.

use std::collections::BTreeMap;

use mainstay_model::{BreakerState, Level, Mode, Stage, Standing, WaitingOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the fleet stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    /// What it is called.
    pub name: String,
    /// Its now, in milliseconds; virtual in a demo.
    pub now: i64,
    /// How far Mainstay may go.
    pub mode: Mode,
    /// GPUs in all.
    pub gpus: u32,
    /// Nodes in all.
    pub nodes: u32,
    /// GPUs by the stage of their node; a stage without any is left out.
    pub gpus_by_stage: BTreeMap<Stage, u32>,
    /// GPU time lost so far; none where nobody counts it.
    pub lost_gpu_seconds: Option<u64>,
    /// GPU time that was kept by asking jobs to save first; none where nobody counts it.
    pub saved_gpu_seconds: Option<u64>,
    /// GPU time lost within the last hour; none where nobody counts it.
    pub lost_gpu_seconds_last_hour: Option<u64>,
    /// Incidents that are open.
    pub incidents_open: u32,
    /// GPUs of nodes that are out of service or that Kubernetes does not see as ready; each node counts once.
    pub gpus_out: u32,
    /// Capacity out of service, in GPU-seconds per hour. Capacity is not lost work, which is `lostGpuSeconds`.
    pub loss_rate_gpu_seconds_per_hour: u64,
    /// Everything that needs an operator, the most pressing first, at most 16.
    pub needs: Vec<Need>,
    /// How many nodes may be out, and how many are.
    pub budgets: Vec<Budget>,
    /// Breakers that are not closed.
    pub breakers: Vec<Breaker>,
    /// The demo; none in a real cluster.
    pub demo: Option<Demo>,
    /// How the cluster is seen; none in a demo.
    pub cluster: Option<ClusterSeen>,
}

/// How a cluster is seen from here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSeen {
    /// Who acts from here, as the API server knows them; none where nobody does.
    pub person: Option<String>,
    /// What may be done from here.
    pub acts: Vec<Act>,
    /// Kinds that are not seen.
    pub unread: Vec<Unread>,
    /// Since when the API server has not been heard; none while it is.
    pub silent_since: Option<i64>,
}

/// Something that may be done to a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Act {
    /// To say that one knows of an incident.
    Acknowledge,
    /// To ask something of a node, and to withdraw it.
    Ask,
    /// To set how far Mainstay may go.
    SetMode,
}

/// A kind that is not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unread {
    /// Which, as `kubectl get` calls it.
    pub kind: String,
    /// Why.
    pub why: UnreadWhy,
}

/// Why a kind is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UnreadWhy {
    /// Whoever looks may not read it.
    Forbidden,
    /// The cluster does not know it.
    NotInstalled,
}

/// The fleet over the time that is kept, for charts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// Points, the oldest first, at most 500.
    pub items: Vec<SeriesPoint>,
}

/// The fleet at one moment, in two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeriesPoint {
    /// When.
    pub at: i64,
    /// GPUs of nodes that are not in service.
    pub gpus_out: u32,
    /// GPU time lost so far; none where nobody counts it.
    pub lost_gpu_seconds: Option<u64>,
}

/// A disruption budget. One per failure domain is shown for the fullest of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Of which pool.
    pub pool: String,
    /// Per domain of this level; over the whole pool where absent.
    pub level: Option<Level>,
    /// How many nodes may be out.
    pub most: u32,
    /// Nodes out of service, removed by Mainstay or by others.
    pub out: u32,
    /// Nodes that Mainstay would have removed: they count against the limit for other dry-run decisions only.
    pub dry_run: u32,
    /// Nodes in the pool or in the failure domain.
    pub nodes: u32,
}

/// One thing that needs an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// What kind of thing it is.
    pub kind: NeedKind,
    /// What is wrong, as one line.
    pub what: String,
    /// The command that shows more.
    pub command: String,
    /// The incident or node that it is about; none where it is about the installation or the fleet.
    pub subject: Option<String>,
}

/// The kinds of things that need an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NeedKind {
    /// The installation is missing or not complete.
    Installation,
    /// No controller leads.
    Leader,
    /// A decision breaks an invariant.
    Invariant,
    /// A circuit breaker is open.
    Breaker,
    /// An incident is not acknowledged.
    Incident,
    /// A node waits for approval or for operator action.
    Node,
    /// Agents do not report.
    Agents,
    /// Another tool repairs the same nodes.
    Remediator,
}

/// A breaker that is not closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Breaker {
    /// In which pool.
    pub pool: String,
    /// Of which rule.
    pub rule: String,
    /// How it stands.
    pub state: BreakerState,
    /// Since when.
    pub since: i64,
    /// How many nodes the rule took out within its window.
    pub condemned: u32,
    /// How many it wants out.
    pub waiting: u32,
    /// The node that it is being tried on.
    pub test: Option<String>,
}

/// The state of a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Demo {
    /// What chance was drawn from.
    pub seed: u64,
    /// Virtual seconds in one second.
    pub speed: u32,
    /// Whether time stands still.
    pub paused: bool,
    /// The steps of the story, in order.
    pub story: Vec<StoryStep>,
    /// The oldest moment that can be shown.
    pub oldest_snapshot: i64,
    /// The newest one.
    pub newest_snapshot: i64,
    /// The past moment that is shown instead of now; nothing can be changed meanwhile.
    pub at: Option<i64>,
}

/// A step of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoryStep {
    /// When it happened, or is to happen.
    pub at: i64,
    /// What it is about.
    pub title: String,
    /// What happened; before that, what is going to.
    pub text: String,
    /// Whether it has happened.
    #[serde(default)]
    pub done: bool,
}

/// Something that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// When.
    pub at: i64,
    /// About which node.
    pub node: String,
    /// What.
    pub act: String,
    /// Whether it is to be done.
    pub standing: Standing,
    /// The rule behind it.
    pub rule: Option<String>,
}

/// What would be done now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The items, at most 500.
    pub items: Vec<PlanItem>,
}

/// What is next for one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanItem {
    /// Which node.
    pub node: String,
    /// What comes next.
    pub act: String,
    /// The rule behind it.
    pub rule: String,
    /// What the mode makes of it: a dry run, a proposal or an order; none while it waits for something else.
    pub standing: Option<Standing>,
    /// What the node waits for.
    pub waiting_on: WaitingOn,
    /// The wait in words.
    pub why: String,
}
