//! A real Prometheus (Debian's) on the loopback, with a history that its own tool made of text, or with what it scrapes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::test_process::run_to_end;

/// A year has some dozens of blocks.
const LOAD_LIMIT: Duration = Duration::from_mins(30);
/// Blocks of 162 hours: a range query of the tool has at most 11,000 points, one for each minute of a block.
const LARGE_BLOCKS: &str = "--max-block-duration=162h";
/// A configuration that scrapes nothing.
const NOTHING: &str = "global: {}\n";
const POINTS_MAX: i64 = 10_000;
const ANSWER_WITHIN: Duration = Duration::from_mins(5);
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A server that ends with this.
#[derive(Debug)]
pub struct Prometheus {
    /// Address of the server.
    pub url: String,
    port: u16,
    /// It is killed when this is dropped.
    server: Child,
}

impl Prometheus {
    /// Loads text into a new store and starts a server on it.
    pub async fn start(folder: &Path, metrics: &Path) -> anyhow::Result<Self> {
        let mut load = promtool(folder);
        // The tool reads its text once for every block.
        load.args(["tsdb", "create-blocks-from", "openmetrics", "--quiet", LARGE_BLOCKS])
            .arg(metrics)
            .arg(store(folder));
        text(load).await.context("Debian's package `prometheus` is needed")?;
        Self::serve(folder, NOTHING).await
    }

    /// A server with 30 recorded days of an objective: 4 events an hour, all of them bad in hours that ended this long ago.
    pub async fn with_slo(folder: &Path, slo: &str, bad_hours: &[u32]) -> anyhow::Result<Self> {
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
        let mut text = String::new();
        for what in ["total", "bad"] {
            writeln!(text, "# TYPE mainstay:slo_{what}:1h gauge")?;
            // A query looks back 5 minutes, and the newest samples are for the minutes that a test takes.
            for at in (-720 * 30..=10).map(|step| now + step * 120) {
                let ago = (now - at).div_euclid(3_600);
                let is_bad = bad_hours.iter().any(|hour| i64::from(*hour) == ago.max(0));
                let value = if what == "total" || is_bad { 4 } else { 0 };
                writeln!(text, "mainstay:slo_{what}:1h{{slo=\"{slo}\"}} {value} {at}")?;
            }
        }
        text.push_str("# EOF\n");
        let metrics = folder.join("metrics.txt");
        std::fs::write(&metrics, text)?;
        Self::start(folder, &metrics).await
    }

    /// Evaluates the recording rules of a file over a time that has passed, and starts the server again with the result.
    pub async fn record(mut self, folder: &Path, rules: &Path, seconds: &Range<i64>) -> anyhow::Result<Self> {
        let mut record = promtool(folder);
        record.args(["tsdb", "create-blocks-from", "rules", "--quiet", LARGE_BLOCKS, "--url", &self.url]);
        record.args(["--start", &seconds.start.to_string(), "--end", &seconds.end.to_string(), "--output-dir"]);
        record.arg(store(folder)).arg(rules);
        text(record).await?;
        // A running server would find the new blocks a minute later, and two cannot share a store.
        self.server.kill().await?;
        Self::serve(folder, NOTHING).await
    }

    /// Times in Unix seconds at which a query has a result, one minute apart.
    pub async fn minutes_with_result(
        &self,
        folder: &Path,
        query: &str,
        seconds: &Range<i64>,
    ) -> anyhow::Result<BTreeSet<i64>> {
        let mut times = BTreeSet::new();
        let mut start = seconds.start;
        while start < seconds.end {
            let end = seconds.end.min(start + POINTS_MAX * 60);
            let mut ask = promtool(folder);
            ask.args(["query", "range", "--format", "json", "--step", "1m", "--start", &start.to_string(), "--end"]);
            ask.arg((end - 1).to_string()).arg(&self.url).arg(query);
            let text = text(ask).await?;
            let series: Vec<Series> = serde_json::from_str(&text).context("promtool printed no JSON")?;
            times.extend(series.iter().flat_map(|one| one.values.iter().map(|(time, _)| *time)));
            start = end;
        }
        Ok(times)
    }

    /// Starts the server with the text of a configuration, and with the history in the folder if there is one.
    pub async fn serve(folder: &Path, config_text: &str) -> anyhow::Result<Self> {
        let store = store(folder);
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, config_text)?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut server = Command::new("prometheus");
        server.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        server.arg("--config.file").arg(&config).arg("--storage.tsdb.path").arg(&store);
        // Its clock is today's, and what is asked about may be of any year.
        server.args(["--storage.tsdb.retention.time=100y", &format!("--web.listen-address=127.0.0.1:{port}")]);
        let server = server.stderr(Stdio::null()).spawn().context("cannot start prometheus")?;
        let end = Instant::now() + READY_WITHIN;
        while !is_ready(port).await {
            if Instant::now() >= end {
                bail!("prometheus was not ready after {} s", READY_WITHIN.as_secs());
            }
            sleep(Duration::from_millis(200)).await;
        }
        Ok(Self { url: format!("http://127.0.0.1:{port}"), port, server })
    }

    /// Answer to an instant query.
    pub async fn instant(&self, query: &str) -> anyhow::Result<serde_json::Value> {
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        Ok(serde_json::from_str(&self.get(&format!("/api/v1/query?query={escaped}")).await?)?)
    }

    /// Body of the response to a GET request.
    pub async fn get(&self, path: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
        let mut answer = Vec::new();
        timeout(ANSWER_WITHIN, stream.read_to_end(&mut answer)).await.context("prometheus does not answer")??;
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
        ensure!(head.lines().next().is_some_and(|line| line.contains(" 200 ")), "{path}: {answer}");
        Ok(body.to_owned())
    }
}

/// A series of a range query: times and values.
#[derive(Deserialize)]
struct Series {
    values: Vec<(i64, String)>,
}

fn promtool(folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("promtool");
    command.current_dir(folder);
    command
}

/// Output of the tool, which must succeed.
async fn text(command: std::process::Command) -> anyhow::Result<String> {
    let output = run_to_end(command, LOAD_LIMIT).await?;
    ensure!(output.status.success(), "promtool failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}

fn store(folder: &Path) -> PathBuf {
    folder.join("prometheus")
}

async fn is_ready(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { return false };
    if stream.write_all(b"GET /-/ready HTTP/1.0\r\n\r\n").await.is_err() {
        return false;
    }
    let mut answer = Vec::new();
    // An answer that breaks off is none.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).lines().next().is_some_and(|line| line.contains(" 200 "))
}
