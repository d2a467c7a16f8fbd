//! A real cluster with Mainstay's admission policies, KWOK nodes, agents' reports and running controllers.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use mainstay_api::{FleetPolicy, GpuNode, Incident, NodeReport};
use mainstay_kube::{Controller, Error, Gauges, Settings};
use mainstay_telemetry::metrics::Format;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::fleet::labels;
use testbed::{Cluster, Fleet, Options};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const SOON: Duration = Duration::from_secs(60);
const CONTROLLER: &str = "system:serviceaccount:mainstay-system:mainstay-controller";

/// The first answer that is something, or a failed test.
pub(crate) async fn eventually<T, F, A>(what: &str, ask: F) -> T
where
    F: Fn() -> A,
    A: Future<Output = Option<T>>,
{
    let give_up_at = Instant::now() + SOON;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < give_up_at, "{what}: not within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A KWOK node of the test cluster, with its UID.
pub(crate) struct TestNode {
    pub(crate) name: String,
    pub(crate) uid: String,
    ordinal: usize,
}

impl TestNode {
    pub(crate) fn serial(&self, gpu: usize) -> String {
        format!("16528{:04}{gpu:02}", self.ordinal)
    }
}

/// A real API server with Mainstay's admission policies, KWOK nodes and clients.
pub(crate) struct TestCluster {
    cluster: Cluster,
    admin: Client,
    controller: Client,
    pub(crate) nodes: Vec<TestNode>,
    /// The node that was taken away, where one was.
    gone: String,
}

/// A controller that runs in a task of the test.
pub(crate) struct RunningController {
    pub(crate) gauges: Gauges,
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), Error>>,
}

impl RunningController {
    /// Its metrics in the text format.
    pub(crate) fn metrics(&self) -> String {
        self.gauges.samples().encode(Format::Text).unwrap_or_default()
    }

    /// Ends it as SIGTERM does.
    pub(crate) async fn stop(self) -> Result<()> {
        self.stop.send(true)?;
        tokio::time::timeout(SOON, self.task).await.context("it does not stop")???;
        Ok(())
    }

    /// Ends it as SIGKILL does: nothing is released.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

impl TestCluster {
    pub(crate) async fn start(name: &str, nodes: usize) -> Result<Self> {
        let cluster = testbed::own(Options { nodes_max: 100, ..Options::default() }).await?;
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        cluster.install_crds(&deploy).await?;
        cluster.apply(&deploy.join("policy")).await?;
        cluster.apply(&deploy.join("examples/fabric.yaml")).await?;
        let admin = cluster.client().await?;
        let fleet = Fleet::new(nodes, 8, 7).named(name);
        fleet.create(&admin, &|_| ()).await?;
        let ready = fleet.wait_ready(&admin, SOON, &|_| ()).await?;
        ensure!(ready.ready == nodes, "{ready:?}");
        let controller = cluster.client_with_token(&token(&admin, "mainstay-controller").await?).await?;
        let mut bed = Self { cluster, admin, controller, nodes: Vec::new(), gone: String::new() };
        let mut pools = BTreeMap::new();
        for (ordinal, planned) in fleet.nodes().enumerate() {
            let node: Node = Api::all(bed.admin.clone()).get(&planned.name).await?;
            pools.insert(node.labels()[labels::POOL].clone(), ());
            bed.nodes.push(TestNode { name: planned.name, uid: node.uid().context("a node without uid")?, ordinal });
        }
        for pool in pools.keys() {
            let policy = json!({
                "apiVersion": "mainstay.dev/v1alpha1", "kind": "FleetPolicy", "metadata": { "name": pool },
                "spec": { "pool": pool, "mode": "Observe", "budgets": [{ "nodesMax": 4 }] },
            });
            let policies: Api<FleetPolicy> = Api::all(bed.admin.clone());
            policies.create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
        }
        Ok(bed)
    }

    /// Takes a node away; its report stays.
    pub(crate) async fn take_away(&mut self, node: usize) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.admin.clone());
        self.gone = self.nodes[node].name.clone();
        nodes.delete(&self.gone, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Makes something, as an administrator does.
    pub(crate) async fn make<K>(&self, api: Api<K>, object: Value) -> Result<K>
    where
        K: Resource + Clone + Debug + serde::Serialize + DeserializeOwned,
    {
        Ok(api.create(&PostParams::default(), &serde_json::from_value(object)?).await?)
    }

    /// The administrator.
    pub(crate) fn admin(&self) -> Client {
        self.admin.clone()
    }

    /// Somebody who was handed the role of a viewer.
    pub(crate) async fn viewer(&self) -> Result<Client> {
        let binding = json!({
            "metadata": { "name": "viewer" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mainstay-viewer" },
            "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": "mainstay-system" }],
        });
        let bindings: Api<ClusterRoleBinding> = Api::all(self.admin.clone());
        bindings.create(&PostParams::default(), &serde_json::from_value(binding)?).await?;
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
        let accounts = Api::<ServiceAccount>::namespaced(self.admin.clone(), "mainstay-system");
        accounts.patch("default", &PatchParams::apply("test"), &Patch::Apply(&account)).await?;
        self.cluster.client_with_token(&token(&self.admin, "default").await?).await
    }

