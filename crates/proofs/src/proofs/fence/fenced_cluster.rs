//! A test cluster with the fence, and writes to it as dry runs: authorization, schema and admission without the commit,
//! so cases stay independent.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use testbed::{Cluster, Options};
use tokio::time::{Instant, sleep};

use super::ExpectedResponse;
use super::approval_claim::{AS_OF, approvals};
use super::operation::{EPOCH, EpochClaim, LABELLED_NODE, prefix};

pub(super) const CONTROLLER_NAMESPACE: &str = "mainstay-system";
/// A policy sees a changed parameter a moment later; on a busy machine the moment can be long.
const SEEN_AT_MOST: Duration = Duration::from_secs(20);
const POLL_EVERY: Duration = Duration::from_millis(20);
/// A label and an annotation of others on the labelled node.
pub(super) const OF_OTHERS: &str = "example.com/kept";
/// Name of the example that holds the options of a valid eviction.
const EVICTION_OPTIONS: &str = "eviction";

/// How something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    /// Metadata only.
    Update,
    UpdateSpec,
    /// A spec of a node without our quarantine taint.
    Lift,
    UpdateStatus,
    /// A status with a new order to an agent.
    Order,
    Delete,
    Evict,
}

/// One write to the API server, before it is sent.
#[derive(Debug, Clone)]
pub(super) struct WriteRequest {
    pub(super) prefix: String,
    pub(super) name: &'static str,
    pub(super) verb: Verb,
    pub(super) body: Value,
}

/// Status code and message that the API server returned.
#[derive(Debug, Clone)]
pub(super) struct WriteResponse {
    pub(super) code: u16,
    pub(super) message: String,
}

/// Whether a write is committed or a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    Dry,
    Real,
}

/// The version of the API server under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KubernetesVersion {
    /// The one that every test runs on.
    Newest,
    /// The oldest that is supported.
    Oldest,
}

/// A test cluster with the fence, clients of administrator and controller, and example objects.
pub(super) struct FencedCluster {
    pub(super) cluster: Cluster,
    pub(super) admin: Client,
    pub(super) controller: Client,
    /// A valid object of each resource, without a name.
    objects: Vec<(&'static str, Value)>,
}

impl FencedCluster {
    pub(super) async fn start(deploy: &Path, kubernetes: KubernetesVersion) -> Result<Self> {
        let options = Options { nodes_max: 0, parts: Vec::new() };
        let cluster = match kubernetes {
            KubernetesVersion::Newest => testbed::own(options).await?,
            KubernetesVersion::Oldest => testbed::own_on_oldest(options).await?,
        };
        cluster.install_mainstay().await?;
        // Where the role refuses, the fence is not asked.
        cluster.apply(&deploy.join("allow-actions")).await?;
        let admin = cluster.client().await?;
        let controller = cluster.client_of(CONTROLLER_NAMESPACE, "mainstay-controller").await?;
        let mut world = Self { cluster, admin, controller, objects: objects(deploy)? };
        world.populate().await?;
        Ok(world)
    }

    pub(super) fn object(&self, resource: &str) -> Result<&Value> {
        let found = self.objects.iter().find(|(name, _)| *name == resource);
        found.map(|(_, object)| object).with_context(|| format!("no example of {resource}"))
    }

    /// The options of an eviction that names the pod as it is.
    pub(super) fn eviction_options(&self) -> Result<&Value> {
        self.object(EVICTION_OPTIONS)
    }

    /// Brings the cell to a mode, and waits until the fence has seen it.
    pub(super) async fn set_mode(&self, mode: &str) -> Result<()> {
        let spec = json!({ "spec": { "mode": mode, "approvals": approvals() } });
        self.admin_patch("cells", None, &spec).await?;
        let mut body = self.object("checkpointrequests")?.clone();
        let annotations = json!({ (mainstay_api::EPOCH): EPOCH.to_string() });
        body["metadata"] = json!({ "name": "probe", "annotations": annotations });
        let probe = WriteRequest { prefix: prefix("checkpointrequests"), name: "probe", verb: Verb::Create, body };
        let started = Instant::now();
        while started.elapsed() < SEEN_AT_MOST {
            let answer = send(&self.controller, &probe, WriteMode::Dry).await?;
            let seen =
                if mode == "Act" { answer.code < 300 } else { answer.message.contains(&format!("mode is {mode}")) };
            if seen {
                return Ok(());
            }
            sleep(POLL_EVERY).await;
        }
        bail!("the fence did not see mode {mode} within {} s", SEEN_AT_MOST.as_secs());
    }

    /// A write of the administrator, who is not fenced.
    pub(super) async fn admin_patch(&self, resource: &str, subresource: Option<&str>, patch: &Value) -> Result<Value> {
        let name = if resource == "cells" { mainstay_api::CELL_NAME } else { "absent" };
        let (request, params) = (Request::new(prefix(resource)), PatchParams::default());
        let request = match subresource {
            Some(subresource) => request.patch_subresource(subresource, name, &params, &Patch::Merge(patch))?,
            None => request.patch(name, &params, &Patch::Merge(patch))?,
        };
        Ok(self.admin.request(request).await?)
    }

    pub(super) async fn create(&self, prefix: &str, object: &Value) -> Result<Value> {
        let request = Request::new(prefix).create(&PostParams::default(), serde_json::to_vec(object)?)?;
        self.admin.request(request).await.with_context(|| format!("{prefix} refused {object}"))
    }

