//! The agent's program: built, started, asked and ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout};
use xtask::command;

use crate::prove::Context;

/// For anything that the agent does at once.
const SOON: Duration = Duration::from_secs(20);

/// Builds the agent, and answers where it is.
pub(in crate::proofs) async fn build(context: &Context) -> anyhow::Result<PathBuf> {
    command::debug_program(&context.workspace, "mainstay-agent").await
}

/// What the agent is given.
pub(in crate::proofs) fn reads(kmsg: &Path, sys: &Path) -> Vec<OsString> {
    let (kmsg, sys) = (kmsg.as_os_str(), sys.as_os_str());
    ["--kmsg".as_ref(), kmsg, "--sys".as_ref(), sys, "--counters-every".as_ref(), "1".as_ref()].map(Into::into).into()
}

/// An agent that runs.
pub(in crate::proofs) struct Agent {
    pub(in crate::proofs) child: Child,
    pub(in crate::proofs) lines: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    /// Starts the program; it is killed when this is dropped.
    pub(in crate::proofs) fn start(program: &Path, word: &str, args: &[OsString]) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg(word).args(args);
        if word == "run" {
            command.args(["--log-format", "json"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines() })
    }

    /// Waits for the daemon's first line, and answers where it listens.
    pub(in crate::proofs) async fn listening(&mut self) -> anyhow::Result<String> {
        let line = timeout(SOON, self.lines.next_line()).await.context("the agent prints nothing")??;
        let line: Value = serde_json::from_str(&line.context("the agent ended at once")?)?;
        Ok(line["listen"].as_str().context("the agent does not say where it listens")?.to_owned())
    }

    pub(in crate::proofs) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("the agent ended")
    }

    /// Ends it as an init system does, and answers how long that took.
    pub(in crate::proofs) async fn terminate(&mut self) -> anyhow::Result<Duration> {
        let pid = i32::try_from(self.pid()?)?;
        let begun = Instant::now();
        let mut kill = Command::new("kill");
        ensure!(kill.arg("-TERM").arg(pid.to_string()).status().await?.success(), "cannot signal {pid}");
        let status = timeout(SOON, self.child.wait()).await.context("the agent does not end")??;
        ensure!(status.success(), "the agent ended with {status}");
        Ok(begun.elapsed())
    }

    /// Kills it and buries it.
    pub(in crate::proofs) async fn kill(&mut self) -> anyhow::Result<()> {
        timeout(SOON, self.child.kill()).await.context("a killed agent does not end")??;
        Ok(())
    }
}

/// The agent's series by name and labels, as they are written.
pub(in crate::proofs) async fn metrics(address: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let text = timeout(SOON, get(address)).await.context("the agent does not answer")??;
    let samples = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    // What may be below zero is no counter, and not looked at here.
    Ok(samples.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect())
}

/// The text of the agent's metrics.
pub(in crate::proofs) async fn get(address: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: agent\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
    if !head.starts_with("HTTP/1.1 200") {
        bail!("{head}");
    }
    Ok(body.to_owned())
}

/// A line of a process's own status, in KiB.
pub(in crate::proofs) fn status_kib(pid: u32, line: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the agent ended")?;
    let found = status.lines().find_map(|found| found.strip_prefix(line)).with_context(|| format!("no {line}"))?;
    Ok(found.trim().trim_end_matches(" kB").trim().parse()?)
}

/// A series, or nothing counted.
pub(in crate::proofs) fn counter(metrics: &BTreeMap<String, u64>, name: &str) -> u64 {
    metrics.get(name).copied().unwrap_or(0)
}

/// Pseudo-random numbers that are the same in every run.
pub(in crate::proofs) struct Rng(pub(in crate::proofs) u64);

impl Rng {
    pub(in crate::proofs) fn below(&mut self, end: u64) -> u64 {
        // Knuth's MMIX generator; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}
