//! The node agent's program.

use std::process::ExitCode;

use clap::Parser as _;
use mainstay_agent::{cli, output};

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(said) => output::print(&said),
        Err(problem) => output::fail(&problem),
    }
}