    /// What the writes go to: a node, a pod, a lease, and of each kind one object for every epoch a delete can announce.
    async fn populate(&mut self) -> Result<()> {
        self.admin_patch("cells", Some("status"), &json!({ "status": { "epoch": EPOCH, "asOf": AS_OF } })).await?;
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
        self.create("/api/v1/namespaces/default/serviceaccounts", &account).await?;
        for (resource, name) in
            [("nodes", "n1"), ("nodes", LABELLED_NODE), ("pods", "p1"), ("leases", "mainstay-leader")]
        {
            let mut object = self.object(resource)?.clone();
            object["metadata"] = json!({ "name": name });
            if name == LABELLED_NODE {
                // A label and an annotation of others.
                object["metadata"]["labels"] = json!({ (mainstay_api::FENCED): "", (OF_OTHERS): "yes" });
                let annotations = json!({ (mainstay_api::DELETE_EPOCH): EPOCH.to_string(), (OF_OTHERS): "yes" });
                object["metadata"]["annotations"] = annotations;
                object["spec"] = json!({ "taints": [{ "key": mainstay_api::TAINT, "effect": "NoSchedule" }] });
            }
            let stored = self.create(&prefix(resource), &object).await?;
            if resource == "pods" {
                let only = ["uid", "resourceVersion"].map(|key| (key.to_owned(), stored["metadata"][key].clone()));
                self.objects
                    .push((EVICTION_OPTIONS, json!({ "preconditions": Value::Object(only.into_iter().collect()) })));
            }
        }
        for resource in [
            "nodereports",
            "gpunodes",
            "incidents",
            "qualifications",
            "checkpointrequests",
            "fleetpolicies",
            "fabrics",
            "slos",
        ] {
            for says in EpochClaim::ALL {
                let mut object = self.object(resource)?.clone();
                object["metadata"] = json!({ "name": says.object() });
                if let Some(epoch) = says.epoch() {
                    object["metadata"]["annotations"] = json!({ (mainstay_api::DELETE_EPOCH): epoch.to_string() });
                }
                self.create(&prefix(resource), &object).await?;
            }
        }
        Ok(())
    }
}

/// Sends one write and answers what the server said of it.
pub(super) async fn send(client: &Client, call: &WriteRequest, run: WriteMode) -> Result<WriteResponse> {
    let dry_run = run == WriteMode::Dry;
    // An agent may write under this name only; to others it is any name.
    let manager = Some("mainstay-agent".to_owned());
    let patch = PatchParams { dry_run, field_manager: manager.clone(), ..PatchParams::default() };
    let post = PostParams { dry_run, field_manager: manager };
    let (request, merge) = (Request::new(&call.prefix), Patch::Merge(&call.body));
    let request = match call.verb {
        Verb::Create => request.create(&post, serde_json::to_vec(&call.body)?)?,
        Verb::Update | Verb::UpdateSpec | Verb::Lift => request.patch(call.name, &patch, &merge)?,
        Verb::UpdateStatus | Verb::Order => request.patch_subresource("status", call.name, &patch, &merge)?,
        Verb::Delete => request.delete(call.name, &DeleteParams { dry_run, ..DeleteParams::default() })?,
        Verb::Evict => request.create_subresource("eviction", call.name, &post, serde_json::to_vec(&call.body)?)?,
    };
    match client.request::<Value>(request).await {
        Ok(_) => Ok(WriteResponse { code: 200, message: String::new() }),
        Err(kube::Error::Api(status)) => Ok(WriteResponse { code: status.code, message: status.message }),
        Err(error) => Err(error).with_context(|| format!("{:?} {} was not answered", call.verb, call.prefix)),
    }
}

/// Sends a write until the answer is as expected, and answers the last one: what decides is seen a moment later.
pub(super) async fn send_until(
    client: &Client,
    call: &WriteRequest,
    run: WriteMode,
    expected: ExpectedResponse,
) -> Result<WriteResponse> {
    let give_up_at = Instant::now() + SEEN_AT_MOST;
    loop {
        let answer = send(client, call, run).await?;
        if expected.is_met_by(&answer) || Instant::now() >= give_up_at {
            return Ok(answer);
        }
        sleep(POLL_EVERY).await;
    }
}

/// A token of one of our service accounts, bound to a pod where one is given.
pub(super) async fn token(cluster: &Cluster, account: &str, pod: Option<&Value>) -> Result<String> {
    let pod = pod.cloned().map(serde_json::from_value).transpose()?;
    cluster.token(CONTROLLER_NAMESPACE, account, pod.as_ref()).await
}

fn objects(deploy: &Path) -> Result<Vec<(&'static str, Value)>> {
    let mut all = vec![
        ("nodes", json!({ "apiVersion": "v1", "kind": "Node" })),
        (
            "pods",
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "spec": { "automountServiceAccountToken": false, "containers": [{ "name": "c", "image": "none" }] },
            }),
        ),
        ("configmaps", json!({ "apiVersion": "v1", "kind": "ConfigMap" })),
        ("secrets", json!({ "apiVersion": "v1", "kind": "Secret" })),
        ("leases", json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease" })),
        (
            "events",
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "eventTime": "2026-11-15T03:00:00.000000Z",
                "action": "Observed", "reason": "Observed", "type": "Normal", "reportingController": "mainstay.dev/controller",
                "reportingInstance": "one", "regarding": { "kind": "Node", "name": "n1", "namespace": "default" },
            }),
        ),
    ];
    for (resource, file) in [
        ("cells", "cell"),
        ("nodereports", "node-report"),
        ("gpunodes", "gpu-node"),
        ("incidents", "incident"),
        ("qualifications", "qualification"),
        ("checkpointrequests", "checkpoint-request"),
        ("fleetpolicies", "fleet-policy"),
        ("fabrics", "fabric"),
        ("slos", "slo"),
    ] {
        let path = deploy.join("examples").join(file).with_extension("yaml");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        all.push((resource, serde_saphyr::from_str(&text)?));
    }
    Ok(all)
}
