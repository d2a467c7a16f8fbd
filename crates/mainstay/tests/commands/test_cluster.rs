//! A test cluster with a small fleet, agent reports and the real controller, for the commands that an operator types.

use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;
use testbed::{AgentReport, NAMESPACE, TestCluster, TestProcess, eventually};

/// Name of the controller's pod: the length of a transcript does not depend on the machine's host name.
const POD: &str = "mainstay-controller-x2x7k";

/// A test cluster whose nodes are known by their number.
pub(crate) struct CommandCluster(TestCluster);

impl Deref for CommandCluster {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.0
    }
}

impl CommandCluster {
    /// Starts nodes of a full leaf and the first nodes of a second leaf, without Mainstay.
    pub(crate) async fn start(nodes: usize) -> Result<Self> {
        let builder = TestCluster::with_nodes(nodes).without_mainstay().rack_budget(1).gang_label("job");
        Ok(Self(builder.start().await?))
    }

    /// Starts the controller and waits until it leads.
    pub(crate) async fn serve(&self, record: &Path) -> Result<TestProcess> {
        let kubeconfig = self.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--lease-seconds",
            "5",
            "--log-format",
            "json",
            "--audit-log",
        ]);
        let controller = TestProcess::start(command.arg(record).env("KUBECONFIG", kubeconfig).env("POD_NAME", POD))?;
        controller.wait_for(|line| line["message"] == "leading the cell")?;
        Ok(controller)
    }

    /// Writes reports of these nodes: the count of each XID on GPU 3 since boot.
    pub(crate) async fn report(&self, nodes: &[usize], sequence: u64, xids: &[(&str, u64)]) -> Result<()> {
        for node in nodes {
            self.0.report(&self.nodes[*node], &AgentReport::new(sequence, xids)).await?;
        }
        Ok(())
    }

    /// A pod that failed.
    pub(crate) async fn failed_pod(&self, name: &str, node: usize) -> Result<()> {
        self.run_pod(name, &self.nodes[node], &[]).await?;
        let failed = r#"{"status":{"phase":"Failed","reason":"UnexpectedAdmissionError"}}"#;
        let patch = ["patch", "pod", name, "-n", "default", "--subresource=status", "--type=merge", "-p", failed];
        // The simulated kubelet may set it running at the same time.
        eventually("a failed pod", async || {
            self.cluster.run_kubectl(&patch).await?;
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok(self.cluster.get_json(&["pod", name, "-n", "default"]).await?["status"]["phase"] == "Failed")
        })
        .await
    }

    /// The event of a kubelet after a boot.
    pub(crate) async fn rebooted(&self, node: usize) -> Result<()> {
        let (name, now) = (&self.nodes[node].name, jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": format!("{name}.boot"), "namespace": "default" },
            "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": name }, "reason": "Rebooted",
            "type": "Warning", "message": "Node has been rebooted", "count": 1, "source": { "component": "kubelet" },
            "firstTimestamp": now, "lastTimestamp": now,
        });
        self.cluster.apply_objects(&[event]).await
    }

    /// A gang of one pod a node, known by its label.
    pub(crate) async fn gang(&self, name: &str, nodes: &[usize]) -> Result<()> {
        for (number, node) in nodes.iter().enumerate() {
            self.run_pod(&format!("{name}-{number}"), &self.nodes[*node], &[("job", name)]).await?;
        }
        Ok(())
    }
}

/// Runs the program with a kubeconfig.
pub(crate) fn mainstay(kubeconfig: &Path, words: &str) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.args(words.split_whitespace()).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    command.env_remove("NO_COLOR").output().context("mainstay cannot be run")
}
