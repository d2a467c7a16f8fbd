//! Many agents in one process, each with the token of its own pod and a client of its own. The proof `agent-cell` starts a
//! few of these and reads their output.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use mainstay_agent::reporter::{Reporter, RequestCounts};
use mainstay_model::BootId;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use xtask::exit::Exit;
use xtask::output;

/// How often progress is printed.
const SAY_EVERY: Duration = Duration::from_secs(1);
/// The proof that started it gives up long before.
const AT_MOST: Duration = Duration::from_hours(1);

/// Agents to run, and their API server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URL of the API server.
    #[arg(long)]
    server: String,
    /// CA certificate of the API server.
    #[arg(long)]
    server_ca: PathBuf,
    /// Folder of tokens, one file per agent number.
    #[arg(long)]
    tokens: PathBuf,
    /// First agent number.
    #[arg(long)]
    first: usize,
    /// Number of agents.
    #[arg(long)]
    count: usize,
    /// Sequence number before the first report.
    #[arg(long)]
    sequence: u64,
}

/// Agents, requests and written reports of this process so far.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(crate) agents: usize,
    /// Agents that have written a report.
    pub(crate) reported: usize,
    pub(crate) requests: u64,
    /// Requests of the agent with the most.
    pub(crate) requests_most: u64,
    pub(crate) written: u64,
    pub(crate) failed: u64,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let (mut agents, mut asked): (JoinSet<()>, Vec<RequestCounts>) = (JoinSet::new(), Vec::new());
    for number in args.first..args.first + args.count {
        let boot = BootId::parse(&format!("2c4f2c9e-0a55-4a8f-8a75-{number:012x}"))?;
        let token = args.tokens.join(number.to_string());
        let joined = Reporter::join(&args.server, args.server_ca.clone(), token, (boot, args.sequence)).await;
        let reporter = joined.map_err(|problem| anyhow::anyhow!("{problem:?}"))?.context("no cluster")?;
        asked.push(reporter.request_counts());
        agents.spawn(reporter.run());
    }
    let begun = Instant::now();
    while begun.elapsed() < AT_MOST {
        output::json(&doing(&asked))?;
        sleep(SAY_EVERY).await;
    }
    Ok(Exit::Holds)
}

fn doing(asked: &[RequestCounts]) -> Progress {
    Progress {
        agents: asked.len(),
        reported: asked.iter().filter(|one| one.written() > 0).count(),
        requests: asked.iter().map(RequestCounts::requests).sum(),
        requests_most: asked.iter().map(RequestCounts::requests).max().unwrap_or(0),
        written: asked.iter().map(RequestCounts::written).sum(),
        failed: asked.iter().map(RequestCounts::failed).sum(),
    }
}
