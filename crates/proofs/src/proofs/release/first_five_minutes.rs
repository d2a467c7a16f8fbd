//! The first minutes of a new user: unpack the tarball in an empty root, start the demo, inject a fault, read the
//! explanation in the terminal. There is no compiler, and no network but the loopback.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use xtask::{command, output};

use crate::prove::{Context, Measurement};

const SCRIPT: &str = include_str!("first_five_minutes.sh");
/// A cold build on two busy cores.
const BUILD_LIMIT: Duration = Duration::from_mins(50);
/// Longer than the goal, so that a miss is measured.
const RUN_LIMIT: Duration = Duration::from_mins(8);
/// Labels of an explanation that a user can act on.
const LABELS: [&str; 5] = ["Meaning", "Evidence", "Waiting for", "Next", "Action"];

pub(super) async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let root = &context.workspace.root;
    let mut cargo = command::cargo(root);
    let printed = command::text(cargo.args(["xtask", "dist", "--tarball"]), BUILD_LIMIT).await?;
    let tarball = root.join(printed.trim());
    let bytes = std::fs::metadata(&tarball).with_context(|| format!("no tarball at {}", tarball.display()))?.len();
    let (empty, output) = (tempfile::tempdir()?, tempfile::tempdir()?);

    let begin = Instant::now();
    // A new network namespace has only a loopback, which is down.
    let mut alone = command::program("unshare", root);
    alone.args(["--map-root-user", "--net", "--", "sh", "-c", SCRIPT]);
    alone.env("TARBALL", &tarball).env("ROOT", empty.path()).env("OUTPUT", output.path());
    let printed = command::text(&mut alone, RUN_LIMIT).await?;
    let took = begin.elapsed();

    let explanation: Vec<&str> = printed.lines().skip_while(|line| !line.contains("fell off the bus")).collect();
    output::note(explanation.join("\n"));
    for label in LABELS {
        ensure!(explanation.iter().any(|line| line.trim_start().starts_with(label)), "no line {label}: {printed}");
    }
    let detail = format!(
        "tarball of {} MB unpacked, demo started, fault injected and explained in {} lines",
        bytes / 1_000_000,
        explanation.len()
    );
    Ok(Measurement { value: i64::try_from(took.as_millis().div_ceil(1_000))?, detail })
}
