//! A test cluster with clients of its accounts, agents' reports and controllers that run in the test.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use mainstay_api::{FleetPolicy, GpuNode, Incident};
use mainstay_kube::{Controller, Error, Gauges, Settings};
use mainstay_telemetry::metrics::Format;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::{AgentReport, NAMESPACE, SOON, TestCluster, TestNode, eventually};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A test cluster with a client of the controller's account.
pub(crate) struct ObservedCluster {
    inner: TestCluster,
    controller: Client,
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

impl ObservedCluster {
    pub(crate) async fn start(name: &str, nodes: usize) -> Result<Self> {
        let cluster = TestCluster::with_nodes(nodes).named(name).start().await?;
        let controller = cluster.cluster.client_of(NAMESPACE, "mainstay-controller").await?;
        Ok(Self { inner: cluster, controller, gone: String::new() })
    }

    /// Takes a node away; its report stays.
    pub(crate) async fn take_away(&mut self, node: usize) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.admin());
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

    /// A client with the administrator's permissions.
    pub(crate) fn admin(&self) -> Client {
        self.inner.admin.clone()
    }

    /// A client with the role of a viewer.
    pub(crate) async fn viewer(&self) -> Result<Client> {
        self.cluster.create_account(NAMESPACE, "viewer", &["mainstay-viewer"]).await?;
        self.cluster.client_of(NAMESPACE, "viewer").await
    }

    /// Starts a controller and waits until it leads. It keeps the lease of a real installation: a busy machine does not end
    /// its leadership, and a stop gives the lease back at once.
    pub(crate) async fn controller(&self, record: Option<&Path>) -> Result<RunningController> {
        self.leading_controller(Settings { record: record.map(Path::to_owned), ..Settings::default() }).await
    }

    /// Starts a controller with these settings and waits until it leads.
    pub(crate) async fn leading_controller(&self, settings: Settings) -> Result<RunningController> {
        let running = self.controller_with(settings)?;
        eventually("leadership", async || {
            let text = running.metrics();
            let mut decisions = text.lines().filter_map(|line| line.strip_prefix("mainstay_decisions_total "));
            running.task.is_finished() || decisions.any(|count| count != "0")
        })
        .await?;
        if running.task.is_finished() {
            running.task.await??;
            anyhow::bail!("the controller ended");
        }
        Ok(running)
    }

    /// Starts a controller with these settings and the short times of a test.
    pub(crate) fn controller_with(&self, settings: Settings) -> Result<RunningController> {
        let settings = Settings {
            orphans_kept: Duration::from_secs(1),
            jobs_settle: Duration::from_secs(1),
            slos_read_every: Duration::from_millis(200),
            ..settings
        };
        let controller = Controller::with(self.controller.clone(), settings);
        let gauges = controller.gauges();
        let (stop, told) = watch::channel(false);
        Ok(RunningController { gauges, stop, task: tokio::spawn(controller.run(told)) })
    }

    /// Writes the report of a node's agent: the count of each XID on GPU 3 since boot.
    pub(crate) async fn report(&self, node: &TestNode, sequence: u64, xids: &[(&str, u64)]) -> Result<()> {
        self.inner.report(node, &AgentReport::new(sequence, xids)).await
    }

    pub(crate) async fn get<K>(&self, name: &str) -> Option<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
    {
        Api::all(self.admin()).get_opt(name).await.unwrap()
    }

    pub(crate) async fn list<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
    {
        Api::all(self.admin()).list(&ListParams::default()).await.unwrap().items
    }

    pub(crate) async fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.cluster.run_kubectl(args).await
    }

    /// Every pool follows a condition of another agent by a rule.
    pub(crate) async fn maps_condition(&self, condition: &str, rule: &str) -> Result<()> {
        let overrides = json!({ "spec": { "overrides": [{ "source": "External", "code": condition, "rule": rule }] } });
        let policies: Api<FleetPolicy> = Api::all(self.admin());
        for policy in self.list::<FleetPolicy>().await {
            policies.patch(&policy.name_any(), &PatchParams::default(), &Patch::Merge(&overrides)).await?;
        }
        Ok(())
    }

    /// Sets a condition of a Node, as another agent does.
    pub(crate) async fn complains(&self, node: &TestNode, type_: &str, status: &str) -> Result<()> {
        let condition = json!({ "type": type_, "status": status, "reason": "DockerHung", "message": "hung" });
        let conditions = json!({ "status": { "conditions": [condition] } }).to_string();
        let patch = ["patch", "node", &node.name, "--subresource=status", "--type=strategic", "-p", &conditions];
        self.kubectl(&patch).await.map(drop)
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
        let now = jiff::Timestamp::now().to_string();
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
        let pods: Api<Pod> = Api::namespaced(self.admin(), "default");
        pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
        Ok(())
    }

    /// Deletes a node and registers one of the same name.
    pub(crate) async fn renew(&self, node: &TestNode) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.admin());
        let mut object = nodes.get(&node.name).await?;
        nodes.delete(&node.name, &DeleteParams::default()).await?;
        eventually("the node gone", async || Ok(nodes.get_opt(&node.name).await?.is_none())).await?;
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

    /// The versions of our own records once nothing has changed them for a second.
    pub(crate) async fn settled_versions(&self) -> Result<BTreeMap<String, String>> {
        eventually("records that no longer change", async || {
            let before = self.versions().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some(self.versions().await).filter(|after| *after == before)
        })
        .await
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

    /// By the API server's audit log: the controller wrote only its own objects, Events and the Lease.
    pub(crate) fn only_ours_was_written(&self) -> Result<()> {
        let mut writes = 0;
        for write in self.cluster.audited_writes("mainstay-controller")? {
            let write = write?;
            let ours = match write.place.as_str() {
                "mainstay.dev/gpunodes" | "mainstay.dev/gpunodes/status" => true,
                "mainstay.dev/incidents" | "mainstay.dev/incidents/status" => true,
                "mainstay.dev/cells/status" | "mainstay.dev/fleetpolicies/status" | "mainstay.dev/fabrics/status" => {
                    true
                }
                "mainstay.dev/slos/status" => true,
                "events.k8s.io/events" => true,
                // A question about its own permissions; the server stores nothing.
                "authorization.k8s.io/selfsubjectaccessreviews" => true,
                "coordination.k8s.io/leases" => write.name == "mainstay-leader",
                // The report of a node that is gone for good.
                "mainstay.dev/nodereports" => write.name == self.gone,
                // The tests' own try, which the server refused.
                "mainstay.dev/cells" => write.code == 403,
                _ => false,
            };
            ensure!(ours, "the controller wrote {write:?}");
            writes += 1;
        }
        ensure!(writes > 0, "the audit log does not know the controller");
        Ok(())
    }
}

impl Deref for ObservedCluster {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.inner
    }
}
