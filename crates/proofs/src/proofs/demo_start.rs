//! Proof of the first minutes: the release binary, in an empty root, without a network but the loopback, and a
//! browser that opens what it printed.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use xtask::{command, dist};

use crate::prove::{Context, Measurement, Proof};

pub(super) const PROOF: Proof = Proof { name: "demo-start", run: |context| Box::pin(measure(context)) };

/// The demo script twice, once at the speed of a demo.
const RUN_LIMIT: Duration = Duration::from_mins(5);

const MEMORY_KB_MAX: u64 = 150_000;
const SCRIPT_MAX: Duration = Duration::from_mins(2);

/// Times and findings that `ui/e2e/start.mjs` prints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartReport {
    drawn_ms: i64,
    story_ms: u64,
    end_ms: u64,
    peak_kb: u64,
    exit: serde_json::Value,
    violations: u64,
    same: bool,
    /// Network interfaces other than the loopback.
    interfaces: Vec<String>,
}

async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let binary = dist::binary(&context.workspace).await?;
    let root = tempfile::tempdir().context("an empty root")?;
    let megabytes = fs::copy(&binary, root.path().join("mainstay")).context("cannot copy the binary")? / 1_000_000;
    // A network namespace of its own has a loopback that is down, and nothing else.
    let mut alone = command::program("unshare", &context.workspace.root.join("ui"));
    alone.args(["--map-root-user", "--net", "--", "sh", "-c", "ip link set lo up && exec node e2e/start.mjs"]);
    alone.env("ROOT", root.path());
    let line = command::text(&mut alone, RUN_LIMIT).await?;
    let seen: StartReport = serde_json::from_str(line.trim()).with_context(|| format!("what was measured: {line}"))?;
    let StartReport { drawn_ms, story_ms, end_ms, peak_kb, exit, violations, same, interfaces } = seen;
    ensure!(interfaces.is_empty(), "there was a network: {}", interfaces.join(", "));
    ensure!(exit == 0, "it ended with {exit}");
    ensure!(violations == 0, "the auditor found {violations} violations");
    ensure!(same, "the same seed gave another output");
    ensure!(peak_kb <= MEMORY_KB_MAX, "it held {peak_kb} kB");
    context.within("the demo script", Duration::from_millis(story_ms), SCRIPT_MAX)?;
    let detail = format!(
        "binary of {megabytes} MB, drawn after {drawn_ms} ms, demo script ended after {} s, {} MB at most, ended {end_ms} ms after Ctrl-C",
        story_ms / 1_000,
        peak_kb / 1_000,
    );
    Ok(Measurement { value: drawn_ms, detail })
}
