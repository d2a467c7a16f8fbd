//! `Incident`: one fault with one suspected cause, what was done about it and what it cost. One page replaces 96
//! alerts.

use kube::CustomResource;
use mainstay_model::{
    Bounded, Code, DomainName, Level, NodeName, OrderId, Part, Reason, RuleName, Serial, Source, UserName, Version,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS};
use crate::{Conditions, Moment};

/// What operators record about the incident.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Incident",
    doc = "One fault with its suspected cause, evidence, actions with their outcomes, and GPU time lost.",
    status = "IncidentStatus",
    shortname = "inc",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "!has(self.status) || (has(self.status.subject.part) == (self.status.subject.type == 'Part') && has(self.status.subject.node) == (self.status.subject.type == 'Node') && has(self.status.subject.domain) == (self.status.subject.type == 'Domain') && has(self.status.subject.driver) == (self.status.subject.type == 'Driver'))",
        "subject must set exactly the block that its type names"
    ),
    printcolumn(name = "Rule", type_ = "string", json_path = ".status.rule"),
    printcolumn(name = "Cause-Type", type_ = "string", json_path = ".status.subject.type"),
    printcolumn(name = "Summary", type_ = "string", json_path = ".status.summary"),
    printcolumn(name = "Lost-GPU-Seconds", type_ = "integer", json_path = ".status.lostGpuSeconds"),
    printcolumn(name = "Opened", type_ = "date", json_path = ".status.openedAt"),
    printcolumn(name = "Closed", type_ = "date", json_path = ".status.closedAt"),
    printcolumn(name = "Acknowledged-By", type_ = "string", json_path = ".spec.acknowledgement.by", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct IncidentSpec {
    /// Acknowledgement by an operator. Absent while unacknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledgement: Option<Acknowledgement>,
}

/// An operator's acknowledgement of the incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgement {
    /// User name of the operator who acknowledged it.
    pub by: UserName,
    /// Note for the next reader of the incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Reason>,
}

/// State that the controller keeps about the incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentStatus {
    /// Epoch of the leader that wrote this status.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Rule that opened the incident.
    pub rule: RuleName,
    /// Suspected cause: a part, a node, a failure domain or a driver version.
    pub subject: Subject,
    /// Summary of the incident in one sentence.
    pub summary: Reason,
    /// Time at which the incident began.
    pub opened_at: Moment,
    /// Time at which the incident ended. Absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Moment>,
    /// GPU time lost to the incident so far, in GPU-seconds.
    #[schemars(range(min = 0))]
    pub lost_gpu_seconds: i64,
    /// Affected nodes. Of more than 72 nodes, the first 72.
    #[serde(default)]
    pub nodes: Bounded<NodeName, 72>,
    /// Evidence that the incident is based on.
    #[serde(default)]
    pub evidence: Bounded<IncidentEvidence, 32>,
    /// Actions that were executed, or recorded as a dry run. Latest last.
    #[serde(default)]
    pub actions: Bounded<IncidentAction, 64>,
    /// Condition of the incident: Closed.
    #[serde(default)]
    pub conditions: Conditions,
}

/// Type of the suspected cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SubjectType {
    /// One part, named by its serial number.
    Part,
    /// One node as a whole.
    Node,
    /// A failure domain that several nodes share.
    Domain,
    /// A GPU driver version.
    Driver,
}

/// Suspected cause. Each type has a block of its own, because a tagged union cannot be merged from one variant to
/// another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Type of the cause. It names the one block that is set.
    #[serde(rename = "type")]
    pub type_: SubjectType,
    /// The suspected part, for type Part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartSubject>,
    /// The suspected node, for type Node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// The suspected failure domain, for type Domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainSubject>,
    /// The suspected driver version, for type Driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Version>,
}

/// A part that is the suspected cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartSubject {
    /// Kind of the part: GPU, board or NIC.
    pub part: Part,
    /// Serial number of the part.
    pub serial: Serial,
    /// Node that holds the part now.
    pub node: NodeName,
}

/// A failure domain that is the suspected cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainSubject {
    /// Topology level of the failure domain.
    pub level: Level,
    /// Name of the failure domain.
    pub name: DomainName,
}

/// One piece of evidence that the incident is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentEvidence {
    /// Node that reported the evidence.
    pub node: NodeName,
    /// Source that reported the evidence.
    pub source: Source,
    /// Fault code as the source reports it.
    pub code: Code,
    /// Serial number of the part. Absent: the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// Number of times the fault was reported.
    #[schemars(range(min = 0))]
    pub count: i64,
    /// Time at which it first arrived.
    pub arrived_at: Moment,
}

/// An action that was executed, or that a higher mode would have executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentAction {
    /// Id of the action, as an operator approves it.
    pub id: OrderId,
    /// Node that the action is for.
    pub node: NodeName,
    /// Kind of action, for example cordon.
    pub kind: RuleName,
    /// Epoch of the leader that decided it. 0 for a dry run.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Time of the decision.
    pub decided_at: Moment,
    /// What happened next, in one sentence. Absent while the outcome is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Reason>,
}
