//! Proof that the tour and the installation pages work: a test runs every command as printed, on real servers. The slice for
//! CI is that test without the part that builds the programs and starts the cluster.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::time::timeout;
use xtask::command;

use crate::prove::{Context, Measurement, Proof};

/// A fresh machine compiles the workspace and the servers first.
const LIMIT: Duration = Duration::from_mins(115);
const TEST: [&str; 8] =
    ["test", "--quiet", "--workspace", "--test", "tour", "--", "--include-ignored", "--test-threads=1"];

pub(super) const PROOF: Proof = Proof { name: "tour", run: |context: &Context| Box::pin(measure(context)) };

async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let mut cargo = command::cargo(&context.workspace.root);
    cargo.args(TEST).stdout(Stdio::piped());
    let Ok(output) = timeout(LIMIT, cargo.output()).await else {
        bail!("the commands had not ended after {} s", LIMIT.as_secs());
    };
    let text = String::from_utf8(output.context("cannot start cargo")?.stdout)?;
    let (passed, failed) = counts(&text).with_context(|| format!("no result of the test: {text}"))?;
    let detail = format!("{passed} groups of commands ran as printed, {failed} did not\n{text}");
    Ok(Measurement { value: failed, detail })
}

/// Reads `test result: ok. 8 passed; 0 failed; …`.
fn counts(text: &str) -> Option<(i64, i64)> {
    let line = text.lines().find(|line| line.starts_with("test result:"))?;
    let count = |what: &str| {
        let words: Vec<&str> = line.split([' ', ';']).collect();
        let at = words.iter().position(|word| *word == what)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    Some((count("passed")?, count("failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_the_test_is_read() {
        let text =
            "\nrunning 8 tests\n........\ntest result: FAILED. 7 passed; 1 failed; 0 ignored; finished in 86.12s\n";
        assert_eq!(counts(text), Some((7, 1)));
        assert_eq!(counts("error: could not compile"), None);
    }
}
