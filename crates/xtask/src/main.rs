//! Every chore behind one door: `cargo xtask <word>`. Here are only the words; each is a module.

mod agents;
mod check;
mod ci;
mod cluster;
mod command;
mod dist;
mod exit;
mod fuzz;
mod generate;
mod images;
mod output;
mod page;
mod problem;
mod proofs;
mod prove;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::output::Format;
use crate::workspace::Workspace;

/// Every chore of Mainstay behind one door.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", after_help = exit::CODES, max_term_width = 100)]
struct Door {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Check everything a change must pass: fmt, tidy, gen, page, clippy, deny, browser, test.
    #[command(after_help = "Examples:\n  cargo xtask check\n  cargo xtask check --only fmt,clippy")]
    Check(check::Args),
    /// Mend what can be mended without thought: formatting, lints, generated files.
    Fix,
    /// Check what no compiler does: dependency direction, names, manifests, links.
    #[command(after_help = "Examples:\n  cargo xtask tidy\n  cargo xtask tidy -o json | jq '.problems[].what'")]
    Tidy {
        /// How findings are written.
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
    },
    /// Write the generated files.
    #[command(after_help = "Examples:\n  cargo xtask gen\n  cargo xtask gen --check")]
    Gen {
        /// Write nothing; tell which files are stale.
        #[arg(long)]
        check: bool,
    },
    /// Build the static binary that people download, its web page inside, and print where it is.
    #[command(after_help = "Examples:\n  cargo xtask dist\n  $(cargo xtask dist) demo")]
    Dist,
    /// Make the images of controller and agent from their release binaries, each an OCI layout with its SBOM beside it.
    #[command(after_help = "Examples:\n  cargo xtask images\n  cargo xtask images --out /tmp/images -o json\n  \
                            skopeo copy oci:/tmp/images/mainstay docker://registry.example/mainstay:0.1.0")]
    Images(images::Args),
    /// Start, show and end real clusters on this machine.
    Cluster(cluster::ClusterArgs),
    /// Find the project's figures again, one JSON line each.
    #[command(after_help = "Examples:\n  cargo xtask prove --list\n  cargo xtask prove crate-map\n  \
                            cargo xtask prove crate-map --record")]
    Prove(prove::Args),
    /// Try readers of hostile words on inputs that a fuzzer makes, from the stored corpora.
    #[command(after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz --only kernel_line,sysfs --seconds 600")]
    Fuzz(fuzz::Args),
    /// Do what CI does: build what is missing, check, prove and test.
    Ci,
    /// Stand for many nodes with an agent each; the proof `agent-cell` starts it.
    #[command(hide = true)]
    Agents(agents::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let door = Door::parse();
    match open(door.word).await {
        Ok(code) => code,
        Err(error) => {
            output::note(format_args!("error: {error:#}"));
            Exit::CouldNotRun.into()
        }
    }
}

async fn open(word: Word) -> anyhow::Result<ExitCode> {
    let exit = match word {
        Word::Check(args) => check::run(&Workspace::load().await?, &args).await?,
        Word::Fix => check::fix(&Workspace::load().await?).await?,
        Word::Tidy { output } => tidy::run(&Workspace::load().await?, output)?,
        Word::Gen { check: false } => generate::write(&Workspace::load().await?)?,
        Word::Gen { check: true } => generate::check(&Workspace::load().await?)?,
        Word::Dist => dist::run(&Workspace::load().await?).await?,
        Word::Images(args) => images::run(&Workspace::load().await?, &args).await?,
        Word::Cluster(args) => cluster::run(args).await?,
        Word::Prove(args) => prove::run(Workspace::load().await?, &args).await?,
        Word::Fuzz(args) => fuzz::run(&Workspace::load().await?, &args).await?,
        Word::Ci => ci::run(Workspace::load().await?).await?,
        Word::Agents(args) => agents::run(&args).await?,
    };
    Ok(exit.into())
}
