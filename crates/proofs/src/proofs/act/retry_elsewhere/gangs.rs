//! Gangs as JobSets, and what a watch shows of them, of their pods, and of what Mainstay stores about nodes.

use anyhow::{Context as _, Result};
use axum::http::Request;
use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

/// Label of a gang's pods with its name. The FleetPolicy of the proof recognises gangs by it.
pub(super) const NAME_LABEL: &str = "jobset.sigs.k8s.io/jobset-name";
const ATTEMPT_LABEL: &str = "jobset.sigs.k8s.io/restart-attempt";
const PATH: &str = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
/// Pods of a gang, each on a node of its own.
pub(super) const PODS: u32 = 4;
pub(super) const GPUS_PER_POD: u32 = 8;
/// Time that a pod runs before it succeeds.
const RUNS_FOR: &str = "5s";
/// More restarts than any gang has here.
const RESTARTS_MAX: u32 = 1_000;
/// The API server ends a watch after this time, and the next one goes on where it ended.
const WATCH_SECONDS: u32 = 290;

/// An object as a watch showed it. Resource versions of one server are in the order of its writes, whatever they are
/// about.
#[derive(Debug)]
pub(super) enum Seen {
    Pod(PodSeen),
    /// A stored status of a node.
    Node {
        name: String,
        version: u64,
        is_found: bool,
    },
    /// A gang that ended, with whether it completed.
    Ended {
        gang: String,
        is_completed: bool,
    },
}

/// A version of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodSeen {
    pub(super) uid: String,
    pub(super) name: String,
    pub(super) gang: String,
    pub(super) attempt: u32,
    pub(super) node: Option<String>,
    pub(super) version: u64,
    pub(super) phase: String,
    /// Whether it is deleted, or will be.
    pub(super) leaves: bool,
}

/// A gang of pods that take whole nodes. When one of them fails, JobSet restarts all.
pub(super) fn gang(number: usize) -> Value {
    let container = json!({
        "name": "train", "image": "train", "resources": { "limits": { "nvidia.com/gpu": GPUS_PER_POD.to_string() } },
    });
    let pod = json!({
        "metadata": { "annotations": { testbed::kwok::COMPLETES_AFTER_ANNOTATION: RUNS_FOR } },
        "spec": { "restartPolicy": "Never", "automountServiceAccountToken": false, "containers": [container] },
    });
    let job = json!({ "parallelism": PODS, "completions": PODS, "backoffLimit": 0, "template": pod });
    json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": { "name": format!("gang-{number}"), "namespace": "default" },
        "spec": {
            "failurePolicy": { "maxRestarts": RESTARTS_MAX },
            "network": { "enableDNSHostnames": false },
            "replicatedJobs": [{ "name": "w", "replicas": 1, "template": { "spec": job } }],
        },
    })
}

/// The request that creates a gang.
pub(super) fn create(gang: &Value, is_dry_run: bool) -> Result<Request<Vec<u8>>> {
    let params = PostParams { dry_run: is_dry_run, field_manager: None };
    Ok(kube::core::Request::new(PATH).create(&params, serde_json::to_vec(gang)?)?)
}

/// The request that deletes a gang with its jobs and pods.
pub(super) fn delete(gang: &str) -> Result<Request<Vec<u8>>> {
    Ok(kube::core::Request::new(PATH).delete(gang, &DeleteParams::background())?)
}

/// What a watch of this plural shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    Pods,
    Gangs,
    Nodes,
}

impl Watched {
    pub(super) const ALL: [Self; 3] = [Self::Pods, Self::Gangs, Self::Nodes];

    fn api(self, client: Client) -> Api<DynamicObject> {
        let resource = |group: &str, version: &str, kind: &str, plural: &str| {
            let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
            ApiResource::from_gvk_with_plural(&gvk, plural)
        };
        match self {
            Self::Pods => Api::namespaced_with(client, "default", &resource("", "v1", "Pod", "pods")),
            Self::Gangs => {
                let resource = resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets");
                Api::namespaced_with(client, "default", &resource)
            }
            Self::Nodes => Api::all_with(client, &resource("mainstay.dev", "v1alpha1", "GpuNode", "gpunodes")),
        }
    }

    /// Sends what there is, and then everything that a watch shows, until the receiver is gone.
    pub(super) async fn follow(self, client: Client, sender: Sender<Seen>) -> Result<()> {
        let api = self.api(client);
        let list = api.list(&ListParams::default()).await?;
        for seen in list.items.iter().filter_map(|object| self.read(object, false).transpose()) {
            sender.send(seen?).await?;
        }
        let mut version = list.metadata.resource_version.context("a list without a version")?;
        loop {
            let params = WatchParams::default().timeout(WATCH_SECONDS);
            let mut events = Box::pin(api.watch(&params, &version).await?);
            while let Some(event) = events.next().await {
                let (object, is_deleted) = match event? {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                    WatchEvent::Deleted(object) => (object, true),
                    WatchEvent::Bookmark(bookmark) => {
                        version = bookmark.metadata.resource_version;
                        continue;
                    }
                    WatchEvent::Error(error) => return Err(anyhow::anyhow!("{self:?}: {error:?}")),
                };
                version = object.metadata.resource_version.clone().context("an object without a version")?;
                if let Some(seen) = self.read(&object, is_deleted)?
                    && sender.send(seen).await.is_err()
                {
                    return Ok(());
                }
            }
        }
    }

    fn read(self, object: &DynamicObject, is_deleted: bool) -> Result<Option<Seen>> {
        let metadata = &object.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let version = metadata.resource_version.as_deref().unwrap_or_default().parse()?;
        Ok(match self {
            Self::Nodes => {
                let is_found = object.data["status"]["stage"].as_str().is_some_and(|stage| stage != "InService");
                Some(Seen::Node { name, version, is_found })
            }
            Self::Gangs => {
                let state = object.data["status"]["terminalState"].as_str().filter(|state| !state.is_empty());
                let ended = state.filter(|_| !is_deleted);
                ended.map(|state| Seen::Ended { gang: name, is_completed: state == "Completed" })
            }
            Self::Pods => {
                let label = |key: &str| metadata.labels.as_ref().and_then(|labels| labels.get(key)).cloned();
                let Some(gang) = label(NAME_LABEL) else { return Ok(None) };
                Some(Seen::Pod(PodSeen {
                    uid: metadata.uid.clone().unwrap_or_default(),
                    name,
                    gang,
                    attempt: label(ATTEMPT_LABEL).context("a pod without an attempt")?.parse()?,
                    node: object.data["spec"]["nodeName"].as_str().map(str::to_owned),
                    version,
                    phase: object.data["status"]["phase"].as_str().unwrap_or_default().to_owned(),
                    leaves: is_deleted || metadata.deletion_timestamp.is_some(),
                }))
            }
        })
    }
}
