//! One restore: the controller acts after the snapshot was taken, etcd is put back, and what follows is counted.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::test_cluster::resource_path;
use testbed::{SOON, eventually, eventually_within};
use tokio::time::{Instant, sleep};
use xtask::output;

use super::agents::Agents;
use crate::proofs::act::acting_cluster::ActingCluster;
use crate::proofs::observe::controller::Controller;

const NODES: usize = 6;
/// Its order is stored in the snapshot and run afterwards.
const ORDERED: usize = 0;
/// It is healthy in the snapshot, and repaired afterwards.
const REPAIRED: usize = 1;
/// It becomes faulty after the restore.
pub(super) const LATER: usize = 2;
/// An operator's request for it is made after the snapshot.
pub(super) const REQUESTED: usize = 3;
/// A GPU whose results may be wrong: it is reset.
const RESET_XID: &str = "95";
const RESET: &str = "ResetGpu";
/// A GPU that fell off the bus.
const LATER_XID: &str = "79";
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After this, the restore counts as not noticed.
const NOTICED_AT_MOST: Duration = Duration::from_secs(15);
/// Time after the fault of a node for which nothing may be done about it. A new leader with a Lease of a second acts after two.
const OBSERVED_FOR: Duration = Duration::from_secs(4);

/// What outlives the restore and knows of the time after the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// The controller keeps running.
    Process,
    /// Another controller is started on the same disk.
    Disk,
    /// Another controller is started on an empty disk.
    Agents,
}

/// How etcd is put back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) memory: Memory,
    /// Leaders that took over between the snapshot and the restore.
    pub(super) takeovers: usize,
    pub(super) lease_seconds: u64,
    /// Least age of the snapshot.
    pub(super) age: Duration,
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) age: Duration,
    /// Steps and suites that executors ran before the restore.
    pub(super) ran: usize,
    pub(super) noticed_after: Option<Duration>,
    /// Actions on nodes and jobs before the restore was noticed, and after it.
    pub(super) early: usize,
    pub(super) late: usize,
    /// Steps and suites that ran on a node again.
    pub(super) twice: usize,
    /// Whether a later fault is shown as a dry run, and the Cell as restored.
    pub(super) is_observed: bool,
}

/// A cluster with a controller.
pub(super) struct Trial<'a> {
    pub(super) cluster: ActingCluster,
    program: &'a Path,
    kubeconfig: PathBuf,
    disks: [TempDir; 2],
    case: Case,
}

impl<'a> Trial<'a> {
    pub(super) async fn start(program: &'a Path, case: Case) -> Result<Self> {
        let cluster = ActingCluster::start_with_budget("restored", NODES, NODES).await?;
        let kubeconfig = cluster.controller().await?;
        Ok(Self { cluster, program, kubeconfig, disks: [TempDir::new()?, TempDir::new()?], case })
    }

    /// Acts, puts etcd back, and counts. The controller goes on.
    pub(super) async fn run(&self) -> Result<(Found, Controller)> {
        let bed = &self.cluster.bed;
        let mut agents = Agents::start(bed, &[ORDERED, REPAIRED]).await?;
        for (name, node) in [("ordered-0", ORDERED), ("repaired-0", REPAIRED)] {
            bed.run_pod(name, &bed.nodes[node], &[("job", name)]).await?;
        }
        let mut served = self.lead(&self.disks[0]).await?;
        agents.fault(ORDERED, RESET_XID).await?;
        let is_ordered =
            async || Ok(self.status(ORDERED).await?["orders"].as_array().is_some_and(|all| !all.is_empty()));
        eventually("an order in the snapshot", is_ordered).await?;
        let (snapshot, taken) = (bed.cluster.etcd_snapshot().await?, Instant::now());
        for _ in 0..self.case.takeovers {
            served.kill().await?;
            served = self.lead(&self.disks[0]).await?;
        }
        self.act(&mut agents).await?;
        sleep(self.case.age.saturating_sub(taken.elapsed())).await;
        let before = [ORDERED, REPAIRED].map(|node| (node, agents.ran(node)));
        let mut found = Found { age: taken.elapsed(), ..Found::default() };
        found.ran = before.iter().map(|(_, ran)| ran.len()).sum();

        let actions = self.actions()?;
        let mut successor = None;
        if self.case.memory != Memory::Process {
            successor = Some(self.disk_of_successor());
            served.signal(rustix::process::Signal::KILL)?;
        }
        bed.cluster.restore_etcd(&snapshot).await?;
        let back = Instant::now();
        if let Some(disk) = successor {
            served = self.start_controller(disk).await?;
        }
        found.noticed_after = self.notice(&served, back, &mut agents).await?;
        found.early = self.actions()? - actions;
        found.is_observed = self.observe(&mut agents).await?;
        found.late = self.actions()? - actions - found.early;
        for (node, first) in before {
            let ran = agents.ran(node);
            let again = ran.iter().skip(first.len()).filter(|what| first.contains(what)).count();
            if again > 0 {
                output::note(format_args!(
                    "prove restore: {} ran {ran:?}, {first:?} of it before",
                    bed.nodes[node].name
                ));
            }
            found.twice += again;
        }
        Ok((found, served))
    }

