//! The static release binary, with the web UI embedded. It needs no shared library of the machine it runs on.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;

use crate::exit::Exit;
use crate::workspace::Workspace;
use crate::{command, output, web_ui};

/// No shared library, on any distribution.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";
/// A cold build on two busy cores.
const LIMIT: Duration = Duration::from_mins(30);

/// Builds the binary and prints its path.
pub(crate) async fn run(workspace: &Workspace) -> anyhow::Result<Exit> {
    let binary = binary(workspace).await?;
    output::line(format_args!("{}", binary.strip_prefix(&workspace.root).unwrap_or(&binary).display()))?;
    Ok(Exit::Holds)
}

/// Builds the binary and returns its path.
pub async fn binary(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    web_ui::build(workspace).await?;
    let mut rustup = command::program("rustup", &workspace.root);
    rustup.args(["target", "add", TARGET]);
    let added = command::holds(&mut rustup, LIMIT).await?;
    ensure!(added == Exit::Holds, "the target {TARGET} cannot be added; see the output of rustup above");
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["build", "--release", "--quiet", "--package", "mainstay", "--target", TARGET]);
    let built = command::holds(&mut cargo, LIMIT).await?;
    ensure!(built == Exit::Holds, "the static binary cannot be built; see the output of cargo above");
    Ok(workspace.target_dir.join(TARGET).join("release/mainstay"))
}
