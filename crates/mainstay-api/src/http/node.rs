//! One node: a summary for lists, all data about it, and why it is in its current state.

use std::collections::BTreeMap;

use mainstay_model::{Level, RepairStep, Response, Stage, Urgency, WaitingOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NodeRequestKind;

/// Summary of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeLine {
    /// Name of the node.
    pub name: String,
    /// Current stage of the node.
    pub stage: Stage,
    /// Time at which the node entered the stage, in milliseconds since the Unix epoch.
    pub since: i64,
    /// What the node waits for.
    pub waiting_on: WaitingOn,
    /// Rule that led to this state.
    pub rule: Option<String>,
    /// Fault and wait of the node in one sentence.
    pub message: String,
    /// Id of the job on the node.
    pub job: Option<String>,
    /// Probability that the node needs repair within 7 days, in parts per million.
    pub risk_ppm: u32,
    /// Rack that the node is in.
    pub rack: String,
    /// Leaf switch that the node is connected to.
    pub leaf: String,
    /// Number of GPUs in the node.
    pub gpus: u32,
}

/// All data about a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDetail {
    /// Summary of the node.
    #[serde(flatten)]
    pub line: NodeLine,
    /// Why the node is in this state.
    pub why: NodeExplanation,
    /// Details of the node.
    #[serde(flatten)]
    pub record: NodeRecord,
}

/// Why a node is in its current state, and what ends the wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeExplanation {
    /// Everything below in one text.
    pub sentence: String,
    /// Part and fault in one line; none where no rule is behind the stage.
    pub problem: Option<String>,
    /// What the fault means, as one sentence; none where no rule is behind the stage.
    pub explanation: Option<String>,
    /// Name of the runbook for the fault; none where no rule is behind the stage.
    pub runbook: Option<String>,
    /// What exactly the node waits for.
    pub waiting: String,
    /// What the operator must do; none where no action is needed.
    pub action: Option<String>,
    /// What was seen.
    pub evidence: Vec<String>,
    /// Error lines of the last day that no parser knows, by template, at most 8. They led to nothing.
    #[serde(default)]
    pub unrecognised: Vec<String>,
    /// Time at which the node entered the state, in milliseconds since the Unix epoch.
    pub since: i64,
    /// Latest end of the wait, in milliseconds since the Unix epoch. Null if time alone does not end it.
    pub until: Option<i64>,
    /// What happens next, as a sentence.
    pub next: String,
    /// What would end the wait sooner, as a sentence.
    pub sooner: Option<String>,
}

/// Details of a node beyond its summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRecord {
    /// Pool whose FleetPolicy applies to the node.
    pub pool: String,
    /// Failure domain of the node at each topology level.
    pub domains: BTreeMap<Level, String>,
    /// UID of the Node object.
    pub uid: String,
    /// Boot id in the node's latest report.
    pub boot_id: Option<String>,
    /// Version of the GPU driver.
    pub driver: Option<String>,
    /// Product name of the GPU model.
    pub product: Option<String>,
    /// GPUs that the driver lists, at most 16.
    pub gpus_list: Vec<NodeGpu>,
    /// Evidence reported for the node, at most 48.
    pub evidence: Vec<NodeEvidence>,
    /// Latest stage changes, oldest first, at most 16.
    pub timeline: Vec<NodeTransition>,
    /// Repair steps that were ordered, at most 16.
    pub attempts: Vec<NodeAttempt>,
    /// Open orders to the node's agent, at most 4.
    pub orders: Vec<NodeOrder>,
    /// Risk of another failure, and its reasons.
    pub risk: Risk,
    /// Open request of an operator for the node.
    pub request: Option<OperatorRequest>,
    /// Open incident that affects the node.
    pub incident: Option<String>,
}

/// One GPU of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGpu {
    /// Index of the GPU on the node.
    pub index: u16,
    /// Serial number of the GPU.
    pub serial: String,
    /// UUID that the driver gives the GPU.
    pub uuid: String,
    /// PCI address of the GPU.
    pub pci: String,
    /// Findings of the rules for this GPU.
    pub findings: Vec<PartFinding>,
}

/// One GPU, listed by its serial number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuRecord {
    /// Serial number of the GPU.
    pub serial: String,
    /// UUID that the driver gives the GPU.
    pub uuid: String,
    /// Node that holds the GPU.
    pub node: String,
    /// Index of the GPU on the node.
    pub index: u16,
    /// Findings of the rules for this GPU.
    pub findings: Vec<PartFinding>,
    /// Number of incidents, open or closed, that name this GPU as the suspected cause.
    pub incidents: u32,
}

/// One finding about a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartFinding {
    /// Rule that made the finding.
    pub rule: String,
    /// What the rule asks for.
    pub response: Response,
    /// How long running work may delay the response.
    pub urgency: Urgency,
}

/// One counted kind of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEvidence {
    /// Source and fault code of the evidence.
    pub code: String,
    /// Serial number of the part. Null: the whole node.
    pub device: Option<String>,
    /// Number of occurrences since boot.
    pub count: u64,
    /// Time of the first occurrence, by the node's clock, in milliseconds since the Unix epoch.
    pub first_at: i64,
    /// Time of the latest occurrence, by the node's clock, in milliseconds since the Unix epoch.
    pub last_at: i64,
    /// What distinguishes this entry from others of the same code.
    pub detail: Option<String>,
}

/// One change of stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTransition {
    /// Time of the stage change, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Stage that the node entered.
    pub to: Stage,
    /// Rule that led to the change.
    pub rule: Option<String>,
}

/// One attempt of one repair step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeAttempt {
    /// Time at which the step was ordered, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Repair step that was ordered.
    pub step: RepairStep,
    /// Rule whose repair plan the step belongs to.
    pub rule: String,
    /// Serial number of the part. Null: the whole node.
    pub device: Option<String>,
}

/// An order that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeOrder {
    /// Unique id of the order.
    pub id: String,
    /// What the order asks the agent to do.
    pub task: String,
    /// Time after which the controller no longer waits for the order, in milliseconds since the Unix epoch.
    pub done_by: i64,
}

/// Probability that a node needs repair within 7 days, and its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Risk {
    /// Probability in parts per million.
    pub ppm: u32,
    /// Whether the node is a lemon: it fails repeatedly.
    pub lemon: Lemon,
    /// Reasons for the risk, with their shares.
    pub parts: Vec<RiskPart>,
}

/// Whether a node fails repeatedly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Lemon {
    /// The node fails repeatedly.
    Yes,
    /// The node does not fail repeatedly.
    No,
}

/// One reason for a risk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskPart {
    /// Description of the reason.
    pub what: String,
    /// Share of the risk, in parts per million.
    pub ppm: u32,
}

/// An open request for a node, with the operator's name and reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorRequest {
    /// What the operator requests.
    pub kind: NodeRequestKind,
    /// User name of the operator.
    pub by: String,
    /// Why the operator requests it.
    pub reason: String,
}

/// Which nodes to list: those in one stage, or all that are not in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StageFilter {
    /// Only nodes in this stage.
    Only(Stage),
    /// All nodes that are not in service.
    Out(NotInService),
}

/// Filter value for all stages except InService.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NotInService {
    /// Every stage except InService.
    NotInService,
}

impl StageFilter {
    /// Whether the filter includes a stage.
    #[must_use]
    pub fn holds(self, stage: Stage) -> bool {
        match self {
            Self::Only(only) => stage == only,
            Self::Out(NotInService::NotInService) => stage != Stage::InService,
        }
    }
}
