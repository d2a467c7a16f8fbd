//! The cluster of the proof: an acting controller behind a fault proxy, three real nodes, and what the cases do and read.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use kube::api::{DeleteParams, GetParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::fault_proxy::{FaultProxy, SentWrite};
use testbed::test_cluster::resource_path;
use testbed::{AgentReport, Answers, Image, RealNode, TestCluster, TestNode, eventually_within};
use tokio::time::{Instant, sleep};
use xtask::dist;

use super::Expectations;
use crate::proofs::act::acting_cluster::ActingCluster;
use crate::proofs::observe::controller::Controller;
use crate::prove::Context;

pub(super) const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
/// For what a real kubelet or an action needs on a busy machine. An action that meets a conflict is tried again after a minute.
pub(super) const PATIENCE: Duration = Duration::from_mins(3);
/// Time for which a request of the controller is held on its way. It is shorter than the controller's own limit for a request.
pub(super) const HELD: Duration = Duration::from_secs(5);
/// With this Lease, a request has more than [`HELD`] to end. The barrier of the leader lasts as long, and passes while nodes start.
const LEASE_SECONDS: u64 = 20;
const GPUS: usize = 8;
/// Idle time after which no more writes follow.
const QUIET: Duration = Duration::from_millis(2_500);
/// Names of the real nodes, one for each case.
const NAMES: [&str; 3] = ["real-drain", "real-power", "real-again"];

/// The cluster with its controller. Cases share it.
pub(super) struct Trial<'a> {
    acting: ActingCluster,
    pub(super) proxy: FaultProxy,
    pub(super) expectations: &'a Expectations,
    controller: Controller,
    folder: TempDir,
}

/// A real node, and what its agent would report.
pub(super) struct Machine {
    pub(super) real: RealNode,
    pub(super) node: TestNode,
    sequence: u64,
    /// Number of the boot, from 1.
    boot: u32,
}

impl<'a> Trial<'a> {
    pub(super) async fn start(context: &Context, expectations: &'a Expectations) -> Result<(Self, [Machine; 3])> {
        let program = dist::binary(&context.workspace).await?;
        let acting = ActingCluster::start("played", 1).await?;
        let proxy = FaultProxy::start(&acting.controller().await?).await?;
        let folder = TempDir::new()?;
        let kubeconfig = folder.path().join("proxy.kubeconfig");
        std::fs::write(&kubeconfig, proxy.kubeconfig())?;
        let pool = acting.bed.nodes.first().context("no node of KWOK")?.pool.clone();
        // One place more than there are cases.
        let budget = json!({ "spec": { "budgets": [{ "nodesMax": NAMES.len() + 1 }] } });
        acting.bed.merge(&resource_path("fleetpolicies"), &pool, &budget).await?;
        let controller = Controller::start_with(&program, &kubeconfig, folder.path(), LEASE_SECONDS).await?;
        let trial = Self { acting, proxy, expectations, controller, folder };
        let start = NAMES.iter().enumerate().map(|(number, name)| trial.start_machine(number, name, &pool));
        let machines = try_join_all(start).await?;
        let machines: [Machine; 3] = machines.try_into().ok().context("not three nodes")?;
        trial.controller.wait_until_leading().await?;
        Ok((trial, machines))
    }

    pub(super) fn bed(&self) -> &TestCluster {
        &self.acting.bed
    }

    async fn start_machine(&self, number: usize, name: &str, pool: &str) -> Result<Machine> {
        let real = RealNode::start(&self.bed().cluster, name).await?;
        real.wait_ready().await?;
        real.add_image(&Image::busybox()).await?;
        let (leaf, pdu) = (String::new(), String::new());
        // Serial numbers follow from the ordinal, and node 0 is the one of KWOK.
        let node = TestNode {
            name: name.to_owned(),
            uid: String::new(),
            leaf,
            pdu,
            pool: pool.to_owned(),
            ordinal: number + 1,
        };
        let mut machine = Machine { real, node, sequence: 0, boot: 1 };
        self.equip(&mut machine).await?;
        self.report(&mut machine, &[]).await?;
        Ok(machine)
    }

