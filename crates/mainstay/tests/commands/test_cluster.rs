//! A real API server with admission policies, a small simulated fleet, agent reports and the real controller.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testbed::fleet::labels;
use testbed::{Cluster, Fleet, Options};

const SOON: Duration = Duration::from_secs(60);

pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) leaf: String,
    uid: String,
    pool: String,
    ordinal: usize,
}

/// A real API server with a fleet of simulated nodes.
pub(crate) struct TestCluster {
    pub(crate) cluster: Cluster,
    pub(crate) nodes: Vec<Node>,
}

/// A running `mainstay serve`, killed on drop.
pub(crate) struct Controller(Child);

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

impl TestCluster {
    /// Nodes of one hall: a full leaf, and a second one that begins.
    pub(crate) async fn start(nodes: usize) -> Result<Self> {
        let cluster = testbed::own(Options { nodes_max: 100, ..Options::default() }).await?;
        let fleet = Fleet::new(nodes, 8, 7);
        let admin = cluster.client().await?;
        fleet.create(&admin, &|_| ()).await?;
        let ready = fleet.wait_ready(&admin, SOON, &|_| ()).await?;
        ensure!(ready.ready == nodes, "{ready:?}");
        let mut bed = Self { cluster, nodes: Vec::new() };
        let listed = bed.json(&["get", "nodes"]).await?;
        let listed = listed["items"].as_array().context("no nodes")?;
        for (ordinal, planned) in fleet.nodes().enumerate() {
            let found = listed.iter().find(|node| node["metadata"]["name"] == planned.name.as_str());
            let meta = &found.context("a node is missing")?["metadata"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            bed.nodes.push(Node {
                name: planned.name,
                leaf: text(&meta["labels"][labels::LEAF]),
                pool: text(&meta["labels"][labels::POOL]),
                uid: text(&meta["uid"]),
                ordinal,
            });
        }
        Ok(bed)
    }

    /// Definitions, the fence, a Fabric, and a policy for each pool.
    pub(crate) async fn install(&self) -> Result<()> {
        self.cluster.install_crds(&deploy()).await?;
        self.cluster.apply(&deploy().join("policy")).await?;
        self.cluster.apply(&deploy().join("examples/fabric.yaml")).await?;
        let pools: std::collections::BTreeSet<&str> = self.nodes.iter().map(|node| node.pool.as_str()).collect();
        let policy = |pool: &&str| {
            json!({
                "apiVersion": "mainstay.dev/v1alpha1", "kind": "FleetPolicy", "metadata": { "name": pool },
                "spec": {
                    "pool": pool, "mode": "Observe", "budgets": [{ "nodesMax": 4 }, { "level": "Rack", "nodesMax": 1 }],
                    "gang": { "podLabel": "job" },
                },
            })
        };
        self.apply(pools.iter().map(policy).collect()).await
    }

    pub(crate) async fn json(&self, arguments: &[&str]) -> Result<Value> {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["-o", "json"]).collect();
        Ok(serde_json::from_str(&self.cluster.run_kubectl(&arguments).await?)?)
    }

