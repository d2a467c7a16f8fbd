//! What kubelets, the node-lifecycle controller and an administrator can write while the Cell or its definition is missing or
//! broken: everything, except updates and deletions of nodes and Evictions that carry the label of the fence.

use anyhow::Result;
use kube::Client;
use serde_json::{Value, json};

use super::fenced_cluster::{FencedCluster, Verb, WriteMode, WriteRequest, send_until};
use super::operation::{LABELLED_NODE, eviction, prefix, taints};
use super::{Case, ExpectedResponse};
use crate::proofs::install_orders::client_as;

/// What the API server can use of the Cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellState {
    /// It is there, as in a healthy cluster.
    Present,
    /// Its definition is there, and the Cell is not.
    Missing,
    /// Its definition is stored and not served. A running server continues with the Cell that it knows.
    NotServed,
    /// Its definition was deleted under a running server.
    Undefined,
    /// The server has never seen its definition, as after a restart, or if the policies were applied first.
    Unresolved,
}

/// Who writes besides Mainstay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Kubelet,
    NodeLifecycle,
    Administrator,
}

/// One write of a client that is not Mainstay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherWrite {
    Status,
    Label,
    Taint,
    Cordon,
    Delete,
    AddFenceLabel,
    RegisterLabelled,
    Register,
    Evict,
    EvictLabelled,
}

const OF_KUBELET: &[OtherWrite] = &[OtherWrite::Status, OtherWrite::Label, OtherWrite::Register];
const OF_LIFECYCLE: &[OtherWrite] = &[OtherWrite::Status, OtherWrite::Taint, OtherWrite::Label, OtherWrite::Delete];
const OF_ADMINISTRATOR: &[OtherWrite] = &[
    OtherWrite::Status,
    OtherWrite::Label,
    OtherWrite::Taint,
    OtherWrite::Cordon,
    OtherWrite::Delete,
    OtherWrite::AddFenceLabel,
    OtherWrite::RegisterLabelled,
    OtherWrite::Register,
    OtherWrite::Evict,
    OtherWrite::EvictLabelled,
];

/// Every write of every client to a node without and a node with the label.
pub(super) async fn run(world: &FencedCluster, state: CellState) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for node in ["n1", LABELLED_NODE] {
        let kubelet =
            client_as(&world.cluster, &format!("system:node:{node}"), &["system:nodes", "system:authenticated"])
                .await?;
        let accounts = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
        let lifecycle =
            client_as(&world.cluster, "system:serviceaccount:kube-system:node-controller", &accounts).await?;
        let clients: [(Writer, &Client, &[OtherWrite]); 3] = [
            (Writer::Kubelet, &kubelet, OF_KUBELET),
            (Writer::NodeLifecycle, &lifecycle, OF_LIFECYCLE),
            (Writer::Administrator, &world.admin, OF_ADMINISTRATOR),
        ];
        for (writer, client, writes) in clients {
            for write in writes {
                let expected = expected(*write, node, state);
                let call = write.call(node, world.eviction_options()?);
                let answer = send_until(client, &call, WriteMode::Dry, expected).await?;
                let what = format!("Cell {state:?}: {write:?} of {node} by {writer:?}");
                cases.push(Case { what, expected, answer });
            }
        }
    }
    Ok(cases)
}

/// What the documentation states: with the Cell unusable, other clients are refused on objects with the label only.
fn expected(write: OtherWrite, node: &str, state: CellState) -> ExpectedResponse {
    let is_labelled = match write {
        OtherWrite::Status | OtherWrite::Register | OtherWrite::Evict => false,
        OtherWrite::AddFenceLabel | OtherWrite::RegisterLabelled | OtherWrite::EvictLabelled => true,
        OtherWrite::Label | OtherWrite::Taint | OtherWrite::Cordon | OtherWrite::Delete => node == LABELLED_NODE,
    };
    match state {
        CellState::Missing | CellState::Undefined | CellState::Unresolved if is_labelled => {
            ExpectedResponse::Policy("mainstay-fence-actions")
        }
        CellState::Present
        | CellState::NotServed
        | CellState::Missing
        | CellState::Undefined
        | CellState::Unresolved => ExpectedResponse::Taken,
    }
}

impl OtherWrite {
    fn call(self, node: &'static str, options: &Value) -> WriteRequest {
        let fenced = json!({ "labels": { (mainstay_api::FENCED): "" } });
        let on_node = |verb, body| WriteRequest { prefix: prefix("nodes"), name: node, verb, body };
        let register = |mut metadata: Value| {
            metadata["name"] = json!(if node == LABELLED_NODE { "new-2" } else { "new-1" });
            on_node(Verb::Create, json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata }))
        };
        let evict = |metadata: Value| WriteRequest {
            prefix: prefix("pods"),
            name: "p1",
            verb: Verb::Evict,
            body: eviction(metadata, options),
        };
        match self {
            Self::Status => {
                let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
                on_node(Verb::UpdateStatus, ready)
            }
            Self::Label => on_node(Verb::Update, json!({ "metadata": { "labels": { "example.com/rack": "r1" } } })),
            Self::Taint => {
                let unreachable = taints(&[("node.kubernetes.io/unreachable", "NoExecute")]);
                on_node(Verb::UpdateSpec, json!({ "spec": { "taints": unreachable } }))
            }
            Self::Cordon => on_node(Verb::UpdateSpec, json!({ "spec": { "unschedulable": true } })),
            Self::Delete => on_node(Verb::Delete, Value::Null),
            Self::AddFenceLabel => on_node(Verb::Update, json!({ "metadata": fenced })),
            Self::RegisterLabelled => register(fenced),
            Self::Register => register(json!({})),
            Self::Evict => evict(json!({})),
            Self::EvictLabelled => evict(fenced),
        }
    }
}
