//! Tasks that need the product are programs of other crates, `generate` and `proofs`, so that this crate compiles in seconds.
//! This file builds and starts them; their exit codes are the ones of `cargo xtask`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::command;
use crate::exit::Exit;

/// Ends a program that hangs. The work inside has its own, shorter limits; all proofs together take less than a day.
const LIMIT: Duration = Duration::from_hours(24);

/// A fresh machine compiles every dependency.
const BUILD_LIMIT: Duration = Duration::from_mins(45);

/// Builds and runs the program of a crate. Its stdout is the stdout of this task.
pub(crate) async fn run(package: &str, args: &[impl AsRef<OsStr>]) -> anyhow::Result<Exit> {
    let status = command::status(program(package, args).await?.stdout(Stdio::inherit()), LIMIT).await?;
    Ok(status.into())
}

/// Builds and runs the program of a crate, and hands over each line of its stdout.
pub(crate) async fn lines(
    package: &str,
    args: &[impl AsRef<OsStr>],
    mut each: impl FnMut(String) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let mut child = program(package, args).await?.stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    let ended = timeout(LIMIT, async {
        while let Some(line) = lines.next_line().await? {
            each(line)?;
        }
        anyhow::Ok(child.wait().await?)
    });
    match ended.await {
        Ok(status) => Ok(status?.into()),
        Err(_) => bail!("{package} was stopped: it had not ended after {} s", LIMIT.as_secs()),
    }
}

/// Builds the program and returns the command that starts it. Cargo selects features for the whole workspace here, as it does
/// for the tests: with `cargo run --package`, it would compile most dependencies a second time.
async fn program(package: &str, args: &[impl AsRef<OsStr>]) -> anyhow::Result<Command> {
    let mut build = command::cargo(Path::new("."));
    build.args(["build", "--quiet", "--workspace", "--bin", package]);
    let built = command::status(&mut build, BUILD_LIMIT).await?;
    ensure!(built.success(), "{package} cannot be built; see the output above");
    let task = std::env::current_exe().context("this program has no path")?;
    // Both are programs of one workspace, so cargo puts them into one folder.
    let mut command = command::program(task.with_file_name(package), Path::new("."));
    command.args(args);
    Ok(command)
}
