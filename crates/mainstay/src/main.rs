//! The one binary for people. Today it tells its version, renders what a cluster needs to hold the fence, runs the
//! controller of a cluster, runs the virtual fleet, and shows one live.

mod ask;
mod assess;
mod cli;
mod cluster;
mod demo;
mod draw;
mod http;
mod manifests;
mod output;
mod paint;
mod serve;
mod sim;
mod stops;
mod ui;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(said) => output::print(&said),
        Err(problem) => output::fail(&problem),
    }
}
