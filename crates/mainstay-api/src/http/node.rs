//! One node: a line for lists, everything that is known of it, and why it stands where it does.

use std::collections::BTreeMap;

use mainstay_model::{Level, Response, Rung, Stage, Urgency, WaitingOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AskedKind;

/// How a node stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeLine {
    /// Its name.
    pub name: String,
    /// Where it is in its life.
    pub stage: Stage,
    /// Since when.
    pub since: i64,
    /// What it waits on.
    pub waiting_on: WaitingOn,
    /// The rule behind it.
    pub rule: Option<String>,
    /// The same in a sentence.
    pub message: String,
    /// The job that runs there.
    pub job: Option<String>,
    /// How likely it is to go out for repair within 7 days.
    pub risk_ppm: u32,
    /// Its rack.
    pub rack: String,
    /// Its leaf.
    pub leaf: String,
    /// Its GPUs.
    pub gpus: u32,
}

/// Everything that is known of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDetail {
    /// How it stands.
    #[serde(flatten)]
    pub line: NodeLine,
    /// Why.
    pub why: Why,
    /// What else is known.
    #[serde(flatten)]
    pub record: NodeRecord,
}

/// Why a node stands where it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// Everything below in one text.
    pub sentence: String,
    /// Part and fault in one line; none where no rule is behind the stage.
    pub problem: Option<String>,
    /// What the fault means, as one sentence; none where no rule is behind the stage.
    pub explanation: Option<String>,
    /// What exactly the node waits for.
    pub waiting: String,
    /// What the operator must do; none where no action is needed.
    pub action: Option<String>,
    /// What was seen.
    pub evidence: Vec<String>,
    /// Since when it stands there.
    pub since: i64,
    /// Until when it waits at most; none where time alone does not end it.
    pub until: Option<i64>,
    /// What comes next.
    pub next: String,
    /// What would end the wait sooner.
    pub sooner: Option<String>,
}

/// What is known of a node beside how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRecord {
    /// Whose policy it follows.
    pub pool: String,
    /// Its domain at each level.
    pub domains: BTreeMap<Level, String>,
    /// Which registration.
    pub uid: String,
    /// The boot it last reported from.
    pub boot_id: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// Its GPU model.
    pub product: Option<String>,
    /// The GPUs its driver lists, at most 16.
    pub gpus_list: Vec<NodeGpu>,
    /// What was seen on it, at most 48.
    pub evidence: Vec<NodeEvidence>,
    /// Its latest changes of stage, oldest first, at most 16.
    pub timeline: Vec<NodeTransition>,
    /// What was tried, at most 16.
    pub attempts: Vec<NodeAttempt>,
    /// What its agent was ordered and has not ended, at most 4.
    pub orders: Vec<NodeOrder>,
    /// How likely it is to fail soon.
    pub risk: Risk,
    /// What a person asks of it.
    pub request: Option<Asked>,
    /// The open incident that it is part of.
    pub incident: Option<String>,
}

/// A GPU of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGpu {
    /// Its number there.
    pub index: u16,
    /// Its serial.
    pub serial: String,
    /// The driver's id of it.
    pub uuid: String,
    /// Where it sits.
    pub pci: String,
    /// What is found on it.
    pub findings: Vec<PartFinding>,
}

/// A GPU by its serial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuRecord {
    /// Its serial.
    pub serial: String,
    /// The driver's id of it.
    pub uuid: String,
    /// The node it sits in.
    pub node: String,
    /// Its number there.
    pub index: u16,
    /// What is found on it.
    pub findings: Vec<PartFinding>,
    /// Incidents that blame it, open or closed.
    pub incidents: u32,
}

/// Something that is found on a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartFinding {
    /// The rule that says so.
    pub rule: String,
    /// What it asks for.
    pub response: Response,
    /// How long running work may be waited for because of it.
    pub urgency: Urgency,
}

/// One counted piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEvidence {
    /// Who said it and in which words.
    pub code: String,
    /// Of which part; the node where absent.
    pub device: Option<String>,
    /// How often since boot.
    pub count: u64,
    /// When first, by the node's clock.
    pub first_at: i64,
    /// When last.
    pub last_at: i64,
    /// What tells it from others of its code.
    pub detail: Option<String>,
}

/// A change of stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTransition {
    /// When.
    pub at: i64,
    /// Into which.
    pub to: Stage,
    /// By which rule.
    pub rule: Option<String>,
}

/// One try of one rung.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeAttempt {
    /// When it was ordered.
    pub at: i64,
    /// Which rung.
    pub rung: Rung,
    /// Of which rule's ladder.
    pub rule: String,
    /// On which part; the node where absent.
    pub device: Option<String>,
}

/// An order that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeOrder {
    /// Its id.
    pub id: String,
    /// What it asks for.
    pub task: String,
    /// After which it is no longer waited for.
    pub expires_at: i64,
}

/// How likely a node is to go out for repair within 7 days, and what says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Risk {
    /// How likely.
    pub ppm: u32,
    /// Whether it is a lemon.
    pub lemon: Lemon,
    /// What it is made of.
    pub parts: Vec<RiskPart>,
}

/// Whether a node fails again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Lemon {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// One reason for a risk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskPart {
    /// What.
    pub what: String,
    /// How much it adds.
    pub ppm: u32,
}

/// What a person asks of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// What.
    pub kind: AskedKind,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// Which stages are asked for: one, or all that are not the calm one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StagesIn {
    /// This one.
    Only(Stage),
    /// All but one.
    Out(NotInService),
}

/// The word for all stages but the calm one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NotInService {
    /// Whatever is not in service.
    NotInService,
}

impl StagesIn {
    /// Whether a stage is asked for.
    #[must_use]
    pub fn holds(self, stage: Stage) -> bool {
        match self {
            Self::Only(only) => stage == only,
            Self::Out(NotInService::NotInService) => stage != Stage::InService,
        }
    }
}
