//! Writes of other clients to nodes, pods and evictions: an administrator, a kubelet, the node-lifecycle controller and another
//! tool. Dry runs, which take the whole path of a write except the commit, and one real write in each state.

use anyhow::{Context as _, Result};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Client, Config};
use serde_json::{Value, json};
use testbed::Cluster;

const NODE: &str = "n1";
const POD: &str = "p1";
const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A kind of write that clients other than Mainstay make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteKind {
    Cordon,
    Label,
    Taint,
    NodeStatus,
    RegisterNode,
    DeleteNode,
    CreatePod,
    UpdatePod,
    PodStatus,
    DeletePod,
    Evict,
}

const EVERY: [WriteKind; 11] = [
    WriteKind::Cordon,
    WriteKind::Label,
    WriteKind::Taint,
    WriteKind::NodeStatus,
    WriteKind::RegisterNode,
    WriteKind::DeleteNode,
    WriteKind::CreatePod,
    WriteKind::UpdatePod,
    WriteKind::PodStatus,
    WriteKind::DeletePod,
    WriteKind::Evict,
];
/// What a kubelet writes.
const OF_KUBELET: [WriteKind; 6] = [
    WriteKind::Label,
    WriteKind::NodeStatus,
    WriteKind::RegisterNode,
    WriteKind::PodStatus,
    WriteKind::DeletePod,
    WriteKind::Evict,
];
/// What the node-lifecycle controller writes.
const OF_LIFECYCLE: [WriteKind; 6] = [
    WriteKind::Label,
    WriteKind::Taint,
    WriteKind::NodeStatus,
    WriteKind::DeleteNode,
    WriteKind::PodStatus,
    WriteKind::DeletePod,
];

/// How many writes are tried in each state.
pub(super) const COUNT: usize = 2 * EVERY.len() + OF_KUBELET.len() + OF_LIFECYCLE.len() + 1;

/// Clients other than Mainstay.
pub(super) struct Clients {
    administrator: Client,
    others: Vec<(&'static str, Client, &'static [WriteKind])>,
}

impl Clients {
    /// The clients, with one GPU node and one pod on it for them to write to.
    pub(super) async fn new(cluster: &Cluster) -> Result<Self> {
        let administrator = cluster.client().await?;
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": NODE } });
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "fleet-tool" },
            "rules": [{
                "apiGroups": [""], "verbs": ["*"],
                "resources": ["nodes", "nodes/status", "pods", "pods/status", "pods/eviction"],
            }],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": "fleet-tool" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "fleet-tool" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "fleet-tool" }],
        });
        for (prefix, object) in [
            ("/api/v1/namespaces/default/serviceaccounts", &account),
            (NODES, &node),
            (PODS, &pod(POD)),
            ("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role),
            ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding),
        ] {
            let request = Request::new(prefix).create(&PostParams::default(), serde_json::to_vec(object)?)?;
            administrator.request::<Value>(request).await.with_context(|| format!("{prefix} refused {object}"))?;
        }
        let gpus =
            json!({ "status": { "capacity": { "nvidia.com/gpu": "8" }, "allocatable": { "nvidia.com/gpu": "8" } } });
        let request =
            Request::new(NODES).patch_subresource("status", NODE, &PatchParams::default(), &Patch::Merge(&gpus))?;
        administrator.request::<Value>(request).await?;

        let nodes = format!("system:node:{NODE}");
        let lifecycle = "system:serviceaccount:kube-system:node-controller";
        let accounts = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
        let others = vec![
            ("administrator", administrator.clone(), &EVERY[..]),
            ("kubelet", client_as(cluster, &nodes, &["system:nodes", "system:authenticated"]).await?, &OF_KUBELET),
            ("node-lifecycle controller", client_as(cluster, lifecycle, &accounts).await?, &OF_LIFECYCLE),
            ("another client", client_as(cluster, "fleet-tool", &["system:authenticated"]).await?, &EVERY),
        ];
        Ok(Self { administrator, others })
    }

    pub(super) const fn administrator(&self) -> &Client {
        &self.administrator
    }

    /// Every write that the server refuses, with the server's words.
    pub(super) async fn refused(&self, state: usize) -> Result<Vec<String>> {
        let mut refused = Vec::new();
        for (who, client, writes) in &self.others {
            for write in *writes {
                let answer = write.send(client).await?;
                note(&mut refused, &format!("{write:?} by {who}"), answer)?;
            }
        }
        // A write that is committed.
        let label = json!({ "metadata": { "labels": { "example.com/state": state.to_string() } } });
        let request = Request::new(NODES).patch(NODE, &PatchParams::default(), &Patch::Merge(&label))?;
        let answer = self.administrator.request::<Value>(request).await;
        note(&mut refused, "Label, committed, by administrator", answer)?;
        Ok(refused)
    }
}

fn note(refused: &mut Vec<String>, what: &str, answer: kube::Result<Value>) -> Result<()> {
    match answer {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => {
            refused.push(format!("{what}: {} {}", status.code, status.message));
            Ok(())
        }
        Err(error) => Err(error).with_context(|| format!("{what} was not answered")),
    }
}

impl WriteKind {
    /// Sends it, and answers what the server said.
    async fn send(self, client: &Client) -> Result<kube::Result<Value>> {
        let patch = PatchParams { dry_run: true, ..PatchParams::default() };
        let post = PostParams { dry_run: true, ..PostParams::default() };
        let delete = DeleteParams { dry_run: true, ..DeleteParams::default() };
        let (nodes, pods) = (Request::new(NODES), Request::new(PODS));
        let on_node = |body: Value| Request::new(NODES).patch(NODE, &patch, &Patch::Merge(&body));
        let request = match self {
            Self::Cordon => on_node(json!({ "spec": { "unschedulable": true } }))?,
            Self::Label => on_node(json!({ "metadata": { "labels": { "example.com/rack": "r1" } } }))?,
            Self::Taint => {
                on_node(json!({ "spec": { "taints": [{ "key": "example.com/broken", "effect": "NoSchedule" }] } }))?
            }
            Self::NodeStatus => {
                let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
                nodes.patch_subresource("status", NODE, &patch, &Patch::Merge(&ready))?
            }
            Self::RegisterNode => {
                let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n9" } });
                nodes.create(&post, serde_json::to_vec(&node)?)?
            }
            Self::DeleteNode => nodes.delete(NODE, &delete)?,
            Self::CreatePod => pods.create(&post, serde_json::to_vec(&pod("p9"))?)?,
            Self::UpdatePod => {
                pods.patch(POD, &patch, &Patch::Merge(&json!({ "metadata": { "labels": { "example.com/a": "b" } } })))?
            }
            Self::PodStatus => {
                let ready = json!({ "status": { "phase": "Running" } });
                pods.patch_subresource("status", POD, &patch, &Patch::Merge(&ready))?
            }
            Self::DeletePod => pods.delete(POD, &delete)?,
            Self::Evict => {
                let eviction = json!({
                    "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": POD, "namespace": "default" },
                });
                pods.create_subresource("eviction", POD, &post, serde_json::to_vec(&eviction)?)?
            }
        };
        Ok(client.request(request).await)
    }
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": {
            "nodeName": NODE, "automountServiceAccountToken": false, "containers": [{ "name": "c", "image": "none" }],
        },
    })
}

/// The administrator as another user.
pub(in crate::proofs) async fn client_as(cluster: &Cluster, user: &str, groups: &[&str]) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.auth_info.impersonate = Some(user.to_owned());
    config.auth_info.impersonate_groups = Some(groups.iter().map(|group| (*group).to_owned()).collect());
    Ok(Client::try_from(config)?)
}