    /// Starts a controller and waits until it leads.
    pub(crate) async fn controller(&self, record: Option<&Path>, lease: Duration) -> Result<RunningController> {
        let running = self.waiting_controller(record, lease).await?;
        eventually("leadership", async || {
            (running.task.is_finished() || running.metrics().contains("mainstay_decisions_total 1")).then_some(())
        })
        .await;
        if running.task.is_finished() {
            running.task.await??;
            anyhow::bail!("the controller ended");
        }
        Ok(running)
    }

    /// Starts a controller that may have to wait.
    pub(crate) async fn waiting_controller(&self, record: Option<&Path>, lease: Duration) -> Result<RunningController> {
        let settings = Settings {
            lease,
            record: record.map(Path::to_owned),
            orphans_kept: Duration::from_secs(1),
            ..Settings::default()
        };
        let controller = Controller::with(self.controller.clone(), settings);
        let gauges = controller.gauges();
        let (stop, told) = watch::channel(false);
        Ok(RunningController { gauges, stop, task: tokio::spawn(controller.run(told)) })
    }

    /// What a node's agent writes: so many of each XID on its GPU 3 since boot.
    pub(crate) async fn report(&self, node: &TestNode, sequence: i64, xids: &[(&str, i64)]) -> Result<()> {
        self.report_of(node, "boot-1", sequence, xids).await
    }

    async fn report_of(&self, node: &TestNode, boot: &str, sequence: i64, xids: &[(&str, i64)]) -> Result<()> {
        let now = jiff_now();
        let gpus: Vec<Value> = (0..8)
            .map(|gpu| {
                let uuid = format!("GPU-3f1c0a52-6a1e-0a43-8a3b-{:08x}{gpu:04x}", node.ordinal);
                json!({ "index": gpu, "serial": node.serial(gpu), "uuid": uuid, "pci": format!("0000:{:02x}:00.0", 16 + gpu) })
            })
            .collect();
        let evidence: Vec<Value> = xids
            .iter()
            .map(|(code, count)| {
                json!({
                    "source": "Xid", "code": code, "device": node.serial(3), "count": count, "firstSeenAt": now,
                    "lastSeenAt": now,
                })
            })
            .collect();
        let report = json!({
            "apiVersion": "mainstay.dev/v1alpha1", "kind": "NodeReport", "metadata": { "name": node.name },
            "spec": {
                "nodeUid": node.uid, "bootId": boot, "sequence": sequence, "reportedAt": now, "agentVersion": "0.2.0",
                "inventory": {
                    "board": format!("15717{:04}", node.ordinal), "product": "NVIDIA H100 80GB HBM3",
                    "driver": "580.95.05", "kernel": "6.8.0", "gpus": gpus,
                },
                "evidence": evidence,
            },
        });
        let reports: Api<NodeReport> = Api::all(self.admin.clone());
        reports.patch(&node.name, &PatchParams::apply("agent").force(), &Patch::Apply(report)).await?;
        Ok(())
    }

    pub(crate) async fn get<K>(&self, name: &str) -> Option<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
    {
        Api::all(self.admin.clone()).get_opt(name).await.unwrap()
    }

    pub(crate) async fn list<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
    {
        Api::all(self.admin.clone()).list(&ListParams::default()).await.unwrap().items
    }

