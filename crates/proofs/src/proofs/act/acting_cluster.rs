//! A test cluster on which the controller may act, and the objects of a run, which are created for each run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::core::Request;
use serde_json::{Value, json};
use testbed::test_cluster::resource_path;
use testbed::{NAMESPACE, PlayedExecutor, TestCluster, deploy, eventually};
use tokio::time::Instant;

use super::scenario::{self, Saves, Step};

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const REQUESTS: &str = "/apis/mainstay.dev/v1alpha1/namespaces/default/checkpointrequests";
/// Prefixes of what Mainstay, operators and other tools write on a node in a run.
const MARKS: [&str; 4] = ["mainstay.dev/", "cluster-autoscaler.kubernetes.io/", "karpenter.sh/", "dgxc.nvidia.com/"];
/// Labels that place a node. They stay.
const PLACES: [&str; 6] = [
    "mainstay.dev/pool",
    "mainstay.dev/rack",
    "mainstay.dev/leaf",
    "mainstay.dev/pdu",
    "mainstay.dev/row",
    "mainstay.dev/hall",
];

/// A cluster with a few nodes, the permission to act and its fence.
pub(super) struct ActingCluster {
    pub(super) bed: TestCluster,
    /// Labels of every node before the first run.
    labels: BTreeMap<String, Value>,
}

/// Time between two answers of an executor: a step takes time, and an incident is shown after 0.7 s. A repair that is over sooner would
/// leave none, and a failure that delays it would.
const ANSWERS_EVERY: Duration = Duration::from_secs(1);

/// What a run has to remember.
#[derive(Default)]
pub(super) struct Run {
    sequence: u64,
    executors: BTreeMap<usize, PlayedExecutor>,
    answered: Option<Instant>,
}

impl ActingCluster {
    /// With a budget of two nodes.
    pub(super) async fn start(name: &str, nodes: usize) -> Result<Self> {
        Self::start_with_budget(name, nodes, 2).await
    }

    pub(super) async fn start_with_budget(name: &str, nodes: usize, budget: usize) -> Result<Self> {
        let bed = TestCluster::with_nodes(nodes).named(name).gang_label("job").budget(budget).start().await?;
        bed.cluster.apply(&deploy().join("allow-actions")).await?;
        let spec = json!({ "spec": { "mode": "Act" } });
        for policy in bed.list(&resource_path("fleetpolicies")).await? {
            bed.merge(&resource_path("fleetpolicies"), name_of(&policy), &spec).await?;
        }
        bed.merge(&resource_path("cells"), "cell", &spec).await?;
        let mut labels = BTreeMap::new();
        for node in bed.list(NODES).await? {
            labels.insert(name_of(&node).to_owned(), node["metadata"]["labels"].clone());
        }
        Ok(Self { bed, labels })
    }

    /// Sets how many nodes of a pool may be out of service.
    pub(super) async fn set_budget(&self, nodes: usize) -> Result<()> {
        let policies = resource_path("fleetpolicies");
        for policy in self.bed.list(&policies).await? {
            let budget = json!({ "spec": { "budgets": [{ "nodesMax": nodes }] } });
            self.bed.merge(&policies, name_of(&policy), &budget).await?;
        }
        Ok(())
    }

    /// A kubeconfig of the controller's account.
    pub(super) async fn controller(&self) -> Result<PathBuf> {
        self.bed.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await
    }

    /// Lets one thing happen.
    pub(super) async fn execute(&self, step: Step, run: &mut Run) -> Result<()> {
        let bed = &self.bed;
        run.sequence += 1;
        match step {
            Step::Pod(name, node, job, saves) => {
                bed.run_pod(name, &bed.nodes[node], &[("job", job)]).await?;
                if saves == Saves::OnRequest {
                    let contract = json!({ "metadata": { "annotations": { "mainstay.dev/saves": "on-request" } } });
                    bed.merge(PODS, name, &contract).await?;
                }
                Ok(())
            }
            Step::Report(node, xids) => bed.report(&bed.nodes[node], &scenario::report(run.sequence, xids)).await,
            Step::Ask(node, kind) => {
                let request = json!({ "kind": kind, "reason": "as a test asks", "by": "ana" });
                bed.apply("GpuNode", "gpunodes", &bed.nodes[node].name, &json!({ "request": request })).await
            }
            Step::Withdraw(node) => {
                bed.merge(&resource_path("gpunodes"), &bed.nodes[node].name, &json!({ "spec": { "request": null } }))
                    .await
            }
            Step::Cordon(node) => {
                bed.merge(NODES, &bed.nodes[node].name, &json!({ "spec": { "unschedulable": true } })).await
            }
            Step::Mark(node) => {
                let label = json!({ "metadata": { "labels": { "dgxc.nvidia.com/nvsentinel-state": "quarantined" } } });
                bed.merge(NODES, &bed.nodes[node].name, &label).await
            }
            Step::Protect(job, available) => self.protect(job, available).await,
            Step::Move(name, node, job) => {
                let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
                bed.admin.request::<Value>(Request::new(PODS).delete(name, &now)?).await?;
                bed.run_pod(name, &bed.nodes[node], &[("job", job)]).await
            }
            Step::Register(node) => self.register_again(&bed.nodes[node].name).await,
            Step::Mode(mode) => bed.merge(&resource_path("cells"), "cell", &json!({ "spec": { "mode": mode } })).await,
            Step::Answer => self.answer_requests().await,
            Step::Execute(node) => {
                let started = PlayedExecutor::start(bed, &bed.nodes[node]).await?;
                run.executors.entry(node).or_insert(started);
                Ok(())
            }
            Step::Settle => Ok(()),
        }
    }

