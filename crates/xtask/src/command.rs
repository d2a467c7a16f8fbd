//! Other programs, run with a time limit and with their output on stderr, because stdout is for data. It knows
//! no program in particular but cargo, which needs a clean environment.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use tokio::process::Command;
use tokio::time::timeout;

use crate::exit::Exit;
use crate::workspace::Workspace;

/// A fresh machine compiles every dependency.
const BUILD_LIMIT: Duration = Duration::from_mins(45);

/// A program that works in `folder`.
pub fn program(name: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(folder).stdin(Stdio::null()).stdout(io::stderr()).kill_on_drop(true);
    command
}

/// Cargo, working in `folder`.
pub fn cargo(folder: &Path) -> Command {
    let name = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    cargo_tool(Path::new(&name), folder)
}

/// Cargo, or a program that calls it, as if started from a shell: what `cargo run` passes to xtask is
/// dropped, so that a build script which looks at it does not run again.
pub(crate) fn cargo_tool(path: &Path, folder: &Path) -> Command {
    let mut command = program(path, folder);
    for (key, _) in env::vars_os() {
        let Some(key) = key.to_str() else { continue };
        if key.starts_with("CARGO_PKG_") || key.starts_with("CARGO_MANIFEST_") {
            command.env_remove(key);
        }
    }
    command
}

/// Builds a program of the workspace as the tests use it, and returns its path. Cargo selects features for the whole workspace:
/// with `--package`, it would compile most dependencies a second time.
pub async fn debug_program(workspace: &Workspace, name: &str) -> anyhow::Result<PathBuf> {
    let mut build = cargo(&workspace.root);
    build.args(["build", "--quiet", "--workspace", "--bin", name]);
    ensure!(holds(&mut build, BUILD_LIMIT).await? == Exit::Holds, "{name} cannot be built; see the output above");
    Ok(workspace.target_dir.join("debug").join(name))
}

/// Runs a command to its end; success means that what it checks holds.
pub async fn holds(command: &mut Command, limit: Duration) -> anyhow::Result<Exit> {
    Ok(if status(command, limit).await?.success() { Exit::Holds } else { Exit::DoesNotHold })
}

/// Runs a command to its end.
pub(crate) async fn status(command: &mut Command, limit: Duration) -> anyhow::Result<ExitStatus> {
    let name = describe(command);
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    match timeout(limit, child.wait()).await {
        Ok(status) => status.with_context(|| format!("cannot wait for {name}")),
        Err(_) => bail!("{name} was stopped: it had not ended after {} s", limit.as_secs()),
    }
}

/// Runs a command that must succeed and returns its stdout.
pub async fn text(command: &mut Command, limit: Duration) -> anyhow::Result<String> {
    let name = describe(command);
    let output = timeout(limit, command.stdout(Stdio::piped()).stderr(Stdio::piped()).output())
        .await
        .map_err(|_| anyhow!("{name} was stopped: it had not ended after {} s", limit.as_secs()))?
        .with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} did not print UTF-8"))
}

fn describe(command: &Command) -> String {
    let command = command.as_std();
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}
