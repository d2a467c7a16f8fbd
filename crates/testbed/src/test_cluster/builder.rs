//! What a test cluster begins with, chosen step by step.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::{PAGE, TestCluster, TestNode, list_metadata};
use crate::cluster::{OptionalServer, Options};
use crate::fleet::Fleet;
use crate::progress::builds_only;

const READY_WITHIN: Duration = Duration::from_mins(3);
const GPUS_PER_NODE: u32 = 8;
const SEED: u64 = 7;

/// The FleetPolicy that each pool gets. All pools are in mode Observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolPolicy {
    pub(super) nodes_max: usize,
    pub(super) rack_nodes_max: Option<usize>,
    pub(super) gang_label: Option<String>,
}

/// Program that sends the heartbeats of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heartbeats {
    Kwok,
    /// Nodes are Ready when they are created, and never report again.
    Never,
}

/// Whether Mainstay is installed when the cluster starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Installation {
    Complete,
    /// A test calls [`TestCluster::install`].
    Later,
}

/// Choices for a test cluster; [`TestClusterBuilder::start`] starts it.
#[derive(Debug, Clone)]
#[must_use]
pub struct TestClusterBuilder {
    fleet: Fleet,
    heartbeats: Heartbeats,
    installation: Installation,
    more_servers: Vec<OptionalServer>,
    policy: PoolPolicy,
}

impl PoolPolicy {
    /// Spec of the policy for one pool.
    pub(super) fn spec(&self, pool: &str) -> Value {
        let mut budgets = vec![json!({ "nodesMax": self.nodes_max })];
        budgets.extend(self.rack_nodes_max.map(|nodes| json!({ "level": "Rack", "nodesMax": nodes })));
        let mut spec = json!({ "pool": pool, "mode": "Observe", "budgets": budgets });
        if let Some(label) = &self.gang_label {
            spec["gang"] = json!({ "podLabel": label });
        }
        spec
    }
}

impl TestClusterBuilder {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            fleet: Fleet::new(nodes, GPUS_PER_NODE, SEED),
            heartbeats: Heartbeats::Kwok,
            installation: Installation::Complete,
            more_servers: Vec::new(),
            policy: PoolPolicy { nodes_max: 4, rack_nodes_max: None, gang_label: None },
        }
    }

    /// Puts a name in front of every node's name.
    pub fn named(mut self, name: &str) -> Self {
        self.fleet = self.fleet.named(name);
        self
    }

    /// Creates nodes that are Ready and send no heartbeats, so that the controller is the only client.
    pub fn without_heartbeats(mut self) -> Self {
        self.heartbeats = Heartbeats::Never;
        self
    }

    /// Starts without Mainstay's objects; [`TestCluster::install`] adds them later.
    pub fn without_mainstay(mut self) -> Self {
        self.installation = Installation::Later;
        self
    }

    /// Also runs these servers. The default, with heartbeats, is kube-controller-manager and KWOK.
    pub fn with_servers(mut self, servers: &[OptionalServer]) -> Self {
        self.more_servers.extend_from_slice(servers);
        self
    }

    /// Sets the budget of each pool: nodes out of service at once. The default is 4.
    pub fn budget(mut self, nodes_max: usize) -> Self {
        self.policy.nodes_max = nodes_max;
        self
    }

    /// Adds a budget for each rack: nodes out of service at once.
    pub fn rack_budget(mut self, nodes_max: usize) -> Self {
        self.policy.rack_nodes_max = Some(nodes_max);
        self
    }

    /// Sets the pod label whose value names a gang.
    pub fn gang_label(mut self, label: &str) -> Self {
        self.policy.gang_label = Some(label.to_owned());
        self
    }

    /// Starts the servers, creates the nodes, waits until they are Ready, and installs Mainstay.
    pub async fn start(self) -> Result<TestCluster> {
        let nodes_max = self.fleet.nodes;
        let mut options = match self.heartbeats {
            Heartbeats::Kwok => Options { nodes_max, ..Options::default() },
            Heartbeats::Never => Options { nodes_max, parts: Vec::new() },
        };
        options.parts.extend(self.more_servers);
        let cluster = crate::own(options).await?;
        let admin = cluster.client().await?;
        match self.heartbeats {
            Heartbeats::Kwok => {
                self.fleet.create(&admin, &builds_only).await?;
                let readiness = self.fleet.wait_ready(&admin, READY_WITHIN, &builds_only).await?;
                ensure!(readiness.ready == nodes_max, "{readiness:?}");
            }
            Heartbeats::Never => self.fleet.create_ready(&admin, &builds_only).await?,
        }
        let uids = uids(&admin).await?;
        let node = |planned: crate::fleet::FleetNode<'_>| {
            let uid = uids.get(&planned.name).with_context(|| format!("no node {}", planned.name))?;
            Ok(TestNode::new(&planned, uid))
        };
        let nodes = self.fleet.nodes().map(node).collect::<Result<_>>()?;
        let started = TestCluster { cluster, admin, nodes, policy: self.policy };
        match self.installation {
            Installation::Complete => started.install().await?,
            Installation::Later => {}
        }
        Ok(started)
    }
}

/// UID of every node by its name.
async fn uids(admin: &Client) -> Result<BTreeMap<String, String>> {
    let (mut all, mut params) = (BTreeMap::new(), ListParams::default().limit(PAGE));
    loop {
        let list = list_metadata(admin, "/api/v1/nodes", &params).await?;
        for node in list["items"].as_array().into_iter().flatten() {
            let text = |field: &str| node["metadata"][field].as_str().unwrap_or_default().to_owned();
            all.insert(text("name"), text("uid"));
        }
        match list["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(token),
            None => return Ok(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_has_the_budgets_and_the_gang_label_that_were_chosen() {
        let plain = TestClusterBuilder::new(4).policy.spec("train");
        assert_eq!(plain, json!({ "pool": "train", "mode": "Observe", "budgets": [{ "nodesMax": 4 }] }));
        let builder = TestClusterBuilder::new(4).budget(9).rack_budget(1).gang_label("job");
        let spec = builder.policy.spec("train");
        assert_eq!(spec["budgets"], json!([{ "nodesMax": 9 }, { "level": "Rack", "nodesMax": 1 }]));
        assert_eq!(spec["gang"], json!({ "podLabel": "job" }));
    }
}
