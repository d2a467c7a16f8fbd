//! `cargo xtask cluster`: real Kubernetes servers with KWOK nodes on this machine, by name. [`testbed`] starts the cluster;
//! this file has the subcommands, their output and their exit codes.

mod progress;
mod report;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, Subcommand};
use testbed::named_clusters::{self, Name, Plan, RemovalOutcome};
use testbed::{Fleet, OptionalServer, Options};
use xtask::exit::Exit;
use xtask::output::{self, Format};

use self::progress::Progress;
use self::report::{RemovedClusters, Report};

const UP_EXAMPLES: &str = "\
Examples:
  cargo xtask cluster up --nodes 1000
  export KUBECONFIG=$(cargo xtask cluster up --nodes 100 --gpus 4 --name nvl72)
  cargo xtask cluster up --nodes 16 --scheduler --seed 7 -o json | jq .nodes

Prints only the path of the kubeconfig on stdout. Run again with the same options, it
continues an interrupted run; with other options, it fails.

Exit codes:
  0  every node is Ready
  1  some node was not Ready in time; the servers keep running
  2  usage
  3  could not run: a server does not start, another cluster has the name";

const DOWN_EXAMPLES: &str = "\
Examples:
  cargo xtask cluster down
  cargo xtask cluster down --name nvl72
  cargo xtask cluster down --all -o json

Exit codes:
  0  the cluster is removed, or did not exist
  2  usage
  3  could not run: a process does not stop";

const STATUS_EXAMPLES: &str = "\
Examples:
  cargo xtask cluster status
  cargo xtask cluster status --name dev -o json | jq '.[0].resident_bytes'

Exit codes:
  0  every server runs and every node is Ready
  1  something does not run, is not Ready, or there is no cluster of that name
  2  usage
  3  could not run: the API server does not answer";

/// Test clusters: real Kubernetes servers with KWOK nodes.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Start a test cluster and wait until its nodes are Ready.
    #[command(after_help = UP_EXAMPLES)]
    Up(UpArgs),
    /// Stop a test cluster and delete its data.
    #[command(after_help = DOWN_EXAMPLES)]
    Down {
        /// Name of the cluster.
        #[arg(long, default_value = "dev", conflicts_with = "all")]
        name: Name,
        /// Stop all test clusters.
        #[arg(long)]
        all: bool,
        /// Output format.
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
    },
    /// Show nodes, version, memory and kubeconfig of each test cluster.
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// Name of the cluster [default: all].
        #[arg(long)]
        name: Option<Name>,
        /// Output format.
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
    },
}

/// Size, name and options of a new test cluster.
#[derive(Debug, Args)]
struct UpArgs {
    /// Number of nodes.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// GPUs per node: 8 for HGX, 4 for NVL72 racks.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=16))]
    gpus: u32,
    /// Random seed for GPU models, driver versions and gaps in racks.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Name of the cluster; several can run at the same time.
    #[arg(long, default_value = "dev")]
    name: Name,
    /// Also run the default scheduler.
    #[arg(long)]
    scheduler: bool,
    /// Time limit for Ready nodes [default: 60, plus 60 per 1,000 nodes].
    #[arg(long)]
    wait_seconds: Option<u64>,
    /// Output format.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// Runs the subcommand.
pub(crate) async fn run(args: ClusterArgs) -> Result<Exit> {
    match args.task {
        Task::Up(args) => up(&args).await,
        Task::Down { name, all, output } => down(if all { named_clusters::list()? } else { vec![name] }, output).await,
        Task::Status { name, output } => status(name, output).await,
    }
}

async fn up(args: &UpArgs) -> Result<Exit> {
    let begun = Instant::now();
    let shown = Progress::new();
    let plan = plan(args)?;
    let cluster = named_clusters::up(&args.name, &plan, &|step| shown.step(step)).await?;
    let client = cluster.client().await?;
    plan.fleet.create(&client, &|step| shown.step(step)).await?;
    let wait =
        Duration::from_secs(args.wait_seconds.unwrap_or_else(|| 60 + 60 * u64::from(args.nodes.div_ceil(1_000))));
    let readiness = plan.fleet.wait_ready(&client, wait, &|step| shown.step(step)).await?;
    shown.end();

    let report = Report::of(&args.name).await?;
    let took = output::seconds(begun.elapsed());
    output::note(format_args!("{} of {} nodes Ready after {took}", readiness.ready, plan.fleet.nodes));
    output::note(format_args!("try: {} --kubeconfig {} get nodes", report.kubectl(), report.kubeconfig()));
    match args.output {
        Format::Text => output::line(report.kubeconfig())?,
        Format::Json => output::json(&report)?,
    }
    Ok(if readiness.ready >= plan.fleet.nodes { Exit::Holds } else { Exit::DoesNotHold })
}

fn plan(args: &UpArgs) -> Result<Plan> {
    let mut parts = vec![OptionalServer::ControllerManager, OptionalServer::Kwok];
    if args.scheduler {
        parts.push(OptionalServer::Scheduler);
    }
    let nodes = usize::try_from(args.nodes)?;
    Ok(Plan { options: Options { nodes_max: nodes, parts }, fleet: Fleet::new(nodes, args.gpus, args.seed) })
}

async fn down(names: Vec<Name>, format: Format) -> Result<Exit> {
    let mut removed = RemovedClusters::default();
    for name in names {
        match named_clusters::down(&name).await? {
            RemovalOutcome::Removed => removed.add(&name),
            RemovalOutcome::Absent => output::note(format_args!("there is no cluster \"{name}\"")),
        }
    }
    match format {
        Format::Text => removed.names().try_for_each(|name| output::line(format_args!("{name} is down")))?,
        Format::Json => output::json(&removed)?,
    }
    Ok(Exit::Holds)
}

async fn status(name: Option<Name>, format: Format) -> Result<Exit> {
    let all = named_clusters::list()?;
    let wanted: Vec<Name> = all.into_iter().filter(|it| name.as_ref().is_none_or(|name| name == it)).collect();
    if let Some(name) = &name
        && wanted.is_empty()
    {
        output::note(format_args!("there is no cluster \"{name}\""));
        return Ok(Exit::DoesNotHold);
    }
    if wanted.is_empty() {
        output::note("there is no cluster; start one with: cargo xtask cluster up");
    }
    let mut reports = Vec::new();
    for name in &wanted {
        reports.push(Report::of(name).await?);
    }
    match format {
        Format::Text => reports.iter().try_for_each(output::line)?,
        Format::Json => output::json(&reports)?,
    }
    Ok(if reports.iter().all(Report::holds) { Exit::Holds } else { Exit::DoesNotHold })
}
