//! A real API server with admission policies, simulated nodes, agent reports, a controller and web UI processes.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::{Client, Method, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::fleet::labels;
use testbed::{Cluster, Fleet, Options, Program};

/// Nothing that is waited for takes longer on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);
const NAMESPACE: &str = "mainstay-system";
/// The label by which pods are of one job.
const GANG: &str = "example.com/job";

/// A simulated node and the identity that its agent reports.
pub(crate) struct TestNode {
    pub(crate) name: String,
    uid: String,
    ordinal: usize,
}

/// A real API server with simulated nodes and a running controller.
pub(crate) struct TestCluster {
    cluster: Cluster,
    pub(crate) nodes: Vec<TestNode>,
    _controller: Process,
}

/// A child process of the test, killed on drop.
struct Process {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

/// A running `mainstay ui` with an HTTP client for it.
pub(crate) struct UiProcess {
    running: Process,
    pub(crate) began: Value,
    caller: Caller,
}

/// Whoever calls a page.
pub(crate) struct Caller {
    address: String,
    client: Client,
    token: Option<String>,
}

/// The first answer that is something, or a failed test.
pub(crate) async fn until<T>(what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
    let give_up_at = Instant::now() + SOON;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < give_up_at, "{what}: not within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The roles that the documents name for a shared page.
pub(crate) fn roles() -> Result<String> {
    let text = std::fs::read_to_string(root().join("docs/operate/ui.md"))?;
    let block = text.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```"));
    Ok(block.context("docs/operate/ui.md has no roles")?.0.to_owned())
}

/// What the binary says where it fails.
pub(crate) async fn fails(words: &'static [&'static str], kubeconfig: Option<&Path>) -> Result<String> {
    let mut command = mainstay();
    command.args(words).env("KUBECONFIG", kubeconfig.unwrap_or(Path::new("/dev/null"))).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::time::timeout(SOON, output).await???;
    ensure!(output.status.code() == Some(1), "{output:?}");
    Ok(String::from_utf8(output.stderr)?)
}

/// The page of whatever cluster a kubeconfig leads to.
pub(crate) async fn ui(kubeconfig: &Path, more: &[&str]) -> Result<UiProcess> {
    let words: Vec<&str> = ["ui", "--listen", "127.0.0.1:0", "-o", "json"].iter().chain(more).copied().collect();
    let mut running = Process::start(&words, kubeconfig)?;
    let began = tokio::task::block_in_place(|| running.says());
    let began = began.with_context(|| running.complaint())?;
    let address = began["address"].as_str().context("it does not say where it is")?.to_owned();
    Ok(UiProcess { running, began, caller: Caller { address, client: Client::new(), token: None } })
}

/// A script of the page's own tests, with names that it is told; what it says is shown where it fails.
pub(crate) async fn node(script: &str, names: &[(&str, &str)]) -> Result<()> {
    let mut command = Command::new("node");
    command.arg(script).current_dir(root().join("ui")).envs(names.iter().copied()).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::time::timeout(SOON * 5, output).await???;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn mainstay() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mainstay"))
}

// === impl TestCluster ===

impl TestCluster {
    /// Nodes that all have reported, the fourth with a GPU off the bus where there are so many, and a controller that has
    /// written it down.
    pub(crate) async fn start(name: &str, nodes: usize) -> Result<Self> {
        let cluster = testbed::own(Options { nodes_max: 100, ..Options::default() }).await?;
        let deploy = root().join("deploy");
        cluster.install_crds(&deploy).await?;
        cluster.apply(&deploy.join("policy")).await?;
        cluster.apply(&deploy.join("examples/fabric.yaml")).await?;
        let admin = cluster.client().await?;
        let fleet = Fleet::new(nodes, 8, 7).named(name);
        fleet.create(&admin, &|_| ()).await?;
        let ready = fleet.wait_ready(&admin, SOON, &|_| ()).await?;
        ensure!(ready.ready == nodes, "{ready:?}");
        let listed: Value = serde_json::from_str(&cluster.run_kubectl(&["get", "nodes", "-o", "json"]).await?)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (mut known, mut documents) = (Vec::new(), String::new());
        for (ordinal, node) in listed["items"].as_array().into_iter().flatten().enumerate() {
            let metadata = &node["metadata"];
            let pool = text(&metadata["labels"][labels::POOL]);
            let policy = json!({
                "apiVersion": "mainstay.dev/v1alpha1", "kind": "FleetPolicy", "metadata": { "name": pool },
                "spec": {
                    "pool": pool, "mode": "Observe", "budgets": [{ "nodesMax": 4 }], "gang": { "podLabel": GANG },
                },
            });
            let node = TestNode { name: text(&metadata["name"]), uid: text(&metadata["uid"]), ordinal };
            let report = node.report(if ordinal == 3 { &["79"] } else { &[] });
            write!(documents, "{policy}\n---\n{report}\n---\n")?;
            known.push(node);
        }
        let path = cluster.dir().join("fleet.yaml");
        std::fs::write(&path, documents)?;
        cluster.run_kubectl(&["apply", "--server-side", "-f", &path.to_string_lossy()]).await?;
        let kubeconfig = cluster.dir().join("controller.kubeconfig");
        let token = cluster.token(NAMESPACE, "mainstay-controller", None).await?;
        std::fs::write(&kubeconfig, cluster.kubeconfig_with_token(&token)?)?;
        let words = ["serve", "--listen", "127.0.0.1:0", "--lease-seconds", "2", "-o", "json"];
        let controller = Process::start(&words, &kubeconfig)?;
        let bed = Self { cluster, nodes: known, _controller: controller };
        if nodes > 3 {
            until("the incident", async || {
                let incidents = bed.get(&["incidents"]).await.ok()?;
                incidents["items"][0]["status"]["rule"].as_str().map(drop)
            })
            .await;
        }
        Ok(bed)
    }

    pub(crate) async fn kubectl(&self, words: &[&str]) -> Result<String> {
        self.cluster.run_kubectl(words).await
    }

    pub(crate) async fn get(&self, what: &[&str]) -> Result<Value> {
        let words: Vec<&str> = ["get"].iter().chain(what).chain(&["-o", "json"]).copied().collect();
        Ok(serde_json::from_str(&self.kubectl(&words).await?)?)
    }

    pub(crate) async fn crash(&self, program: Program) -> Result<()> {
        self.cluster.crash(program).await
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> Result<String> {
        let path = self.cluster.dir().join(name);
        std::fs::write(&path, text)?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Somebody with these roles, and the kubeconfig that they have.
    pub(crate) async fn account(&self, name: &str, roles: &[&str]) -> Result<PathBuf> {
        self.kubectl(&["create", "serviceaccount", name, "--namespace", NAMESPACE]).await?;
        for role in roles {
            self.bind(name, role).await?;
        }
        self.kubeconfig(name).await
    }

    pub(crate) async fn account_token(&self, name: &str, role: &str) -> Result<String> {
        self.account(name, &[role]).await?;
        self.token(name).await
    }

    pub(crate) async fn bind(&self, name: &str, role: &str) -> Result<()> {
        let (role_is, account) = (format!("--clusterrole={role}"), format!("--serviceaccount={NAMESPACE}:{name}"));
        self.kubectl(&["create", "clusterrolebinding", &format!("{name}-{role}"), &role_is, &account]).await.map(drop)
    }

    pub(crate) async fn token(&self, name: &str) -> Result<String> {
        self.cluster.token(NAMESPACE, name, None).await
    }

    pub(crate) async fn kubeconfig(&self, name: &str) -> Result<PathBuf> {
        let path = self.cluster.dir().join(format!("{name}.kubeconfig"));
        std::fs::write(&path, self.cluster.kubeconfig_with_token(&self.token(name).await?)?)?;
        Ok(path)
    }

    /// A pod of a job that runs on a node.
    pub(crate) async fn pod(&self, name: &str, job: &str, node: &str) -> Result<()> {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": "default", "labels": { GANG: job } },
            "spec": { "nodeName": node, "containers": [{ "name": "work", "image": "work" }] },
        });
        let file = self.file(&format!("{name}.json"), &pod.to_string())?;
        self.kubectl(&["create", "--validate=false", "-f", &file]).await.map(drop)
    }

    /// The version of every object that there is of these kinds.
    pub(crate) async fn versions(&self) -> Result<Value> {
        let kinds = "gpunodes,incidents,cells,fleetpolicies,fabrics,nodereports";
        let all = self.get(&[kinds]).await?;
        let version =
            |object: &Value| (object["metadata"]["uid"].clone(), object["metadata"]["resourceVersion"].clone());
        Ok(all["items"].as_array().into_iter().flatten().map(version).map(|it| json!(it)).collect())
    }

    /// By the server's own audit log.
    pub(crate) fn wrote_nothing(&self, account: &str) -> Result<()> {
        let user = format!("system:serviceaccount:{NAMESPACE}:{account}");
        let text = std::fs::read_to_string(self.cluster.audit_log())?;
        let events = text.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
        ensure!(!events.is_empty(), "the audit log is empty");
        for event in events.iter().filter(|event| event["user"]["username"] == user) {
            // A question about oneself is a write by its verb alone.
            let group = event["objectRef"]["apiGroup"].as_str().unwrap_or_default();
            ensure!(["authorization.k8s.io", "authentication.k8s.io"].contains(&group), "{account} wrote {event}");
        }
        Ok(())
    }
}

// === impl TestNode ===

impl TestNode {
    /// What its agent writes: each of these XIDs on its GPU 3.
    fn report(&self, xids: &[&str]) -> Value {
        let serial = |gpu: usize| format!("16528{:04}{gpu:02}", self.ordinal);
        let now = jiff::Timestamp::now().to_string();
        let gpus: Vec<Value> = (0..8)
            .map(|gpu| {
                let uuid = format!("GPU-3f1c0a52-6a1e-0a43-8a3b-{:08x}{gpu:04x}", self.ordinal);
                json!({ "index": gpu, "serial": serial(gpu), "uuid": uuid, "pci": format!("0000:{:02x}:00.0", 16 + gpu) })
            })
            .collect();
        let evidence = xids.iter().map(|code| {
            json!({
                "source": "Xid", "code": code, "device": serial(3), "count": 3, "firstSeenAt": now, "lastSeenAt": now,
            })
        });
        json!({
            "apiVersion": "mainstay.dev/v1alpha1", "kind": "NodeReport", "metadata": { "name": self.name },
            "spec": {
                "nodeUid": self.uid, "bootId": "boot-1", "sequence": 1, "reportedAt": now, "agentVersion": "0.2.0",
                "inventory": {
                    "board": format!("15717{:04}", self.ordinal), "product": "NVIDIA H100 80GB HBM3",
                    "driver": "580.95.05", "kernel": "6.8.0", "gpus": gpus,
                },
                "evidence": evidence.collect::<Vec<_>>(),
            },
        })
    }
}

// === impl Process ===

impl Process {
    fn start(words: &[&str], kubeconfig: &Path) -> Result<Self> {
        let mut command = mainstay();
        command.args(words).env("KUBECONFIG", kubeconfig).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let said = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, said })
    }

    fn says(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("{line:?}"))
    }

    /// What it says where it ended instead.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        let _ = self.child.kill();
        let _ = self.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut text));
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
    pub(crate) async fn stop(mut self) -> Result<()> {
        let pid = self.running.child.id().to_string();
        ensure!(Command::new("kill").args(["-INT", &pid]).status()?.success());
        let status = tokio::task::block_in_place(|| self.running.child.wait())?;
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
