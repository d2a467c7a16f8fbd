//! Jobs of the queue: pods with one GPU each in the namespace that the example names.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use testbed::eventually_within;

use super::super::test_cluster::TestCluster;

const QUEUE: &str = "research";

/// The queue of the example.
pub(super) struct Load<'a> {
    bed: &'a TestCluster,
    pods: Api<Pod>,
}

impl<'a> Load<'a> {
    /// Creates the namespace, which is the name of the queue.
    pub(super) async fn create_queue(bed: &'a TestCluster) -> Result<Self> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": QUEUE } });
        bed.cluster.apply_objects(&[namespace]).await?;
        super::wait_for_account(bed, QUEUE).await?;
        Ok(Self { bed, pods: Api::namespaced(bed.admin.clone(), QUEUE) })
    }

    /// Adds jobs of one pod and one GPU.
    pub(super) async fn add(&self, burst: &str, jobs: usize) -> Result<()> {
        let pod = |number: usize| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": format!("{burst}-{number}"), "namespace": QUEUE, "labels": { "burst": burst } },
                "spec": {
                    "restartPolicy": "Never", "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
                    "containers": [{ "name": "work", "image": "work", "resources": { "limits": { "nvidia.com/gpu": "1" } } }],
                },
            })
        };
        let pods: Vec<Value> = (0..jobs).map(pod).collect();
        self.bed.cluster.apply_objects(&pods).await
    }

    /// Waits until every job of a burst has a node, and returns the longest wait, in whole seconds as Kubernetes records it.
    pub(super) async fn wait_until_placed(&self, burst: &str, limit: Duration) -> Result<Duration> {
        let params = ListParams::default().labels(&format!("burst={burst}"));
        let placed = async || {
            let pods = self.pods.list(&params).await?.items;
            let waits: Option<Vec<Duration>> = pods.iter().map(wait_of).collect();
            anyhow::Ok(waits.and_then(|waits| waits.into_iter().max()))
        };
        match eventually_within(limit, "a node for every job", placed).await {
            Ok(wait) => Ok(wait),
            Err(error) => Err(error.context(format!("{burst}: {}", self.reasons(&params).await?.join("; ")))),
        }
    }

    /// What the scheduler states about each pod without a node, and about nodes that are not Ready.
    async fn reasons(&self, params: &ListParams) -> Result<Vec<String>> {
        let mut reasons = Vec::new();
        for pod in self.pods.list(params).await?.items.iter().filter(|pod| wait_of(pod).is_none()) {
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let messages: Vec<&str> = conditions.filter_map(|one| one.message.as_deref()).collect();
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let nominated = pod.status.as_ref().and_then(|status| status.nominated_node_name.as_deref());
            reasons.push(format!("{name}, nominated to {nominated:?}: {}", messages.join(", ")));
        }
        reasons.push(self.bed.cluster.run_kubectl(&["get", "nodes"]).await?);
        reasons.push(self.bed.cluster.run_kubectl(&["get", "pods", "-A", "-o", "wide"]).await?);
        Ok(reasons)
    }

    /// Ends the jobs of these bursts.
    pub(super) async fn remove(&self, bursts: &[&str]) -> Result<()> {
        let params = ListParams::default().labels(&format!("burst in ({})", bursts.join(",")));
        self.pods.delete_collection(&DeleteParams::default(), &params).await?;
        Ok(())
    }
}

/// Time from the creation of a pod to its node.
fn wait_of(pod: &Pod) -> Option<Duration> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|one| one.type_ == "PodScheduled" && one.status == "True")?;
    let (created, placed) = (pod.metadata.creation_timestamp.as_ref()?, scheduled.last_transition_time.as_ref()?);
    let seconds = placed.0.as_second().saturating_sub(created.0.as_second());
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
