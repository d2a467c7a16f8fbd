//! The one binary for people. Today it tells its version, renders what a cluster needs to hold the fence, runs the
//! controller of a cluster, asks a cluster how it stands, runs the virtual fleet, and shows one live.

mod ask;
mod assess;
mod called;
mod cli;
mod cluster;
mod completion;
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

use called::Called;

fn main() -> ExitCode {
    let called = Called::of_process();
    if called == Called::Completion {
        return output::print(&completion::for_kubectl(std::env::args().skip(1)));
    }
    match cli::Cli::parsed(called).run() {
        Ok(said) => output::print(&said.under(called)),
        Err(problem) => output::fail(&problem.under(called)),
    }
}
