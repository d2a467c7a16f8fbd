//! The program on a node of a real cluster: its report arrives there, whatever was lost in between, and nothing else is
//! written.

#![cfg(test)]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use fake_kernel::{Files, Line};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use mainstay_api::{GpuNode, NodeReport};
use serde::de::DeserializeOwned;
use serde_json::json;
use tempfile::TempDir;
use testbed::{Cluster, NAMESPACE, Options, eventually_within};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const NODE: &str = "gpu-1";

/// A first report is written within 40 s, and the machine may be busy with other tests.
const SOON: Duration = Duration::from_secs(90);

struct Fixture {
    cluster: Cluster,
    gate: ServerProxy,
    admin: Client,
    kernel: Files,
    folder: TempDir,
}

/// A proxy to the API server that a test can close: it drops open connections and rejects new ones.
struct ServerProxy {
    url: String,
    is_open: watch::Sender<bool>,
}

impl ServerProxy {
    async fn before(server: &str) -> Result<Self> {
        let server = server.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let (is_open, open) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((mut asker, _)) = listener.accept().await {
                let (server, mut open) = (server.clone(), open.clone());
                tokio::spawn(async move {
                    let pass = async {
                        let mut there = TcpStream::connect(&server).await?;
                        tokio::io::copy_bidirectional(&mut asker, &mut there).await
                    };
                    if *open.borrow_and_update() {
                        tokio::select! {
                            _ = pass => {}
                            _ = open.changed() => {}
                        }
                    }
                });
            }
        });
        Ok(Self { url, is_open })
    }

    fn shut(&self) {
        self.is_open.send_replace(false);
    }

    fn open(&self) {
        self.is_open.send_replace(true);
    }
}

/// An agent that is killed when it is not needed any more.
struct AgentProcess(Child);

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Fixture {
    async fn new() -> Result<Self> {
        let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
        cluster.install_mainstay().await?;
        let admin = cluster.client().await?;
        let folder = tempfile::tempdir()?;
        for part in ["sys/bus/pci/devices", "root"] {
            fs::create_dir_all(folder.path().join(part))?;
        }
        let gate = ServerProxy::before(cluster.api_url()).await?;
        let bench = Self { cluster, gate, admin, kernel: Files::serve(1 << 20)?, folder };
        let node = json!({ "metadata": { "name": NODE } });
        Api::<Node>::all(bench.admin.clone()).create(&PostParams::default(), &made(node)?).await?;
        let pod = json!({
            "metadata": { "name": "agent" },
            "spec": {
                "nodeName": NODE, "serviceAccountName": "mainstay-agent", "automountServiceAccountToken": false,
                "containers": [{ "name": "agent", "image": "none" }],
            },
        });
        let pods = Api::<Pod>::namespaced(bench.admin.clone(), NAMESPACE);
        let pod = pods.create(&PostParams::default(), &made(pod)?).await?;
        bench.write_token(Some(&pod)).await?;
        Ok(bench)
    }

    async fn write_token(&self, pod: Option<&Pod>) -> Result<()> {
        let token = self.cluster.token(NAMESPACE, "mainstay-agent", pod).await?;
        Ok(fs::write(self.folder.path().join("token"), token)?)
    }

    fn command(&self) -> Command {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay-agent"));
        command.arg("run").stdin(Stdio::null()).arg("--kmsg").arg(self.kernel.log_path());
        command.arg("--sys").arg(at("sys")).arg("--root").arg(at("root")).args(["--disable", "nvml,infiniband,pcie"]);
        command.arg("--state").arg(at("state.json")).args(["--listen", "127.0.0.1:0"]);
        command.args(["--server", &self.gate.url]).arg("--token").arg(at("token"));
        command.arg("--server-ca").arg(self.cluster.authority());
        command
    }

    fn run(&self) -> Result<AgentProcess> {
        let told = fs::File::options().create(true).append(true).open(self.folder.path().join("told"))?;
        Ok(AgentProcess(self.command().stdout(told).spawn()?))
    }

    fn told(&self) -> Result<String> {
        Ok(fs::read_to_string(self.folder.path().join("told"))?)
    }

    async fn told_of(&self, what: &str) -> Result<()> {
        let logged = eventually_within(SOON, what, async || Ok(self.told()?.contains(what))).await;
        logged.with_context(|| self.told().unwrap_or_default())
    }

    /// The report, once it is as it should be.
    async fn report(&self, should: impl Fn(&NodeReport) -> bool) -> Result<NodeReport> {
        let api = Api::<NodeReport>::all(self.admin.clone());
        let ask = async || api.get_opt(NODE).await.unwrap_or_default().filter(&should);
        let report = eventually_within(SOON, "the report", ask).await;
        report.with_context(|| self.told().unwrap_or_default())
    }
}

