//! A test cluster with the permission to act and its fence. The controller reaches the API server through a proxy that keeps what it
//! wrote.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Deref;
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Api, Client, Config, Resource, ResourceExt as _};
use mainstay_api::{Cell, CheckpointRequest};
use mainstay_kube::{Controller, Error, Settings};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::fault_proxy::{EventFault, EventRule, FaultProxy, Turn, WatchEvent};
use testbed::test_cluster::resource_path;
use testbed::{AgentReport, NAMESPACE, SOON, TestCluster, TestNode, deploy, eventually};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Lease of the controllers. The barrier of a new leader is as long.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

pub(crate) struct ActingCluster {
    inner: TestCluster,
    proxy: FaultProxy,
    through_proxy: Client,
}

/// A controller that runs in a task of the test.
pub(crate) struct RunningController {
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), Error>>,
}

/// A write of the controller, with the server's answer.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) place: String,
    pub(crate) name: String,
    pub(crate) body: String,
    pub(crate) code: u16,
}

impl RunningController {
    /// Ends it as SIGTERM does.
    pub(crate) async fn stop(self) -> Result<()> {
        self.stop.send(true)?;
        tokio::time::timeout(SOON, self.task).await.context("it does not stop")???;
        Ok(())
    }
}

impl ActingCluster {
    pub(crate) async fn start(name: &str, nodes: usize) -> Result<Self> {
        let inner = TestCluster::with_nodes(nodes).named(name).gang_label("job").start().await?;
        inner.cluster.apply(&deploy().join("allow-actions")).await?;
        let proxy = FaultProxy::start(&inner.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?).await?;
        let kubeconfig = Kubeconfig::from_yaml(&proxy.kubeconfig())?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        Ok(Self { inner, proxy, through_proxy: Client::try_from(config)? })
    }

    /// Starts a controller behind the proxy.
    pub(crate) async fn controller(&self) -> Result<RunningController> {
        Self::start_controller(self.through_proxy.clone())
    }

    /// Starts a controller that reaches the API server directly.
    pub(crate) async fn second_controller(&self) -> Result<RunningController> {
        Self::start_controller(self.cluster.client_of(NAMESPACE, "mainstay-controller").await?)
    }

    fn start_controller(client: Client) -> Result<RunningController> {
        let settings = Settings { lease: LEASE, ..Settings::default() };
        let (stop, told) = watch::channel(false);
        let controller = Controller::with(client, settings);
        Ok(RunningController { stop, task: tokio::spawn(controller.run(told)) })
    }

    /// Sets the mode of the Cell and of every pool.
    pub(crate) async fn allow(&self, mode: &str) -> Result<()> {
        let spec = json!({ "spec": { "mode": mode } });
        for policy in self.inner.list(&resource_path("fleetpolicies")).await? {
            let name = policy["metadata"]["name"].as_str().unwrap_or_default();
            self.merge(&resource_path("fleetpolicies"), name, &spec).await?;
        }
        self.merge(&resource_path("cells"), "cell", &spec).await
    }

    pub(crate) async fn report_all_healthy(&self) -> Result<()> {
        for node in &self.inner.nodes {
            self.report(node, &AgentReport::new(1, &[])).await?;
        }
        Ok(())
    }

    pub(crate) async fn report_xids(&self, node: &TestNode, sequence: u64, xids: &[(&str, u64)]) -> Result<()> {
        self.report(node, &AgentReport::new(sequence, xids)).await
    }

    /// Runs a pod of a job that saves when it is asked.
    pub(crate) async fn run_saving_pod(&self, name: &str, node: &TestNode, job: &str) -> Result<()> {
        self.run_pod(name, node, &[("job", job)]).await?;
        let contract = json!({ "metadata": { "annotations": { "mainstay.dev/saves": "on-request" } } });
        self.merge("/api/v1/namespaces/default/pods", name, &contract).await
    }

