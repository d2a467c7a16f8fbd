//! `cargo xtask ci`: everything that a change must pass, on a fresh machine as on a warm one, in the shortest time two
//! cores allow. It has no checks of its own: it runs the other subcommands in order.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::check::{self, DEVELOPER, Step};
use crate::exit::Exit;
use crate::tools::{self, DENY, NEXTEST};
use crate::workspace::Workspace;
use crate::{command, delegate, fuzz, output, prove};

/// A fresh machine compiles every dependency here.
const BUILD_LIMIT: Duration = Duration::from_secs(45 * 60);

/// Everything before the tests, in the order in which a mistake is cheapest to find.
const BEFORE_BUILD: &[Step] = &[Step::Fmt, Step::Tidy, Step::Gen, Step::Page, Step::Clippy];

/// Runs everything. The long builds of third-party programs (servers, cargo tools) run in parallel with our own; the tests
/// come last, so that their summary closes the output.
pub(crate) async fn run(workspace: Workspace) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let servers = tokio::spawn(async {
        let start = Instant::now();
        let built = delegate::run("proofs", &["servers"]).await?;
        ensure!(built == Exit::Holds, "the test servers cannot be built; see the output above");
        output::note(format_args!("ci servers: ready ({})", output::seconds(start.elapsed())));
        anyhow::Ok(())
    });
    let root = workspace.root.clone();
    let tools = tokio::spawn(async move {
        let start = Instant::now();
        // First, because it is short and fails on a machine without Python or network.
        tools::python(&root, "nvidia-ml-py").await?;
        tools::python(&root, "schemathesis").await?;
        DENY.ensure().await?;
        NEXTEST.ensure().await?;
        output::note(format_args!("ci tools: ready ({})", output::seconds(start.elapsed())));
        anyhow::Ok(())
    });

    for step in BEFORE_BUILD {
        if check::run_step(*step, &workspace).await? != Exit::Holds {
            return Ok(Exit::DoesNotHold);
        }
    }
    if build_tests(&workspace).await? != Exit::Holds {
        return Ok(Exit::DoesNotHold);
    }
    tools.await.context("building the cargo tools was aborted")??;
    if check::run_step(Step::Deny, &workspace).await? != Exit::Holds {
        return Ok(Exit::DoesNotHold);
    }
    servers.await.context("building the test servers was aborted")??;

    // A missed goal does not hide the results of the tests.
    let missed = prove::run_in_ci().await?;
    let mut broken: Vec<String> = missed.iter().map(|name| format!("the goal of {name}")).collect();
    match fuzz::run_in_ci(&workspace).await {
        Ok(Exit::Holds) => {}
        Ok(_) => broken.push("a fuzz target".to_owned()),
        Err(error) => broken.push(format!("the fuzzer ({error:#})")),
    }
    for (step, what) in [(Step::Browser, "the web UI in a browser"), (Step::Test, "a test")] {
        if check::run_step(step, &workspace).await? != Exit::Holds {
            broken.push(what.to_owned());
        }
    }
    let took = output::seconds(start.elapsed());
    if broken.is_empty() {
        output::note(format_args!("ci: everything holds ({took})"));
        return Ok(Exit::Holds);
    }
    output::note(format_args!("ci: does not hold: {} ({took})", broken.join(", ")));
    Ok(Exit::DoesNotHold)
}

/// Compiles the tests while the servers are still being built; plain cargo makes the same files as nextest.
async fn build_tests(workspace: &Workspace) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["test", "--workspace", "--no-run", "--quiet", "--features", DEVELOPER]);
    let exit = command::holds(&mut cargo, BUILD_LIMIT).await?;
    output::note(format_args!("ci build: tests compiled ({})", output::seconds(start.elapsed())));
    Ok(exit)
}
