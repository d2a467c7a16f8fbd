//! Resource use of the controller on a large cluster: nodes that are Ready without heartbeats, one report each, and no other
//! client of the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Api;
use serde_json::Value;
use tempfile::TempDir;
use testbed::Cluster;
use testbed::test_cluster::resource_path;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use xtask::{dist, output};

use super::super::agent::program::status_kib;
use super::controller::Controller;
use super::end_to_end::{FirstSeenTimes, percentile, watch_incidents};
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};

/// Reports that are written at once.
const AT_ONCE: usize = 24;
/// A leader lists everything before it decides.
const LEADS_WITHIN: Duration = Duration::from_mins(10);
/// The first leader writes a record for every node.
const RECORDED_WITHIN: Duration = Duration::from_hours(1);
const LEASE_SECONDS: u64 = 15;
/// Long enough for every watch to end and restart once.
const CALM: Duration = Duration::from_mins(5);
const INCIDENTS_WITHIN: Duration = Duration::from_mins(2);
const RULE: &str = "gpu-off-the-bus";

pub(super) async fn measure(context: &Context, nodes: usize) -> Result<Measurement> {
    let program = dist::binary(&context.workspace).await?;
    let folder = TempDir::new()?;
    let base_kib = base(&program, folder.path()).await?;
    let begun = Instant::now();
    let bed = TestCluster::start_without_heartbeats(nodes).await?;
    output::note(format_args!("{nodes} nodes after {} s", begun.elapsed().as_secs()));
    all_report(&bed, 1, (0..nodes).collect(), &[]).await?;
    output::note(format_args!("{nodes} reports after {} s", begun.elapsed().as_secs()));
    let kubeconfig = bed.controller().await?;
    let served = Controller::start_with(&program, &kubeconfig, folder.path(), LEASE_SECONDS).await?;
    let begun = Instant::now();
    served.wait_until_leading_within(LEADS_WITHIN).await?;
    recorded(&bed, nodes).await?;
    output::note(format_args!("{nodes} records after {} s", begun.elapsed().as_secs()));
    let first_kib = status_kib(served.pid()?, "VmRSS:")?;
    served.kill().await?;

    // Everything is there; this is how a successor begins, after the Lease of the one before.
    let served = Controller::start_with(&program, &kubeconfig, folder.path(), LEASE_SECONDS).await?;
    served.wait_for_lease().await?;
    let begun = Instant::now();
    served.wait_until_leading_within(LEADS_WITHIN).await?;
    let decides_after = begun.elapsed();
    let calm_from = jiff::Timestamp::now();
    sleep(CALM).await;
    let calls = calls(&bed.cluster, calm_from)?;
    let (calm_kib, peak_kib) = (status_kib(served.pid()?, "VmRSS:")?, status_kib(served.pid()?, "VmHWM:")?);
    let (incidents, took) = one_in_a_hundred(&bed, nodes).await?;
    let (of_others, _) = super::foreign_writes::foreign_writes(&bed)?;
    ensure!(of_others == 0, "the controller wrote to what is not ours");
    let per_node = calm_kib.saturating_sub(base_kib).div_ceil(u64::try_from(nodes)?);
    let minutes = CALM.as_secs() / 60;
    let all: u64 = calls.values().sum();
    let servers: Vec<String> = bed
        .cluster
        .resident_bytes_by_server()
        .iter()
        .map(|(name, bytes)| format!("{name} {} MB", bytes >> 20))
        .collect();
    let detail = format!(
        "{nodes} nodes: {} MB resident, {} MB at most, {} MB while it made the records; {} MB with no node; {} s from the Lease to the first decision; {} calls a minute when nothing happens ({calls:?} in {minutes} minutes); {} of {} reports at once, one node in a hundred, are incidents after {} ms (median), {} ms (p99), {} ms (worst), the writing of them took {} ms; servers: {}",
        calm_kib >> 10,
        peak_kib >> 10,
        first_kib >> 10,
        base_kib >> 10,
        decides_after.as_secs_f32(),
        all / minutes,
        incidents.len(),
        nodes / 100,
        percentile(&incidents, 50).as_millis(),
        percentile(&incidents, 99).as_millis(),
        percentile(&incidents, 100).as_millis(),
        took.as_millis(),
        servers.join(", "),
    );
    Ok(Measurement { value: i64::try_from(per_node)?, detail })
}

/// What the controller holds where there are hardly any nodes.
async fn base(program: &Path, folder: &Path) -> Result<u64> {
    let bed = TestCluster::start_without_heartbeats(4).await?;
    let served = Controller::start(program, &bed.controller().await?, folder).await?;
    served.wait_until_leading().await?;
    sleep(Duration::from_secs(5)).await;
    status_kib(served.pid()?, "VmRSS:")
}

async fn all_report(
    bed: &TestCluster,
    sequence: u64,
    nodes: Vec<usize>,
    xids: &[(&str, u64)],
) -> Result<Vec<(String, Instant)>> {
    let one = async |node: usize| {
        bed.report(node, sequence, 8, xids).await?;
        Ok((bed.nodes[node].name.clone(), Instant::now()))
    };
    stream::iter(nodes).map(one).buffer_unordered(AT_ONCE).try_collect().await
}

/// Waits until every node has its record.
async fn recorded(bed: &TestCluster, nodes: usize) -> Result<()> {
    let until = Instant::now() + RECORDED_WITHIN;
    loop {
        let count = bed.count(&resource_path("gpunodes")).await?;
        if count >= nodes {
            return Ok(());
        }
        ensure!(Instant::now() < until, "{count} of {nodes} records");
        sleep(Duration::from_secs(2)).await;
    }
}

/// One node in a hundred reports a GPU off the bus. Returns the time from report to incident of each.
async fn one_in_a_hundred(bed: &TestCluster, nodes: usize) -> Result<(Vec<Duration>, Duration)> {
    let seen = FirstSeenTimes::default();
    let mut watches = JoinSet::new();
    watches.spawn(watch_incidents(Api::all(bed.admin.clone()), FirstSeenTimes::clone(&seen)));
    sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    let reported = all_report(bed, 2, (0..nodes).step_by(100).collect(), &[("79", 1)]).await?;
    let took = begun.elapsed();
    let rule = |node: &str| (node.to_owned(), RULE.to_owned());
    let until = Instant::now() + INCIDENTS_WITHIN;
    loop {
        let mut found: Vec<Duration> = {
            let seen = seen.borrow();
            let after = |(node, at): &(String, Instant)| Some(seen.get(&rule(node))?.saturating_duration_since(*at));
            reported.iter().filter_map(after).collect()
        };
        if found.len() == reported.len() || Instant::now() >= until {
            found.sort_unstable();
            ensure!(!found.is_empty(), "no incident came of {} reports", reported.len());
            return Ok((found, took));
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// The controller's calls from a moment on, by verb and resource. A watch counts when it begins.
fn calls(cluster: &Cluster, from: jiff::Timestamp) -> Result<BTreeMap<String, u64>> {
    let (mut all, mut known) = (BTreeMap::new(), BTreeSet::new());
    for event in cluster.audit_events()? {
        let event = event?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let at: jiff::Timestamp = text(&event["requestReceivedTimestamp"]).parse().context("no time")?;
        if at >= from
            && text(&event["user"]["username"]).ends_with(":mainstay-controller")
            && known.insert(text(&event["auditID"]))
        {
            *all.entry(format!("{} {}", text(&event["verb"]), text(&event["objectRef"]["resource"]))).or_default() += 1;
        }
    }
    Ok(all)
}
