//! The fleet at a glance: its state, limits on actions, decisions, and what the engine would do now.

use std::collections::BTreeMap;

use mainstay_model::{BreakerState, Execution, Level, Mode, Stage, WaitingOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Current state of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    /// Name of the fleet for display.
    pub name: String,
    /// Current time of the fleet, in milliseconds since the Unix epoch. Virtual in a demo.
    pub now: i64,
    /// Mode that an operator set: the highest one that Mainstay may use.
    pub mode: Mode,
    /// Mode in effect: what Mainstay does with its decisions now. Observe on a cluster whose controller has no permission to act.
    pub mode_in_effect: Mode,
    /// Why the mode that an operator set has no effect, as a sentence to show. Null where it is in effect.
    pub mode_notice: Option<String>,
    /// Number of GPUs in the fleet.
    pub gpus: u32,
    /// Number of nodes in the fleet.
    pub nodes: u32,
    /// Number of GPUs by the stage of their node. A stage without GPUs is left out.
    pub gpus_by_stage: BTreeMap<Stage, u32>,
    /// GPU time lost so far, in GPU-seconds. Null where it is not measured.
    pub lost_gpu_seconds: Option<u64>,
    /// GPU time saved by requesting checkpoints, in GPU-seconds. Null where it is not measured.
    pub saved_gpu_seconds: Option<u64>,
    /// GPU time lost in the last hour, in GPU-seconds. Null where it is not measured.
    pub lost_gpu_seconds_last_hour: Option<u64>,
    /// Incidents that are open.
    pub incidents_open: u32,
    /// GPUs of nodes that are out of service or that Kubernetes does not see as ready; each node counts once.
    pub gpus_out: u32,
    /// Capacity out of service, in GPU-seconds per hour. Capacity is not lost work, which is `lostGpuSeconds`.
    pub out_of_service_gpu_seconds_per_hour: u64,
    /// Everything that needs an operator, the most pressing first, at most 16.
    pub needs: Vec<Need>,
    /// How many nodes may be out, and how many are.
    pub budgets: Vec<Budget>,
    /// Circuit breakers that are not closed.
    pub breakers: Vec<Breaker>,
    /// State of the demo. Null on a real cluster.
    pub demo: Option<Demo>,
    /// How this server reads the cluster. Null in a demo.
    pub cluster: Option<ClusterAccess>,
}

/// How this server reads the cluster, and what callers can do through it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAccess {
    /// User that actions are executed as, by the API server's name for it. Null if the server is read-only.
    pub user: Option<String>,
    /// Actions that callers can execute through this server.
    pub allowed_actions: Vec<AllowedAction>,
    /// Resource kinds that this server cannot read.
    pub unreadable: Vec<UnreadableKind>,
    /// Time since which the API server has not answered, in milliseconds since the Unix epoch. Null while it answers.
    pub stale_since: Option<i64>,
}

/// An action that a caller can execute through this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum AllowedAction {
    /// Acknowledge an incident as the caller.
    Acknowledge,
    /// File or withdraw a request for a node.
    Request,
    /// Set the mode of the Cell.
    SetMode,
}

/// A resource kind that this server cannot read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadableKind {
    /// Resource kind, as `kubectl get` names it.
    pub kind: String,
    /// Why the kind cannot be read.
    pub why: UnreadableReason,
}

/// Why this server cannot read a resource kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UnreadableReason {
    /// The account has no permission to list it.
    Forbidden,
    /// The cluster does not have this kind: Mainstay is not installed.
    NotInstalled,
}

/// The fleet over time, for charts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// Points in time, oldest first, at most 500.
    pub items: Vec<SeriesPoint>,
}

/// The fleet at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeriesPoint {
    /// Time of the point, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Number of GPUs on nodes that are not in service.
    pub gpus_out: u32,
    /// GPU time lost so far, in GPU-seconds. Null where it is not measured.
    pub lost_gpu_seconds: Option<u64>,
}

/// A disruption budget. A budget per failure domain is shown for its fullest domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Pool that the budget belongs to.
    pub pool: String,
    /// Topology level that the budget applies to, per domain. Null: the whole pool.
    pub level: Option<Level>,
    /// Maximum number of nodes that may be out of service at once, in the pool or in each domain of `level`.
    pub max: u32,
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
    /// Pool that the circuit breaker applies to.
    pub pool: String,
    /// Rule that the circuit breaker stops.
    pub rule: String,
    /// State of the circuit breaker.
    pub state: BreakerState,
    /// Time at which it entered this state, in milliseconds since the Unix epoch.
    pub since: i64,
    /// Number of nodes that the rule removed within its window, dry-run removals included.
    pub flagged: u32,
    /// Number of nodes that the rule flags and that wait.
    pub waiting: u32,
    /// Node on which the rule is being tested.
    pub test: Option<String>,
}

/// State of a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Demo {
    /// Random seed of the demo.
    pub seed: u64,
    /// Speed of the demo's clock, in virtual seconds per second.
    pub speed: u32,
    /// Whether the demo's clock is paused.
    pub paused: bool,
    /// Steps of the demo script, in order.
    pub script: Vec<ScriptStep>,
    /// Oldest time that can be shown, in milliseconds since the Unix epoch.
    pub oldest_snapshot: i64,
    /// Newest time that can be shown, in milliseconds since the Unix epoch.
    pub newest_snapshot: i64,
    /// Past time that is shown instead of now, in milliseconds since the Unix epoch. The demo cannot be changed
    /// meanwhile.
    pub at: Option<i64>,
}

/// One step of the demo script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScriptStep {
    /// Time of the step, past or planned, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Title of the step.
    pub title: String,
    /// What happened, or what will happen.
    pub text: String,
    /// Whether the step has happened.
    #[serde(default)]
    pub done: bool,
}

/// One decision of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Time of the decision, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Node that the decision is about.
    pub node: String,
    /// What was decided, in a few words.
    pub action: String,
    /// Whether the decision is a dry run, waits for approval, or is executed.
    pub execution: Execution,
    /// Rule that led to the decision.
    pub rule: Option<String>,
}

/// What the engine would do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Next step of each faulty node, at most 500.
    pub items: Vec<PlanItem>,
}

/// Next step for one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanItem {
    /// Node that the step is for.
    pub node: String,
    /// What happens next, as a sentence.
    pub action: String,
    /// The rule behind it.
    pub rule: String,
    /// What the mode makes of it: a dry run, a proposal or an order; none while it waits for something else.
    pub execution: Option<Execution>,
    /// What the node waits for.
    pub waiting_on: WaitingOn,
    /// The wait in words.
    pub why: String,
}
