//! The cluster: the fence, a fabric, a policy per pool, nodes without machines, and reports as agents write them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};
use testbed::fleet::labels;
use testbed::{Cluster, Fleet, Options};

use crate::prove::Context;

const READY_WITHIN: Duration = Duration::from_mins(3);

pub(super) const KINDS: [&str; 2] = ["gpunodes", "incidents"];

/// One node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) leaf: String,
    uid: String,
    ordinal: usize,
}

pub(super) struct Bed {
    pub(super) cluster: Cluster,
    pub(super) admin: Client,
    pub(super) nodes: Vec<Node>,
}

impl Bed {
    pub(super) async fn start(context: &Context, nodes: usize) -> Result<Self> {
        let deploy = context.workspace.root.join("deploy");
        let cluster = testbed::own(Options { nodes_max: nodes, ..Options::default() }).await?;
        cluster.install_crds(&deploy).await?;
        cluster.apply(&deploy.join("policy")).await?;
        cluster.apply(&deploy.join("examples/fabric.yaml")).await?;
        let admin = cluster.client().await?;
        let fleet = Fleet::new(nodes, 8, 7).named("observed");
        fleet.create(&admin, &|_| ()).await?;
        let ready = fleet.wait_ready(&admin, READY_WITHIN, &|_| ()).await?;
        ensure!(ready.ready == nodes, "{ready:?}");
        let mut bed = Self { cluster, admin, nodes: Vec::new() };
        let (mut pools, found) = (BTreeSet::new(), bed.list("/api/v1/nodes").await?);
        for (ordinal, planned) in fleet.nodes().enumerate() {
            let node =
                found.iter().find(|node| node["metadata"]["name"] == planned.name).context("a node is missing")?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            pools.insert(text(&node["metadata"]["labels"][labels::POOL]));
            let leaf = text(&node["metadata"]["labels"][labels::LEAF]);
            bed.nodes.push(Node { name: planned.name, leaf, uid: text(&node["metadata"]["uid"]), ordinal });
        }
        for pool in pools {
            let spec =
                json!({ "pool": pool, "mode": "Observe", "budgets": [{ "nodesMax": nodes.div_ceil(10).max(2) }] });
            bed.apply("FleetPolicy", "fleetpolicies", &pool, &json!({ "spec": spec })).await?;
        }
        Ok(bed)
    }

    /// A kubeconfig of the controller's account.
    pub(super) async fn controller(&self) -> Result<PathBuf> {
        let path = self.cluster.dir().join("controller.kubeconfig");
        std::fs::write(&path, self.cluster.kubeconfig_with_token(&self.token().await?)?)?;
        Ok(path)
    }

    pub(super) async fn token(&self) -> Result<String> {
        let arguments =
            ["create", "token", "mainstay-controller", "--namespace", "mainstay-system", "--duration", "8h"];
        Ok(self.cluster.run_kubectl(&arguments).await?.trim().to_owned())
    }

    /// What a node's agent writes: so many of each XID on its GPU 3 since this boot, and so many GPUs.
    pub(super) async fn report(
        &self,
        node: usize,
        (boot, sequence): (u32, u64),
        gpus: usize,
        xids: &[(&str, u64)],
    ) -> Result<()> {
        let node = &self.nodes[node];
        let now = jiff::Timestamp::now().to_string();
        let serial = |gpu: usize| format!("16528{:05}{gpu:02}", node.ordinal);
        let gpus = (0..gpus).map(|gpu| {
            let uuid = format!("GPU-3f1c0a52-6a1e-0a43-8a3b-{:08x}{gpu:04x}", node.ordinal);
            json!({ "index": gpu, "serial": serial(gpu), "uuid": uuid, "pci": format!("0000:{:02x}:00.0", 16 + gpu) })
        });
        let evidence = xids.iter().map(|(code, count)| {
            let seen = json!({ "source": "Xid", "code": code, "device": serial(3), "count": count });
            with(seen, &json!({ "firstSeenAt": now, "lastSeenAt": now }))
        });
        let inventory = json!({
            "board": format!("15717{:05}", node.ordinal), "product": "NVIDIA H100 80GB HBM3", "driver": "580.95.05",
            "kernel": "6.8.0", "gpus": gpus.collect::<Vec<_>>(),
        });
        let spec = json!({
            "nodeUid": node.uid, "bootId": format!("boot-{boot}"), "sequence": sequence, "reportedAt": now,
            "agentVersion": "0.1.0", "inventory": inventory, "evidence": evidence.collect::<Vec<_>>(),
        });
        self.apply("NodeReport", "nodereports", &node.name, &json!({ "spec": spec })).await
    }

    /// Applies an object of one of our kinds as a person or an agent.
    pub(super) async fn apply(&self, kind: &str, resource: &str, name: &str, more: &Value) -> Result<()> {
        let object = json!({ "apiVersion": "mainstay.dev/v1alpha1", "kind": kind, "metadata": { "name": name } });
        let patch = Patch::Apply(with(object, more));
        let request = Request::new(ours(resource)).patch(name, &PatchParams::apply("person").force(), &patch)?;
        self.admin.request::<Value>(request).await.with_context(|| format!("{kind} {name}"))?;
        Ok(())
    }

    /// A merge patch of anything, as an administrator.
    pub(super) async fn merge(&self, prefix: &str, name: &str, patch: &Value) -> Result<()> {
        let request = Request::new(prefix).patch(name, &PatchParams::default(), &Patch::Merge(patch))?;
        self.admin.request::<Value>(request).await.with_context(|| format!("{prefix}/{name}"))?;
        Ok(())
    }

    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<Value>> {
        let list: Value = self.admin.request(Request::new(prefix).list(&ListParams::default())?).await?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// All records of the controller, with what only tells one write from another.
    pub(super) async fn records(&self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for kind in KINDS {
            all.extend(self.list(&ours(kind)).await?);
        }
        Ok(all)
    }
}

pub(super) fn ours(resource: &str) -> String {
    format!("/apis/mainstay.dev/v1alpha1/{resource}")
}

fn with(mut object: Value, more: &Value) -> Value {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
    object
}

/// Everything that the audit log says the controller wrote: resource, with its subresource, and the answer's code.
pub(super) fn written(audit_log: &Path) -> Result<Vec<(String, i64)>> {
    const CONTROLLER: &str = "system:serviceaccount:mainstay-system:mainstay-controller";
    let mut all = Vec::new();
    for line in std::fs::read_to_string(audit_log)?.lines() {
        let event: Value = serde_json::from_str(line)?;
        if event["user"]["username"] == CONTROLLER {
            let of = |field: &str| event["objectRef"][field].as_str().unwrap_or_default().to_owned();
            let place = match of("subresource") {
                sub if sub.is_empty() => format!("{}/{}", of("apiGroup"), of("resource")),
                sub => format!("{}/{}/{sub}", of("apiGroup"), of("resource")),
            };
            all.push((place, event["responseStatus"]["code"].as_i64().unwrap_or(0)));
        }
    }
    Ok(all)
}
