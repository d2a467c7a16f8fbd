//! The `mainstay` binary: manifests, the controller, cluster status, the web UI, assessment of logs, the simulator and the
//! demo.

mod argv0;
mod assess;
mod cli;
mod commands;
mod completion;
mod demo;
mod gameday;
mod kubeconfig;
mod manifests;
mod marks;
mod output;
mod prometheus;
mod runbook;
mod serve;
mod sim;
mod ui;

use std::process::ExitCode;

use argv0::ProgramName;

fn main() -> ExitCode {
    let called = ProgramName::of_process();
    if called == ProgramName::Completion {
        return output::print(&completion::for_kubectl(std::env::args().skip(1)));
    }
    match cli::Cli::parsed(called).run() {
        Ok(said) => output::print(&said.for_program(called)),
        Err(problem) => output::fail(&output::under(problem, called)),
    }
}
