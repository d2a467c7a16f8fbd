//! `mainstay serve` as an init system runs it: the real binary against a real server with the fence on it.

#![cfg(test)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use testbed::{Cluster, Options};

const SOON: Duration = Duration::from_secs(60);

async fn fenced() -> Result<Cluster> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    cluster.install_crds(&deploy).await?;
    cluster.apply(&deploy.join("policy")).await?;
    Ok(cluster)
}

fn serve(kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    let words = ["serve", "--listen", "127.0.0.1:0", "--lease-seconds", "2", "-o", "json"];
    command
        .args(words)
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A running `mainstay serve` with its address and its output.
struct ServeProcess {
    child: Child,
    address: String,
    /// What it says, line by line.
    said: BufReader<ChildStdout>,
}

impl ServeProcess {
    fn says(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("{line:?}"))
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn started(kubeconfig: &Path) -> Result<ServeProcess> {
    let mut child = serve(kubeconfig).spawn()?;
    let said = BufReader::new(child.stdout.take().context("no stdout")?);
    let mut served = ServeProcess { child, address: String::new(), said };
    let began = served.says()?;
    served.address = began["listen"].as_str().context("it does not say where it listens")?.to_owned();
    Ok(served)
}

fn get(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let give_up_at = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < give_up_at, "{what}: not within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn it_leads_tells_how_it_does_and_stops_when_it_is_told_to() -> Result<()> {
    let cluster = fenced().await?;
    let arguments = ["create", "token", "mainstay-controller", "--namespace", "mainstay-system"];
    let token = cluster.run_kubectl(&arguments).await?;
    let kubeconfig = cluster.dir().join("controller.kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with_token(token.trim())?)?;
    let mut served = started(&kubeconfig)?;
    let leads = || get(&served.address, "/metrics").is_ok_and(|text| text.contains("\nmainstay_leading 1\n"));
    until("leadership", leads).await;
    ensure!(get(&served.address, "/healthz")?.contains("200 OK"));
    let said = [served.says()?, served.says()?];
    ensure!(said[0]["kind"] == "waits" && said[1]["kind"] == "leads" && said[1]["epoch"] == 1, "{said:?}");
    let metrics = get(&served.address, "/metrics")?;
    ensure!(
        metrics.contains("\nmainstay_epoch 1\n") && metrics.contains("mainstay_mode{mode=\"Observe\"} 1"),
        "{metrics}"
    );

    let pid = served.child.id().to_string();
    ensure!(Command::new("kill").args(["-TERM", &pid]).status()?.success());
    let told_at = Instant::now();
    let status = served.child.wait()?;
    ensure!(
        status.code() == Some(0) && told_at.elapsed() < Duration::from_secs(10),
        "{status} {:?}",
        told_at.elapsed()
    );
    let lease = ["get", "lease", "mainstay-leader", "--namespace", "mainstay-system", "-o", "json"];
    let lease: Value = serde_json::from_str(&cluster.run_kubectl(&lease).await?)?;
    ensure!(lease["spec"]["holderIdentity"] == "", "the Lease is not free: {lease}");
    Ok(())
}

#[tokio::test]
async fn nobody_leads_without_the_fence() -> Result<()> {
    let cluster = fenced().await?;
    // The administrator is not fenced: what such a leader wrote late, nobody would refuse.
    let output = tokio::task::spawn_blocking({
        let mut command = serve(&cluster.kubeconfig());
        move || command.output()
    });
    let output = tokio::time::timeout(SOON, output).await???;
    let said = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(1), "{:?} {said}", output.status);
    ensure!(said.starts_with("problem: writes of a stale leader would not be rejected\n  detail: "), "{said}");
    Ok(())
}
