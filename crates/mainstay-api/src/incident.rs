//! `Incident`: one cause, one blamed subject, what was done and what it cost: one page instead of 96 alerts.

use kube::CustomResource;
use mainstay_model::{
    Bounded, Code, DomainName, Level, NodeName, OrderId, Part, Person, Reason, RuleName, Serial, Source, Version,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS};
use crate::{Conditions, Moment};

/// What people say about the incident.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Incident",
    doc = "One cause with one blamed subject: evidence, actions with their outcome, and GPU time lost.",
    status = "IncidentStatus",
    shortname = "inc",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "!has(self.status) || (has(self.status.subject.part) == (self.status.subject.type == 'Part') && has(self.status.subject.node) == (self.status.subject.type == 'Node') && has(self.status.subject.domain) == (self.status.subject.type == 'Domain') && has(self.status.subject.driver) == (self.status.subject.type == 'Driver'))",
        "a subject has the one block that its type names"
    ),
    printcolumn(name = "Cause", type_ = "string", json_path = ".status.rule"),
    printcolumn(name = "Blamed", type_ = "string", json_path = ".status.subject.type"),
    printcolumn(name = "Summary", type_ = "string", json_path = ".status.summary"),
    printcolumn(name = "Lost-GPU-Seconds", type_ = "integer", json_path = ".status.lostGpuSeconds"),
    printcolumn(name = "Opened", type_ = "date", json_path = ".status.openedAt"),
    printcolumn(name = "Closed", type_ = "date", json_path = ".status.closedAt"),
    printcolumn(name = "Acknowledged-By", type_ = "string", json_path = ".spec.acknowledgement.by", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct IncidentSpec {
    /// A person has seen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledgement: Option<Acknowledgement>,
}

/// Who has seen the incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgement {
    /// Who.
    pub by: Person,
    /// What they want the next reader to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// What the controller knows of the incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentStatus {
    /// The epoch of the leader that wrote this.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// The rule that opened it.
    pub rule: RuleName,
    /// What is blamed.
    pub subject: Subject,
    /// The incident in a sentence.
    pub summary: Reason,
    /// When it began.
    pub opened_at: Moment,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Moment>,
    /// GPU time lost by it so far, in seconds.
    #[schemars(range(min = 0))]
    pub lost_gpu_seconds: i64,
    /// The nodes concerned; where there are more, the first ones named.
    #[serde(default)]
    pub nodes: Bounded<NodeName, 72>,
    /// What it rests on.
    #[serde(default)]
    pub evidence: Bounded<IncidentEvidence, 32>,
    /// What was done about it, latest last.
    #[serde(default)]
    pub actions: Bounded<IncidentAction, 64>,
    /// How the incident stands.
    #[serde(default)]
    pub conditions: Conditions,
}

/// What kind of thing is blamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SubjectType {
    /// One part by serial.
    Part,
    /// One machine.
    Node,
    /// A shared failure domain.
    Domain,
    /// A driver version.
    Driver,
}

/// What is blamed. A type with one block each, because a tagged union cannot be merged from one variant to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Which block is set.
    #[serde(rename = "type")]
    pub type_: SubjectType,
    /// One part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartSubject>,
    /// One machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// A shared failure domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainSubject>,
    /// A driver version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Version>,
}

/// A blamed part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartSubject {
    /// What it is.
    pub part: Part,
    /// Which one.
    pub serial: Serial,
    /// Where it is plugged in now.
    pub node: NodeName,
}

/// A blamed failure domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainSubject {
    /// Of which kind.
    pub level: Level,
    /// Which one.
    pub name: DomainName,
}

/// A piece of evidence that the incident rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentEvidence {
    /// Whose report.
    pub node: NodeName,
    /// Who said it.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// The serial of the part; the node where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// How often.
    #[schemars(range(min = 0))]
    pub count: i64,
    /// When it arrived first.
    pub arrived_at: Moment,
}

/// Something that was done, or would have been in a higher mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentAction {
    /// Its id; what a person approves.
    pub id: OrderId,
    /// On which node.
    pub node: NodeName,
    /// What, as one word.
    pub act: RuleName,
    /// By which leadership.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// When it was decided.
    pub decided_at: Moment,
    /// How it ended, in a sentence; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Reason>,
}
