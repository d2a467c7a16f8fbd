//! The test cluster: the fence, a fabric, a policy per pool, KWOK nodes, and reports as agents write them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};
use testbed::{Cluster, Fleet, Options};

use crate::prove::Context;

const READY_WITHIN: Duration = Duration::from_mins(3);
/// Nodes a page, where only their metadata is asked for.
const PAGE: u32 = 5_000;

pub(super) const KINDS: [&str; 2] = ["gpunodes", "incidents"];

/// One node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) leaf: String,
    pub(super) ordinal: usize,
    uid: String,
}

/// A real API server with the fence, emulated nodes and one policy per pool.
pub(super) struct TestCluster {
    pub(super) cluster: Cluster,
    pub(super) admin: Client,
    pub(super) nodes: Vec<Node>,
    pools: BTreeSet<String>,
}

impl TestCluster {
    /// With nodes that are played by KWOK.
    pub(super) async fn start(context: &Context, nodes: usize) -> Result<Self> {
        let bed = Self::empty(context, Options { nodes_max: nodes, ..Options::default() }).await?;
        let fleet = Fleet::new(nodes, 8, 7).named("observed");
        fleet.create(&bed.admin, &|_| ()).await?;
        let ready = fleet.wait_ready(&bed.admin, READY_WITHIN, &|_| ()).await?;
        ensure!(ready.ready == nodes, "{ready:?}");
        bed.settle(&fleet).await
    }

    /// With nodes that are Ready and never say anything again: what is left is what the controller does.
    pub(super) async fn start_without_heartbeats(context: &Context, nodes: usize) -> Result<Self> {
        let bed = Self::empty(context, Options { nodes_max: nodes, parts: Vec::new() }).await?;
        let fleet = Fleet::new(nodes, 8, 7).named("observed");
        fleet.create_ready(&bed.admin, &|_| ()).await?;
        bed.settle(&fleet).await
    }

    async fn empty(context: &Context, options: Options) -> Result<Self> {
        let deploy = context.workspace.root.join("deploy");
        let cluster = testbed::own(options).await?;
        cluster.install_crds(&deploy).await?;
        cluster.apply(&deploy.join("policy")).await?;
        cluster.apply(&deploy.join("examples/fabric.yaml")).await?;
        let admin = cluster.client().await?;
        Ok(Self { cluster, admin, nodes: Vec::new(), pools: BTreeSet::new() })
    }

    /// Reads who the nodes are, and gives each pool its policy.
    async fn settle(mut self, fleet: &Fleet) -> Result<Self> {
        let (mut pools, found) = (BTreeSet::new(), self.registrations().await?);
        for (ordinal, planned) in fleet.nodes().enumerate() {
            let uid = found.get(&planned.name).context("a node is missing")?.clone();
            pools.insert(planned.pool.to_owned());
            self.nodes.push(Node { name: planned.name, leaf: planned.leaf, uid, ordinal });
        }
        self.pools = pools;
        self.allow(self.nodes.len().div_ceil(10).max(2)).await?;
        Ok(self)
    }

    /// Budget of each pool; all pools are in Observe mode.
    pub(super) async fn allow(&self, nodes_max: usize) -> Result<()> {
        for pool in &self.pools {
            let spec = json!({ "pool": pool, "mode": "Observe", "budgets": [{ "nodesMax": nodes_max }] });
            self.apply("FleetPolicy", "fleetpolicies", pool, &json!({ "spec": spec })).await?;
        }
        Ok(())
    }

    /// Every node's UID by its name, without the rest of it.
    async fn registrations(&self) -> Result<BTreeMap<String, String>> {
        let (mut all, mut params) = (BTreeMap::new(), ListParams::default().limit(PAGE));
        loop {
            let list = self.admin.request::<Value>(metadata_of("/api/v1/nodes", &params)?).await?;
            for node in list["items"].as_array().into_iter().flatten() {
                let text = |field: &str| node["metadata"][field].as_str().unwrap_or_default().to_owned();
                all.insert(text("name"), text("uid"));
            }
            match list["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(token),
                None => return Ok(all),
            }
        }
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

    /// The report of a node's agent: the count of each XID on GPU 3 since this boot, and the number of GPUs.
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
            "agentVersion": "0.2.0", "inventory": inventory, "evidence": evidence.collect::<Vec<_>>(),
        });
        self.apply("NodeReport", "nodereports", &node.name, &json!({ "spec": spec })).await
    }

    /// Applies a Mainstay object as an operator or an agent.
    pub(super) async fn apply(&self, kind: &str, resource: &str, name: &str, more: &Value) -> Result<()> {
        let object = json!({ "apiVersion": "mainstay.dev/v1alpha1", "kind": kind, "metadata": { "name": name } });
        let patch = Patch::Apply(with(object, more));
        let request =
            Request::new(resource_path(resource)).patch(name, &PatchParams::apply("person").force(), &patch)?;
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

    /// How many there are, without reading them.
    pub(super) async fn count(&self, prefix: &str) -> Result<usize> {
        let list: Value = self.admin.request(metadata_of(prefix, &ListParams::default().limit(1))?).await?;
        let left = usize::try_from(list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0))?;
        Ok(list["items"].as_array().map_or(0, Vec::len) + left)
    }

    /// All objects of the controller, including fields that differ with each write.
    pub(super) async fn records(&self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for kind in KINDS {
            all.extend(self.list(&resource_path(kind)).await?);
        }
        Ok(all)
    }
}

/// A list without what the objects say.
fn metadata_of(prefix: &str, params: &ListParams) -> Result<axum::http::Request<Vec<u8>>> {
    let mut request = Request::new(prefix).list(params)?;
    let accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    request.headers_mut().insert("accept", accept.parse()?);
    Ok(request)
}

pub(super) fn resource_path(resource: &str) -> String {
    format!("/apis/mainstay.dev/v1alpha1/{resource}")
}

fn with(mut object: Value, more: &Value) -> Value {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
    object
}

/// What the server's audit log holds, one event at a time: at 100,000 nodes there are hundreds of thousands.
pub(super) fn audited(audit_log: &Path) -> Result<impl Iterator<Item = Result<Value>>> {
    let lines = BufReader::new(File::open(audit_log)?).lines();
    Ok(lines.map(|line| Ok(serde_json::from_str(&line?)?)))
}

/// All writes of a Mainstay account in the audit log: resource, with its subresource, and count.
pub(super) fn written(audit_log: &Path, account: &str) -> Result<BTreeMap<String, u64>> {
    let account = format!("system:serviceaccount:mainstay-system:{account}");
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for event in audited(audit_log)? {
        let event = event?;
        let reads = ["get", "list", "watch"].contains(&event["verb"].as_str().unwrap_or_default());
        if event["user"]["username"] == account.as_str() && !reads {
            let of = |field: &str| event["objectRef"][field].as_str().unwrap_or_default().to_owned();
            let place = match of("subresource") {
                sub if sub.is_empty() => format!("{}/{}", of("apiGroup"), of("resource")),
                sub => format!("{}/{}/{sub}", of("apiGroup"), of("resource")),
            };
            *all.entry(place).or_default() += 1;
        }
    }
    Ok(all)
}
