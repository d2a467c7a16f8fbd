//! One run of all gangs on a fleet with bad nodes. This proof takes the place of the hardware and of the agents: on a
//! bad node the agent reports an XID, and a second later the pod fails. It also takes the place of a queue that
//! starts a gang when another one ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use kube::api::{Patch, PatchParams, Request};
use serde_json::{Value, json};
use testbed::{AgentReport, TestCluster};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, timeout_at};
use xtask::output;

use super::gangs::{self, GPUS_PER_POD, PodSeen, Seen, Watched};

const PODS: &str = "/api/v1/namespaces/default/pods";
/// Gangs at the same time: most of the fleet, but not the nodes that leave.
const IN_FLIGHT: usize = 12;
/// Time from the start of a pod on a bad node to the fault.
const FAULT_AFTER: Duration = Duration::from_millis(1_500);
/// Time from the fault to the end of the pod.
const FAILS_AFTER: Duration = Duration::from_secs(1);
/// A run that shows nothing for this long hangs.
const PROGRESS_WITHIN: Duration = Duration::from_mins(2);
const PRINT_EVERY: usize = 100;
/// Watch events that wait to be read.
const EVENTS_MAX: usize = 10_000;

/// What a run counts.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) gangs: usize,
    /// Pods that began on a node.
    pub(super) pods: usize,
    /// Attempts of gangs that failed.
    pub(super) attempts_lost: usize,
    /// GPU-seconds from the start of each pod of these attempts to the failure.
    pub(super) gpu_seconds_lost: u64,
    /// Pods that were bound to a bad node after its first fault was reported.
    pub(super) after_fault: usize,
    /// Pods that were bound to a node after Mainstay had stored a finding about it.
    pub(super) after_finding: usize,
    /// Bad nodes on which a pod failed.
    pub(super) nodes_failed: usize,
    /// Nodes about which Mainstay stored a finding.
    pub(super) nodes_found: usize,
}

/// What the hardware does next, at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hardware {
    Report(usize),
    Fail { pod: String, uid: String },
}

/// A running attempt of a gang.
#[derive(Default)]
struct Attempt {
    /// Start of each running pod.
    running: BTreeMap<String, Instant>,
    is_lost: bool,
}

pub(super) struct Run<'a> {
    bed: &'a TestCluster,
    /// Bad nodes by their number, each with its XID.
    bad: BTreeMap<usize, &'static str>,
    numbers: BTreeMap<String, usize>,
    due: BTreeMap<Instant, Vec<Hardware>>,
    reports: BTreeMap<usize, u64>,
    attempts: BTreeMap<(String, u32), Attempt>,
    bound: BTreeSet<String>,
    found: BTreeMap<String, u64>,
    completed: BTreeSet<String>,
    submitted: usize,
    outcome: Outcome,
}

/// Runs this many gangs to their end.
pub(super) async fn run(bed: &TestCluster, bad: &BTreeMap<usize, &'static str>, gangs: usize) -> Result<Outcome> {
    let (sender, events) = channel(EVENTS_MAX);
    let watches = Watched::ALL.map(|watched| watched.follow(bed.admin.clone(), sender.clone()));
    drop(sender);
    let numbers = bed.nodes.iter().map(|node| (node.name.clone(), node.ordinal)).collect();
    let run = Run {
        bed,
        bad: bad.clone(),
        numbers,
        due: BTreeMap::new(),
        reports: BTreeMap::new(),
        attempts: BTreeMap::new(),
        bound: BTreeSet::new(),
        found: BTreeMap::new(),
        completed: BTreeSet::new(),
        submitted: 0,
        outcome: Outcome::default(),
    };
    tokio::select! {
        outcome = run.until_end(events, gangs) => outcome,
        ended = try_join_all(watches) => Err(ended.err().context("the watches ended")?),
    }
}

