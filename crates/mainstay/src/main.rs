//! The `mainstay` binary: manifests, the controller, cluster status, the web UI, assessment of logs, the simulator and the
//! demo.

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
