//! A test cluster with agent reports, a running controller and web UI processes.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use reqwest::{Client, Method, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::{AgentReport, NAMESPACE, SOON, TestCluster, TestNode, TestProcess, eventually, run_to_end};

/// The label by which pods are of one job.
pub(crate) const GANG: &str = "example.com/job";

const SERVE: [&str; 7] = ["serve", "--listen", "127.0.0.1:0", "--lease-seconds", "2", "--log-format", "json"];

/// A test cluster with a running controller.
pub(crate) struct UiCluster {
    inner: TestCluster,
    controller: TestProcess,
}

/// A running `mainstay ui` with an HTTP client for it.
pub(crate) struct UiProcess {
    running: TestProcess,
    pub(crate) began: Value,
    caller: Caller,
}

/// An HTTP client of a page, with or without a token.
pub(crate) struct Caller {
    address: String,
    client: Client,
    token: Option<String>,
}

/// The roles that the documents name for a shared page.
pub(crate) fn roles() -> Result<String> {
    let text = std::fs::read_to_string(root().join("docs/operate/ui.md"))?;
    let block = text.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```"));
    Ok(block.context("docs/operate/ui.md has no roles")?.0.to_owned())
}

/// Standard error of a command that must fail.
pub(crate) async fn fails(words: &[&str], kubeconfig: Option<&Path>) -> Result<String> {
    let output = run_to_end(mainstay(words, kubeconfig.unwrap_or(Path::new("/dev/null"))), SOON).await?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    Ok(String::from_utf8(output.stderr)?)
}

/// Standard output of a command that must succeed.
pub(crate) async fn prints(words: &[&str], kubeconfig: &Path) -> Result<String> {
    let output = run_to_end(mainstay(words, kubeconfig), SOON).await?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Starts the page for the cluster of a kubeconfig.
pub(crate) fn ui(kubeconfig: &Path, more: &[&str]) -> Result<UiProcess> {
    let words = [&["ui", "--listen", "127.0.0.1:0", "-o", "json"], more].concat();
    let running = TestProcess::start(&mut mainstay(&words, kubeconfig))?;
    let began = running.next_json()?;
    let address = began["address"].as_str().context("no address")?.to_owned();
    Ok(UiProcess { running, began, caller: Caller { address, client: Client::new(), token: None } })
}

/// Runs a browser test of the page with these environment variables.
pub(crate) async fn node(script: &str, names: &[(&str, &str)]) -> Result<()> {
    let mut command = Command::new("node");
    command.arg(script).current_dir(root().join("ui")).envs(names.iter().copied());
    let output = run_to_end(command, SOON * 5).await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{errors}{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn mainstay(words: &[&str], kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.args(words).env("KUBECONFIG", kubeconfig);
    command
}

// === impl UiCluster ===

impl UiCluster {
    /// Starts a controller and nodes that all have reported. The fourth node has a GPU off the bus, and the controller has
    /// opened its incident.
    pub(crate) async fn start(name: &str, nodes: usize) -> Result<Self> {
        let cluster = TestCluster::with_nodes(nodes).named(name).gang_label(GANG).start().await?;
        for (place, node) in cluster.nodes.iter().enumerate() {
            let xids: &[_] = if place == 3 { &[("79", 3)] } else { &[] };
            cluster.report(node, &AgentReport::new(1, xids)).await?;
        }
        let kubeconfig = cluster.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?;
        let controller = TestProcess::start(&mut mainstay(&SERVE, &kubeconfig))?;
        let started = Self { inner: cluster, controller };
        if nodes > 3 {
            eventually("the incident", async || {
                Ok(started.cluster.get_json(&["incidents"]).await?["items"][0]["status"]["rule"].is_string())
            })
            .await?;
        }
        Ok(started)
    }

    /// Adds the example of an objective, and starts the controller again with a Prometheus that knows it.
    pub(crate) async fn with_slo(mut self, prometheus: &str) -> Result<Self> {
        self.cluster.apply(&root().join("deploy/examples/slo.yaml")).await?;
        let kubeconfig = self.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?;
        let words = [&SERVE[..], &["--prometheus", prometheus]].concat();
        self.controller = TestProcess::start(&mut mainstay(&words, &kubeconfig))?;
        eventually("the error budget", async || {
            Ok(self.cluster.get_json(&["slos"]).await?["items"][0]["status"]["budgetLeftPpm"].is_i64())
        })
        .await?;
        Ok(self)
    }

    /// Makes a pod of a job and a queue that requests GPUs. Without a node it waits for one.
    pub(crate) async fn request_gpus(&self, name: &str, node: Option<&TestNode>, gpus: u32) -> Result<()> {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": "default",
                "labels": { "kueue.x-k8s.io/queue-name": "research", GANG: name.split('-').next() },
            },
            "spec": {
                "nodeName": node.map(|node| &node.name), "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                // No scheduler of the test cluster takes it.
                "schedulerName": "none",
                "containers": [{
                    "name": "work", "image": "work",
                    "resources": { "limits": { "nvidia.com/gpu": gpus.to_string() } },
                }],
            },
        });
        self.cluster.apply_objects(&[pod]).await
    }

    /// Name of the only incident.
    pub(crate) async fn incident(&self) -> Result<String> {
        let incidents = self.cluster.get_json(&["incidents"]).await?;
        incidents["items"][0]["metadata"]["name"].as_str().map(ToOwned::to_owned).context("no incident")
    }

    /// UID and version of every Mainstay object.
    pub(crate) async fn versions(&self) -> Result<Value> {
        let kinds = "gpunodes,incidents,cells,fleetpolicies,fabrics,nodereports";
        let all = self.cluster.get_json(&[kinds]).await?;
        let version = |object: &Value| json!([object["metadata"]["uid"], object["metadata"]["resourceVersion"]]);
        Ok(all["items"].as_array().into_iter().flatten().map(version).collect())
    }

    /// By the API server's audit log.
    pub(crate) fn wrote_nothing(&self, account: &str) -> Result<()> {
        ensure!(self.cluster.audit_events()?.next().is_some(), "the audit log is empty");
        for write in self.cluster.audited_writes(account)? {
            let write = write?;
            // A review of one's own permissions is a write by its verb alone.
            let is_review =
                ["authorization.k8s.io/", "authentication.k8s.io/"].iter().any(|it| write.place.starts_with(it));
            ensure!(is_review, "{account} wrote {write:?}");
        }
        Ok(())
    }
}

impl Deref for UiCluster {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.inner
    }
}

// === impl UiProcess ===

impl UiProcess {
    pub(crate) fn as_(&self, token: &str) -> Caller {
        let Caller { address, client, .. } = &self.caller;
        Caller { address: address.clone(), client: client.clone(), token: Some(token.to_owned()) }
    }

    pub(crate) fn address(&self) -> &str {
        &self.caller.address
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let response = self.caller.call(Method::GET, &format!("/api/v1{path}"), Value::Null).await?;
        ensure!(response.status().is_success(), "{path}: {response:?}");
        Ok(response.json().await?)
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> Result<Response> {
        self.caller.send(method, path, body).await
    }

    pub(crate) async fn status(&self, token: Option<&str>, path: &str) -> Result<u16> {
        let Caller { address, client, .. } = &self.caller;
        let caller = Caller { address: address.clone(), client: client.clone(), token: token.map(ToOwned::to_owned) };
        Ok(caller.call(Method::GET, path, Value::Null).await?.status().as_u16())
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn stop(mut self) -> Result<()> {
        let status = self.running.interrupt()?;
        ensure!(status.code() == Some(0), "{status}");
        Ok(())
    }
}

// === impl Caller ===

impl Caller {
    async fn call(&self, method: Method, path: &str, body: Value) -> Result<Response> {
        let mut call = self.client.request(method, format!("{}{path}", self.address)).timeout(SOON);
        if let Some(token) = &self.token {
            call = call.bearer_auth(token);
        }
        if body != Value::Null {
            call = call.json(&body);
        }
        Ok(call.send().await?)
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> Result<Response> {
        self.call(method.parse()?, &format!("/api/v1{path}"), body).await
    }

    pub(crate) async fn stream(&self) -> Result<Response> {
        let response = self.call(Method::GET, "/api/v1/stream", Value::Null).await?;
        ensure!(response.status().is_success(), "{response:?}");
        Ok(response)
    }
}