fn made<T: DeserializeOwned>(value: serde_json::Value) -> Result<T> {
    Ok(serde_json::from_value(value)?)
}

fn xids(report: &NodeReport) -> i64 {
    let evidence = report.spec.evidence.as_slice().iter();
    evidence.filter(|piece| piece.code.as_str() == "79").map(|piece| piece.count).sum()
}

#[tokio::test]
async fn what_the_kernel_says_arrives_whatever_is_lost_in_between() -> Result<()> {
    let bench = Fixture::new().await?;
    let fallen = || Line::text("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.");
    let node = Api::<Node>::all(bench.admin.clone()).get(NODE).await?;
    let agent = bench.run()?;
    let first = bench.report(|_| true).await?;
    assert_eq!(Some(first.spec.node_uid.as_str()), node.metadata.uid.as_deref());
    bench.kernel.write(fallen());
    let seen = bench.report(|report| xids(report) == 1).await?;
    assert!(seen.spec.sequence > first.spec.sequence);

    // The controller's word is heard by the watch.
    let gpu_nodes = Api::<GpuNode>::all(bench.admin.clone());
    gpu_nodes.create(&PostParams::default(), &made(json!({ "metadata": { "name": NODE }, "spec": {} }))?).await?;
    let status = json!({ "status": {
        "epoch": 0, "stage": "Suspect", "since": "2026-11-15T03:00:00Z", "waitingOn": "SecondSignal", "message": "one witness",
        "riskPpm": 0,
    } });
    gpu_nodes.patch_status(NODE, &PatchParams::default(), &Patch::Merge(&status)).await?;
    bench.told_of("node stage changed stage=Suspect").await?;

    // The server goes away. What is said meanwhile is told when it is back, because counts are cumulative.
    bench.gate.shut();
    bench.kernel.write(fallen());
    bench.told_of("report refused").await?;
    bench.kernel.write(fallen());
    bench.gate.open();
    bench.report(|report| xids(report) == 3).await?;
    bench.told_of("reports accepted again").await?;
    drop(agent);
    Ok(())
}

#[tokio::test]
async fn an_agent_that_lost_its_state_passes_the_report_that_is_there() -> Result<()> {
    let bench = Fixture::new().await?;
    bench.kernel.write(Line::text("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."));
    let agent = bench.run()?;
    let before = bench.report(|report| xids(report) == 1).await?;
    drop(agent);
    fs::remove_file(bench.folder.path().join("state.json"))?;
    // A report that the new agent's first one would be below.
    let higher = json!({ "spec": { "sequence": before.spec.sequence + 1_000 } });
    Api::<NodeReport>::all(bench.admin.clone()).patch(NODE, &PatchParams::default(), &Patch::Merge(&higher)).await?;
    let _agent = bench.run()?;
    let after = bench.report(|report| report.spec.sequence > before.spec.sequence + 1_000).await?;
    assert_eq!(xids(&after), 1);
    bench.told_of("the API server has a later report of this boot").await
}

#[tokio::test]
async fn a_token_of_no_node_is_refused_before_anything_is_written() -> Result<()> {
    let bench = Fixture::new().await?;
    bench.write_token(None).await?;
    let output = bench.command().output().context("the agent does not run")?;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("is not bound to a node") && said.contains("use the token of a pod"), "{said}");
    assert!(Api::<NodeReport>::all(bench.admin.clone()).get_opt(NODE).await?.is_none());
    Ok(())
}
