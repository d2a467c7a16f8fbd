//! Operators, Karpenter, NVSentinel and Mainstay take nodes of the same racks out of service, in drawn order.
//! Whenever Mainstay takes one, what was visible before it decided is counted, by code that shares nothing with the
//! engine's counts. Most schedules run against the decision engine alone, some on a real API server with the real
//! controller.

mod engine_schedule;
mod fleet;
mod outage;
mod rack_schedule;
mod timeline;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use jiff::Timestamp;
use mainstay_engine::{Guard, Guards};
use tempfile::TempDir;
use testbed::eventually;
use testbed::fault_proxy::FaultProxy;
use xtask::{command, dist, output};

use super::acting_cluster::ActingCluster;
use crate::proofs::observe::controller::Controller;
use crate::proofs::parallel::parallel_map;
use crate::prove::{Context, Measurement};
use outage::Tally;
use rack_schedule::RackSchedule;
use timeline::ControllerWrites;

const ENGINE_SCHEDULES: u64 = 950;
const SERVER_SCHEDULES: u64 = 50;
/// Schedules on a server in CI, drawn by commit.
const SLICE: u64 = 3;
/// Racks of one cluster, each with its own schedule at the same time.
const RACKS_MAX: u64 = 10;
const NODES_PER_RACK: u64 = 4;
/// A schedule needs a node besides those that a budget of two allows.
const RACK_NODES_MIN: usize = 3;
/// Schedules that show that this proof finds what it looks for: the engine does not count nodes that others removed from service.
const DEFECT_SCHEDULES: u64 = 50;
/// Time limit of a question to git.
const GIT_LIMIT: Duration = Duration::from_secs(10);

/// All schedules.
pub(super) async fn full(context: &Context) -> Result<Measurement> {
    measure(context, &(0..SERVER_SCHEDULES).collect::<Vec<_>>()).await
}

/// All schedules of the engine, and a few on a server.
pub(super) async fn slice(context: &Context) -> Result<Measurement> {
    let root = &context.workspace.root;
    let hash = command::text(command::program("git", root).args(["rev-parse", "HEAD"]), GIT_LIMIT).await?;
    let first = u64::from_str_radix(hash.get(..8).context("a short commit hash")?, 16)?;
    measure(context, &(first..first + SLICE).collect::<Vec<_>>()).await
}

async fn measure(context: &Context, seeds: &[u64]) -> Result<Measurement> {
    let engine = on_engine(ENGINE_SCHEDULES, &Guards::all_on())?;
    let defect = on_engine(DEFECT_SCHEDULES, &Guards::without(Guard::OthersCount))?;
    ensure!(defect.violations > 0, "a defect is not found: {defect:?}");
    output::note(format_args!("engine: {engine:?}; with a defect: {defect:?}"));
    let server = on_server(context, seeds).await?;
    for tally in [&engine, &server] {
        let is_tried = tally.taken > 0 && tally.refused > 0;
        ensure!(is_tried || tally.violations > 0, "no node was taken, or no budget was used up: {tally:?}");
    }
    let part = |tally: &Tally| {
        format!(
            "{} schedules, {} nodes taken, {} taken over from others, {} waits for a budget, {} against a budget",
            tally.schedules, tally.taken, tally.taken_over, tally.refused, tally.violations
        )
    };
    let detail = format!(
        "engine: {}; API server: {}; an engine that does not count others has {} against a budget in {} schedules",
        part(&engine),
        part(&server),
        defect.violations,
        defect.schedules
    );
    Ok(Measurement { value: i64::try_from(engine.violations + server.violations)?, detail })
}

fn on_engine(schedules: u64, guards: &Guards) -> Result<Tally> {
    let mut total = Tally::default();
    for (seed, tally) in (0..).zip(parallel_map(schedules, |seed| engine_schedule::run(seed, guards))) {
        let tally = tally.with_context(|| format!("seed {seed}"))?;
        if tally.violations > 0 && *guards == Guards::all_on() {
            output::note(format_args!("engine, seed {seed}: {tally:?}"));
        }
        total.add(tally);
    }
    Ok(total)
}

async fn on_server(context: &Context, seeds: &[u64]) -> Result<Tally> {
    let folder = TempDir::new()?;
    // A copy: the next build would put another in its place.
    let program = folder.path().join("mainstay");
    std::fs::copy(dist::binary(&context.workspace).await?, &program)?;
    let racks = RACKS_MAX.min(u64::try_from(seeds.len())?);
    // One rack in 16 lacks a node, which the next rack begins with.
    let cluster = ActingCluster::start("shared", usize::try_from(racks * NODES_PER_RACK)?).await?;
    let proxy = FaultProxy::start(&cluster.controller().await?).await?;
    let kubeconfig = folder.path().join("proxy.kubeconfig");
    std::fs::write(&kubeconfig, proxy.kubeconfig())?;
    let racks = racks_of(&cluster);
    let mut total = Tally::default();
    for seeds in seeds.chunks(racks.len()) {
        total.add(round(&cluster, &racks, (&program, &kubeconfig), &proxy, seeds).await?);
        output::note(format_args!("API server: {total:?}"));
    }
    Ok(total)
}

/// Numbers of the nodes of each rack.
fn racks_of(cluster: &ActingCluster) -> Vec<Vec<usize>> {
    let mut racks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for node in &cluster.bed.nodes {
        let rack = node.name.rsplit_once("-n").map_or(node.name.as_str(), |(rack, _)| rack);
        racks.entry(rack).or_default().push(node.ordinal);
    }
    racks.into_values().filter(|nodes| nodes.len() >= RACK_NODES_MIN).collect()
}

/// Runs one schedule on each rack, at the same time.
async fn round(
    cluster: &ActingCluster,
    racks: &[Vec<usize>],
    (program, kubeconfig): (&Path, &Path),
    proxy: &FaultProxy,
    seeds: &[u64],
) -> Result<Tally> {
    cluster.clean().await?;
    let mut schedules = Vec::new();
    for (number, (seed, nodes)) in seeds.iter().zip(racks).enumerate() {
        schedules.push(RackSchedule::prepare(&cluster.bed, &format!("shared-{number}"), nodes, *seed).await?);
    }
    proxy.clear();
    let since = Timestamp::now();
    let folder = TempDir::new()?;
    let controller = Controller::start(program, kubeconfig, folder.path()).await?;
    controller.wait_until_leading().await?;
    let histories = try_join_all(schedules.into_iter().map(RackSchedule::run)).await?;
    controller.kill().await?;
    let read = async || ControllerWrites::read(&cluster.bed.cluster, &proxy.written(), since).ok();
    let writes = eventually("the audit log with all writes", read).await?;
    let mut total = Tally::default();
    for (history, seed) in histories.iter().zip(seeds) {
        let tally = history.tally(&writes);
        if tally.violations > 0 {
            output::note(format_args!("API server, seed {seed}: {tally:?}, {history:?}"));
        }
        total.add(tally);
    }
    Ok(total)
}