    pub(crate) async fn apply(&self, items: Vec<Value>) -> Result<()> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string())?;
        self.cluster.apply(file.path()).await?;
        Ok(())
    }

    /// A kubeconfig of a service account, which is made where it is missing.
    pub(crate) async fn account(&self, namespace: &str, name: &str, role: Option<&str>) -> Result<PathBuf> {
        if let Some(role) = role {
            let account = json!({
                "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace },
            });
            let binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": { "name": format!("{namespace}-{name}") },
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
                "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
            });
            self.apply(vec![account, binding]).await?;
        }
        let arguments = ["create", "token", name, "--namespace", namespace];
        let token = self.cluster.run_kubectl(&arguments).await?;
        let path = self.cluster.dir().join(format!("{name}.kubeconfig"));
        std::fs::write(&path, self.cluster.kubeconfig_with_token(token.trim())?)?;
        Ok(path)
    }

    /// Starts the controller and waits until it leads.
    pub(crate) async fn serve(&self, record: &Path) -> Result<Controller> {
        let kubeconfig = self.account("mainstay-system", "mainstay-controller", None).await?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
            .args(["serve", "--listen", "127.0.0.1:0", "--lease-seconds", "5", "-o", "json", "--audit-log"])
            .arg(record)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = BufReader::new(child.stdout.take().context("no stdout")?);
        let served = Controller(child);
        let leads = tokio::task::spawn_blocking(move || {
            said.lines().map_while(Result::ok).any(|line| line.contains("\"leads\""))
        });
        ensure!(tokio::time::timeout(SOON, leads).await??, "the controller ended");
        Ok(served)
    }

    /// What agents write of these nodes: so many of each XID on GPU 3 since boot.
    pub(crate) async fn report(&self, nodes: &[usize], sequence: u64, xids: &[(&str, u64)]) -> Result<()> {
        let now = jiff::Timestamp::now().to_string();
        let report = |place: &usize| {
            let node = &self.nodes[*place];
            let serial = |gpu: usize| format!("16528{:04}{gpu:02}", node.ordinal);
            let gpus = (0..8).map(|gpu| {
                let uuid = format!("GPU-3f1c0a52-6a1e-0a43-8a3b-{:08x}{gpu:04x}", node.ordinal);
                let pci = format!("0000:{:02x}:00.0", 16 + gpu);
                json!({ "index": gpu, "serial": serial(gpu), "uuid": uuid, "pci": pci })
            });
            let evidence = xids.iter().map(|(code, count)| {
                json!({
                    "source": "Xid", "code": code, "device": serial(3), "count": count,
                    "firstSeenAt": now, "lastSeenAt": now,
                })
            });
            json!({
                "apiVersion": "mainstay.dev/v1alpha1", "kind": "NodeReport", "metadata": { "name": node.name },
                "spec": {
                    "nodeUid": node.uid, "bootId": "boot-1", "sequence": sequence, "reportedAt": now,
                    "agentVersion": "0.2.0",
                    "inventory": {
                        "board": format!("15717{:04}", node.ordinal), "product": "NVIDIA H100 80GB HBM3",
                        "driver": "580.95.05", "kernel": "6.8.0", "gpus": gpus.collect::<Vec<_>>(),
                    },
                    "evidence": evidence.collect::<Vec<_>>(),
                },
            })
        };
        self.apply(nodes.iter().map(report).collect()).await
    }

    /// A pod that ended badly.
    pub(crate) async fn failed_pod(&self, name: &str, node: usize) -> Result<()> {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": "default" },
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
            "spec": {
                "nodeName": self.nodes[node].name, "containers": [{ "name": "work", "image": "work" }],
                "automountServiceAccountToken": false, "restartPolicy": "Never",
            },
        });
        self.apply(vec![account]).await?;
        self.apply(vec![pod]).await?;
        let failed = r#"{"status":{"phase":"Failed","reason":"UnexpectedAdmissionError"}}"#;
        let patch = ["patch", "pod", name, "-n", "default", "--subresource=status", "--type=merge", "-p", failed];
        // The simulated kubelet may set it running at the same time.
        eventually("a failed pod", async || {
            self.cluster.run_kubectl(&patch).await?;
            tokio::time::sleep(Duration::from_millis(500)).await;
            let pod = self.json(&["get", "pod", name, "-n", "default"]).await?;
            Ok((pod["status"]["phase"] == "Failed").then_some(()))
        })
        .await
    }

    /// What a kubelet says after a boot.
    pub(crate) async fn rebooted(&self, node: usize) -> Result<()> {
        let name = &self.nodes[node].name;
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": format!("{name}.boot"), "namespace": "default" },
            "involvedObject": { "apiVersion": "v1", "kind": "Node", "name": name }, "reason": "Rebooted",
            "type": "Warning", "message": "Node has been rebooted", "count": 1, "source": { "component": "kubelet" },
            "firstTimestamp": second(), "lastTimestamp": second(),
        });
        self.apply(vec![event]).await
    }

    /// A gang of one pod a node, known by its label.
    pub(crate) async fn gang(&self, name: &str, nodes: &[usize]) -> Result<()> {
        let pod = |(number, place): (usize, &usize)| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": format!("{name}-{number}"), "namespace": "default", "labels": { "job": name } },
                "spec": {
                    "nodeName": self.nodes[*place].name, "containers": [{ "name": "work", "image": "work" }],
                    "automountServiceAccountToken": false,
                },
            })
        };
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": "default" },
        });
        self.apply(vec![account]).await?;
        self.apply(nodes.iter().enumerate().map(pod).collect()).await
    }
}

/// Now, as old kinds write it.
fn second() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The first answer that is something, or a failed test.
pub(crate) async fn eventually<T>(what: &str, ask: impl AsyncFn() -> Result<Option<T>>) -> Result<T> {
    let give_up_at = Instant::now() + SOON;
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        ensure!(Instant::now() < give_up_at, "{what}: not within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Runs the real program as somebody.
pub(crate) fn mainstay(kubeconfig: &Path, words: &str) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.args(words.split_whitespace()).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    command.env_remove("NO_COLOR").output().context("mainstay cannot be run")
}
