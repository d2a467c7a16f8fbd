//! The test cluster of the proofs: nodes known by their number, and budgets that grow with the fleet.

use std::ops::Deref;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};
use testbed::test_cluster::resource_path;
use testbed::{AgentReport, NAMESPACE, OptionalServer};

const KINDS: [&str; 2] = ["gpunodes", "incidents"];

/// A test cluster with Mainstay installed.
pub(super) struct TestCluster(testbed::TestCluster);

impl TestCluster {
    /// Starts nodes with heartbeats.
    pub(super) async fn start(nodes: usize) -> Result<Self> {
        Ok(Self(builder(nodes).start().await?))
    }

    /// Starts nodes that are Ready and send no heartbeats: the load that is left is the controller's.
    pub(super) async fn start_without_heartbeats(nodes: usize) -> Result<Self> {
        Ok(Self(builder(nodes).without_heartbeats().start().await?))
    }

    /// Starts nodes with heartbeats, the scheduler and the controller of HorizontalPodAutoscalers.
    pub(super) async fn start_autoscaled(nodes: usize) -> Result<Self> {
        let servers = [OptionalServer::Scheduler, OptionalServer::Autoscaler];
        Ok(Self(builder(nodes).with_servers(&servers).start().await?))
    }

    /// A kubeconfig of the controller's account.
    pub(super) async fn controller(&self) -> Result<PathBuf> {
        self.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await
    }

    /// The report of a node's agent: the count of each XID on GPU 3 since boot, and the number of GPUs.
    pub(super) async fn report(&self, node: usize, sequence: u64, gpus: usize, xids: &[(&str, u64)]) -> Result<()> {
        self.0.report(&self.nodes[node], &AgentReport::new(sequence, xids).on_gpus(gpus)).await
    }

    /// Sets the condition Ready of a node, as its kubelet or the node-lifecycle controller does.
    pub(super) async fn set_ready(&self, node: &str, status: &str) -> Result<()> {
        let now = jiff::Timestamp::now().to_string();
        let condition = json!({
            "type": "Ready", "status": status, "reason": "Proof", "message": "set by a proof",
            "lastTransitionTime": now, "lastHeartbeatTime": now,
        });
        let patch: Value = json!({ "status": { "conditions": [condition] } });
        let patch = kube::api::Patch::Strategic(&patch);
        let request = kube::core::Request::new("/api/v1/nodes");
        let request = request.patch_subresource("status", node, &kube::api::PatchParams::default(), &patch)?;
        self.admin.request::<Value>(request).await?;
        Ok(())
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

impl Deref for TestCluster {
    type Target = testbed::TestCluster;

    fn deref(&self) -> &testbed::TestCluster {
        &self.0
    }
}

fn builder(nodes: usize) -> testbed::test_cluster::TestClusterBuilder {
    testbed::TestCluster::with_nodes(nodes).named("observed").budget(nodes.div_ceil(10).max(2))
}
