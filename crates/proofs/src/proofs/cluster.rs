//! Proofs of the test cluster itself: how soon a fleet of a given size is Ready, whether it stays so, what it weighs.
//!
//! Proofs of one size that run together share one cluster: the first one starts it and measures everything.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use testbed::fleet::{labels, readiness};
use testbed::{Cluster, Fleet, OptionalServer, Options, ProgressEvent, Servers};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep};
use xtask::output;

use crate::prove::{Context, Measurement, Proof, ProofFuture};

pub(super) const READY_1K: Proof = Proof { name: "cluster-1k", run: |context| Box::pin(one_thousand(context)) };

pub(super) const READY_10K: Proof =
    Proof { name: "cluster-10k", run: |_| shared(&TEN_THOUSAND, |run| run.ready_seconds) };

pub(super) const STEADY_10K: Proof =
    Proof { name: "cluster-10k-steady", run: |_| shared(&TEN_THOUSAND, |run| run.ready_least) };

pub(super) const READY_100K: Proof =
    Proof { name: "cluster-100k", run: |_| shared(&HUNDRED_THOUSAND, |run| run.ready_seconds) };

pub(super) const MEMORY_100K: Proof =
    Proof { name: "cluster-100k-memory", run: |_| shared(&HUNDRED_THOUSAND, |run| run.resident_megabytes_most) };

static TEN_THOUSAND: SharedCluster =
    SharedCluster { nodes: 10_000, steady: Duration::from_mins(10), run: OnceCell::const_new() };
static HUNDRED_THOUSAND: SharedCluster =
    SharedCluster { nodes: 100_000, steady: Duration::ZERO, run: OnceCell::const_new() };

/// One cluster size, measured once for all its proofs.
struct SharedCluster {
    nodes: usize,
    /// How long the nodes must stay Ready.
    steady: Duration,
    run: OnceCell<ClusterResult>,
}

/// Readiness and memory measured on one cluster.
#[derive(Debug, Clone)]
struct ClusterResult {
    ready_seconds: i64,
    ready_least: i64,
    resident_megabytes_most: i64,
    detail: String,
}

fn shared(shared: &'static SharedCluster, value: fn(&ClusterResult) -> i64) -> ProofFuture<'static> {
    Box::pin(async move {
        let run = shared.run.get_or_try_init(|| measure(shared)).await?;
        Ok(Measurement { value: value(run), detail: run.detail.clone() })
    })
}

async fn measure(shared: &SharedCluster) -> anyhow::Result<ClusterResult> {
    let (cluster, fleet, started) = start(shared.nodes).await?;
    let client = cluster.client().await?;
    let mut most = PeakMemory::default();
    let mut ready = 0;
    // Counting 100,000 nodes is work for the server too.
    let slice = Duration::from_secs(if shared.nodes > 10_000 { 30 } else { 5 });
    while ready < shared.nodes {
        ready = fleet.wait_ready(&client, slice, &progress).await?.ready;
        most.note(&cluster)?;
    }
    let ready_seconds = i64::try_from(started.elapsed().as_millis().div_ceil(1_000))?;
    let mut least = ready;
    let mut counts = 0;
    let steady_from = Instant::now();
    while steady_from.elapsed() < shared.steady {
        sleep(Duration::from_secs(5)).await;
        least = least.min(readiness(&client, None).await?.ready);
        counts += 1;
        most.note(&cluster)?;
    }
    let detail = format!(
        "{} nodes Ready after {ready_seconds} s, at least {least} Ready in {counts} counts over {} s; at most {} MB: {}",
        shared.nodes,
        shared.steady.as_secs(),
        most.sum,
        most.by_server,
    );
    cluster.down().await?;
    let (ready_least, resident_megabytes_most) = (i64::try_from(least)?, most.sum);
    Ok(ClusterResult { ready_seconds, ready_least, resident_megabytes_most, detail })
}

/// The most memory that the servers together held, in MB.
#[derive(Default)]
struct PeakMemory {
    sum: i64,
    by_server: String,
}

impl PeakMemory {
    fn note(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        let servers = cluster.resident_bytes_by_server();
        let sum = i64::try_from(servers.iter().map(|(_, bytes)| bytes).sum::<u64>() / 1_000_000)?;
        if sum > self.sum {
            let parts: Vec<_> = servers.iter().map(|(name, bytes)| format!("{name} {}", bytes / 1_000_000)).collect();
            *self = Self { sum, by_server: parts.join(", ") };
        }
        Ok(())
    }
}

/// Starts the clock, the servers and the creation of the nodes. Building the servers is not part of it.
async fn start(nodes: usize) -> anyhow::Result<(Cluster, Fleet, Instant)> {
    Servers::ensure(&progress).await?;
    let started = Instant::now();
    let options = Options { nodes_max: nodes, parts: vec![OptionalServer::ControllerManager, OptionalServer::Kwok] };
    let cluster = testbed::own(options).await?;
    let fleet = Fleet::new(nodes, 8, 1);
    fleet.create(&cluster.client().await?, &progress).await?;
    Ok((cluster, fleet, started))
}

fn progress(step: ProgressEvent) {
    let (word, done, of) = match step {
        ProgressEvent::Building { program, done, of } => {
            return output::note(format_args!("building {program}: {done} of {of}"));
        }
        ProgressEvent::WaitingForBuild => return output::note("waiting for another process that builds the servers"),
        ProgressEvent::Starting(program) => return output::note(format_args!("starting {program}")),
        ProgressEvent::Creating { done, of } => ("created", done, of),
        ProgressEvent::Readying { done, of } => ("Ready", done, of),
    };
    // Twenty lines a phase are enough for a log.
    if done == of || done.is_multiple_of((of / 20).max(1)) || word == "Ready" {
        output::note(format_args!("{word} {done} of {of}"));
    }
}

async fn one_thousand(context: &Context) -> anyhow::Result<Measurement> {
    const NODES: usize = 1_000;
    let (cluster, fleet, started) = start(NODES).await?;
    let readiness = fleet.wait_ready(&cluster.client().await?, Duration::from_mins(3), &progress).await?;
    if readiness.ready < NODES {
        bail!("only {} of {NODES} nodes were Ready after {} s", readiness.ready, started.elapsed().as_secs());
    }
    let ready_seconds = started.elapsed().as_millis().div_ceil(1_000);
    let resident = cluster.resident_bytes() / 1_000_000;

    let levels = labels::LEVELS.join(",");
    let listed = cluster.run_kubectl(&["get", "nodes", "--no-headers", "-L", &levels]).await?;
    let placed = listed.lines().filter(|line| columns(line).is_some_and(|columns| columns == 5 + labels::LEVELS.len()));
    let placed = placed.count();
    ensure!(placed == NODES, "kubectl shows all {} levels for {placed} of {NODES} nodes", labels::LEVELS.len());

    let deploy = context.workspace.root.join("deploy");
    cluster.install_crds(&deploy).await.context("the definitions were not established")?;
    let applied =
        cluster.apply(&deploy.join("examples")).await.context("an example was not taken without a warning")?;
    let applied = applied.matches("serverside-applied").count();
    let detail = format!(
        "{NODES} nodes, {placed} placed in the fabric, {applied} examples applied, {resident} MB for all servers"
    );
    cluster.down().await?;
    Ok(Measurement { value: i64::try_from(ready_seconds)?, detail })
}

/// How many columns a Ready node's line has; a node that is not Ready counts for none.
fn columns(line: &str) -> Option<usize> {
    let words: Vec<_> = line.split_whitespace().collect();
    (words.get(1) == Some(&"Ready")).then_some(words.len())
}
