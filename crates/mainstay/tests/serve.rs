//! `mainstay serve` as an init system runs it: the real binary against a real server with the fence on it.

#![cfg(test)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testbed::{Cluster, NAMESPACE, Options, SOON, TestProcess, eventually, run_to_end};

async fn fenced() -> Result<Cluster> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    cluster.install_mainstay().await?;
    Ok(cluster)
}

fn serve(kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    let words = ["serve", "--listen", "127.0.0.1:0", "--lease-seconds", "2", "-o", "json"];
    command.args(words).env("KUBECONFIG", kubeconfig);
    command
}

fn get(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[tokio::test]
async fn it_leads_tells_how_it_does_and_stops_when_it_is_told_to() -> Result<()> {
    let cluster = fenced().await?;
    let mut served = TestProcess::start(&mut serve(&cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?))?;
    let address = served.next_text("listen")?;
    eventually("leadership", async || {
        get(&address, "/metrics").is_ok_and(|text| text.contains("\nmainstay_leading 1\n"))
    })
    .await?;
    ensure!(get(&address, "/healthz")?.contains("200 OK"));
    let lines = [served.next_json()?, served.next_json()?];
    ensure!(lines[0]["kind"] == "waits" && lines[1]["kind"] == "leads" && lines[1]["epoch"] == 1, "{lines:?}");
    let metrics = get(&address, "/metrics")?;
    ensure!(
        metrics.contains("\nmainstay_epoch 1\n") && metrics.contains("mainstay_mode{mode=\"Observe\"} 1"),
        "{metrics}"
    );

    let told_at = Instant::now();
    let status = served.terminate()?;
    ensure!(
        status.code() == Some(0) && told_at.elapsed() < Duration::from_secs(10),
        "{status} {:?}",
        told_at.elapsed()
    );
    let lease = cluster.get_json(&["lease", "mainstay-leader", "--namespace", NAMESPACE]).await?;
    ensure!(lease["spec"]["holderIdentity"] == "", "the Lease is not free: {lease}");
    Ok(())
}

#[tokio::test]
async fn nobody_leads_without_the_fence() -> Result<()> {
    let cluster = fenced().await?;
    // The administrator is not fenced: what such a leader wrote late, nobody would refuse.
    let output = run_to_end(serve(&cluster.kubeconfig()), SOON).await?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(1), "{:?} {said}", output.status);
    ensure!(said.starts_with("problem: writes of a stale leader would not be rejected\n  detail: "), "{said}");
    Ok(())
}
