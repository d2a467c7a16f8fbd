//! One drawn schedule on a rack of a real API server: faults, operators' requests, cordons, and the marks of
//! Karpenter and NVSentinel, set and removed in drawn order. Every write is dated for the comparison afterwards.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use kube::api::{GetParams, Patch, PatchParams, Request};
use serde_json::{Value, json};
use testbed::test_cluster::resource_path;
use testbed::{AgentReport, TestCluster};
use tokio::time::sleep;

use super::outage::Owner;
use super::timeline::{Mark, RackHistory, WriteTime};

const NODES: &str = "/api/v1/nodes";
/// XIDs that flag a node at once, each by another rule. None of them is a fault that a rack can cause.
const XIDS: [&str; 5] = ["95", "94", "64", "119", "48"];
const KARPENTER_TAINT: &str = "karpenter.sh/disrupted";
const NVSENTINEL_LABEL: &str = "dgxc.nvidia.com/nvsentinel-state";
const MAINSTAY_TAINT: &str = "mainstay.dev/quarantined";
/// Attempts to change the taints of a node that others change at the same time.
const ATTEMPTS_MAX: u32 = 20;
/// What was decided last is written within this time.
const SETTLES_WITHIN: Duration = Duration::from_secs(3);

/// What a schedule does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Mark(Owner),
    Unmark(Owner),
    Xid(&'static str),
    Drain,
    Withdraw,
    /// An operator repaired the node: it is held, and Mainstay's taint is removed.
    Return,
}

