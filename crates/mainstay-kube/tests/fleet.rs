//! Fleet metrics of a controller on a real API server: GPUs by state, room for jobs, inventory, and jobs that wait, run and end.
//! The controller has its own role, and writes nothing about pods.

#![cfg(test)]

#[path = "observe/test_cluster.rs"]
#[expect(dead_code, reason = "the test of observations uses the rest")]
mod test_cluster;

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use test_cluster::{ObservedCluster, RunningController};
use testbed::eventually;

const QUEUE: &str = "kueue.x-k8s.io/queue-name";

struct Fleet {
    bed: ObservedCluster,
    pods: Api<Pod>,
}

impl Fleet {
    async fn start() -> Result<Self> {
        let bed = ObservedCluster::start("fleet", 4).await?;
        let namespace = json!({ "metadata": { "name": "research" } });
        bed.make::<Namespace>(Api::all(bed.admin()), namespace).await?;
        let pods = Api::namespaced(bed.admin(), "research");
        Ok(Self { bed, pods })
    }

    /// Makes a pod with eight GPUs and the label of its job, which waits for a node.
    async fn pending(&self, name: &str, queue: Option<&str>) -> Result<()> {
        let labels = queue.map(|queue| json!({ QUEUE: queue }));
        let pod = json!({
            "metadata": { "name": name, "namespace": "research", "labels": labels },
            "spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "train", "image": "train",
                    "resources": { "limits": { "nvidia.com/gpu": "8" } },
                }],
            },
        });
        self.bed.make::<Pod>(self.pods.clone(), pod).await.map(drop)
    }

    /// Gives a pod a node, as a scheduler does.
    async fn bind(&self, name: &str, node: usize) -> Result<()> {
        let node = &self.bed.nodes[node].name;
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": { "name": name, "namespace": "research" }, "target": { "kind": "Node", "name": node },
        });
        self.pods.create_subresource::<_, Value>("binding", name, &PostParams::default(), &binding).await?;
        self.status(name, json!({ "phase": "Running" })).await
    }

    /// Sets the status of a pod, as a kubelet does.
    async fn status(&self, name: &str, status: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "status": status }));
        self.pods.patch_status(name, &PatchParams::default(), &patch).await.context("the status of a pod")?;
        Ok(())
    }

    /// Runs a pod on a node until it ends like this.
    async fn run(&self, name: &str, queue: Option<&str>, node: usize, end: Value) -> Result<()> {
        self.pending(name, queue).await?;
        self.bind(name, node).await?;
        self.status(name, end).await
    }
}

/// Waits until the metrics have all of these lines.
async fn has(running: &RunningController, lines: &[&str]) -> Result<()> {
    for line in lines {
        eventually(line, async || running.metrics().contains(&format!("\n{line}\n"))).await.with_context(|| {
            let of_fleet = running.metrics();
            let shown: Vec<&str> =
                of_fleet.lines().filter(|one| !one.starts_with('#') && !one.ends_with(" 0")).collect();
            shown.join("\n")
        })?;
    }
    Ok(())
}

#[tokio::test]
async fn the_controller_exports_gpus_room_inventory_and_jobs_by_cause() -> Result<()> {
    let fleet = Fleet::start().await?;
    let bed = &fleet.bed;
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    // It ended before the controller leads, and is not counted.
    fleet.run("old", None, 0, json!({ "phase": "Failed" })).await?;
    let running = bed.controller(None).await?;
    has(&running, &["mainstay_gpus{state=\"InService\"} 32", "mainstay_gpus{state=\"Suspect\"} 0"]).await?;
    let metrics = running.metrics();
    assert!(metrics.contains("\nmainstay_inventory_gpus{model="), "{metrics}");
    let mut jobs = metrics.lines().filter(|line| line.starts_with("mainstay_jobs_total{"));
    assert!(jobs.all(|line| line.ends_with(" 0")), "what ended before is not counted: {metrics}");

    // A pod without GPUs is no job of this kind.
    fleet.pending("gold", Some("gold")).await?;
    let plain = json!({
        "metadata": { "name": "web", "namespace": "research" },
        "spec": { "containers": [{ "name": "web", "image": "web" }] },
    });
    bed.make::<Pod>(fleet.pods.clone(), plain).await?;
    has(
        &running,
        &["mainstay_pending_gpu_pods{queue=\"research/gold\"} 1", "mainstay_pending_gpus{queue=\"research/gold\"} 8"],
    )
    .await?;
    fleet.bind("gold", 0).await?;
    has(&running, &["mainstay_job_wait_seconds_count{queue=\"research/gold\"} 1"]).await?;
    let room = running.metrics();
    let room: Vec<&str> = room.lines().filter(|line| line.starts_with("mainstay_largest_gang_gpus{")).collect();
    assert!(room.iter().any(|line| line.contains("level=\"Leaf\"")), "{room:?}");
    fleet.status("gold", json!({ "phase": "Succeeded" })).await?;
    has(&running, &["mainstay_jobs_total{queue=\"research/gold\",outcome=\"success\"} 1"]).await?;

    let disrupted = |reason: &str| {
        let now = jiff::Timestamp::now().to_string();
        json!({ "phase": "Failed", "conditions": [{
            "type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": now,
        }] })
    };
    fleet.run("preempted", None, 1, disrupted("PreemptionByScheduler")).await?;
    fleet.run("evicted", None, 1, disrupted("DeletionByTaintManager")).await?;
    fleet.run("broken", None, 1, json!({ "phase": "Failed" })).await?;
    // The fault of the node is known before the pod fails, and Kubernetes states no reason.
    bed.report(&bed.nodes[3], 2, &[("79", 3)]).await?;
    has(&running, &["mainstay_gpus{state=\"Suspect\"} 8", "mainstay_detection_seconds_count 1"]).await?;
    fleet.run("unlucky", None, 3, json!({ "phase": "Failed" })).await?;
    has(
        &running,
        &[
            "mainstay_jobs_total{queue=\"research\",outcome=\"preempted\"} 1",
            "mainstay_jobs_total{queue=\"research\",outcome=\"user\"} 1",
            "mainstay_jobs_total{queue=\"research\",outcome=\"infrastructure\"} 2",
        ],
    )
    .await?;

    // A pod that is deleted while it waits is neither a success nor a failure.
    fleet.pending("cancelled", None).await?;
    has(&running, &["mainstay_pending_gpu_pods{queue=\"research\"} 1"]).await?;
    fleet.pods.delete("cancelled", &DeleteParams::default()).await?;
    has(&running, &["mainstay_pending_gpu_pods{queue=\"research\"} 0"]).await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(running.metrics().contains("\nmainstay_jobs_total{queue=\"research\",outcome=\"user\"} 1\n"));
    running.stop().await?;
    bed.only_ours_was_written()
}
