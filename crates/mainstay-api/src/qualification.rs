//! `Qualification`: the proof that a node may return, bound to one order, one boot and one registration of the node.

use kube::CustomResource;
use mainstay_model::{BootId, Bounded, NodeName, NodeUid, Nonce, RuleName, SuiteName, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS, SPEC_FIXED_RULE, SPEC_FIXED_SAYS};
use crate::{Conditions, Moment, TestResult};

/// What was ordered.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Qualification",
    doc = "The proof that a node may return: the suite, its results and the verdict.",
    status = "QualificationStatus",
    shortname = "qual",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (SPEC_FIXED_RULE, SPEC_FIXED_SAYS),
    validation = (
        "!has(self.status) || !has(self.status.verdict) || self.status.verdict != 'Passed' || (self.status.results.size() > 0 && self.status.results.all(r, r.verdict == 'Passed' && r.nonce == self.spec.nonce))",
        "a pass needs at least one result, and every result passed under this qualification's nonce"
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
    /// Which node.
    pub node: NodeName,
    /// Which registration of it.
    pub node_uid: NodeUid,
    /// Which boot of it.
    pub boot_id: BootId,
    /// What every result must carry back.
    pub nonce: Nonce,
    /// Which suite.
    pub suite: SuiteName,
    /// How many clean rounds are asked for.
    #[schemars(range(min = 1, max = 16))]
    pub rounds: i32,
    /// The rule that took the node out of service.
    pub rule: RuleName,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QualificationStatus {
    /// The epoch of the leader that wrote this.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// The round it is in.
    #[schemars(range(min = 0, max = 16))]
    pub round: i32,
    /// Results of the current round, copied from the node's report.
    #[serde(default)]
    pub results: Bounded<TestResult, 32>,
    /// The verdict over all rounds; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// How it stands.
    #[serde(default)]
    pub conditions: Conditions,
}
