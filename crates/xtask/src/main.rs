//! The task runner of Mainstay: `cargo xtask <task>`. This file lists the subcommands; each is a module.

mod agents;
mod check;
mod ci;
mod cluster;
mod command;
mod commit;
mod dist;
mod exit;
mod fuzz;
mod generate;
mod images;
mod output;
mod problem;
mod proofs;
mod prove;
mod release;
mod sentences;
mod tidy;
mod tools;
mod web_ui;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::output::Format;
use crate::workspace::Workspace;

/// Developer tasks of Mainstay.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", after_help = exit::CODES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every check that a change must pass.
    ///
    /// The steps are fmt, tidy, gen, page, clippy, deny, browser and test, in this order.
    #[command(after_help = "Examples:\n  cargo xtask check\n  cargo xtask check --only fmt,clippy")]
    Check(check::Args),
    /// Apply automatic fixes: formatting, lints, generated files, comment limits.
    Fix,
    /// Check dependency direction, names, manifests, links, claims and plain English.
    #[command(after_help = "Examples:\n  cargo xtask tidy\n  cargo xtask tidy -o json | jq '.problems[].what'")]
    Tidy {
        /// Output format.
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
        /// Lower the limits of banned words in comments, and check nothing.
        #[arg(long, conflicts_with = "output")]
        fix: bool,
    },
    /// Write the generated files.
    #[command(after_help = "Examples:\n  cargo xtask gen\n  cargo xtask gen --check")]
    Gen {
        /// List stale files without writing them.
        #[arg(long)]
        check: bool,
    },
    /// Build the static release binary and print its path.
    #[command(after_help = "Examples:\n  cargo xtask dist\n  $(cargo xtask dist) demo\n  \
                            cargo xtask dist --arch aarch64\n  cargo xtask dist --tarball")]
    Dist(dist::Args),
    /// Build every file of a release, with sums and a signature.
    #[command(
        after_help = "Examples:\n  cargo xtask release\n  cargo xtask release --sign-key ~/.minisign/minisign.key\n  \
                            cargo xtask release --prepare"
    )]
    Release(release::Args),
    /// Build the OCI images of controller and agent, with SBOMs.
    #[command(after_help = "Examples:\n  cargo xtask images\n  cargo xtask images --out /tmp/images -o json\n  \
                            skopeo copy --all oci:/tmp/images/mainstay docker://registry.example/mainstay:0.2.0")]
    Images(images::Args),
    /// Start, list and stop test clusters on this machine.
    Cluster(cluster::ClusterArgs),
    /// Run the benchmarks and checks behind every published figure.
    #[command(after_help = "Examples:\n  cargo xtask prove --list\n  cargo xtask prove crate-map\n  \
                            cargo xtask prove crate-map --record")]
    Prove(prove::Args),
    /// Run the fuzz targets on their stored corpora.
    #[command(after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz --only kernel_line,sysfs --seconds 600")]
    Fuzz(fuzz::Args),
    /// Draw user-facing sentences for a review by another reader.
    #[command(after_help = "Examples:\n  cargo xtask sentences --count 40 --seed $(git rev-parse HEAD)")]
    Sentences(sentences::Args),
    /// Run what CI runs: builds, checks, proofs and tests.
    Ci,
    /// Run many agents in one process, for the proof `agent-cell`.
    #[command(hide = true)]
    Agents(agents::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.task).await {
        Ok(code) => code,
        Err(error) => {
            output::note(format_args!("error: {error:#}"));
            Exit::CouldNotRun.into()
        }
    }
}

async fn run(task: Task) -> anyhow::Result<ExitCode> {
    let exit = match task {
        Task::Check(args) => check::run(&Workspace::load().await?, &args).await?,
        Task::Fix => check::fix(&Workspace::load().await?).await?,
        Task::Tidy { fix: true, output: _ } => tidy::fix(&Workspace::load().await?)?,
        Task::Tidy { fix: false, output } => tidy::run(&Workspace::load().await?, output)?,
        Task::Gen { check: false } => generate::write(&Workspace::load().await?)?,
        Task::Gen { check: true } => generate::check(&Workspace::load().await?)?,
        Task::Dist(args) => dist::run(&Workspace::load().await?, &args).await?,
        Task::Release(args) => release::run(&Workspace::load().await?, &args).await?,
        Task::Images(args) => images::run(&Workspace::load().await?, &args).await?,
        Task::Cluster(args) => cluster::run(args).await?,
        Task::Prove(args) => prove::run(Workspace::load().await?, &args).await?,
        Task::Fuzz(args) => fuzz::run(&Workspace::load().await?, &args).await?,
        Task::Sentences(args) => sentences::run(&Workspace::load().await?, &args).await?,
        Task::Ci => ci::run(Workspace::load().await?).await?,
        Task::Agents(args) => agents::run(&args).await?,
    };
    Ok(exit.into())
}
