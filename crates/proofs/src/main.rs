//! Tasks of `cargo xtask` that need the product or real servers: the proofs of the published figures, and test clusters.
//! `cargo xtask` starts this program; its exit codes are the same.

mod agents;
mod cluster;
mod proofs;
mod prove;
mod servers;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::exit::{self, Exit};

/// Proofs and test clusters of Mainstay.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", after_help = exit::CODES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run the benchmarks and checks behind every published figure.
    Prove(prove::Args),
    /// Start, list and stop test clusters on this machine.
    Cluster(cluster::ClusterArgs),
    /// Build the servers that tests and proofs start in CI.
    Servers,
    /// Run many agents in one process, for the proof `agent-cell`.
    Agents(agents::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    exit::code(run(Cli::parse().task).await)
}

async fn run(task: Task) -> anyhow::Result<Exit> {
    match task {
        Task::Prove(args) => prove::run(&args).await,
        Task::Cluster(args) => cluster::run(args).await,
        Task::Servers => servers::run().await,
        Task::Agents(args) => agents::run(&args).await,
    }
}
