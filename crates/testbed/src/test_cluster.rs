//! A cluster with Mainstay on it, as tests and proofs need it: definitions and admission policies, a Fabric, KWOK nodes, a
//! FleetPolicy for each pool, and reports as agents write them. No Mainstay program runs in it: a test starts those.

mod builder;
mod node;
mod played_executor;

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams, Request};
use serde_json::{Value, json};

use crate::{Cluster, deploy};

pub use builder::TestClusterBuilder;
pub use node::{AgentReport, Answers, TestNode};
pub use played_executor::PlayedExecutor;

use builder::PoolPolicy;

const API_VERSION: &str = "mainstay.dev/v1alpha1";
/// Objects in one page of a list without their content.
const PAGE: u32 = 5_000;

/// A running cluster with nodes, and with Mainstay's objects once they are installed.
pub struct TestCluster {
    /// Servers, files and accounts of the cluster.
    pub cluster: Cluster,
    /// Client with the administrator's permissions.
    pub admin: Client,
    /// Nodes in the order of the fleet.
    pub nodes: Vec<TestNode>,
    policy: PoolPolicy,
}

/// Path of a Mainstay resource in the API, such as `gpunodes`.
pub fn resource_path(resource: &str) -> String {
    format!("/apis/{API_VERSION}/{resource}")
}

impl TestCluster {
    /// Begins a cluster with this number of nodes, eight GPUs each. The default is a complete installation.
    pub fn with_nodes(nodes: usize) -> TestClusterBuilder {
        TestClusterBuilder::new(nodes)
    }

    /// Installs definitions, admission policies, the example Fabric, and a policy for each pool. For clusters that were
    /// started without Mainstay.
    pub async fn install(&self) -> Result<()> {
        self.cluster.install_mainstay().await?;
        self.cluster.apply(&deploy().join("examples/fabric.yaml")).await?;
        self.write_policies(&self.policy).await
    }

    /// Gives each pool another budget: the number of nodes that may be out of service at once.
    pub async fn set_budget(&self, nodes_max: usize) -> Result<()> {
        self.write_policies(&PoolPolicy { nodes_max, ..self.policy.clone() }).await
    }

    async fn write_policies(&self, policy: &PoolPolicy) -> Result<()> {
        let pools: std::collections::BTreeSet<&str> = self.nodes.iter().map(|node| node.pool.as_str()).collect();
        for pool in pools {
            self.apply("FleetPolicy", "fleetpolicies", pool, &policy.spec(pool)).await?;
        }
        Ok(())
    }

    /// Writes the report of a node's agent.
    pub async fn report(&self, node: &TestNode, report: &AgentReport<'_>) -> Result<()> {
        self.apply("NodeReport", "nodereports", &node.name, &node.report(report)).await
    }

    /// Applies the spec of a Mainstay object, as an administrator.
    pub async fn apply(&self, kind: &str, resource: &str, name: &str, spec: &Value) -> Result<()> {
        let object = json!({ "apiVersion": API_VERSION, "kind": kind, "metadata": { "name": name }, "spec": spec });
        let params = PatchParams::apply("testbed").force();
        let request = Request::new(resource_path(resource)).patch(name, &params, &Patch::Apply(object))?;
        self.admin.request::<Value>(request).await.with_context(|| format!("{kind} {name}"))?;
        Ok(())
    }

    /// Sends a merge patch for any object, as an administrator.
    pub async fn merge(&self, path: &str, name: &str, patch: &Value) -> Result<()> {
        let request = Request::new(path).patch(name, &PatchParams::default(), &Patch::Merge(patch))?;
        self.admin.request::<Value>(request).await.with_context(|| format!("{path}/{name}"))?;
        Ok(())
    }

    /// Lists the objects of a resource path completely. For small collections.
    pub async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let list: Value = self.admin.request(Request::new(path).list(&ListParams::default())?).await?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Counts the objects of a resource path without reading them.
    pub async fn count(&self, path: &str) -> Result<usize> {
        let list = list_metadata(&self.admin, path, &ListParams::default().limit(1)).await?;
        let left = usize::try_from(list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0))?;
        Ok(list["items"].as_array().map_or(0, Vec::len) + left)
    }

    /// Runs a pod of one container on a node, with labels.
    pub async fn run_pod(&self, name: &str, node: &TestNode, labels: &[(&str, &str)]) -> Result<()> {
        let labels: std::collections::BTreeMap<_, _> = labels.iter().copied().collect();
        let place = |name: &str| json!({ "name": name, "namespace": "default" });
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": place("default") });
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": place(name),
            "spec": {
                "nodeName": node.name, "containers": [{ "name": "work", "image": "work" }],
                "automountServiceAccountToken": false, "restartPolicy": "Never",
            },
        });
        pod["metadata"]["labels"] = json!(labels);
        self.cluster.apply_objects(&[account]).await?;
        self.cluster.apply_objects(&[pod]).await
    }
}

/// One page of a list, with metadata only.
async fn list_metadata(client: &Client, path: &str, params: &ListParams) -> Result<Value> {
    let mut request = Request::new(path).list(params)?;
    let accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    request.headers_mut().insert("accept", accept.parse()?);
    Ok(client.request(request).await?)
}