    /// A PodDisruptionBudget of the tenant: this many pods of the job have to be available.
    pub(crate) async fn protect(&self, job: &str, available: u32) -> Result<()> {
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": job, "namespace": "default" },
            "spec": { "minAvailable": available, "selector": { "matchLabels": { "job": job } } },
        });
        self.cluster.apply_objects(&[budget]).await
    }

    /// Acknowledges a request, as the job does.
    pub(crate) async fn answer_checkpoint(&self, request: &CheckpointRequest, step: i64) -> Result<()> {
        let requests: Api<CheckpointRequest> = Api::namespaced(self.admin.clone(), "default");
        let status = json!({ "status": { "acknowledgedAt": jiff::Timestamp::now().to_string(), "stepSaved": step } });
        requests.patch_status(&request.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    /// A Node object as the server has it.
    pub(crate) async fn node(&self, name: &str) -> Result<Value> {
        let found = self.inner.list("/api/v1/nodes").await?;
        found.into_iter().find(|node| node["metadata"]["name"] == name).context("no such node")
    }

    /// A pod of the namespace `default`, if it exists.
    pub(crate) async fn pod(&self, name: &str) -> Result<Option<Value>> {
        let found = self.inner.list("/api/v1/namespaces/default/pods").await?;
        Ok(found.into_iter().find(|pod| pod["metadata"]["name"] == name))
    }

    pub(crate) async fn get<K>(&self, name: &str) -> Option<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
    {
        Api::<K>::all(self.admin.clone()).get_opt(name).await.ok().flatten()
    }

    pub(crate) async fn all_in_default<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.admin.clone(), "default");
        api.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default()
    }

    pub(crate) async fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.cluster.run_kubectl(args).await
    }

    /// From now on the controller behind the proxy gets no event about nodes.
    pub(crate) fn hide_node_events(&self) {
        let about_nodes = |event: &WatchEvent| event.resource == "nodes" && event.kind != "BOOKMARK";
        self.proxy.add_for_events(EventRule::new(EventFault::Drop, Turn::Every, about_nodes));
    }

    /// Deletes a node and registers one of the same name.
    pub(crate) async fn register_again(&self, node: &TestNode) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.admin.clone());
        let mut object = nodes.get(&node.name).await?;
        nodes.delete(&node.name, &DeleteParams::default()).await?;
        eventually("the node gone", async || Ok(nodes.get_opt(&node.name).await?.is_none())).await?;
        object.metadata =
            ObjectMeta { name: object.metadata.name, labels: object.metadata.labels, ..ObjectMeta::default() };
        nodes.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    /// Lets no call of the controller behind the proxy pass for this time.
    pub(crate) fn pause(&self, time: Duration) {
        self.proxy.pause_for(time);
    }

    /// Epoch of the Cell.
    pub(crate) async fn epoch(&self) -> Option<i64> {
        self.get::<Cell>("cell").await?.status.map(|status| status.epoch)
    }

    /// Every write of the controller that the server carried out, oldest first.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.written(true)
    }

    /// Every write of the controller that the server refused.
    pub(crate) fn changes_refused(&self) -> Vec<Change> {
        self.written(false)
    }

    /// Field managers of the controller's writes, by the API server's audit log. Deletions have none, and questions about permissions are
    /// not stored.
    pub(crate) fn field_managers(&self) -> Result<BTreeSet<String>> {
        let user = format!("system:serviceaccount:{NAMESPACE}:mainstay-controller");
        let mut found = BTreeSet::new();
        for event in self.cluster.audit_events()? {
            let event = event?;
            let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let is_stored = text("/objectRef/apiGroup") != "authorization.k8s.io";
            let is_write = ["create", "update", "patch"].contains(&text("/verb")) && is_stored;
            if text("/user/username") == user && is_write {
                let manager = text("/requestURI").split(['?', '&']).find_map(|part| part.strip_prefix("fieldManager="));
                found.insert(manager.unwrap_or_default().to_owned());
            }
        }
        Ok(found)
    }

    pub(crate) fn evictions_sent(&self) -> usize {
        self.proxy.written().iter().filter(|write| write.call.place == "pods/eviction").count()
    }

    /// Number of writes to nodes and pods.
    pub(crate) fn writes_to_others(&self) -> usize {
        let is_others = |place: &str| place.starts_with("nodes") || place.starts_with("pods");
        self.proxy.written().iter().filter(|write| is_others(&write.call.place)).count()
    }

    fn written(&self, carried_out: bool) -> Vec<Change> {
        let all = self.proxy.written().into_iter();
        let wanted = all.filter(|write| write.status.is_some() && write.is_carried_out() == carried_out);
        wanted
            .map(|write| Change {
                body: String::from_utf8_lossy(&write.body).into_owned(),
                place: write.call.place,
                name: write.call.name,
                code: write.status.unwrap_or_default(),
            })
            .collect()
    }
}

impl Deref for ActingCluster {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.inner
    }
}
