//! The Helm chart, with the real Helm: it renders what `mainstay render` prints, and on a real server it installs, upgrades
//! without touching the Cell, and leaves nothing behind.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::{Cluster, Fleet, Helm, NAMESPACE, OptionalServer, Options, TestProcess, eventually};

const SOON: Duration = Duration::from_mins(2);
const NODES: usize = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn chart() -> String {
    root().join("deploy/chart/mainstay").to_string_lossy().into_owned()
}

// === Every value is told, checked and used ===

/// `a.b.c` of every value that is no map of further ones; an empty map is a value.
fn leaves(at: &str, value: &Value, all: &mut Vec<String>) {
    match value.as_object().filter(|map| !map.is_empty()) {
        Some(map) => {
            let under = |key: &String| if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            map.iter().for_each(|(key, value)| leaves(&under(key), value, all));
        }
        None => all.push(at.to_owned()),
    }
}

fn of_schema<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(schema, |at, key| {
        let found = at.get("properties")?.get(key)?;
        match found["$ref"].as_str() {
            Some(place) => schema.pointer(place.strip_prefix('#')?),
            None => Some(found),
        }
    })
}

#[test]
fn every_value_is_in_the_table_in_the_schema_and_in_a_template() -> Result<()> {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).with_context(|| path.to_owned());
    let values = text("deploy/chart/mainstay/values.yaml")?;
    let (schema, table) = (text("deploy/chart/mainstay/values.schema.json")?, text("docs/install/helm-values.md")?);
    let schema: Value = serde_json::from_str(&schema)?;
    let templates = ["_objects.tpl", "dashboards.yaml", "monitoring.yaml", "policy.yaml", "workloads.yaml"]
        .map(|name| format!("templates/{name}"));
    let templates = templates.map(|name| text(&format!("deploy/chart/mainstay/{name}")));
    let templates = templates.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let mut all = Vec::new();
    leaves("", &serde_saphyr::from_str(&values)?, &mut all);
    ensure!(all.len() >= 20, "{all:?}");
    for path in &all {
        ensure!(table.contains(&format!("| `{path}` |")), "{path} is not in the table of docs/install/helm-values.md");
        ensure!(of_schema(&schema, path).is_some(), "{path} is not in values.schema.json");
        let key = path.rsplit('.').next().unwrap_or_default();
        let used = templates.contains(&format!(".{key}")) || templates.contains(&format!("\"{key}\""));
        ensure!(used, "{path} is in no template");
    }
    let lines: Vec<&str> = values.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        let is_value = line.split_once(": ").is_some_and(|(_, value)| !value.is_empty());
        let told = at > 0 && lines[at - 1].trim_start().starts_with('#');
        ensure!(!is_value || told, "values.yaml does not say what this is: {line}");
    }
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).map(|(path, _)| path);
    let rows: BTreeSet<&str> = rows.collect();
    let stale: Vec<_> = rows.iter().filter(|path| !all.iter().any(|value| value == *path)).collect();
    ensure!(stale.is_empty(), "docs/install/helm-values.md has values that are not there: {stale:?}");
    Ok(())
}

// === The chart is what `mainstay render` prints ===

