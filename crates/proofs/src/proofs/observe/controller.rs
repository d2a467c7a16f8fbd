//! Starts, kills and queries `mainstay serve` as it ships.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// For anything that the program does soon.
const SOON: Duration = Duration::from_mins(1);
/// What a leader logs when it may act.
const MAY_ACT: &str = "the barrier has passed";

/// Lines of the log that are kept for an error.
const LINES_KEPT: usize = 40;

/// A running controller; it is killed when this is dropped.
pub(in crate::proofs) struct Controller {
    child: Child,
    address: String,
    log: watch::Receiver<Log>,
}

/// What a controller logged.
#[derive(Debug, Default)]
struct Log {
    /// Lines that say that a leader may act.
    passed: u64,
    last: VecDeque<String>,
}

impl Controller {
    /// With a Lease of a second, so that a successor need not wait.
    pub(in crate::proofs) async fn start(program: &Path, kubeconfig: &Path, record: &Path) -> anyhow::Result<Self> {
        Self::start_with(program, kubeconfig, record, 1).await
    }

    pub(in crate::proofs) async fn start_with(
        program: &Path,
        kubeconfig: &Path,
        record: &Path,
        lease_seconds: u64,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--lease-seconds"]);
        command.arg(lease_seconds.to_string()).arg("--audit-log").arg(record);
        Self::spawn(command, program, kubeconfig).await
    }

    /// With a journal of facts in a directory below `folder`.
    pub(in crate::proofs) async fn start_recording(
        program: &Path,
        kubeconfig: &Path,
        folder: &Path,
        journal: &str,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--lease-seconds", "1"]);
        command.arg("--journal").arg(folder.join(journal));
        Self::spawn(command, program, kubeconfig).await
    }

    async fn spawn(mut command: Command, program: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        command.env("KUBECONFIG", kubeconfig).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let line = timeout(SOON, lines.next_line()).await.context("the controller prints nothing")??;
        let line: Value = serde_json::from_str(&line.context("it ended at once")?)?;
        let address = line["listen"].as_str().context("it does not print where it listens")?.to_owned();
        let (written, log) = watch::channel(Log::default());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                written.send_modify(|log| log.add(line));
            }
        });
        Ok(Self { child, address, log })
    }

    /// Ends it without a warning.
    pub(in crate::proofs) async fn kill(mut self) -> anyhow::Result<()> {
        timeout(SOON, self.child.kill()).await.context("a killed program does not end")??;
        Ok(())
    }

    /// How often its barrier has passed: once for each of its leaderships.
    pub(in crate::proofs) fn barriers_passed(&self) -> u64 {
        self.log.borrow().passed
    }

    /// The end of its log, for the error of a proof.
    pub(in crate::proofs) fn last_lines(&self) -> String {
        self.log.borrow().last.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Waits until its barrier has passed this often.
    pub(in crate::proofs) async fn wait_until_it_may_act(&self, times: u64) -> anyhow::Result<()> {
        let mut log = self.log.clone();
        let waited = timeout(SOON, log.wait_for(|log| log.passed >= times)).await.map(|ended| ended.map(drop));
        let last = || format!("the end of its log:\n{}", self.last_lines());
        waited.context("its barrier does not pass").with_context(last)?.context("it ended before its barrier passed")
    }

    /// Sends it a signal.
    pub(in crate::proofs) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
        Ok(kill_process(pid.context("it ended")?, signal)?)
    }

    /// Whether it still runs.
    pub(in crate::proofs) fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Where it serves its metrics.
    pub(in crate::proofs) fn address(&self) -> &str {
        &self.address
    }

    pub(in crate::proofs) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("it ended")
    }

    /// All of its series.
    pub(in crate::proofs) async fn metrics(&self) -> anyhow::Result<String> {
        timeout(SOON, get(&self.address)).await.context("it does not answer")?
    }

    /// One of its series.
    pub(in crate::proofs) async fn metric(&self, name: &str) -> anyhow::Result<Option<u64>> {
        let text = self.metrics().await?;
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(found.map(str::parse).transpose()?)
    }

    /// Waits until it has the Lease.
    pub(in crate::proofs) async fn wait_for_lease(&self) -> anyhow::Result<()> {
        let until = Instant::now() + SOON;
        while self.metric("mainstay_leading").await?.unwrap_or(0) == 0 {
            ensure!(Instant::now() < until, "it does not get the Lease; the end of its log:\n{}", self.last_lines());
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Waits until it leads and has decided.
    pub(in crate::proofs) async fn wait_until_leading(&self) -> anyhow::Result<()> {
        self.wait_until_leading_within(SOON).await
    }

    pub(in crate::proofs) async fn wait_until_leading_within(&self, at_most: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + at_most;
        while self.metric("mainstay_decisions_total").await?.unwrap_or(0) == 0 {
            ensure!(Instant::now() < until, "it does not lead; the end of its log:\n{}", self.last_lines());
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

impl Log {
    fn add(&mut self, line: String) {
        self.passed += u64::from(line.contains(MAY_ACT));
        if self.last.len() >= LINES_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }
}

async fn get(address: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