    /// A node is repaired, the order in the snapshot is run, and an operator's request takes effect.
    async fn act(&self, agents: &mut Agents<'_>) -> Result<()> {
        agents.fault(REPAIRED, RESET_XID).await?;
        let until = Instant::now() + SOON;
        while !agents.ran(REPAIRED).iter().any(|what| what == RESET) || agents.ran(ORDERED).is_empty() {
            ensure!(Instant::now() < until, "ran {:?} and {:?} only", agents.ran(ORDERED), agents.ran(REPAIRED));
            agents.run_orders().await?;
            sleep(LOOK_EVERY).await;
        }
        self.request().await?;
        agents.read_epochs().await
    }

    /// Files an operator's request, and waits until it is in effect.
    pub(super) async fn request(&self) -> Result<()> {
        let bed = &self.cluster.bed;
        let request = json!({ "spec": { "request": { "kind": "Hold", "reason": "as a test asks", "by": "ana" } } });
        bed.merge(&resource_path("gpunodes"), &bed.nodes[REQUESTED].name, &request).await?;
        eventually("the request in effect", async || Ok(self.status(REQUESTED).await?["stage"] == "Held")).await
    }

    /// Waits until the controller counts a restored store. Agents report, and executors run their orders meanwhile.
    async fn notice(&self, served: &Controller, back: Instant, agents: &mut Agents<'_>) -> Result<Option<Duration>> {
        let is_over = Cell::new(false);
        let waiting = async {
            let is_noticed = async || Ok(served.metric("mainstay_cell_restored_total").await?.unwrap_or(0) > 0);
            let noticed = eventually_within(NOTICED_AT_MOST, "a restored store", is_noticed).await;
            is_over.set(true);
            noticed.ok().map(|()| back.elapsed())
        };
        let agents_work = async {
            agents.report_all().await?;
            while !is_over.get() {
                agents.run_orders().await?;
                sleep(LOOK_EVERY).await;
            }
            anyhow::Ok(())
        };
        let (noticed, worked) = tokio::join!(waiting, agents_work);
        worked.map(|()| noticed)
    }

    /// Reports a fault, and waits whether anything is done about it. Returns whether the controller decided on it and did nothing else.
    async fn observe(&self, agents: &mut Agents<'_>) -> Result<bool> {
        agents.fault(LATER, LATER_XID).await?;
        let until = Instant::now() + OBSERVED_FOR;
        while Instant::now() < until {
            agents.run_orders().await?;
            sleep(LOOK_EVERY).await;
        }
        let later = self.status(LATER).await?;
        let is_dry_run = later["stage"] == "Suspect" && later["waitingOn"] == "Mode";
        let is_shown = self.is_current().await? == Some(false);
        if !is_dry_run || !is_shown {
            output::note(format_args!("prove restore: {later}, and {}", self.cell().await?["conditions"]));
        }
        Ok(is_dry_run && is_shown)
    }

    async fn lead(&self, disk: &TempDir) -> Result<Controller> {
        let served = self.start_controller(disk).await?;
        served.wait_until_leading().await?;
        Ok(served)
    }

    async fn start_controller(&self, disk: &TempDir) -> Result<Controller> {
        Controller::start_with(self.program, &self.kubeconfig, disk.path(), self.case.lease_seconds).await
    }

    fn disk_of_successor(&self) -> &TempDir {
        let [kept, empty] = &self.disks;
        if self.case.memory == Memory::Agents { empty } else { kept }
    }

    /// Status of a node's GpuNode; null without one.
    pub(super) async fn status(&self, node: usize) -> Result<Value> {
        let bed = &self.cluster.bed;
        let all = bed.list(&resource_path("gpunodes")).await?;
        let found = all.into_iter().find(|one| one["metadata"]["name"] == *bed.nodes[node].name);
        Ok(found.unwrap_or_default()["status"].clone())
    }

    pub(super) async fn cell(&self) -> Result<Value> {
        Ok(self.cluster.bed.list(&resource_path("cells")).await?.first().context("no Cell")?["status"].clone())
    }

    /// The Cell's condition `Current`: false while etcd counts as restored.
    pub(super) async fn is_current(&self) -> Result<Option<bool>> {
        let cell = self.cell().await?;
        let mut conditions = cell["conditions"].as_array().into_iter().flatten();
        Ok(conditions.find(|one| one["type"] == "Current").map(|one| one["status"] == "True"))
    }

    /// Writes to nodes and jobs that were carried out so far.
    fn actions(&self) -> Result<usize> {
        let mut count = 0;
        for write in self.cluster.bed.cluster.audited_writes("mainstay-controller")? {
            let write = write?;
            let is_on_job = write.place.starts_with("/pods") || write.place.ends_with("/checkpointrequests");
            let is_action = write.place.starts_with("/nodes") || is_on_job;
            count += usize::from(is_action && (200..300).contains(&write.code));
        }
        Ok(count)
    }
}