/// A schedule on the nodes of one rack, by their numbers in the cluster.
pub(super) struct RackSchedule<'a> {
    bed: &'a TestCluster,
    nodes: Vec<usize>,
    /// Faults at the beginning, each on another node.
    faults_first: usize,
    random: fastrand::Rng,
    marks: Vec<BTreeSet<Owner>>,
    /// Nodes with an operator's request.
    requested: BTreeSet<usize>,
    /// Counts of XIDs of each node, and the number of its reports.
    xids: Vec<(u64, Vec<(&'static str, u64)>)>,
    history: RackHistory,
}

impl<'a> RackSchedule<'a> {
    /// Gives the rack a pool of its own, with a drawn budget, and jobs to some of its nodes.
    pub(super) async fn prepare(bed: &'a TestCluster, pool: &str, nodes: &[usize], seed: u64) -> Result<Self> {
        let mut random = fastrand::Rng::with_seed(seed);
        let budget = random.usize(1..=2);
        let spec = json!({
            "pool": pool, "mode": "Act", "budgets": [{ "level": "Rack", "nodesMax": budget }],
            "gang": { "podLabel": "job" },
            // A breaker that stops a rule would hide the budget.
            "circuitBreaker": { "nodesMin": 1_000 },
        });
        bed.apply("FleetPolicy", "fleetpolicies", pool, &spec).await?;
        for node in nodes {
            let name = &bed.nodes[*node].name;
            bed.merge(NODES, name, &json!({ "metadata": { "labels": { "mainstay.dev/pool": pool } } })).await?;
            if random.usize(..3) == 0 {
                bed.run_pod(&format!("job-{name}"), &bed.nodes[*node], &[("job", name)]).await?;
            }
        }
        let names = nodes.iter().map(|node| bed.nodes[*node].name.clone()).collect();
        let history = RackHistory { nodes: names, budget, ..RackHistory::default() };
        // Every second schedule begins with one fault more than the budget allows, so that few schedules show a
        // refusal.
        let faults_first = if seed.is_multiple_of(2) { budget + 1 } else { 0 };
        let (marks, xids) = (vec![BTreeSet::new(); nodes.len()], vec![(0, Vec::new()); nodes.len()]);
        Ok(Self { bed, nodes: nodes.to_vec(), faults_first, random, marks, requested: BTreeSet::new(), xids, history })
    }

    pub(super) async fn run(mut self) -> Result<RackHistory> {
        for (node, xid) in XIDS.into_iter().enumerate().take(self.faults_first) {
            self.pause().await;
            self.happen(node, Event::Xid(xid)).await?;
        }
        for _ in 0..self.random.usize(16..=22) {
            self.pause().await;
            let node = self.random.usize(..self.nodes.len());
            let owner = Owner::ALL[self.random.usize(..Owner::ALL.len())];
            let event = match self.random.usize(..20) {
                0..4 => Event::Mark(owner),
                4..9 => Event::Unmark(owner),
                9..15 => Event::Xid(XIDS[self.random.usize(..XIDS.len())]),
                15..17 => Event::Drain,
                17 => Event::Withdraw,
                _ => Event::Return,
            };
            self.happen(node, event).await?;
        }
        sleep(SETTLES_WITHIN).await;
        Ok(self.history)
    }

    async fn pause(&mut self) {
        sleep(Duration::from_millis(self.random.u64(50..2_000))).await;
    }

    async fn happen(&mut self, node: usize, event: Event) -> Result<()> {
        match event {
            Event::Mark(owner) if self.marks[node].insert(owner) => {
                let set = self.write_marks(node, owner).await?;
                self.history.marks.push(Mark { owner, node, set, removed: None });
                Ok(())
            }
            Event::Unmark(owner) if self.marks[node].remove(&owner) => {
                let removed = self.write_marks(node, owner).await?;
                let mut marks = self.history.marks.iter_mut().rev();
                if let Some(mark) = marks.find(|mark| mark.node == node && mark.owner == owner) {
                    mark.removed = Some(removed);
                }
                Ok(())
            }
            Event::Mark(_) | Event::Unmark(_) => Ok(()),
            Event::Xid(code) => {
                let (sequence, xids) = &mut self.xids[node];
                *sequence += 1;
                match xids.iter_mut().find(|(known, _)| *known == code) {
                    Some((_, count)) => *count += 1,
                    None => xids.push((code, 1)),
                }
                self.bed.report(&self.bed.nodes[self.nodes[node]], &AgentReport::new(*sequence, xids)).await
            }
            Event::Drain => self.request(node, "Drain").await,
            Event::Withdraw if self.requested.remove(&node) => {
                let none = json!({ "spec": { "request": null } });
                self.bed.merge(&resource_path("gpunodes"), self.name(node), &none).await
            }
            Event::Withdraw => Ok(()),
            Event::Return => {
                self.request(node, "Hold").await?;
                let written = self.change_taints(node, |taints| taints.retain(|taint| taint["key"] != MAINSTAY_TAINT));
                let written = written.await?;
                self.history.untainted.push((node, written));
                Ok(())
            }
        }
    }

    async fn request(&mut self, node: usize, kind: &str) -> Result<()> {
        self.requested.insert(node);
        let request = json!({ "kind": kind, "reason": "as a test asks", "by": "ana" });
        self.bed.apply("GpuNode", "gpunodes", self.name(node), &json!({ "request": request })).await
    }

    /// Writes what an owner's marks on a node are now.
    async fn write_marks(&self, node: usize, owner: Owner) -> Result<WriteTime> {
        let marks = &self.marks[node];
        // NVSentinel cordons a node as an operator does, and names its state in a label.
        let is_cordoned = marks.contains(&Owner::Operator) || marks.contains(&Owner::Nvsentinel);
        let state = marks.contains(&Owner::Nvsentinel).then_some("quarantined");
        match owner {
            Owner::Operator => self.merge(node, &json!({ "spec": { "unschedulable": is_cordoned } })).await,
            Owner::Nvsentinel => {
                let labels = json!({ NVSENTINEL_LABEL: state });
                let patch = json!({ "metadata": { "labels": labels }, "spec": { "unschedulable": is_cordoned } });
                self.merge(node, &patch).await
            }
            Owner::Karpenter => {
                let is_disrupted = marks.contains(&Owner::Karpenter);
                self.change_taints(node, |taints| {
                    taints.retain(|taint| taint["key"] != KARPENTER_TAINT);
                    let taint = json!({ "key": KARPENTER_TAINT, "effect": "NoSchedule" });
                    taints.extend(is_disrupted.then_some(taint));
                })
                .await
            }
        }
    }

    async fn merge(&self, node: usize, patch: &Value) -> Result<WriteTime> {
        let sent = Timestamp::now();
        self.bed.merge(NODES, self.name(node), patch).await?;
        Ok(WriteTime { sent, answered: Timestamp::now() })
    }

    /// Changes the list of taints, which a patch replaces whole, on the version of the node that was read.
    async fn change_taints(&self, node: usize, change: impl Fn(&mut Vec<Value>)) -> Result<WriteTime> {
        let name = self.name(node);
        let mut attempts = 0;
        loop {
            let read: Value = self.bed.admin.request(Request::new(NODES).get(name, &GetParams::default())?).await?;
            let mut taints = read["spec"]["taints"].as_array().cloned().unwrap_or_default();
            change(&mut taints);
            let version = json!({ "resourceVersion": read["metadata"]["resourceVersion"] });
            let patch = json!({ "metadata": version, "spec": { "taints": taints } });
            let request = Request::new(NODES).patch(name, &PatchParams::default(), &Patch::Merge(&patch))?;
            let sent = Timestamp::now();
            attempts += 1;
            match self.bed.admin.request::<Value>(request).await {
                Ok(_) => return Ok(WriteTime { sent, answered: Timestamp::now() }),
                Err(kube::Error::Api(status)) if status.code == 409 && attempts < ATTEMPTS_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn name(&self, node: usize) -> &str {
        &self.history.nodes[node]
    }
}
