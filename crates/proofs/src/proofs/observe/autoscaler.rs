//! A real HorizontalPodAutoscaler on the pending GPUs of a queue: real API server, kube-controller-manager, scheduler, Prometheus
//! and prometheus-adapter, and the real controller, with the examples of `deploy/examples/scaling`. Nodes and pods are KWOK's. A
//! loop of this proof takes the place of a node autoscaler: two nodes are cordoned until pods have waited for them.

mod adapter;
mod chart;
mod load;
mod node_pool;
mod sampler;

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::{Prometheus, deploy, eventually_within};
use tokio::time::sleep;
use xtask::{command, output};

use super::controller::Controller;
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};
use adapter::Adapter;
use load::Load;
use node_pool::NodePool;
use sampler::{Sample, Sampler};

const GPUS_PER_NODE: usize = 8;
/// Nodes that exist from the beginning.
const NODES: usize = 2;
/// Nodes that the pool can add.
const SPARE_NODES: usize = 2;
/// Time from the first pod that does not fit to the node for it.
const BOOT: Duration = Duration::from_secs(40);
/// Minimum of the example.
const WARM: i64 = 4;
/// Jobs with one GPU that fill the first nodes, together with the warm GPUs.
const STEADY: usize = NODES * GPUS_PER_NODE - 4;
/// Jobs for which the spare nodes and the warm GPUs of the second step have room.
const MORE: usize = 8;
/// The first burst doubles the load. Four of its jobs preempt the warm pods, and the others wait. Now and then the scheduler places one
/// job less, so that more jobs wait: the number of warm pods must be the value of the metric.
const SCALED_OUT: i64 = 8;
/// Windows of the example and of this proof, in seconds.
const WINDOWS: [(&str, &str); 2] =
    [("stabilizationWindowSeconds: 60", "stabilizationWindowSeconds: 6"), ("Seconds: 1800", "Seconds: 90")];
/// Time without a controller, longer than the window for scaling in.
const WITHOUT_CONTROLLER: Duration = Duration::from_secs(100);
const WITHIN: Duration = Duration::from_mins(3);
const PICTURE: &str = "docs/pictures/hpa-queue-wait.svg";
const LEASE_SECONDS: u64 = 15;
/// Time for which the picture shows a state.
const SHOWN: Duration = Duration::from_secs(10);
const LOAD_DOUBLES: &str = "load doubles";
const MORE_JOBS: &str = "8 jobs more";
const LOAD_ENDS: &str = "load ends, controller stops";
const CONTROLLER_STARTS: &str = "controller starts";

pub(in super::super) async fn measure(context: &Context) -> Result<Measurement> {
    let program = command::debug_program(&context.workspace, "mainstay").await?;
    let adapter = testbed::prometheus_adapter().await?;
    let bed = TestCluster::start_autoscaled(NODES + SPARE_NODES).await?;
    let folder = TempDir::new()?;
    let served = start_controller(&program, &bed, folder.path()).await?;
    let rules = deploy().join("examples/scaling/prometheus-rules.yaml");
    let prometheus = Prometheus::serve(folder.path(), &configuration(&rules)).await?;
    let _adapter = Adapter::start(&adapter, &bed, folder.path(), &prometheus.url).await?;
    let pool = NodePool::start(&bed, NODES).await?;
    let load = Load::create_queue(&bed).await?;
    load.add("steady", STEADY).await?;
    load.wait_until_placed("steady", WITHIN).await?;
    let example = std::fs::read_to_string(deploy().join("examples/scaling/warm-gpus.yaml"))?;
    let applied = bed.cluster.write_file("warm-gpus.yaml", &with_short_windows(&example)?)?;
    bed.cluster.apply(&applied).await?;
    let sampler = Sampler::start(bed.admin.clone(), &pool);
    sampler.wait_until("the warm pods to run", WITHIN, |now| (now.replicas, now.running) == (WARM, WARM)).await?;

    let mut checks = Checks::default();
    let (first, second) = scale_out(&load, &sampler, &mut checks).await?;
    served.kill().await?;
    sampler.mark(LOAD_ENDS);
    load.remove(&["first", "second"]).await?;
    hold(&bed, &sampler, &mut checks).await?;
    let _served = start_controller(&program, &bed, folder.path()).await?;
    scale_in(&bed, &sampler, &mut checks).await?;
    let run = sampler.run();
    std::fs::write(context.workspace.root.join(PICTURE), chart::svg(&run))?;
    let seconds = |event: &str, replicas: RangeInclusive<i64>| {
        let found = run.seconds_from(event, |one| replicas.contains(&one.replicas));
        found.map_or_else(|| "never".to_owned(), |seconds| format!("after {seconds} s"))
    };
    Ok(Measurement {
        value: i64::try_from(checks.failed.len())?,
        detail: format!(
            "{} checks; {} GPUs, and {} after {} s; {STEADY} more jobs: longest wait {} s, {WARM} to {SCALED_OUT} or more warm pods {}; \
             {MORE} more jobs: longest wait {} s; {} s without a controller: no change; its start: back to {WARM} {}; \
             windows of 6 s and 90 s{}",
            checks.count,
            NODES * GPUS_PER_NODE,
            (NODES + SPARE_NODES) * GPUS_PER_NODE,
            BOOT.as_secs(),
            first.as_secs(),
            seconds(LOAD_DOUBLES, SCALED_OUT..=i64::MAX),
            second.as_secs(),
            WITHOUT_CONTROLLER.as_secs(),
            seconds(CONTROLLER_STARTS, WARM..=WARM),
            checks.failed.iter().map(|failed| format!("; failed: {failed}")).collect::<String>(),
        ),
    })
}

