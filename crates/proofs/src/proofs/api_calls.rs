//! Proof that the HTTP API matches its OpenAPI document: schemathesis makes calls from the document, right ones and wrong ones,
//! to a demo that runs, and judges every answer.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::timeout;
use xtask::{command, dist, tools};

use crate::prove::{Context, Measurement, Proof};

pub(super) const PROOF: Proof = Proof { name: "api-calls", run: |context| Box::pin(measure(context)) };

/// A demo prints its address at once.
const BEGIN_LIMIT: Duration = Duration::from_secs(20);
/// A few thousand calls.
const CALLS_LIMIT: Duration = Duration::from_mins(10);
/// Calls of one kind that are made up.
const EXAMPLES: &str = "40";
/// Fewer would not be a test.
const CALLS_MIN: i64 = 1_000;

/// The address in the first line that a demo prints.
#[derive(Deserialize)]
struct DemoAddress {
    address: String,
}

async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let root = &context.workspace.root;
    let binary = dist::binary(&context.workspace).await?;
    let python = tools::python(root, "schemathesis").await?;
    let mut demo = command::program(binary, root);
    // Crowded: there are incidents, breakers and jobs to be asked for.
    demo.args(["demo", "--script", "crowded", "--port", "0", "--output", "json"]).stdout(Stdio::piped());
    let mut demo = demo.spawn().context("cannot start the demo")?;
    let mut lines = BufReader::new(demo.stdout.take().context("its output")?).lines();
    let line = timeout(BEGIN_LIMIT, lines.next_line()).await.context("the demo said nothing")??.unwrap_or_default();
    let DemoAddress { address } =
        serde_json::from_str(&line).with_context(|| format!("the first line of a demo: {line}"))?;

    // Schemathesis stores its findings for the next run; here every run is the first.
    let scratch = tempfile::tempdir().context("a scratch folder")?;
    let mut calls = command::program(python.join("bin/schemathesis"), scratch.path());
    calls.args(["run", &format!("{address}/openapi.json"), "--checks", "all", "--continue-on-failure", "--no-color"]);
    calls.args(["--phases", "examples,coverage,fuzzing", "--seed", "7", "--max-examples", EXAMPLES]);
    // A stream has no end; it is read in the tests of the server and of the page.
    calls.args(["--exclude-path", "/api/v1/stream"]);
    let output =
        timeout(CALLS_LIMIT, calls.stdout(Stdio::piped()).output()).await.context("the calls did not end")??;
    let told = String::from_utf8_lossy(&output.stdout);
    let alive = demo.try_wait().context("cannot look after the demo")?.is_none();
    demo.start_kill().context("cannot end the demo")?;
    ensure!(alive, "the demo ended under the calls");
    let Some((made, failed)) = counts(&told) else { bail!("schemathesis printed no counts:\n{told}") };
    ensure!(made >= CALLS_MIN, "only {made} calls were made");
    ensure!(output.status.success() == (failed == 0), "schemathesis ended with {}:\n{told}", output.status);
    let detail = match failed {
        0 => format!("{made} calls, every response as documented"),
        _ => format!("{made} calls:\n{told}"),
    };
    Ok(Measurement { value: failed, detail })
}

/// Calls made and kinds of failures, from the line below `Test cases:`.
fn counts(told: &str) -> Option<(i64, i64)> {
    let line = told.lines().skip_while(|line| line.trim() != "Test cases:").nth(1)?;
    let number = |word: &str| {
        let before = line.split(word).next()?;
        before.split_whitespace().next_back()?.replace(',', "").parse().ok()
    };
    let made = number(" generated")?;
    let failed = if line.contains("unique failure") { number(" unique failure")? } else { 0 };
    Some((made, failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_summary_with_and_without_failures() {
        let told = "Test Phases:\n  x\n\nTest cases:\n  2045 generated, 12 found 10 unique failures\n";
        assert_eq!(counts(told), Some((2_045, 10)));
        assert_eq!(counts("Test cases:\n  2045 generated, 2045 passed\n"), Some((2_045, 0)));
        assert_eq!(counts("nothing was run"), None);
    }
}
