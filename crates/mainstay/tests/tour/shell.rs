//! Runs blocks of commands in one bash, as a reader does: variables and background processes of a block exist in the
//! next. The first unexpected exit code or missing output fails the run. Every process is ended afterwards.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use tokio::process::Command;

use crate::document::Block;

/// Lines of a block's output in an error.
const LINES_MAX: usize = 60;

/// Where and with which environment commands run.
pub(crate) struct Shell {
    folder: PathBuf,
    path: OsString,
    environment: Vec<(&'static str, OsString)>,
}

impl Shell {
    pub(crate) fn new(folder: &Path) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self { folder: folder.to_owned(), path, environment: Vec::new() }
    }

    /// Searches this directory for programs first.
    pub(crate) fn path(mut self, folder: &Path) -> Self {
        let mut path = folder.as_os_str().to_owned();
        path.push(":");
        path.push(&self.path);
        self.path = path;
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name, value.as_ref().to_owned()));
        self
    }

    /// Runs the blocks in order.
    pub(crate) async fn run(&self, blocks: &[Block], limit: Duration) -> Result<()> {
        let outputs = TempDir::new()?;
        let script = outputs.path().join("script");
        std::fs::write(&script, text(blocks))?;
        let mut command = Command::new("bash");
        command.arg(&script).current_dir(&self.folder).env("PATH", &self.path).env("OUTPUTS", outputs.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().context("bash cannot be run")?;
        let group = Group(child.id().context("bash has ended")?);
        let status = tokio::time::timeout(limit, child.wait()).await;
        group.end().await;
        let read = |name: String| std::fs::read_to_string(outputs.path().join(name)).unwrap_or_default();
        let begun = |at: usize| outputs.path().join(at.to_string()).exists();
        let last = (0..blocks.len()).rev().find(|at| begun(*at)).unwrap_or_default();
        let shown = || tail(&read(last.to_string()));
        let Ok(status) = status else {
            bail!("{} did not end within {limit:?}\n{}", place(blocks, last), shown());
        };
        ensure!(status?.success(), "{}\n{}", read("failed".to_owned()), shown());
        let mut missing = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            let output = read(at.to_string());
            let absent = block.output.iter().filter(|expected| !output.contains(expected.as_str()));
            missing.extend(absent.map(|expected| format!("{}: no \"{expected}\" in\n{output}", place(blocks, at))));
        }
        ensure!(missing.is_empty(), "{}", missing.join("\n"));
        Ok(())
    }
}

/// The process group of a bash with everything that it started.
struct Group(u32);

impl Group {
    /// Sends a signal; returns whether a process received it.
    fn signal(&self, signal: &str) -> bool {
        let group = format!("-{}", self.0);
        let mut command = std::process::Command::new("kill");
        command.args([signal, "--", &group]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// Asks every process to end, and waits for that.
    async fn end(self) {
        let give_up_at = Instant::now() + Duration::from_secs(3);
        while self.signal("-TERM") && Instant::now() < give_up_at {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal("-KILL");
    }
}

/// Every command as printed, with a check of its exit code after it.
fn text(blocks: &[Block]) -> String {
    let mut text = "set -uo pipefail\n".to_owned();
    for (at, block) in blocks.iter().enumerate() {
        text.push_str(&format!("exec >\"$OUTPUTS/{at}\" 2>&1\n"));
        for command in &block.commands {
            let (line, wanted) = (command.line, command.exit_code);
            text.push_str(&command.text);
            text.push_str(&format!(
                "\ncode=$?\nif [ $code -ne {wanted} ]; then\n  \
                 echo \"{}:{line} exited with $code instead of {wanted}\" >\"$OUTPUTS/failed\"\n  exit 99\nfi\n",
                block.page
            ));
        }
    }
    text
}

fn place(blocks: &[Block], at: usize) -> String {
    blocks.get(at).map_or_else(String::new, |block| format!("{}:{}", block.page, block.line))
}

fn tail(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

#[tokio::test]
async fn a_wrong_exit_code_and_a_missing_output_fail() -> Result<()> {
    let run = async |page: &str| {
        let blocks = crate::document::blocks("p.md", page)?;
        Shell::new(Path::new("/")).run(&blocks, Duration::from_secs(20)).await
    };
    run("```sh\nA=1\n```\n```sh\necho b$A\nfalse    # exit code 1\n```\n<!-- output: b1 -->\n").await?;
    for (page, problem) in [
        ("```sh\ntrue\nfalse\n```\n", "p.md:3 exited with 1 instead of 0"),
        ("```sh\ntrue    # exit code 1\n```\n", "p.md:2 exited with 0 instead of 1"),
        ("```sh\nfalse | true\n```\n", "p.md:2 exited with 1"),
        ("```sh\necho $B\n```\n", "B: unbound variable"),
        ("```sh\necho a\n```\n<!-- output: b -->\n", "p.md:1: no \"b\""),
    ] {
        let error = run(page).await.err().context("it was accepted")?;
        ensure!(format!("{error:#}").contains(problem), "{error:#} without {problem}");
    }
    Ok(())
}
