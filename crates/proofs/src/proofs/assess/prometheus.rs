//! A real Prometheus (Debian's) on the loopback, with a history that its own tool made of text.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Child;
use tokio::time::{Instant, sleep};
use xtask::command;

/// The tool reads its text once for each of some dozens of blocks.
const LOAD_LIMIT: Duration = Duration::from_mins(5);
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A server that ends with this.
pub(super) struct Prometheus {
    pub(super) url: String,
    /// It is killed when this is dropped.
    _server: Child,
}

impl Prometheus {
    pub(super) async fn start(folder: &Path, metrics: &Path) -> anyhow::Result<Self> {
        let store = folder.join("prometheus");
        let mut load = command::program("promtool", folder);
        load.args(["tsdb", "create-blocks-from", "openmetrics", "--quiet"]).arg(metrics).arg(&store);
        command::text(&mut load, LOAD_LIMIT).await.context("Debian's package `prometheus` is needed")?;
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, "global: {}\n")?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut server = command::program("prometheus", folder);
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
        Ok(Self { url: format!("http://127.0.0.1:{port}"), _server: server })
    }
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
