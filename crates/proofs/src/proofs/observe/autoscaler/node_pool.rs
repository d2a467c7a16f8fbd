//! Takes the place of a node autoscaler: uncordons a spare node some time after pods did not fit. It never removes a node.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::super::test_cluster::TestCluster;
use super::{BOOT, GPUS_PER_NODE};

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Nodes of the cluster, of which some are cordoned until pods need them.
pub(super) struct NodePool {
    nodes: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl NodePool {
    /// Cordons all nodes after the first ones, and starts to look for pods that do not fit.
    pub(super) async fn start(bed: &TestCluster, first: usize) -> Result<Self> {
        let spare: Vec<String> = bed.nodes.iter().skip(first).map(|node| node.name.clone()).collect();
        for node in &spare {
            set_cordoned(&bed.admin, node, true).await?;
        }
        let nodes = Arc::new(AtomicUsize::new(first));
        let task = tokio::spawn(add_nodes(bed.admin.clone(), spare, Arc::clone(&nodes)));
        Ok(Self { nodes, task })
    }

    /// Number of nodes that take pods, which grows.
    pub(super) fn nodes(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.nodes)
    }
}

impl Drop for NodePool {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn add_nodes(client: Client, spare: Vec<String>, nodes: Arc<AtomicUsize>) {
    let (mut spare, mut booting) = (spare.into_iter(), Vec::new());
    loop {
        sleep(LOOK_EVERY).await;
        // A failed call is repeated in the next round.
        let Ok(waiting) = waiting(&client).await else { continue };
        while booting.len() < waiting.div_ceil(GPUS_PER_NODE) {
            let Some(node) = spare.next() else { break };
            booting.push((node, Instant::now() + BOOT));
        }
        let mut left = Vec::new();
        for (node, ready_at) in booting {
            if ready_at <= Instant::now() && set_cordoned(&client, &node, false).await.is_ok() {
                nodes.fetch_add(1, Ordering::Relaxed);
            } else {
                left.push((node, ready_at));
            }
        }
        booting = left;
    }
}

/// Pods for which the scheduler found no node. Each requests one GPU.
async fn waiting(client: &Client) -> Result<usize> {
    let pods = Api::<Pod>::all(client.clone()).list(&ListParams::default().fields("status.phase=Pending")).await?;
    let does_not_fit = |pod: &&Pod| {
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|one| one.reason.as_deref() == Some("Unschedulable"))
    };
    Ok(pods.items.iter().filter(does_not_fit).count())
}

async fn set_cordoned(client: &Client, node: &str, is_cordoned: bool) -> Result<()> {
    let patch = json!({ "spec": { "unschedulable": is_cordoned } });
    Api::<Node>::all(client.clone()).patch(node, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}
