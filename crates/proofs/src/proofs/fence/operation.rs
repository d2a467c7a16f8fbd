//! Every write that is tried: on which resource, with which body, and whether the controller's role names it.

use serde_json::{Value, json};

use super::fenced_cluster::{CONTROLLER_NAMESPACE, Verb, WriteRequest};

/// The epoch that the cell is at while the matrix runs.
pub(super) const EPOCH: i64 = 5;
/// The node that has the label of the fence from the start.
pub(super) const LABELLED_NODE: &str = "n2";
/// The action that a person approved in the Cell.
pub(super) const APPROVED: &str = "drain-n1-7";

/// The epoch that a write carries, compared with the Cell's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EpochClaim {
    Stale,
    Current,
    Ahead,
    Absent,
}

impl EpochClaim {
    pub(super) const ALL: [Self; 4] = [Self::Stale, Self::Current, Self::Ahead, Self::Absent];

    pub(super) fn epoch(self) -> Option<i64> {
        match self {
            Self::Stale => Some(EPOCH - 1),
            Self::Current => Some(EPOCH),
            Self::Ahead => Some(EPOCH + 1),
            Self::Absent => None,
        }
    }

    /// The stored object whose deletion was announced with this epoch.
    pub(super) fn object(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Current => "current",
            Self::Ahead => "ahead",
            Self::Absent => "absent",
        }
    }
}

/// Whether a write names an action that an operator approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApprovalClaim {
    Approved,
    Unknown,
    Nothing,
}

impl ApprovalClaim {
    pub(super) const ALL: [Self; 3] = [Self::Approved, Self::Unknown, Self::Nothing];

    fn action(self) -> Option<&'static str> {
        match self {
            Self::Approved => Some(APPROVED),
            Self::Unknown => Some("reboot-n1-9"),
            Self::Nothing => None,
        }
    }
}

/// The class of a write, which decides how the fence treats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteClass {
    /// Our own record: fenced by epoch, allowed in every mode.
    Record,
    /// Touches what is not ours: fenced by epoch and mode.
    Act,
    /// Writes what somebody else says: never.
    OthersWord,
    /// An action on an object without the label of the fence: never.
    Unlabelled,
    /// The Lease and Events: outside the fence.
    Exempt,
    /// No business of the controller.
    NoRole,
}

/// Where a write to a node or an eviction has the label `mainstay.dev/fenced`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// Neither the stored object nor the write has it.
    Absent,
    /// The write adds it.
    Written,
    /// The stored object has it, and the write leaves it alone.
    Stored,
    /// The stored object has it, and the write removes it.
    Removed,
}

/// One write on one resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) resource: &'static str,
    pub(super) verb: Verb,
    pub(super) nature: WriteClass,
    pub(super) label: Label,
}

const fn on(resource: &'static str, verb: Verb, nature: WriteClass) -> Operation {
    Operation { resource, verb, nature, label: Label::Absent }
}

const fn labelled(resource: &'static str, verb: Verb, label: Label) -> Operation {
    Operation { resource, verb, nature: WriteClass::Act, label }
}

/// All of them. What the controller's role names is stated here a second time, on purpose.
pub(super) const ALL: &[Operation] = {
    use Label::{Removed, Stored, Written};
    use Verb::{Create, Delete, Evict, Order, Update, UpdateSpec, UpdateStatus};
    use WriteClass::{Act, Exempt, NoRole, OthersWord, Record, Unlabelled};
    &[
        on("cells", Create, NoRole),
        on("cells", Update, NoRole),
        on("cells", Delete, NoRole),
        on("cells", UpdateStatus, Record),
        on("nodereports", Create, NoRole),
        on("nodereports", Update, Record),
        on("nodereports", UpdateSpec, OthersWord),
        on("nodereports", Delete, Record),
        on("gpunodes", Create, Record),
        on("gpunodes", Update, Record),
        on("gpunodes", UpdateSpec, OthersWord),
        on("gpunodes", Delete, Record),
        on("gpunodes", UpdateStatus, Record),
        on("gpunodes", Order, Act),
        on("incidents", Create, Record),
        on("incidents", Update, Record),
        on("incidents", UpdateSpec, OthersWord),
        on("incidents", Delete, Record),
        on("incidents", UpdateStatus, Record),
        on("qualifications", Create, Record),
        on("qualifications", Update, Record),
        on("qualifications", Delete, Record),
        on("qualifications", UpdateStatus, Record),
        on("checkpointrequests", Create, Act),
        on("checkpointrequests", Update, Act),
        on("checkpointrequests", Delete, Record),
        on("checkpointrequests", UpdateStatus, NoRole),
        on("fleetpolicies", Create, NoRole),
        on("fleetpolicies", Update, NoRole),
        on("fleetpolicies", Delete, NoRole),
        on("fleetpolicies", UpdateStatus, Record),
        on("fabrics", Create, NoRole),
        on("fabrics", Update, NoRole),
        on("fabrics", Delete, NoRole),
        on("fabrics", UpdateStatus, Record),
        on("slos", Create, NoRole),
        on("slos", Update, NoRole),
        on("slos", Delete, NoRole),
        on("slos", UpdateStatus, Record),
        on("nodes", Create, NoRole),
        on("nodes", Update, Unlabelled),
        on("nodes", UpdateSpec, Unlabelled),
        labelled("nodes", Update, Written),
        labelled("nodes", UpdateSpec, Written),
        labelled("nodes", Update, Stored),
        labelled("nodes", UpdateSpec, Stored),
        labelled("nodes", Update, Removed),
        labelled("nodes", UpdateSpec, Removed),
        on("nodes", UpdateStatus, NoRole),
        on("nodes", Delete, NoRole),
        on("pods", Create, NoRole),
        on("pods", Update, NoRole),
        on("pods", UpdateStatus, NoRole),
        on("pods", Delete, NoRole),
        on("pods", Evict, Unlabelled),
        labelled("pods", Evict, Written),
        on("configmaps", Create, NoRole),
        on("secrets", Create, NoRole),
        on("events", Create, Exempt),
        on("leases", Create, Exempt),
        on("leases", Update, Exempt),
        on("leases", Delete, NoRole),
    ]
};

