//! `mainstay serve` as an init system runs it: the real binary against a real server with the fence on it.

#![cfg(test)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use testbed::{Cluster, NAMESPACE, Options, SOON, TestProcess, eventually, run_to_end};

async fn fenced() -> Result<Cluster> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    cluster.install_mainstay().await?;
    Ok(cluster)
}

fn serve(kubeconfig: &Path, log_format: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    let words = ["serve", "--listen", "127.0.0.1:0", "--lease-seconds", "2", "--log-format", log_format];
    command.args(words).env("KUBECONFIG", kubeconfig);
    command
}

/// Message of a log line, if the line has what every line has.
fn message(line: &Value) -> Result<&str> {
    let text = |field: &str| line[field].as_str().with_context(|| format!("no {field} in {line}"));
    ensure!(text("time")?.parse::<jiff::Timestamp>().is_ok(), "{line}");
    ensure!(["error", "warn", "info"].contains(&text("level")?) && text("target")?.starts_with("mainstay"), "{line}");
    text("message")
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
    let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?;
    let mut served = TestProcess::start(&mut serve(&kubeconfig, "json"))?;
    let mut lines = vec![served.next_json()?];
    let address = lines[0]["listen"].as_str().context("no address")?.to_owned();
    eventually("leadership", async || {
        get(&address, "/metrics").is_ok_and(|text| text.contains("\nmainstay_leading 1\n"))
    })
    .await?;
    ensure!(get(&address, "/healthz")?.contains("200 OK"));
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
    for line in served.remaining_lines() {
        lines.push(serde_json::from_str(&line).with_context(|| line)?);
    }
    let messages = lines.iter().map(message).collect::<Result<Vec<_>>>()?;
    let expected = ["controller started", "waiting for the Lease", "leading the cell", "controller stopping"];
    ensure!(messages == expected && lines[2]["epoch"] == 1 && lines[3]["signal"] == "SIGTERM", "{lines:?}");
    let lease = cluster.get_json(&["lease", "mainstay-leader", "--namespace", NAMESPACE]).await?;
    ensure!(lease["spec"]["holderIdentity"] == "", "the Lease is not free: {lease}");
    Ok(())
}

#[tokio::test]
async fn nobody_leads_without_the_fence() -> Result<()> {
    let cluster = fenced().await?;
    // The administrator is not fenced: what such a leader wrote late, nobody would refuse.
    let output = run_to_end(serve(&cluster.kubeconfig(), "text"), SOON).await?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(1), "{:?} {said}", output.status);
    ensure!(said.starts_with("problem: writes of a stale leader would not be rejected\n  detail: "), "{said}");
    let log = String::from_utf8(output.stdout)?;
    let last = log.lines().last().context("no log")?;
    ensure!(
        last.contains(
            " ERROR mainstay::serve: controller failed what=\"writes of a stale leader would not be rejected\""
        ),
        "{log}"
    );
    Ok(())
}

#[tokio::test]
async fn a_controller_that_cannot_start_logs_one_line_whatever_the_problem_contains() -> Result<()> {
    let kubeconfig = Path::new("/nowhere/a\n{\"level\":\"info\"}\n");
    let json = run_to_end(serve(kubeconfig, "json"), SOON).await?;
    let line: Value = serde_json::from_slice(&json.stdout).with_context(|| format!("{json:?}"))?;
    ensure!(json.status.code() == Some(1) && message(&line)? == "controller failed", "{line}");
    ensure!(
        line["level"] == "error" && line["hint"].as_str().is_some_and(|hint| hint.contains("KUBECONFIG")),
        "{line}"
    );
    let text = String::from_utf8(run_to_end(serve(kubeconfig, "text"), SOON).await?.stdout)?;
    ensure!(text.matches('\n').count() == 1 && text.contains(" ERROR mainstay::serve: controller failed "), "{text}");
    Ok(())
}
