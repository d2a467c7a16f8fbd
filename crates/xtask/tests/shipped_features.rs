//! No shipped binary can turn off a safety rule of the engine.

use std::process::Stdio;
use std::time::Duration;

use anyhow::ensure;
use tokio::process::Command;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(120);

/// The features of the engine that cargo would compile for a package, and for which reason.
async fn features_of_the_engine(arguments: &[&str]) -> anyhow::Result<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--edges", "normal,features", "--invert", "mainstay-engine"]);
    cargo.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(LIMIT, cargo.output()).await??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test]
async fn the_release_build_cannot_turn_off_a_guard() -> anyhow::Result<()> {
    let shipped = features_of_the_engine(&["--package", "mainstay"]).await?;
    ensure!(shipped.contains("mainstay-engine"), "{shipped}");
    ensure!(!shipped.contains("disable-guards"), "{shipped}");
    // A developer build can, so the test above looks for the right word.
    let developer = features_of_the_engine(&["--package", "mainstay", "--features", "mainstay/developer"]).await?;
    ensure!(developer.contains("disable-guards"), "{developer}");
    Ok(())
}
