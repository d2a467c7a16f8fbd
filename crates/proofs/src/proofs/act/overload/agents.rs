//! Agents that report new evidence all the time, as those of busy nodes do: an application error that no rule acts on is counted up in
//! each report. So the controller has a steady load that its other requests can be compared with.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use anyhow::Result;
use testbed::{AgentReport, TestCluster, eventually};
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use super::treatment::Fault;

/// Time between two reports, of one node after the other: twenty in a second.
const REPORT_EVERY: Duration = Duration::from_millis(50);
/// A channel that the driver reset after an error of an application.
const HARMLESS: &str = "43";

/// The agents of all nodes.
pub(super) struct Agents<'a> {
    bed: &'a TestCluster,
    /// Held while a report is written: a report with a lower sequence number than the last one would be refused.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    sequence: u64,
    /// Faults since boot, by node.
    xids: BTreeMap<usize, &'static str>,
}

impl<'a> Agents<'a> {
    pub(super) fn new(bed: &'a TestCluster) -> Self {
        Self { bed, known: Mutex::default() }
    }

    /// Reports until it is dropped. While the API server is away, reports are lost: the next one of the node has the same evidence.
    pub(super) async fn report_regularly(&self) -> Infallible {
        let mut due = interval(REPORT_EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for node in (0..self.bed.nodes.len()).cycle() {
            due.tick().await;
            let _ = self.report(node).await;
        }
        std::future::pending().await
    }

    /// A fault that the agent sees and does not report yet.
    pub(super) async fn note(&self, fault: &Fault) {
        self.known.lock().await.xids.insert(fault.node, fault.xid);
    }

    /// A fault that is reported at once.
    pub(super) async fn fault(&self, fault: &Fault) -> Result<()> {
        self.note(fault).await;
        self.report(fault.node).await
    }

    /// Every node reports at once. For some seconds after its start, the API server does not serve the Cell that the fence needs, and refuses
    /// reports; agents try again.
    pub(super) async fn report_all(&self) -> Result<()> {
        for node in 0..self.bed.nodes.len() {
            eventually("an accepted report", async || self.report(node).await.is_ok()).await?;
        }
        Ok(())
    }

    async fn report(&self, node: usize) -> Result<()> {
        let mut known = self.known.lock().await;
        known.sequence += 1;
        let fault = known.xids.get(&node).map(|xid| (*xid, 1));
        let xids: Vec<(&str, u64)> = [(HARMLESS, known.sequence)].into_iter().chain(fault).collect();
        self.bed.report(&self.bed.nodes[node], &AgentReport::new(known.sequence, &xids)).await
    }
}