/// Doubles the load, and adds to it once the warm pods run. Returns the longest wait of each burst.
async fn scale_out(load: &Load<'_>, sampler: &Sampler, checks: &mut Checks) -> Result<(Duration, Duration)> {
    sleep(SHOWN).await;
    sampler.mark(LOAD_DOUBLES);
    load.add("first", STEADY).await?;
    let pending = sampler.wait_until("the metric", WITHIN, |now| now.pending >= Some(SCALED_OUT)).await;
    checks.require(pending.is_ok(), || format!("the metric is never {SCALED_OUT} or more"));
    let first = load.wait_until_placed("first", WITHIN).await?;
    let is_out = |now: &Sample| now.replicas >= SCALED_OUT && now.running >= SCALED_OUT;
    let out = sampler.wait_until("more warm pods", WITHIN, is_out).await;
    checks.require(out.is_ok(), || format!("not scaled out: {:?}", sampler.last()));
    sleep(SHOWN).await;
    sampler.mark(MORE_JOBS);
    load.add("second", MORE).await?;
    let second = load.wait_until_placed("second", WITHIN).await?;
    checks.require(second < BOOT, || format!("the second burst waited for {} s", second.as_secs()));
    sleep(SHOWN).await;
    Ok((first, second))
}

/// Waits without a controller. The autoscaler must not change anything.
async fn hold(bed: &TestCluster, sampler: &Sampler, checks: &mut Checks) -> Result<()> {
    sleep(WITHOUT_CONTROLLER).await;
    let active = scaling_active(bed).await?;
    let is_held = sampler.last().is_some_and(|now| now.replicas >= SCALED_OUT && now.pending.is_none());
    checks.require(is_held && active == "False", || format!("active {active} without data: {:?}", sampler.last()));
    show(bed, "without a controller").await
}

/// Waits until the autoscaler has scaled in.
async fn scale_in(bed: &TestCluster, sampler: &Sampler, checks: &mut Checks) -> Result<()> {
    sampler.mark(CONTROLLER_STARTS);
    let back = sampler.wait_until("fewer warm pods", WITHIN, |now| now.replicas == WARM).await;
    checks.require(back.is_ok(), || format!("not scaled in: {:?}", sampler.last()));
    sleep(SHOWN).await;
    let run = sampler.run();
    let most = run.samples.iter().map(|one| one.replicas).max();
    let is_metric = run.samples.iter().any(|one| one.pending == most);
    checks.require(is_metric, || format!("{most:?} warm pods at most, which the metric never was"));
    let end = sampler.last().map(|now| (now.replicas, now.running));
    checks.require(end == Some((WARM, WARM)), || format!("{end:?} warm pods at the end"));
    show(bed, "at the end").await
}

/// Prints the autoscaler as kubectl shows it.
async fn show(bed: &TestCluster, when: &str) -> Result<()> {
    let shown = bed.cluster.run_kubectl(&["get", "hpa", "-n", "warm-gpus"]).await?;
    output::note(format_args!("hpa-queue-wait: kubectl get hpa {when}:\n{}", shown.trim_end()));
    Ok(())
}

/// Expectations of the run, and those that did not hold.
#[derive(Default)]
struct Checks {
    count: usize,
    failed: Vec<String>,
}

impl Checks {
    fn require(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.count += 1;
        if !holds {
            let failed = otherwise();
            output::note(format_args!("hpa-queue-wait: {failed}"));
            self.failed.push(failed);
        }
    }
}

/// A leading controller, as the only target of Prometheus.
async fn start_controller(program: &Path, bed: &TestCluster, folder: &Path) -> Result<Controller> {
    let kubeconfig = bed.controller().await?;
    let served = Controller::start_with(program, &kubeconfig, &folder.join("audit"), LEASE_SECONDS).await?;
    served.wait_until_leading().await?;
    let targets = json!([{ "targets": [served.address()] }]);
    std::fs::write(folder.join("targets.json"), targets.to_string())?;
    Ok(served)
}

fn configuration(rules: &Path) -> String {
    format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: ['{}']\nscrape_configs:\n\
         - {{ job_name: mainstay-controller, file_sd_configs: [{{ files: [targets.json] }}] }}\n",
        rules.display()
    )
}

/// The example with short windows, so that the proof takes minutes.
fn with_short_windows(example: &str) -> Result<String> {
    let mut text = example.to_owned();
    for (window, short) in WINDOWS {
        ensure!(text.contains(window), "the example has no {window:?}");
        text = text.replace(window, short);
    }
    Ok(text)
}

/// Status of the condition that the autoscaler can compute a number of replicas.
async fn scaling_active(bed: &TestCluster) -> Result<String> {
    let hpa: Value = bed.cluster.get_json(&["hpa", "-n", "warm-gpus", "warm-gpus"]).await?;
    let conditions = hpa["status"]["conditions"].as_array().context("no conditions")?;
    let active = conditions.iter().find(|one| one["type"] == "ScalingActive");
    Ok(active.and_then(|one| one["status"].as_str()).unwrap_or_default().to_owned())
}

/// Waits until a namespace has its default service account. Pods are rejected before that.
async fn wait_for_account(bed: &TestCluster, namespace: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    eventually_within(WITHIN, "a service account", async || Ok(bed.count(&path).await? > 0)).await
}
