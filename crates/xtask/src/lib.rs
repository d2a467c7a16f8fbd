//! The task runner of Mainstay: `cargo xtask <task>`. This file lists the subcommands; each is a module. It uses no product
//! crate: tasks that need one are in the crates `generate` and `proofs`, which share the public modules.

mod check;
mod ci;
pub mod command;
pub mod commit;
mod delegate;
pub mod dist;
pub mod exit;
pub mod figures;
mod fuzz;
pub mod images;
pub mod output;
pub mod problem;
mod prove;
pub mod release;
mod sentences;
pub mod tidy;
pub mod tools;
mod web_ui;
pub mod workspace;

use std::ffi::OsString;
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
    // The crate `proofs` parses the arguments and prints their help.
    #[command(disable_help_flag = true)]
    Cluster {
        /// Subcommand and options: `up`, `down`, `status`, `--help`.
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        args: Vec<OsString>,
    },
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
}

/// Runs the task of the command line.
pub async fn run() -> ExitCode {
    exit::code(run_task(Cli::parse().task).await)
}

async fn run_task(task: Task) -> anyhow::Result<Exit> {
    Ok(match task {
        Task::Check(args) => check::run(&Workspace::load().await?, &args).await?,
        Task::Fix => check::fix(&Workspace::load().await?).await?,
        Task::Tidy { fix: true, output: _ } => tidy::fix(&Workspace::load().await?)?,
        Task::Tidy { fix: false, output } => tidy::run(&Workspace::load().await?, output)?,
        Task::Gen { check } => delegate::run("generate", if check { &["--check"] } else { &[] }).await?,
        Task::Dist(args) => dist::run(&Workspace::load().await?, &args).await?,
        Task::Release(args) => release::run(&Workspace::load().await?, &args).await?,
        Task::Images(args) => images::run(&Workspace::load().await?, &args).await?,
        Task::Cluster { mut args } => {
            args.insert(0, "cluster".into());
            delegate::run("proofs", &args).await?
        }
        Task::Prove(args) => prove::run(&args).await?,
        Task::Fuzz(args) => fuzz::run(&Workspace::load().await?, &args).await?,
        Task::Sentences(args) => sentences::run(&Workspace::load().await?, &args).await?,
        Task::Ci => ci::run(Workspace::load().await?).await?,
    })
}
