//! Tasks that need the product are programs of other crates, `generate` and `proofs`, so that this crate compiles in seconds.
//! This file builds and starts them; their exit codes are the ones of `cargo xtask`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::command;
use crate::exit::Exit;
use crate::workspace::Workspace;

/// Ends a program that hangs. The work inside has its own, shorter limits; all proofs together take less than a day.
const LIMIT: Duration = Duration::from_hours(24);

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

/// Builds the program and returns the command that starts it.
async fn program(package: &str, args: &[impl AsRef<OsStr>]) -> anyhow::Result<Command> {
    let program = command::debug_program(&Workspace::load().await?, package).await?;
    let mut command = command::program(program, Path::new("."));
    command.args(args);
    Ok(command)
}