    /// What an installation adds after a kubelet has registered its node: labels, and the device plugin.
    pub(super) async fn equip(&self, machine: &mut Machine) -> Result<()> {
        let labels = json!({ "mainstay.dev/pool": machine.node.pool, "nvidia.com/gpu.count": GPUS.to_string() });
        self.bed().merge(NODES, &machine.node.name, &json!({ "metadata": { "labels": labels } })).await?;
        machine.real.offer_gpus(GPUS).await?;
        machine.node.uid = uid_of(&self.node(machine).await?);
        Ok(())
    }

    /// Writes the next report of the node's agent.
    pub(super) async fn report(&self, machine: &mut Machine, xids: &[(&str, u64)]) -> Result<()> {
        machine.sequence += 1;
        let answers = Answers { boot: machine.boot, ..Answers::default() };
        let report = AgentReport::new(machine.sequence, xids).on_gpus(GPUS).with_answers(answers);
        self.bed().report(&machine.node, &report).await
    }

    /// Runs a pod of a job on a node: a shell script that may take this long to end. Returns its uid.
    pub(super) async fn run_pod(
        &self,
        machine: &Machine,
        (name, job): (&str, &str),
        script: &str,
        grace: u32,
    ) -> Result<String> {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": "default", "labels": { "job": job } },
            "spec": {
                "nodeName": machine.node.name, "terminationGracePeriodSeconds": grace, "dnsPolicy": "Default",
                "restartPolicy": "OnFailure", "automountServiceAccountToken": false,
                "containers": [{
                    "name": "work", "image": Image::busybox().reference(), "imagePullPolicy": "Never", "args": ["-c", script],
                }],
            },
        });
        let request = Request::new(PODS).create(&PostParams::default(), serde_json::to_vec(&pod)?)?;
        let created: Value = self.bed().admin.request(request).await.with_context(|| format!("pod {name}"))?;
        Ok(uid_of(&created))
    }

    /// Deletes a pod at once, as an operator does who does not wait for its node.
    pub(super) async fn force_delete_pod(&self, name: &str) -> Result<()> {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.bed().admin.request::<Value>(Request::new(PODS).delete(name, &now)?).await?;
        Ok(())
    }

    pub(super) async fn pod(&self, name: &str) -> Result<Option<Value>> {
        let found = self.bed().list(PODS).await?;
        Ok(found.into_iter().find(|pod| pod["metadata"]["name"] == name))
    }

    pub(super) async fn wait_for_end_of_pod(&self, name: &str, uid: &str) -> Result<()> {
        let is_gone = async || Ok(self.pod(name).await?.is_none_or(|pod| pod["metadata"]["uid"] != uid));
        eventually_within(PATIENCE, &format!("pod {name} to be gone"), is_gone).await
    }

    /// A budget of the tenant: this many pods of the job have to be available. Returns when the disruption controller knows it.
    pub(super) async fn protect(&self, job: &str, available: u32) -> Result<()> {
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": job, "namespace": "default" },
            "spec": { "minAvailable": available, "selector": { "matchLabels": { "job": job } } },
        });
        let bed = &self.bed();
        bed.cluster.apply_objects(&[budget]).await?;
        eventually_within(PATIENCE, "the budget to be counted", async || {
            let all = bed.list("/apis/policy/v1/namespaces/default/poddisruptionbudgets").await?;
            let found = all.into_iter().find(|one| one["metadata"]["name"] == job).unwrap_or_default();
            let is_seen = found["status"]["observedGeneration"] == found["metadata"]["generation"];
            Ok(is_seen && found["status"]["desiredHealthy"] == available && found["status"]["currentHealthy"] == 1)
        })
        .await
    }

    pub(super) async fn node(&self, machine: &Machine) -> Result<Value> {
        let name = &machine.node.name;
        Ok(self.bed().admin.request(Request::new(NODES).get(name, &GetParams::default())?).await?)
    }

    /// The stage in the stored status of a node; empty before the first one.
    pub(super) async fn stage(&self, machine: &Machine) -> Result<String> {
        let all = self.bed().list(&resource_path("gpunodes")).await?;
        let found = all.into_iter().find(|one| one["metadata"]["name"] == *machine.node.name).unwrap_or_default();
        Ok(found["status"]["stage"].as_str().unwrap_or_default().to_owned())
    }

    /// The writes of the controller on one object, with the server's answers.
    pub(super) fn sent(&self, place: &str, name: &str) -> Vec<SentWrite> {
        let all = self.proxy.written().into_iter();
        all.filter(|write| write.call.place == place && write.call.name == name).collect()
    }

    /// Waits for an eviction of a pod that the server answered with this code.
    pub(super) async fn wait_for_eviction(&self, pod: &str, code: u16) -> Result<()> {
        let is_answered = async || self.sent("pods/eviction", pod).iter().any(|write| write.status == Some(code));
        eventually_within(PATIENCE, &format!("an eviction of {pod} with code {code}"), is_answered).await
    }

    /// Waits until the quarantine taint is on a node, and returns its value.
    pub(super) async fn wait_for_taint(&self, machine: &Machine) -> Result<Value> {
        let taint = async || Ok(quarantine(&self.node(machine).await?));
        eventually_within(PATIENCE, "the quarantine taint", taint).await
    }

    pub(super) async fn wait_for_stage(&self, machine: &Machine, stage: &str) -> Result<()> {
        let is_there = async || Ok(self.stage(machine).await? == stage);
        eventually_within(PATIENCE, &format!("{} in stage {stage}", machine.node.name), is_there).await
    }

    /// Lines of the controller's own audit log.
    pub(super) fn audit_lines(&self) -> Result<Vec<Value>> {
        let path: PathBuf = self.folder.path().join("audit.jsonl");
        let text = std::fs::read_to_string(path)?;
        // The last line may be half written.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    pub(super) fn expect(&self, holds: bool, what: impl std::fmt::Display) {
        self.expectations.expect(holds, what);
    }

    /// Waits until the controller writes nothing more.
    pub(super) async fn settle(&self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        let (mut writes, mut since) = (self.proxy.writes(), Instant::now());
        while since.elapsed() < QUIET {
            ensure!(Instant::now() < until, "the controller goes on writing: {writes} writes");
            sleep(Duration::from_millis(100)).await;
            if self.proxy.writes() != writes {
                (writes, since) = (self.proxy.writes(), Instant::now());
            }
        }
        Ok(())
    }
}

impl Machine {
    /// Turns the machine on after a power cut, and waits until its kubelet is Ready.
    pub(super) async fn boot(&mut self) -> Result<()> {
        self.real.boot().await?;
        (self.boot, self.sequence) = (self.boot + 1, 0);
        self.real.wait_ready().await
    }

    /// Waits until a container of the node has printed a line this often, in all its runs.
    pub(super) async fn wait_for_line(&self, pod: &str, line: &str, times: usize) -> Result<()> {
        let is_printed = async || Ok(self.count_lines(pod, line)? >= times);
        eventually_within(PATIENCE, &format!("{line:?} in the log of {pod}"), is_printed).await
    }

    pub(super) fn count_lines(&self, pod: &str, line: &str) -> Result<usize> {
        let log = self.real.container_log("default", pod, "work")?;
        Ok(log.lines().filter(|it| *it == line).count())
    }
}

/// The quarantine taint of a node, if it is there.
pub(super) fn quarantine(node: &Value) -> Option<Value> {
    let taints = node["spec"]["taints"].as_array()?;
    taints.iter().find(|taint| taint["key"] == "mainstay.dev/quarantined").cloned()
}

pub(super) fn uid_of(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
