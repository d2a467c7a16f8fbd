//! `CheckpointRequest`: the question put to a job before it is stopped. We write the question once; the job answers.

use kube::CustomResource;
use mainstay_model::{GangName, NodeName, OrderId, Reason, Urgency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Moment;
use crate::rules::{SPEC_FIXED_RULE, SPEC_FIXED_SAYS};

/// The question.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "CheckpointRequest",
    namespaced,
    doc = "Asks a gang to save before it is stopped; the job acknowledges in the status.",
    status = "CheckpointRequestStatus",
    shortname = "ckpt",
    category = "mainstay",
    validation = (SPEC_FIXED_RULE, SPEC_FIXED_SAYS),
    validation = (
        "!has(oldSelf.status) || (has(self.status) && self.status == oldSelf.status)",
        "an acknowledgement is given once and not taken back"
    ),
    printcolumn(name = "Gang", type_ = "string", json_path = ".spec.gang"),
    printcolumn(name = "Urgency", type_ = "string", json_path = ".spec.urgency"),
    printcolumn(name = "Answer-By", type_ = "string", json_path = ".spec.answerBy"),
    printcolumn(name = "Step-Saved", type_ = "integer", json_path = ".status.stepSaved"),
    printcolumn(name = "Acknowledged", type_ = "date", json_path = ".status.acknowledgedAt"),
    printcolumn(name = "Why", type_ = "string", json_path = ".spec.reason", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRequestSpec {
    /// Which gang of this namespace.
    pub gang: GangName,
    /// The action that would stop it.
    pub action: OrderId,
    /// The node that has to be taken out; absent where the whole gang moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// Since when that node is being drained: the drain that the question belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining_since: Option<Moment>,
    /// Why, in a sentence.
    pub reason: Reason,
    /// How urgent.
    pub urgency: Urgency,
    /// Until when the answer is waited for.
    pub answer_by: Moment,
}

/// The job's answer, written with its own service account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRequestStatus {
    /// When it had saved.
    pub acknowledged_at: Moment,
    /// The last step that is safe on storage.
    #[schemars(range(min = 0))]
    pub step_saved: i64,
}
