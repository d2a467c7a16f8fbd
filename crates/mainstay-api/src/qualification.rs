//! `Qualification`: evidence that a node may return, bound to one order, one boot and one registration of the node.

use kube::CustomResource;
use mainstay_model::{BootId, Bounded, NodeName, NodeUid, Nonce, RuleName, SuiteName, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS, SPEC_FIXED_RULE, SPEC_FIXED_SAYS};
use crate::{Conditions, Moment, TestResult};

/// The qualification that the controller ordered.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Qualification",
    doc = "Evidence that a node may return to service: the suite, its results and the verdict.",
    status = "QualificationStatus",
    shortname = "qual",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (SPEC_FIXED_RULE, SPEC_FIXED_SAYS),
    validation = (
        "!has(self.status) || !has(self.status.verdict) || self.status.verdict != 'Passed' || (self.status.results.size() > 0 && self.status.results.all(r, r.verdict == 'Passed' && r.nonce == self.spec.nonce))",
        "verdict Passed needs at least one result, and every result must have passed with this qualification's nonce"
    ),
    printcolumn(name = "Node", type_ = "string", json_path = ".spec.node"),
    printcolumn(name = "Suite", type_ = "string", json_path = ".spec.suite"),
    printcolumn(name = "Verdict", type_ = "string", json_path = ".status.verdict"),
    printcolumn(name = "Round", type_ = "integer", json_path = ".status.round"),
    printcolumn(name = "Because", type_ = "string", json_path = ".spec.rule"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct QualificationSpec {
    /// Name of the node under test.
    pub node: NodeName,
    /// UID of the Node object at the time of the order.
    pub node_uid: NodeUid,
    /// Boot id of the node at the time of the order.
    pub boot_id: BootId,
    /// Random value that every result must carry.
    pub nonce: Nonce,
    /// Qualification suite to run.
    pub suite: SuiteName,
    /// Number of clean rounds that are required.
    #[schemars(range(min = 1, max = 16))]
    pub rounds: i32,
    /// Rule that removed the node from service.
    pub rule: RuleName,
}

/// Progress and results of the qualification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QualificationStatus {
    /// Epoch of the leader that wrote this status.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Number of the current round.
    #[schemars(range(min = 0, max = 16))]
    pub round: i32,
    /// Results of the current round, copied from the node's report.
    #[serde(default)]
    pub results: Bounded<TestResult, 32>,
    /// Verdict over all rounds. Absent while the qualification runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Time at which the qualification ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Conditions of the qualification. None is defined yet.
    #[serde(default)]
    pub conditions: Conditions,
}