impl Run<'_> {
    async fn until_end(mut self, mut events: Receiver<Seen>, gangs: usize) -> Result<Outcome> {
        let mut progress = Instant::now();
        while self.completed.len() < gangs {
            while self.submitted < gangs && self.submitted - self.completed.len() < IN_FLIGHT {
                self.submitted += 1;
                let request = gangs::create(&gangs::gang(self.submitted), false)?;
                self.bed.admin.request::<Value>(request).await.context("a gang is refused")?;
            }
            let hang = progress + PROGRESS_WITHIN;
            let until = self.due.keys().next().copied().unwrap_or(hang).min(hang);
            match timeout_at(until, events.recv()).await {
                Ok(seen) => self.see(seen.context("the watches ended")?).await?,
                Err(_) => ensure!(Instant::now() < hang, "nothing happens any more: {:?}", self.outcome),
            }
            if self.outcome.gangs < self.completed.len() {
                (self.outcome.gangs, progress) = (self.completed.len(), Instant::now());
                if self.outcome.gangs.is_multiple_of(PRINT_EVERY) {
                    output::note(format_args!("{:?}", self.outcome));
                }
            }
            self.act().await?;
        }
        self.outcome.nodes_found = self.found.len();
        self.outcome.nodes_failed = self.reports.len();
        Ok(self.outcome)
    }

    async fn see(&mut self, seen: Seen) -> Result<()> {
        match seen {
            Seen::Node { name, version, is_found } => {
                if is_found {
                    self.found.entry(name).or_insert(version);
                }
            }
            Seen::Ended { gang, is_completed } => {
                ensure!(is_completed, "{gang} failed for good");
                if self.completed.insert(gang.clone()) {
                    self.bed.admin.request::<Value>(gangs::delete(&gang)?).await?;
                }
            }
            Seen::Pod(pod) => self.see_pod(pod),
        }
        Ok(())
    }

    fn see_pod(&mut self, pod: PodSeen) {
        let Some(node) = &pod.node else { return };
        let bad = self.numbers.get(node).copied().filter(|number| self.bad.contains_key(number));
        if self.bound.insert(pod.uid.clone()) {
            self.outcome.pods += 1;
            self.outcome.after_finding += usize::from(self.found.get(node).is_some_and(|at| *at < pod.version));
            self.outcome.after_fault += usize::from(bad.is_some_and(|bad| self.reports.contains_key(&bad)));
        }
        let is_over = self.completed.contains(&pod.gang);
        let attempt = self.attempts.entry((pod.gang.clone(), pod.attempt)).or_default();
        let now = Instant::now();
        match (pod.phase.as_str(), pod.leaves) {
            ("Running", false) => {
                if attempt.running.insert(pod.uid.clone(), now).is_none()
                    && let Some(bad) = bad
                {
                    let fault = now + FAULT_AFTER;
                    self.due.entry(fault).or_default().push(Hardware::Report(bad));
                    let failure = Hardware::Fail { pod: pod.name, uid: pod.uid };
                    self.due.entry(fault + FAILS_AFTER).or_default().push(failure);
                }
            }
            // Pods of an attempt leave after its failure, and after the end of the gang.
            ("Failed", _) | ("Running" | "Pending", true) if !is_over && !attempt.is_lost => {
                attempt.is_lost = true;
                self.outcome.attempts_lost += 1;
                let seconds: f64 = attempt.running.values().map(|start| (now - *start).as_secs_f64()).sum();
                let lost = seconds * f64::from(GPUS_PER_POD);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands at most")]
                let lost = lost.round() as u64;
                self.outcome.gpu_seconds_lost += lost;
            }
            _ => {}
        }
    }

    /// Does what is due.
    async fn act(&mut self) -> Result<()> {
        let later = self.due.split_off(&Instant::now());
        let due: Vec<Hardware> = std::mem::replace(&mut self.due, later).into_values().flatten().collect();
        for one in due {
            match one {
                Hardware::Report(node) => {
                    let count = self.reports.entry(node).or_default();
                    *count += 1;
                    let xids = [(self.bad[&node], *count)];
                    self.bed.report(&self.bed.nodes[node], &AgentReport::new(*count, &xids)).await?;
                }
                Hardware::Fail { pod, uid } => self.fail(&pod, &uid).await?,
            }
        }
        Ok(())
    }

    /// Ends a pod as its kubelet does when its process dies. A pod that left meanwhile is no longer there.
    async fn fail(&self, pod: &str, uid: &str) -> Result<()> {
        let now = jiff::Timestamp::now().to_string();
        let state = json!({ "terminated": { "exitCode": 1, "reason": "Error", "finishedAt": now } });
        let container = json!({
            "name": "train", "image": "train", "imageID": "", "ready": false, "started": false, "restartCount": 0,
            "state": state,
        });
        let status = json!({ "phase": "Failed", "containerStatuses": [container] });
        let patch = json!({ "metadata": { "uid": uid }, "status": status });
        let request =
            Request::new(PODS).patch_subresource("status", pod, &PatchParams::default(), &Patch::Merge(&patch))?;
        match self.bed.admin.request::<Value>(request).await {
            Ok(_) => Ok(()),
            // 409: the name is another pod's now. 422: the pod has ended.
            Err(kube::Error::Api(status)) if [404, 409, 422].contains(&status.code) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
