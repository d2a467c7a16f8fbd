//! `CheckpointRequest`: asks a job to save before it is stopped. Mainstay writes the request once; the job acknowledges
//! it.

use kube::CustomResource;
use mainstay_model::{GangName, NodeName, OrderId, Reason, Urgency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Moment;
use crate::rules::{SPEC_FIXED_RULE, SPEC_FIXED_SAYS};

/// A request to a gang to save a checkpoint.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "CheckpointRequest",
    namespaced,
    doc = "Asks a gang to save a checkpoint before it is stopped. The job acknowledges in the status.",
    status = "CheckpointRequestStatus",
    shortname = "ckpt",
    category = "mainstay",
    validation = (SPEC_FIXED_RULE, SPEC_FIXED_SAYS),
    validation = (
        "!has(oldSelf.status) || (has(self.status) && self.status == oldSelf.status)",
        "an acknowledgement cannot be changed or removed"
    ),
    printcolumn(name = "Gang", type_ = "string", json_path = ".spec.gang"),
    printcolumn(name = "Urgency", type_ = "string", json_path = ".spec.urgency"),
    printcolumn(name = "Acknowledge-By", type_ = "string", json_path = ".spec.acknowledgeBy"),
    printcolumn(name = "Step-Saved", type_ = "integer", json_path = ".status.stepSaved"),
    printcolumn(name = "Acknowledged", type_ = "date", json_path = ".status.acknowledgedAt"),
    printcolumn(name = "Why", type_ = "string", json_path = ".spec.reason", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRequestSpec {
    /// Gang in this namespace that should save.
    pub gang: GangName,
    /// Id of the action that would stop the gang.
    pub action: OrderId,
    /// Node that will be drained. Absent if the whole gang moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// Time at which the drain began that this request belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining_since: Option<Moment>,
    /// Why the gang has to stop, in one sentence.
    pub reason: Reason,
    /// How long running work may delay the drain.
    pub urgency: Urgency,
    /// Time until which Mainstay waits for the acknowledgement.
    pub acknowledge_by: Moment,
}

/// The job's acknowledgement, written with the job's own service account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRequestStatus {
    /// Time at which the job had saved.
    pub acknowledged_at: Moment,
    /// Last training step that is on durable storage.
    #[schemars(range(min = 0))]
    pub step_saved: i64,
}