    pub(crate) async fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.cluster.run_kubectl(args).await
    }

    /// Every pool follows a condition of another agent by a rule.
    pub(crate) async fn maps_condition(&self, condition: &str, rule: &str) -> Result<()> {
        let overrides = json!({ "spec": { "overrides": [{ "source": "External", "code": condition, "rule": rule }] } });
        let policies: Api<FleetPolicy> = Api::all(self.admin.clone());
        for policy in self.list::<FleetPolicy>().await {
            policies.patch(&policy.name_any(), &PatchParams::default(), &Patch::Merge(&overrides)).await?;
        }
        Ok(())
    }

    /// Sets the mode of the Cell and of every pool, with a promotion of every action that a policy can promote.
    pub(crate) async fn allow_everything(&self, mode: &str) -> Result<()> {
        let kinds = ["Cordon", "Drain", "RestartService", "ResetGpu", "Reboot", "PowerCycle", "Return"];
        let promotions: Vec<Value> = kinds.iter().map(|kind| json!({ "action": kind, "mode": mode })).collect();
        let pool = json!({ "spec": { "mode": mode, "promotions": promotions } }).to_string();
        for policy in self.list::<FleetPolicy>().await {
            self.kubectl(&["patch", "fleetpolicy", &policy.name_any(), "--type=merge", "-p", &pool]).await?;
        }
        let cell = json!({ "spec": { "mode": mode } }).to_string();
        self.kubectl(&["patch", "cell", "cell", "--type=merge", "-p", &cell]).await.map(drop)
    }

    /// What a version that could not act stored of a node in mode Act.
    pub(crate) async fn stored_as_quarantined(&self, node: &TestNode) -> Result<()> {
        let made: GpuNode =
            self.make(Api::all(self.admin()), json!({ "metadata": { "name": node.name }, "spec": {} })).await?;
        let now = jiff_now();
        let step = |to: &str| json!({ "to": to, "at": now, "rule": "gpu-off-the-bus" });
        let status = json!({
            "epoch": 0, "stage": "Quarantined", "since": now, "waitingOn": "Mode", "message": "", "riskPpm": 0,
            "cause": { "rule": "gpu-off-the-bus", "urgency": "Now" },
            "history": [step("Suspect"), step("Quarantined")],
        });
        let nodes: Api<GpuNode> = Api::all(self.admin());
        let patch = Patch::Merge(json!({ "status": status }));
        nodes.patch_status(&made.name_any(), &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// A pod of Slinky's, as its operator makes them.
    pub(crate) async fn slurmd(&self, name: &str, node: &str) -> Result<()> {
        let owner = json!({
            "apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "slurm-worker", "uid": "none",
            "controller": true,
        });
        let pod = json!({
            "metadata": { "name": name, "namespace": "default", "ownerReferences": [owner] },
            "spec": { "nodeName": node, "containers": [{ "name": "slurmd", "image": "slurmd" }] },
        });
        let pods: Api<Pod> = Api::namespaced(self.admin.clone(), "default");
        pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
        Ok(())
    }

    /// Deletes a node and registers one of the same name.
    pub(crate) async fn renew(&self, node: &TestNode) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.admin.clone());
        let mut object = nodes.get(&node.name).await?;
        nodes.delete(&node.name, &DeleteParams::default()).await?;
        eventually("the node gone", async || nodes.get_opt(&node.name).await.ok()?.is_none().then_some(())).await;
        object.metadata = ObjectMeta {
            name: object.metadata.name,
            labels: object.metadata.labels,
            annotations: object.metadata.annotations,
            ..ObjectMeta::default()
        };
        object.spec = None;
        nodes.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    pub(crate) fn as_controller<K: Resource<DynamicType = (), Scope = ClusterResourceScope>>(&self) -> Api<K> {
        Api::all(self.controller.clone())
    }

    /// The versions of our own records.
    pub(crate) async fn versions(&self) -> BTreeMap<String, String> {
        fn version<K: Resource<DynamicType = ()>>(object: &K) -> (String, String) {
            (format!("{}/{}", K::kind(&()), object.name_any()), object.resource_version().unwrap_or_default())
        }
        let records = self.list::<GpuNode>().await;
        let incidents = self.list::<Incident>().await;
        records.iter().map(version).chain(incidents.iter().map(version)).collect()
    }

    /// By the server's own audit log: whatever the controller wrote is a record of ours, an Event or the Lease.
    pub(crate) fn only_ours_was_written(&self) -> Result<()> {
        let text = std::fs::read_to_string(self.cluster.audit_log())?;
        let mut writes = 0;
        for line in text.lines() {
            let event: Value = serde_json::from_str(line)?;
            let reads = ["get", "list", "watch"].iter().any(|verb| event["verb"] == *verb);
            if event["user"]["username"] != CONTROLLER || reads {
                continue;
            }
            let of = &event["objectRef"];
            let (group, resource) = (of["apiGroup"].as_str().unwrap_or(""), of["resource"].as_str().unwrap_or(""));
            let subresource = of["subresource"].as_str().unwrap_or("");
            let ours = match (group, resource, subresource) {
                ("mainstay.dev", "gpunodes" | "incidents", "" | "status") => true,
                ("mainstay.dev", "cells" | "fleetpolicies" | "fabrics", "status") => true,
                // The report of a node that is gone for good.
                ("mainstay.dev", "nodereports", "") => of["name"] == self.gone.as_str(),
                ("events.k8s.io", "events", "") => true,
                ("coordination.k8s.io", "leases", "") => of["name"] == "mainstay-leader",
                // The tests' own try, which the server refused.
                ("mainstay.dev", "cells", "") => event["responseStatus"]["code"] == 403,
                _ => false,
            };
            ensure!(ours, "the controller wrote {event}");
            writes += 1;
        }
        ensure!(writes > 0, "the audit log does not know the controller");
        Ok(())
    }
}

fn jiff_now() -> String {
    jiff::Timestamp::now().to_string()
}

async fn token(admin: &Client, account: &str) -> Result<String> {
    let accounts = Api::<ServiceAccount>::namespaced(admin.clone(), "mainstay-system");
    let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
    let token = accounts.create_token_request(account, &PostParams::default(), &request).await?;
    token.status.and_then(|status| status.token).context("no token")
}
