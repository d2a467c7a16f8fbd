//! The state of one test cluster, as text or JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use testbed::Cluster;
use testbed::fleet::readiness;
use testbed::named_clusters::{self, Name, Plan};

/// An API server that is alive answers long before this, even while 100,000 nodes arrive.
const ANSWERS_AT_MOST: Duration = Duration::from_secs(60);

/// Names of the clusters that `down` removed.
#[derive(Debug, Default, Serialize)]
pub(super) struct RemovedClusters {
    removed: Vec<String>,
}

impl RemovedClusters {
    pub(super) fn add(&mut self, name: &Name) {
        self.removed.push(name.to_string());
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.removed.iter()
    }
}

/// State of one cluster.
#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub(super) enum Report {
    /// Servers that were never started to the end.
    Unfinished { name: String },
    /// Servers of which some no longer run.
    Broken { name: String, missing: Vec<&'static str>, kubeconfig: String, kubectl: String },
    /// All servers run.
    Up(RunningCluster),
}

/// A cluster whose servers all run: nodes, memory and addresses.
#[derive(Debug, Serialize)]
pub(super) struct RunningCluster {
    name: String,
    server_version: String,
    nodes: Nodes,
    resident_bytes: u64,
    resident_bytes_by_server: BTreeMap<String, u64>,
    api_url: String,
    kubeconfig: String,
    kubectl: String,
    plan: Plan,
}

#[derive(Debug, Serialize)]
struct Nodes {
    ready: usize,
    total: usize,
    planned: usize,
}

impl Report {
    pub(super) async fn of(name: &Name) -> Result<Self> {
        let Some((cluster, plan)) = named_clusters::find(name)? else {
            return Ok(Self::Unfinished { name: name.to_string() });
        };
        let missing = cluster.missing_servers();
        if !missing.is_empty() {
            let (kubeconfig, kubectl) = paths(&cluster);
            return Ok(Self::Broken { name: name.to_string(), missing, kubeconfig, kubectl });
        }
        let silent = || anyhow::anyhow!("cluster \"{name}\" does not answer within {ANSWERS_AT_MOST:?}");
        Ok(Self::Up(tokio::time::timeout(ANSWERS_AT_MOST, up(name, &cluster, plan)).await.map_err(|_| silent())??))
    }

    pub(super) fn kubeconfig(&self) -> &str {
        match self {
            Self::Unfinished { .. } => "",
            Self::Broken { kubeconfig, .. } => kubeconfig,
            Self::Up(up) => &up.kubeconfig,
        }
    }

    pub(super) fn kubectl(&self) -> &str {
        match self {
            Self::Unfinished { .. } => "",
            Self::Broken { kubectl, .. } => kubectl,
            Self::Up(up) => &up.kubectl,
        }
    }

    /// Whether it is all that it was asked to be.
    pub(super) fn holds(&self) -> bool {
        match self {
            Self::Unfinished { .. } | Self::Broken { .. } => false,
            Self::Up(up) => up.nodes.ready >= up.nodes.planned,
        }
    }
}

async fn up(name: &Name, cluster: &Cluster, plan: Plan) -> Result<RunningCluster> {
    let client = cluster.client().await?;
    let readiness = readiness(&client, None).await?;
    let (kubeconfig, kubectl) = paths(cluster);
    Ok(RunningCluster {
        name: name.to_string(),
        server_version: client.apiserver_version().await?.git_version,
        nodes: Nodes { ready: readiness.ready, total: readiness.total, planned: plan.fleet.nodes },
        resident_bytes: cluster.resident_bytes(),
        resident_bytes_by_server: cluster.resident_bytes_by_server().into_iter().collect(),
        api_url: cluster.api_url().to_owned(),
        kubeconfig,
        kubectl,
        plan,
    })
}

fn paths(cluster: &Cluster) -> (String, String) {
    (cluster.kubeconfig().display().to_string(), cluster.kubectl().display().to_string())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfinished { name } => write!(f, "{name}: not all of its servers were started"),
            Self::Broken { name, missing, .. } => write!(f, "{name}: broken, {} no longer run", missing.join(", ")),
            Self::Up(up) => {
                let RunningCluster { name, server_version, resident_bytes, kubeconfig, plan, .. } = up;
                let Nodes { ready, planned, .. } = up.nodes;
                writeln!(f, "{name}: {ready} of {planned} nodes Ready, {server_version}")?;
                writeln!(f, "  planned     {}", plan.describe())?;
                writeln!(f, "  memory      {} MB in all", resident_bytes / 1_000_000)?;
                write!(f, "  kubeconfig  {kubeconfig}")
            }
        }
    }
}
