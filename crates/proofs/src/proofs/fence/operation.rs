//! Every write that is tried: on which resource, with which body, and whether the controller's role names it.

use serde_json::{Value, json};

use super::approval_claim::{AS_OF, ApprovalClaim, EXPIRES_AT};
use super::fenced_cluster::{CONTROLLER_NAMESPACE, Verb, WriteRequest};

/// The epoch that the cell is at while the matrix runs.
pub(super) const EPOCH: i64 = 5;
/// The node that has the label of the fence from the start.
pub(super) const LABELLED_NODE: &str = "n2";
/// A taint that the API server puts on each new node. It is not ours, so every write keeps it.
const NOT_READY: (&str, &str) = ("node.kubernetes.io/not-ready", "NoSchedule");

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
    use Verb::{Create, Delete, Evict, Lift, Order, Update, UpdateSpec, UpdateStatus};
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
        on("checkpointrequests", Update, NoRole),
        on("checkpointrequests", Delete, NoRole),
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
        labelled("nodes", Lift, Stored),
        labelled("nodes", Lift, Removed),
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

impl Operation {
    /// The verb that an approval of this write must have; none where any will do.
    pub(super) fn approved_verb(self) -> Option<&'static str> {
        match (self.resource, self.verb) {
            ("nodes", Verb::UpdateSpec) => Some("Cordon"),
            ("nodes", Verb::Lift) => Some("Return"),
            ("nodes", _) => None,
            ("gpunodes", _) => Some("Reboot"),
            _ => Some("Drain"),
        }
    }

    /// The node that the write acts on.
    fn node(self) -> &'static str {
        match self.resource {
            "nodes" if matches!(self.label, Label::Stored | Label::Removed) => LABELLED_NODE,
            "gpunodes" => "absent",
            "checkpointrequests" => "r12n04",
            _ => "n1",
        }
    }
}

/// The request to the server. `object` is a valid object of the resource, without a name; of an eviction, its options.
pub(super) fn call(operation: Operation, says: EpochClaim, names: ApprovalClaim, object: &Value) -> WriteRequest {
    let node = operation.node();
    let action = names.action(operation.approved_verb().unwrap_or("Cordon"), node);
    let mut annotations = json!({});
    if let Some(epoch) = says.epoch() {
        annotations[mainstay_api::EPOCH] = json!(epoch.to_string());
    }
    if let Some(action) = &action {
        annotations[mainstay_api::APPROVAL] = json!(action);
    }
    if let Some(plan) = names.plan(node) {
        annotations[mainstay_api::PLAN] = json!(plan);
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
        Verb::UpdateSpec | Verb::Lift => json!({ "metadata": metadata, "spec": spec_change(operation) }),
        Verb::UpdateStatus | Verb::Order => {
            let mut status = status(operation, action.as_deref(), names.plan(node));
            if let (Some(epoch), true) = (says.epoch(), operation.resource != "nodes") {
                status["epoch"] = json!(epoch);
            }
            json!({ "metadata": metadata, "status": status })
        }
        Verb::Delete => Value::Null,
        Verb::Evict => {
            metadata["annotations"][mainstay_api::NODE] = json!(node);
            eviction(metadata, object)
        }
    };
    WriteRequest { prefix: prefix(operation.resource), name: stored_name(operation, says), verb: operation.verb, body }
}

/// An eviction of the pod `p1`, with these options.
pub(super) fn eviction(mut metadata: Value, options: &Value) -> Value {
    metadata["name"] = json!("p1");
    metadata["namespace"] = json!("default");
    json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options })
}

/// Taints of a node: the server's own, then these.
pub(super) fn taints(ours: &[(&str, &str)]) -> Value {
    let all = std::iter::once(&NOT_READY).chain(ours);
    all.map(|(key, effect)| json!({ "key": key, "effect": effect })).collect()
}

fn spec_change(operation: Operation) -> Value {
    let quarantine = (mainstay_api::TAINT, "NoSchedule");
    let avoid = (mainstay_api::AVOID_TAINT, "PreferNoSchedule");
    match (operation.resource, operation.verb) {
        ("nodes", Verb::Lift) => json!({ "taints": taints(&[]) }),
        // The labelled node has the quarantine already.
        ("nodes", _) if operation.node() == LABELLED_NODE => json!({ "taints": taints(&[quarantine, avoid]) }),
        ("nodes", _) => json!({ "taints": taints(&[quarantine]) }),
        ("nodereports", _) => json!({ "sequence": 1_000 }),
        ("gpunodes", _) => json!({ "request": { "kind": "Drain", "reason": "ours now", "by": "controller" } }),
        _ => json!({ "acknowledgement": { "by": "controller" } }),
    }
}

/// The status of a GpuNode with these orders, under a grant of this plan.
pub(super) fn gpu_node_status(orders: &Value, plan: Option<String>) -> Value {
    let mut status = json!({
        "stage": "Repairing", "since": AS_OF, "waitingOn": "Order", "message": "", "riskPpm": 0, "orders": orders,
    });
    if let Some(plan) = plan {
        status["grant"] =
            json!({ "claim": plan, "by": "Fault", "needs": "Exclusive", "grantedAt": AS_OF, "epoch": EPOCH });
    }
    status
}

/// An order to reboot, with this id.
pub(super) fn order(id: &str) -> Value {
    json!({
        "id": id, "epoch": EPOCH, "bootId": "b", "nonce": "n", "step": "Reboot", "startBy": AS_OF, "doneBy": EXPIRES_AT,
    })
}

fn status(operation: Operation, action: Option<&str>, plan: Option<String>) -> Value {
    match operation.resource {
        "gpunodes" => {
            let orders =
                if operation.verb == Verb::Order { json!([order(action.unwrap_or("unnamed"))]) } else { json!([]) };
            gpu_node_status(&orders, plan)
        }
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