/// Where a resource lives on the server, as a prefix.
pub(super) fn prefix(resource: &str) -> String {
    match resource {
        "nodes" => "/api/v1/nodes".to_owned(),
        "pods" | "configmaps" | "secrets" => format!("/api/v1/namespaces/default/{resource}"),
        "events" => "/apis/events.k8s.io/v1/namespaces/default/events".to_owned(),
        "leases" => format!("/apis/coordination.k8s.io/v1/namespaces/{CONTROLLER_NAMESPACE}/leases"),
        "checkpointrequests" => format!("/apis/mainstay.dev/v1alpha1/namespaces/default/{resource}"),
        _ => format!("/apis/mainstay.dev/v1alpha1/{resource}"),
    }
}

/// The stored object that a write goes to.
fn stored_name(operation: Operation, says: EpochClaim) -> &'static str {
    match operation.resource {
        "cells" => mainstay_api::CELL_NAME,
        "nodes" if matches!(operation.label, Label::Stored | Label::Removed) => LABELLED_NODE,
        "nodes" => "n1",
        "pods" => "p1",
        "leases" => "mainstay-leader",
        _ if operation.verb == Verb::Delete => says.object(),
        _ => "absent",
    }
}

/// The request to the server. `object` is a valid object of the resource, without a name.
pub(super) fn call(operation: Operation, says: EpochClaim, names: ApprovalClaim, object: &Value) -> WriteRequest {
    let mut annotations = json!({});
    if let Some(epoch) = says.epoch() {
        annotations[mainstay_api::EPOCH] = json!(epoch.to_string());
    }
    if let Some(action) = names.action() {
        annotations[mainstay_api::APPROVAL] = json!(action);
    }
    let mut metadata = json!({ "annotations": annotations });
    match operation.label {
        Label::Written => metadata["labels"] = json!({ (mainstay_api::FENCED): "" }),
        Label::Removed => metadata["labels"] = json!({ (mainstay_api::FENCED): null }),
        Label::Absent | Label::Stored => {}
    }
    let body = match operation.verb {
        Verb::Create => {
            let mut object = object.clone();
            object["metadata"] = json!({ "name": "new", "annotations": annotations });
            object
        }
        Verb::Update => json!({ "metadata": metadata }),
        Verb::UpdateSpec => json!({ "metadata": metadata, "spec": spec_change(operation.resource) }),
        Verb::UpdateStatus | Verb::Order => {
            let mut status = status(operation, names);
            if let (Some(epoch), true) = (says.epoch(), operation.resource != "nodes") {
                status["epoch"] = json!(epoch);
            }
            json!({ "metadata": metadata, "status": status })
        }
        Verb::Delete => Value::Null,
        Verb::Evict => {
            metadata["name"] = json!("p1");
            metadata["namespace"] = json!("default");
            json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata })
        }
    };
    WriteRequest { prefix: prefix(operation.resource), name: stored_name(operation, says), verb: operation.verb, body }
}

fn spec_change(resource: &str) -> Value {
    match resource {
        "nodes" => json!({ "unschedulable": true }),
        "nodereports" => json!({ "sequence": 1_000 }),
        "gpunodes" => json!({ "request": { "kind": "Drain", "reason": "ours now", "by": "controller" } }),
        _ => json!({ "acknowledgement": { "by": "controller" } }),
    }
}

fn status(operation: Operation, names: ApprovalClaim) -> Value {
    let order = json!({
        "id": names.action().unwrap_or("unnamed"), "epoch": EPOCH, "bootId": "b", "nonce": "n", "step": "Reboot",
        "startBy": "2026-11-15T03:00:00Z", "doneBy": "2026-11-15T04:00:00Z",
    });
    match operation.resource {
        "gpunodes" => json!({
            "stage": "Repairing", "since": "2026-11-15T03:00:00Z", "waitingOn": "Order", "message": "", "riskPpm": 0,
            "orders": if operation.verb == Verb::Order { json!([order]) } else { json!([]) },
        }),
        "incidents" => json!({
            "rule": "row-remap-pending", "subject": { "type": "Node", "node": "n1" }, "summary": "",
            "openedAt": "2026-11-15T03:00:00Z", "lostGpuSeconds": 0,
        }),
        "qualifications" => json!({ "round": 1 }),
        "fabrics" => json!({ "nodesPlaced": 1 }),
        "checkpointrequests" => json!({ "acknowledgedAt": "2026-11-15T03:00:00Z", "stepSaved": 1 }),
        "nodes" => json!({ "conditions": [{ "type": "MainstayQuarantined", "status": "True" }] }),
        _ => json!({}),
    }
}
