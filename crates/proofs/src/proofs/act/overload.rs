//! The API server is away for a while. Afterwards every fault ends as one that was treated before, nothing is done twice, and the requests
//! of the controller stay near its steady load. One treatment is complete before the outage, as the reference. One is under way when it
//! begins, and further faults are reported when the API server is back.

mod agents;
mod load;
mod treatment;

use std::time::Duration;

use anyhow::{Result, ensure};
use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use testbed::{Program, eventually_within};
use tokio::time::{Instant, sleep, sleep_until};
use xtask::{dist, output};

use super::acting_cluster::ActingCluster;
use crate::proofs::observe::controller::Controller;
use crate::prove::{Context, Measurement};
use agents::Agents;
use load::Requests;
use treatment::{Fault, Found};

const NODES: usize = 20;
/// The Lease of an installation, which is longer than the barrier of a new leader needs on a test cluster.
const LEASE_SECONDS: u64 = 15;
/// Time for which the steady load is measured.
const STEADY: Duration = Duration::from_secs(10);
/// Time after the return for which the load is measured.
const AFTER: Duration = Duration::from_secs(25);
const WINDOW: Duration = Duration::from_secs(10);
/// Requests in a window after the return, in thousandths of the steady load, at most.
const RATIO_MAX: u64 = 3_000;
/// Requests in the steady time. With fewer, the ratio would be chance.
const STEADY_MIN: u64 = 75;
/// A takeover after the Lease expired, the barrier, and the treatment.
const TREATED_WITHIN: Duration = Duration::from_mins(2);
/// Out of service at once in a pool. Every fault gets a place, because no executor repairs a node here.
const BUDGET: usize = 8;

/// Its treatment is complete before the outage.
const REFERENCE: Fault = Fault { node: 1, xid: "79", pod: "reference-0", job: "reference" };
/// Its node is quarantined before the outage. The tenant's budget refuses the eviction until the API server is back.
const UNDER_WAY: Fault = Fault { node: 6, xid: "95", pod: "under-way-0", job: "under-way" };
/// They happen during the outage. Reports about them are written when the API server is back.
const DURING: [Fault; 3] = [
    Fault { node: 10, xid: "119", pod: "during-0", job: "during-a" },
    Fault { node: 13, xid: "64", pod: "during-1", job: "during-b" },
    Fault { node: 17, xid: "120", pod: "during-2", job: "during-c" },
];

/// Points in time that divide the requests.
struct Times {
    steady_from: Timestamp,
    steady_until: Timestamp,
    back_at: Timestamp,
}

/// The API server is away for half a minute.
pub(super) async fn short(context: &Context) -> Result<Measurement> {
    measure(context, Duration::from_secs(30)).await
}

/// The API server is away for ten minutes.
pub(super) async fn long(context: &Context) -> Result<Measurement> {
    measure(context, Duration::from_mins(10)).await
}

async fn measure(context: &Context, away: Duration) -> Result<Measurement> {
    let program = dist::binary(&context.workspace).await?;
    let cluster = ActingCluster::start("overload", NODES).await?;
    prepare(&cluster).await?;
    let folder = TempDir::new()?;
    let kubeconfig = cluster.controller().await?;
    let agents = Agents::new(&cluster.bed);
    agents.report_all().await?;
    let served = Controller::start_with(&program, &kubeconfig, folder.path(), LEASE_SECONDS).await?;
    served.wait_until_leading().await?;
    let times = tokio::select! {
        never = agents.report_regularly() => match never {},
        times = run(&cluster, &agents, away) => times?,
    };
    served.kill().await?;
    judge(&cluster, &times, away).await
}

/// Places for all faults in the budget, a pod on each node that will be faulty, and a tenant's budget for one of the jobs.
async fn prepare(cluster: &ActingCluster) -> Result<()> {
    let bed = &cluster.bed;
    cluster.set_budget(BUDGET).await?;
    for fault in all() {
        bed.run_pod(fault.pod, &bed.nodes[fault.node], &[("job", fault.job)]).await?;
    }
    protect(cluster, 1).await
}

