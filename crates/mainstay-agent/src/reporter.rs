//! The agent's pace and its way to the cluster, without a node to read: for a program that stands for many nodes and asks
//! what a cell of agents costs its API server. `run` does the same with what its sources say.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mainstay_model::BootId;
use mainstay_signal::TallyOutcome;
use tokio::time::{Instant, sleep_until};

use crate::cluster::{Cluster, ClusterEvent, ClusterOptions, Counts};
use crate::output::Problem;
use crate::report_rate::ReportSchedule;
use crate::store::Store;

/// A node that has nothing to say, and says so.
#[derive(Debug)]
pub struct Reporter {
    cluster: Cluster,
    pace: ReportSchedule,
    store: Store,
}

/// Requests that one reporter has sent to the API server, by result.
#[derive(Debug, Clone)]
pub struct RequestCounts(Arc<Counts>);

// === impl Reporter ===

impl Reporter {
    /// Joins as the agent does: the token names the node. Reports go on after this sequence, as after a restart.
    ///
    /// # Errors
    /// Where the token says of no node that it is on it, or the files cannot be read.
    pub async fn join(
        server: &str,
        server_ca: PathBuf,
        token: PathBuf,
        (boot, sequence): (BootId, u64),
    ) -> Result<Option<Self>, Problem> {
        let cluster = ClusterOptions::at(server.to_owned(), server_ca, token).join().await?;
        let pace = ReportSchedule::among_many(Instant::now());
        let mut store = Store::new(boot);
        store.advance_past(sequence);
        Ok(cluster.map(|cluster| Self { cluster, pace, store }))
    }

    /// What it asks, while it runs.
    #[must_use]
    pub fn request_counts(&self) -> RequestCounts {
        RequestCounts(Arc::clone(self.cluster.counts()))
    }

    /// Reports when it is due, for as long as it is not dropped.
    pub async fn run(mut self) {
        loop {
            tokio::select! {
                () = sleep_until(self.pace.due_at()) => {
                    self.pace.written(Instant::now());
                    let report = self.store.report(self.cluster.node_uid(), crate::now());
                    self.cluster.report(report);
                }
                news = self.cluster.news() => match news {
                    ClusterEvent::Behind(held) => {
                        self.store.advance_past(held);
                        self.pace.noted(TallyOutcome::New, Instant::now());
                    }
                    ClusterEvent::Epoch(epoch) => self.store.read_epoch(epoch),
                    ClusterEvent::Stands(_) | ClusterEvent::Refused(_) | ClusterEvent::Written => {}
                },
            }
        }
    }
}

// === impl RequestCounts ===

impl RequestCounts {
    /// Requests of every kind.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.0.requests()
    }

    /// Reports that were taken.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Reports that were not.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.0.failed.load(Ordering::Relaxed)
    }
}
