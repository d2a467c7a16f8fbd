//! The one binary for people. Today it tells its version and renders what a cluster needs to hold the fence.

mod cli;
mod manifests;
mod output;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(text) => output::print(&text),
        Err(problem) => output::fail(&problem),
    }
}