    /// Whether a node has the quarantine taint.
    pub(super) async fn is_quarantined(&self, name: &str) -> Result<bool> {
        let nodes = self.bed.list(NODES).await?;
        let node = nodes.iter().find(|node| name_of(node) == name);
        Ok(node.is_some_and(|node| node["spec"]["taints"].to_string().contains("mainstay.dev/quarantined")))
    }

    /// Uid of every node.
    pub(super) async fn uids(&self) -> Result<BTreeMap<String, String>> {
        let uid = |node: &Value| node["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        Ok(self.bed.list(NODES).await?.iter().map(|node| (name_of(node).to_owned(), uid(node))).collect())
    }

    /// Lets every executor answer its orders, if it is time.
    pub(super) async fn run_orders(&self, run: &mut Run) -> Result<()> {
        if run.answered.is_some_and(|at| at.elapsed() < ANSWERS_EVERY) {
            return Ok(());
        }
        run.answered = Some(Instant::now());
        for (node, executor) in &mut run.executors {
            executor.answer(&self.bed, &self.bed.nodes[*node]).await?;
        }
        Ok(())
    }

    async fn protect(&self, job: &str, available: u32) -> Result<()> {
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": job, "namespace": "default" },
            "spec": { "minAvailable": available, "selector": { "matchLabels": { "job": job } } },
        });
        self.bed.cluster.apply_objects(&[budget]).await
    }

    async fn register_again(&self, name: &str) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.bed.admin.clone());
        let mut object = nodes.get(name).await?;
        nodes.delete(name, &DeleteParams::default()).await?;
        eventually("the node gone", async || Ok(nodes.get_opt(name).await?.is_none())).await?;
        let labels = serde_json::from_value(self.labels.get(name).cloned().unwrap_or_default())?;
        object.metadata = ObjectMeta { name: Some(name.to_owned()), labels, ..ObjectMeta::default() };
        object.spec = None;
        nodes.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    async fn answer_requests(&self) -> Result<()> {
        for request in self.bed.list(REQUESTS).await? {
            let status =
                json!({ "status": { "acknowledgedAt": jiff::Timestamp::now().to_string(), "stepSaved": 1_000 } });
            let patch = Request::new(REQUESTS).patch_subresource(
                "status",
                name_of(&request),
                &PatchParams::default(),
                &Patch::Merge(&status),
            )?;
            if request["status"].is_null() {
                self.bed.admin.request::<Value>(patch).await?;
            }
        }
        Ok(())
    }

    /// Everything that the controller may have changed.
    pub(super) async fn state(&self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for path in [resource_path("gpunodes"), resource_path("incidents"), REQUESTS.to_owned()] {
            all.extend(self.bed.list(&path).await?);
        }
        for pod in self.bed.list(PODS).await? {
            let metadata = &pod["metadata"];
            let leaves = !metadata["deletionTimestamp"].is_null();
            all.push(json!({ "pod": metadata["name"], "node": pod["spec"]["nodeName"], "leaves": leaves }));
        }
        for node in self.bed.list(NODES).await? {
            let ours = |field: &str| -> Value {
                let all = node["metadata"][field].as_object().cloned().unwrap_or_default();
                all.into_iter()
                    .filter(|(key, _)| MARKS.iter().any(|mark| key.starts_with(mark)))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            };
            let mut marks = ours("annotations");
            // Another leader writes another epoch.
            marks.as_object_mut().map(|marks| marks.remove("mainstay.dev/epoch"));
            all.push(json!({
                "node": node["metadata"]["name"], "labels": ours("labels"), "annotations": marks,
                "taints": node["spec"]["taints"], "unschedulable": node["spec"]["unschedulable"],
            }));
        }
        Ok(all)
    }

    /// Makes the cluster as it was before the first run. The Cell keeps its epoch.
    pub(super) async fn clean(&self) -> Result<()> {
        let now = DeleteParams {
            grace_period_seconds: Some(0),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let executors = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        let ours = ["gpunodes", "incidents", "nodereports"].map(resource_path);
        for path in ours.iter().map(String::as_str).chain([REQUESTS, PODS, BUDGETS, &executors]) {
            let request = Request::new(path).delete_collection(&now, &ListParams::default())?;
            self.bed.admin.request::<Value>(request).await?;
        }
        for node in self.bed.list(NODES).await? {
            let name = name_of(&node);
            let mut annotations = serde_json::Map::new();
            for key in node["metadata"]["annotations"].as_object().into_iter().flat_map(serde_json::Map::keys) {
                if MARKS.iter().any(|mark| key.starts_with(mark)) {
                    annotations.insert(key.clone(), Value::Null);
                }
            }
            let mut labels = self.labels.get(name).cloned().unwrap_or_default();
            for key in node["metadata"]["labels"].as_object().into_iter().flat_map(serde_json::Map::keys) {
                if labels[key].is_null() && !PLACES.contains(&key.as_str()) {
                    labels[key] = Value::Null;
                }
            }
            let clean = json!({
                "metadata": { "labels": labels, "annotations": annotations },
                "spec": { "taints": null, "unschedulable": null },
            });
            self.bed.merge(NODES, name, &clean).await?;
        }
        let mode = json!({ "spec": { "mode": "Act" } });
        self.bed.merge(&resource_path("cells"), "cell", &mode).await?;
        let cells = self.bed.list(&resource_path("cells")).await?;
        if cells.iter().all(|cell| cell["status"].is_null()) {
            return Ok(());
        }
        let counters = json!({ "status": { "breakers": [], "ruleCounters": [] } });
        let cells = resource_path("cells");
        let patch = Request::new(cells).patch_subresource(
            "status",
            "cell",
            &PatchParams::default(),
            &Patch::Merge(&counters),
        )?;
        self.bed.admin.request::<Value>(patch).await?;
        Ok(())
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
