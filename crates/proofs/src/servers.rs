//! Test servers of the proofs. The first use on a machine builds them, which takes minutes, so it happens before the clock of
//! a proof starts. [`testbed`] builds and keeps them.

use std::time::Instant;

use testbed::real_node::NodePrograms;
use testbed::{Helm, ProgressEvent, Servers};
use xtask::exit::Exit;
use xtask::figures::TestServers;
use xtask::output;

/// Builds what tests and proofs start in CI: the newest servers, the programs of real nodes and Helm.
pub(crate) async fn run() -> anyhow::Result<Exit> {
    let start = Instant::now();
    ensure(TestServers::Newest).await?;
    output::note(format_args!("servers: ready ({})", output::seconds(start.elapsed())));
    let start = Instant::now();
    NodePrograms::ensure().await?;
    output::note(format_args!("kubelet: ready ({})", output::seconds(start.elapsed())));
    let start = Instant::now();
    Helm::ensure().await?;
    output::note(format_args!("helm: ready ({})", output::seconds(start.elapsed())));
    Ok(Exit::Holds)
}

/// Builds the servers that the cache does not have, and prints each program that it builds.
pub(crate) async fn ensure(servers: TestServers) -> anyhow::Result<()> {
    match servers {
        TestServers::Unused => {}
        TestServers::Newest => drop(Servers::ensure(&print).await?),
        TestServers::Oldest => drop(Servers::oldest(&print).await?),
    }
    Ok(())
}

fn print(step: ProgressEvent) {
    if let ProgressEvent::Building { program, done, of } = step {
        output::note(format_args!("servers: building {program} ({} of {of}), once per machine", done + 1));
    }
}