fn key(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    format!("{} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}

fn by_key(objects: Vec<Value>) -> Result<BTreeMap<String, Value>> {
    let count = objects.len();
    let map: BTreeMap<String, Value> = objects.into_iter().map(|object| (key(&object), object)).collect();
    ensure!(map.len() == count, "an object is there twice");
    Ok(map)
}

/// What `mainstay render` prints, but the namespace, which Helm is given.
fn rendered(words: &[&str]) -> Result<BTreeMap<String, Value>> {
    let output = Command::new(env!("CARGO_BIN_EXE_mainstay")).args(["render", "-o", "json"]).args(words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut list: Value = serde_json::from_slice(&output.stdout)?;
    let objects = list["items"].as_array_mut().map(std::mem::take).context("no items")?;
    by_key(objects.into_iter().filter(|object| object["kind"] != "Namespace").collect())
}

/// What Helm would install: without the hooks of an uninstall, and without Helm's words on the Cell.
async fn templated(helm: &Helm, namespace: &str, words: &[&str]) -> Result<BTreeMap<String, Value>> {
    let (home, chart) = (TempDir::new()?, chart());
    let args = [&["template", "mainstay", &chart, "--namespace", namespace], words].concat();
    let text = helm.run(home.path(), None, &args).await?;
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text)?;
    objects.retain(|object| {
        let hook = object["metadata"]["annotations"]["helm.sh/hook"].as_str().unwrap_or_default();
        !object.is_null() && !hook.ends_with("-delete")
    });
    for object in objects.iter_mut().filter(|object| object["kind"] == "Cell") {
        let annotations = object["metadata"].as_object_mut().and_then(|metadata| metadata.remove("annotations"));
        let keys: Vec<_> =
            annotations.iter().flat_map(|all| all.as_object().into_iter().flat_map(|all| all.keys())).collect();
        ensure!(keys.iter().all(|key| key.starts_with("helm.sh/")), "{keys:?}");
    }
    by_key(objects)
}

#[tokio::test]
async fn it_installs_exactly_what_mainstay_render_prints() -> Result<()> {
    let helm = Helm::ensure().await?;
    let home = TempDir::new()?;
    helm.run(home.path(), None, &["lint", "--strict", &chart()]).await?;
    for (namespace, values, words) in [
        (NAMESPACE, &[][..], &[][..]),
        ("gpu-ops", &[], &["--namespace", "gpu-ops"]),
        (NAMESPACE, &["--set", "actions.allowed=true"], &["--allow-actions"]),
        (
            NAMESPACE,
            &["--set", "actions.allowed=true,controller.gpuNodeLabels={a.example/gpu,b}"],
            &["--allow-actions", "--gpu-node-label", "a.example/gpu", "--gpu-node-label", "b"],
        ),
        (
            NAMESPACE,
            &["--set-json", "actions.allowed=true", "--set-json", "controller.gpuNodeLabels=[]"],
            &["--allow-actions", "--gpu-node-label", ""],
        ),
        (
            NAMESPACE,
            &["--set", "image.repository=r.example/m,agent.image.tag=v7"],
            &["--image", "r.example/m:0.2.0", "--agent-image", "mainstay-agent:v7"],
        ),
    ] {
        let (ours, theirs) = (rendered(words)?, templated(&helm, namespace, values).await?);
        ensure!(ours.keys().eq(theirs.keys()), "{:?}\n{:?}", ours.keys(), theirs.keys());
        for (key, object) in &ours {
            ensure!(theirs[key] == *object, "{key} differs:\n{object:#}\n{:#}", theirs[key]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn values_reach_the_workloads_and_nonsense_is_refused() -> Result<()> {
    let helm = Helm::ensure().await?;
    let set = [
        "--set",
        "controller.replicas=3,controller.leaseSeconds=5,imagePullSecrets={pull}",
        "--set",
        "agent.nodeSelector.pool=h100,agent.privileged=false,agent.nvmlLibrary=/host/x.so,agent.extraArgs={--disable,scrape}",
        "--set",
        "controller.resources.limits.memory=4Gi,agent.hostNetwork=true,logFormat=text",
    ];
    let objects = templated(&helm, NAMESPACE, &set).await?;
    let pod = |key: &str| &objects[key]["spec"]["template"]["spec"];
    let (controller, agent) =
        (pod("Deployment mainstay-system/mainstay-controller"), pod("DaemonSet mainstay-system/mainstay-agent"));
    ensure!(objects["Deployment mainstay-system/mainstay-controller"]["spec"]["replicas"] == 3);
    ensure!(controller["imagePullSecrets"] == json!([{ "name": "pull" }]), "{controller:#}");
    let args = controller["containers"][0]["args"].as_array().context("no args")?;
    ensure!(args.ends_with(&[json!("--log-format=text"), json!("--lease-seconds"), json!("5")]), "{args:?}");
    ensure!(controller["containers"][0]["resources"] == json!({ "limits": { "memory": "4Gi" } }));
    ensure!(agent["nodeSelector"] == json!({ "pool": "h100" }) && agent["hostNetwork"] == true, "{agent:#}");
    let args = agent["containers"][0]["args"].as_array().context("no args")?;
    ensure!(args.ends_with(&[json!("--nvml"), json!("/host/x.so"), json!("--disable"), json!("scrape")]), "{args:?}");
    ensure!(args.contains(&json!("--log-format=text")) && !args.contains(&json!("--log-format=json")), "{args:?}");
    let context = &agent["containers"][0]["securityContext"];
    ensure!(context["privileged"].is_null() && context["capabilities"]["drop"] == json!(["ALL"]), "{context}");
    let none = templated(&helm, NAMESPACE, &["--set", "agent.enabled=false"]).await?;
    ensure!(!none.keys().any(|key| key.starts_with("DaemonSet")));
    for nonsense in [
        "controller.replicas=0",
        "controller.replica=2",
        "image.repository=a b",
        "imagePullPolicy=Sometimes",
        "logFormat=xml",
        "controller.gpuNodeLabels={a b}",
    ] {
        ensure!(templated(&helm, NAMESPACE, &["--set", nonsense]).await.is_err(), "{nonsense} was taken");
    }
    Ok(())
}

/// The rules in the chart are those of `deploy/alerts`, which other tests try in Prometheus.
#[tokio::test]
async fn rules_and_monitors_for_the_prometheus_operator_come_on_request() -> Result<()> {
    let helm = Helm::ensure().await?;
    let set = "prometheus.rules=true,prometheus.monitors=true,prometheus.labels.team=sre,prometheus.runbookBase=https://git.example.org/m";
    let objects = templated(&helm, NAMESPACE, &["--set", set]).await?;
    for name in ["rules", "gpu-rules", "fleet-rules"] {
        let object = &objects[&format!("PrometheusRule {NAMESPACE}/mainstay-{name}")];
        let text = std::fs::read_to_string(root().join(format!("deploy/alerts/{name}.yaml")))?;
        let text = text.replace("runbook_url: docs/", "runbook_url: https://git.example.org/m/docs/");
        let expected: Value = serde_saphyr::from_str(&text)?;
        ensure!(object["spec"] == expected, "{name}: {object:#}");
        ensure!(object["metadata"]["labels"] == json!({ "team": "sre" }), "{object:#}");
    }
    let monitors = ["ServiceMonitor mainstay-system/mainstay-controller", "PodMonitor mainstay-system/mainstay-agent"];
    for monitor in monitors {
        let selector = &objects[monitor]["spec"]["selector"]["matchLabels"];
        let kind = if monitor.starts_with("Pod") {
            "DaemonSet mainstay-system/mainstay-agent"
        } else {
            "Service mainstay-system/mainstay-controller"
        };
        let object = &objects[kind];
        let labels = if kind.starts_with("Service") {
            &object["metadata"]["labels"]
        } else {
            &object["spec"]["template"]["metadata"]["labels"]
        };
        for (key, value) in selector.as_object().context("no selector")? {
            ensure!(labels[key] == *value, "{monitor} does not select {kind}: {labels}");
        }
    }
    let read = templated(&helm, NAMESPACE, &["--set", "prometheus.url=http://prometheus:9090"]).await?;
    let args = &read[&format!("Deployment {NAMESPACE}/mainstay-controller")]["spec"]["template"]["spec"]["containers"]
        [0]["args"];
    let ends: Vec<&str> =
        args.as_array().context("no arguments")?.iter().rev().take(2).filter_map(Value::as_str).collect();
    ensure!(ends == ["http://prometheus:9090", "--prometheus"], "{args}");
    ensure!(templated(&helm, NAMESPACE, &["--set", "prometheus.url=https://prometheus"]).await.is_err());
    let none = templated(&helm, NAMESPACE, &[]).await?;
    ensure!(!none.keys().any(|key| key.contains("Monitor") || key.contains("PrometheusRule")));
    ensure!(templated(&helm, NAMESPACE, &["--set", "prometheus.runbookBase=docs"]).await.is_err());
    Ok(())
}

#[tokio::test]
async fn the_dashboards_come_on_request_as_they_are() -> Result<()> {
    let helm = Helm::ensure().await?;
    let set = "grafana.dashboards=true,grafana.sidecarLabel=example.org/dashboard";
    let objects = templated(&helm, NAMESPACE, &["--set", set]).await?;
    for name in ["executive", "on-call", "debug"] {
        let object = &objects[&format!("ConfigMap {NAMESPACE}/mainstay-dashboard-{name}")];
        let file = std::fs::read_to_string(root().join(format!("deploy/dashboards/{name}.json")))?;
        ensure!(object["data"][format!("mainstay-{name}.json")] == file, "{object:#}");
        ensure!(object["metadata"]["labels"] == json!({ "example.org/dashboard": "1" }), "{object:#}");
    }
    let none = templated(&helm, NAMESPACE, &[]).await?;
    ensure!(!none.keys().any(|key| key.contains("dashboard")));
    Ok(())
}

// === On a real server ===

/// A real API server with simulated nodes, and Helm to install the chart on it.
struct ChartCluster {
    cluster: Cluster,
    helm: Helm,
    home: TempDir,
}

impl ChartCluster {
    async fn start() -> Result<Self> {
        let helm = Helm::ensure().await?;
        let parts = vec![OptionalServer::ControllerManager, OptionalServer::Scheduler, OptionalServer::Kwok];
        let cluster = testbed::own(Options { nodes_max: 100, parts }).await?;
        let (admin, fleet) = (cluster.client().await?, Fleet::new(NODES, 8, 7).named("chart"));
        fleet.create(&admin, &|_| ()).await?;
        let ready = fleet.wait_ready(&admin, SOON, &|_| ()).await?;
        ensure!(ready.ready == NODES, "{ready:?}");
        cluster.run_kubectl(&["create", "namespace", NAMESPACE]).await?;
        Ok(Self { cluster, helm, home: TempDir::new()? })
    }

    async fn helm(&self, words: &[&str]) -> Result<String> {
        let args = [words, &["--namespace", NAMESPACE]].concat();
        self.helm.run(self.home.path(), Some(&self.cluster.kubeconfig()), &args).await
    }

    /// Every object of every kind that the server can list, by discovery; but Events, which come and go by themselves.
    async fn everything(&self) -> Result<BTreeSet<String>> {
        let kinds =
            self.cluster.run_kubectl(&["api-resources", "--verbs=list", "-o", "name", "--cached=false"]).await?;
        // Two old kinds show what others hold, and the server warns of them.
        let others = ["events", "events.events.k8s.io", "componentstatuses", "endpoints"];
        let kinds: Vec<&str> = kinds.lines().filter(|kind| !others.contains(kind)).collect();
        let listed = self.cluster.get_json(&[&kinds.join(","), "-A"]).await?;
        let objects = listed["items"].as_array().context("no items")?.iter();
        Ok(objects.map(key).chain(kinds.into_iter().map(str::to_owned)).collect())
    }

    async fn cell(&self) -> Result<Value> {
        self.cluster.get_json(&["cell", "cell"]).await
    }

    /// What a SubjectAccessReview says of an account of ours.
    async fn may(&self, account: &str, verb: &str, place: (&str, &str, &str)) -> Result<bool> {
        let (group, resource, subresource) = place;
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": format!("system:serviceaccount:{NAMESPACE}:{account}"),
                "resourceAttributes": { "verb": verb, "group": group, "resource": resource, "subresource": subresource },
            },
        });
        let path = self.home.path().join("review.json");
        std::fs::write(&path, serde_json::to_string(&review)?)?;
        let answer = self.cluster.run_kubectl(&["create", "-o", "json", "-f", &path.to_string_lossy()]).await?;
        let answer: Value = serde_json::from_str(&answer)?;
        answer["status"]["allowed"].as_bool().context("no answer")
    }
}

/// The controller under the service account of the chart.
async fn controller(bed: &ChartCluster) -> Result<TestProcess> {
    let kubeconfig = bed.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    TestProcess::start(command.args(["serve", "--listen", "127.0.0.1:0"]).env("KUBECONFIG", kubeconfig))
}

/// Writes to a node again and again, as kubelets do, and counts how often that is refused.
async fn somebody_else(bed: &ChartCluster, until: Arc<AtomicBool>) -> Result<tokio::task::JoinHandle<(u32, u32)>> {
    let node = bed.cluster.run_kubectl(&["get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"]).await?;
    let (kubectl, kubeconfig) = (bed.cluster.kubectl(), bed.cluster.kubeconfig());
    Ok(tokio::spawn(async move {
        let (mut writes, mut refused) = (0_u32, 0_u32);
        while !until.load(Ordering::Relaxed) {
            let mut command = tokio::process::Command::new(&kubectl);
            let mark = format!("testbed.mainstay.dev/beat={writes}");
            command.arg("--kubeconfig").arg(&kubeconfig).args(["annotate", "--overwrite", "node", &node, &mark]);
            let output = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).status().await;
            writes += 1;
            refused += u32::from(!output.is_ok_and(|status| status.success()));
        }
        (writes, refused)
    }))
}

#[tokio::test]
async fn it_installs_to_observe_keeps_the_cell_and_leaves_nothing() -> Result<()> {
    let bed = ChartCluster::start().await?;
    let before = bed.everything().await?;
    bed.helm(&["install", "mainstay", &chart(), "--wait", "--timeout", "120s"]).await?;
    let installed = bed.everything().await?;
    ensure!(installed.len() > before.len() + 40, "{} and {}", installed.len(), before.len());

    let nodes = ("", "nodes", "");
    for (account, verb, place, expected) in [
        ("mainstay-controller", "list", nodes, true),
        ("mainstay-controller", "watch", ("", "pods", ""), true),
        ("mainstay-controller", "patch", ("mainstay.dev", "gpunodes", "status"), true),
        ("mainstay-controller", "patch", nodes, false),
        ("mainstay-controller", "update", nodes, false),
        ("mainstay-controller", "patch", ("", "nodes", "status"), false),
        ("mainstay-controller", "create", ("", "pods", "eviction"), false),
        ("mainstay-controller", "delete", ("", "pods", ""), false),
        ("mainstay-controller", "create", ("mainstay.dev", "checkpointrequests", ""), false),
        ("mainstay-controller", "get", ("", "secrets", ""), false),
        ("mainstay-agent", "patch", ("mainstay.dev", "nodereports", ""), true),
        ("mainstay-agent", "patch", nodes, false),
        ("mainstay-agent", "get", nodes, false),
    ] {
        let allowed = bed.may(account, verb, place).await?;
        ensure!(allowed == expected, "{account} may {verb} {place:?}: {allowed}");
    }

    let serving = controller(&bed).await?;
    eventually("a leader", async || Ok(bed.cell().await?["status"]["epoch"] == 1)).await?;
    drop(serving);
    // A person's word, and a leader's.
    bed.cluster.run_kubectl(&["patch", "cell", "cell", "--type=merge", "-p", r#"{"spec":{"mode":"Propose"}}"#]).await?;
    let cell = bed.cell().await?;
    bed.helm(&["upgrade", "mainstay", &chart(), "--set", "controller.leaseSeconds=20", "--wait", "--timeout", "120s"])
        .await?;
    let after = bed.cell().await?;
    for part in ["spec", "status"] {
        ensure!(after[part] == cell[part], "an upgrade changed the Cell: {} to {}", cell[part], after[part]);
    }
    ensure!(after["metadata"]["uid"] == cell["metadata"]["uid"], "an upgrade made the Cell anew");

    let over = Arc::new(AtomicBool::new(false));
    let others = somebody_else(&bed, Arc::clone(&over)).await?;
    let uninstalled = bed.helm(&["uninstall", "mainstay", "--wait", "--timeout", "120s"]).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    over.store(true, Ordering::Relaxed);
    let (writes, refused) = others.await?;
    uninstalled?;
    ensure!(writes > 5 && refused == 0, "{refused} of {writes} writes to a node were refused meanwhile");
    let give_up_at = Instant::now() + SOON;
    loop {
        let left = bed.everything().await?;
        if left == before {
            return Ok(());
        }
        let (more, less): (Vec<_>, Vec<_>) = (left.difference(&before).collect(), before.difference(&left).collect());
        ensure!(Instant::now() < give_up_at, "left behind: {more:?}; gone: {less:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