/// The tenant's budget: this many pods of the job have to be available.
async fn protect(cluster: &ActingCluster, available: u32) -> Result<()> {
    let job = UNDER_WAY.job;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": job, "namespace": "default" },
        "spec": { "minAvailable": available, "selector": { "matchLabels": { "job": job } } },
    });
    cluster.bed.cluster.apply_objects(&[budget]).await
}

/// Every fault of a run.
fn all() -> impl Iterator<Item = Fault> {
    [REFERENCE, UNDER_WAY].into_iter().chain(DURING)
}

async fn run(cluster: &ActingCluster, agents: &Agents<'_>, away: Duration) -> Result<Times> {
    let bed = &cluster.bed;
    let steady_from = Timestamp::now();
    sleep(STEADY).await;
    let steady_until = Timestamp::now();
    agents.fault(&REFERENCE).await?;
    agents.fault(&UNDER_WAY).await?;
    let is_begun = async || Ok(REFERENCE.is_treated(bed).await? && UNDER_WAY.is_refused_eviction(bed)?);
    eventually_within(TREATED_WITHIN, "two treatments before the outage", is_begun).await?;

    let outage = bed.cluster.outage(Program::ApiServer).await?;
    output::note(format_args!("prove overload: the API server is away"));
    sleep(away).await;
    let (back_at, measured_until) = (Timestamp::now(), Instant::now() + AFTER);
    outage.end().await?;
    output::note(format_args!("prove overload: the API server is back"));
    for fault in &DURING {
        agents.note(fault).await;
    }
    agents.report_all().await?;
    protect(cluster, 0).await?;
    let is_over = async || {
        for fault in all() {
            if !fault.is_treated(bed).await? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    // A fault that is lost is counted below, with what is there instead.
    if let Err(why) = eventually_within(TREATED_WITHIN, "all treatments", is_over).await {
        output::note(format_args!("prove overload: {why:#}"));
    }
    sleep_until(measured_until).await;
    Ok(Times { steady_from, steady_until, back_at })
}

async fn judge(cluster: &ActingCluster, times: &Times, away: Duration) -> Result<Measurement> {
    let requests = Requests::of_controller(&cluster.bed)?;
    let steady = requests.between(times.steady_from, times.steady_until);
    ensure!(steady >= STEADY_MIN, "{steady} requests in {} s are no steady load", STEADY.as_secs());
    let windows = requests.windows(times.back_at, AFTER, WINDOW);
    let ratio = |count: u64| count * 1_000 * STEADY.as_secs() / (steady * WINDOW.as_secs());
    let over = windows.iter().filter(|(_, count)| ratio(*count) > RATIO_MAX).count();
    let (worst_at, worst) = windows.iter().copied().max_by_key(|(_, count)| *count).unwrap_or_default();
    if over > 0 {
        let what = requests.by_place(times.back_at, worst_at, WINDOW);
        output::note(format_args!("prove overload: from {} s on: {what:?}", worst_at.as_secs()));
    }
    let Found { lost, twice, others } =
        treatment::compare(&cluster.bed, &REFERENCE, &all().collect::<Vec<_>>()).await?;
    let detail = format!(
        "API server away for {} s: {steady} requests in {} s before it, at most {worst} in {} s after it (from {} s on), {} thousandths of the steady load, {} of {} windows above {RATIO_MAX}; {} faults: {lost} end otherwise than the one before the outage, {twice} actions carried out twice, {others} on other nodes and pods",
        away.as_secs(),
        STEADY.as_secs(),
        WINDOW.as_secs(),
        worst_at.as_secs(),
        ratio(worst),
        over,
        windows.len(),
        all().count(),
    );
    Ok(Measurement { value: i64::try_from(over)? + lost + twice + others, detail })
}
