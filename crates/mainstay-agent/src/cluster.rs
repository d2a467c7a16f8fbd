//! The cluster: this node's report is written there and nothing else, and this node's GpuNode is read by one watch. Both
//! are tasks beside the agent, so that a server that is away holds up no source. Only the newest report is ever written:
//! counts are cumulative, so a report that was passed over is in the next one.

#[cfg(feature = "cluster")]
mod backoff;
#[cfg(feature = "cluster")]
mod connect;
mod identity;
#[cfg(feature = "cluster")]
mod watch;
#[cfg(feature = "cluster")]
mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use mainstay_api::NodeReportSpec;
use mainstay_model::{NodeName, NodeUid, Stage};
use tokio::sync::{mpsc, watch as latest};

pub(crate) use identity::Identity;

use crate::output::Problem;

/// The kubelet puts a pod's own token and its server's certificate here.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// API server address, CA certificate and token for the NodeReport.
#[derive(Debug, Args)]
pub(crate) struct ClusterOptions {
    /// API server for the NodeReport [default: the pod's own]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// CA certificate of the API server
    #[arg(long, value_name = "FILE", default_value_os_t = PathBuf::from(ACCOUNT).join("ca.crt"))]
    server_ca: PathBuf,
    /// Service account token of the agent's pod
    #[arg(long, value_name = "FILE", default_value_os_t = PathBuf::from(ACCOUNT).join("token"))]
    token: PathBuf,
}

/// The tasks at work.
#[derive(Debug)]
pub(crate) struct Cluster {
    identity: Identity,
    newest: latest::Sender<Option<Arc<NodeReportSpec>>>,
    news: mpsc::Receiver<ClusterEvent>,
    counts: Arc<Counts>,
}

/// Message from the report writer or the GpuNode watch to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClusterEvent {
    /// The server holds a later report of this boot than ours: ours has to pass it.
    Behind(u64),
    /// What the controller thinks of this node, where that changed.
    Stands(Option<NodeStatus>),
    /// A higher epoch than before in the status of this node's GpuNode.
    Epoch(u64),
    /// A report could not be written, for the first time in a row.
    Refused(String),
    /// Reports are written again.
    Written,
}

/// Stage of this node in its GpuNode, and the number of orders for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeStatus {
    /// Its stage.
    pub(crate) stage: Stage,
    /// How many orders it holds for the agent.
    pub(crate) orders: usize,
}

/// What became of the writes.
#[derive(Debug)]
pub(crate) struct Counts {
    begun: Instant,
    pub(crate) written: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) watches: AtomicU64,
    /// Reads of our own report, after it was refused.
    pub(crate) reads: AtomicU64,
    /// Milliseconds from `begun` to the last write that was taken.
    last: AtomicU64,
}

// === impl ClusterOptions ===

impl ClusterOptions {
    pub(crate) const fn at(server: String, server_ca: PathBuf, token: PathBuf) -> Self {
        Self { server: Some(server), server_ca, token }
    }

    fn url(&self) -> Option<String> {
        let in_pod = || {
            let host = std::env::var("KUBERNETES_SERVICE_HOST").ok().filter(|host| !host.is_empty())?;
            let port = std::env::var("KUBERNETES_SERVICE_PORT").unwrap_or_else(|_| "443".to_owned());
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            Some(format!("https://{host}:{port}"))
        };
        self.server.clone().or_else(in_pod)
    }

    /// Starts to write and to watch; nothing where there is no cluster. A server that does not answer is tried again for
    /// as long as the agent runs.
    ///
    /// # Errors
    /// Where the token says of no node that it is on it, or the files cannot be read.
    pub(crate) async fn join(&self) -> Result<Option<Cluster>, Problem> {
        let Some(url) = self.url() else { return Ok(None) };
        self.connect(&url).await.map(Some)
    }

    #[cfg(not(feature = "cluster"))]
    async fn connect(&self, url: &str) -> Result<Cluster, Problem> {
        Err(Problem::new(
            format!("cannot report to the API server {url}"),
            "this agent was built without the feature cluster.",
            "install an agent of a release.",
        ))
    }
}

// === impl Cluster ===

impl Cluster {
    /// Who the agent is there.
    pub(crate) const fn node(&self) -> &NodeName {
        &self.identity.node
    }

    /// Under which registration it reports.
    pub(crate) const fn node_uid(&self) -> &NodeUid {
        &self.identity.uid
    }

    /// Hands a report over, instead of one that is not written yet.
    pub(crate) fn report(&self, report: NodeReportSpec) {
        self.newest.send_replace(Some(Arc::new(report)));
    }

    /// Waits for news. Safe to be dropped while it waits.
    pub(crate) async fn news(&mut self) -> ClusterEvent {
        match self.news.recv().await {
            Some(news) => news,
            // Both tasks run as long as the agent does.
            None => std::future::pending().await,
        }
    }

    pub(crate) const fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }
}

// === impl Counts ===

impl Counts {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self { begun: Instant::now(), written: zero(), failed: zero(), watches: zero(), reads: zero(), last: zero() }
    }

    fn wrote(&self) {
        self.written.fetch_add(1, Ordering::Relaxed);
        let at = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(at, Ordering::Relaxed);
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> u64 {
        [&self.written, &self.failed, &self.watches, &self.reads]
            .map(|count| count.load(Ordering::Relaxed))
            .iter()
            .sum()
    }

    /// How long ago a report was last taken, or since when none was.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}
