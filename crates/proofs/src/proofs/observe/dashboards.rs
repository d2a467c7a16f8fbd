//! Every query of every dashboard, asked of a real Prometheus that scrapes a real controller with emulated nodes and jobs, and a
//! real agent with fake GPUs. A panel without data is wrong, or its series does not exist.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::Prometheus;
use tokio::time::{Instant, sleep};
use xtask::{command, output};

use super::super::{agent, metrics_cost};
use super::controller::Controller;
use super::emulated_nodes::{self, EmulatedNode};
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};

const NODES: usize = 8;
/// Nodes whose agent is a process of its own. The metrics of the others are copies of an agent's.
const AGENTS: usize = 1;
/// Series that need an event, shown where a panel has no data.
const COUNTED: [&str; 4] = [
    "mainstay_device_plugin_restarts_total",
    "mainstay_job_wait_seconds_count",
    "mainstay_detection_seconds_count",
    "mainstay_return_seconds_count",
];
/// The controller computes its metrics of the fleet in steps; then two scrapes follow.
const STEP: Duration = Duration::from_secs(10);
/// Time until a node that is not ready is suspected.
const LOST: Duration = Duration::from_mins(1);
/// Time for two scrapes.
const SCRAPED: Duration = Duration::from_secs(3);
const DASHBOARDS: [&str; 3] = ["executive", "on-call", "debug"];
/// A job has ended after 30 s without a pod; then two scrapes and an evaluation follow.
const DATA_WITHIN: Duration = Duration::from_mins(3);
const PODS: &str = "/api/v1/namespaces/default/pods";
const GPUS: &str = "nvidia.com/gpu";

pub(in super::super) async fn measure(context: &Context) -> Result<Measurement> {
    let program = command::debug_program(&context.workspace, "mainstay").await?;
    let template = metrics_cost::template(context).await?;
    let bed = TestCluster::start_without_heartbeats(NODES).await?;
    let folder = TempDir::new()?;
    let served = Controller::start_with(&program, &bed.controller().await?, &folder.path().join("audit"), 15).await?;
    served.wait_until_leading().await?;
    let machines = emulated_nodes::start(&bed, &agent::program::build(context).await?, AGENTS).await?;
    for node in AGENTS..NODES {
        bed.report(node, 1, 8, &[]).await?;
    }
    let agents = metrics_cost::serve(template).await?;
    let emulated = (0_u64..).zip(&bed.nodes).skip(AGENTS).map(|(number, node)| agents.target_of(number, &node.name));
    let real = machines.iter().map(|machine| {
        let name = &bed.nodes[machine.node].name;
        json!({ "targets": [machine.address], "labels": { "instance": name, "node": name } })
    });
    let targets: Vec<Value> = real.chain(emulated).collect();
    std::fs::write(folder.path().join("targets.json"), serde_json::to_string(&targets)?)?;
    let alerts = context.workspace.root.join("deploy/alerts");
    let rules =
        ["rules.yaml", "gpu-rules.yaml", "fleet-rules.yaml"].map(|name| alerts.join(name).display().to_string());
    let prometheus = Prometheus::serve(
        folder.path(),
        &format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{}]\nscrape_configs:\n\
             - {{ job_name: mainstay-controller, honor_labels: true, static_configs: [{{ targets: ['{}'] }}] }}\n\
             - {{ job_name: mainstay-agent, file_sd_configs: [{{ files: [targets.json] }}] }}\n",
            rules.join(", "),
            served.address(),
        ),
    )
    .await?;
    events(&bed, &machines).await?;
    let panels = panels(context)?;
    let begun = Instant::now();
    let mut empty = panels.clone();
    while !empty.is_empty() && begun.elapsed() < DATA_WITHIN {
        sleep(Duration::from_secs(5)).await;
        let mut left = Vec::new();
        for panel in empty {
            if !has_data(&prometheus, &panel).await? {
                left.push(panel);
            }
        }
        empty = left;
    }
    for panel in &empty {
        output::note(format_args!("dashboards: no data: {} of {}: {:?}", panel.title, panel.dashboard, panel.queries));
    }
    if !empty.is_empty() {
        let text = served.metrics().await?;
        let is_told = |line: &&str| COUNTED.iter().any(|name| line.starts_with(name));
        output::note(format_args!("dashboards: {:?}", text.lines().filter(is_told).collect::<Vec<_>>()));
    }
    Ok(Measurement {
        value: i64::try_from(empty.len())?,
        detail: format!(
            "{} panels with {} queries of {} dashboards, {NODES} emulated nodes with 8 fake GPUs each; {} panels without data",
            panels.len(),
            panels.iter().map(|panel| panel.queries.len()).sum::<usize>(),
            DASHBOARDS.len(),
            empty.len(),
        ),
    })
}

/// One panel with its queries.
#[derive(Clone)]
struct Panel {
    dashboard: &'static str,
    title: String,
    queries: Vec<String>,
}

fn panels(context: &Context) -> Result<Vec<Panel>> {
    let mut panels = Vec::new();
    for dashboard in DASHBOARDS {
        let path = context.workspace.root.join(format!("deploy/dashboards/{dashboard}.json"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let document: Value = serde_json::from_str(&text)?;
        for panel in document["panels"].as_array().context("no panels")? {
            let targets = panel["targets"].as_array().context("no queries")?;
            // Grafana replaces the variable by the choice of the user; `.*` is the choice of all.
            let queries =
                targets.iter().filter_map(|one| one["expr"].as_str()).map(|query| query.replace("$node", ".*"));
            let title = panel["title"].as_str().context("no title")?.to_owned();
            panels.push(Panel { dashboard, title, queries: queries.collect() });
        }
    }
    Ok(panels)
}

/// Whether every query has a result that is a number.
async fn has_data(prometheus: &Prometheus, panel: &Panel) -> Result<bool> {
    for query in &panel.queries {
        let answer = prometheus.instant(query).await.with_context(|| query.clone())?;
        let results = answer["data"]["result"].as_array().context("no result")?;
        let is_number = |one: &Value| one["value"][1].as_str().is_some_and(|value| value != "NaN");
        if !results.iter().any(is_number) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a fleet has on an ordinary day: a job that waits, jobs that end well and badly, a fault, a device plugin that restarts, and a
/// node that returns.
async fn events(bed: &TestCluster, machines: &[EmulatedNode]) -> Result<()> {
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": "default" } });
    bed.cluster.apply_objects(&[account]).await?;
    let pod = |name: &str, labels: Value, node: Option<&str>, gpus: Option<&str>| {
        let limits = gpus.map(|gpus| json!({ GPUS: gpus }));
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": "default", "labels": labels },
            "spec": {
                "nodeName": node, "restartPolicy": "Never", "automountServiceAccountToken": false,
                "containers": [{ "name": "work", "image": "work", "resources": { "limits": limits } }],
            },
        })
    };
    let node = |number: usize| bed.nodes[number].name.as_str();
    // More GPUs than a node has: it waits.
    let mut plugin = pod("plugin", json!({ "app": "nvidia-device-plugin-daemonset" }), Some(node(1)), None);
    plugin["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "plugin", "uid": "none", "controller": true }]);
    let objects = [pod("waits", json!({}), None, Some("64")), plugin];
    bed.cluster.apply_objects(&objects).await?;
    sleep(STEP).await;
    for (name, on) in [("good", 2), ("bad", 3)] {
        bed.cluster.apply_objects(&[pod(name, json!({}), None, Some("8"))]).await?;
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": name, "namespace": "default" },
            "target": { "kind": "Node", "name": node(on) },
        });
        sleep(SCRAPED).await;
        let request = kube::core::Request::new(PODS);
        let body = serde_json::to_vec(&binding)?;
        let request = request.create_subresource("binding", name, &kube::api::PostParams::default(), body)?;
        bed.admin.request::<Value>(request).await?;
    }
    sleep(SCRAPED).await;
    status(bed, "good", json!({ "phase": "Succeeded" })).await?;
    status(bed, "bad", json!({ "phase": "Failed" })).await?;
    for restarts in 0..4 {
        let state = json!({ "running": {} });
        let container = json!({ "name": "work", "image": "work", "imageID": "", "ready": true, "restartCount": restarts, "state": state });
        status(bed, "plugin", json!({ "phase": "Running", "containerStatuses": [container] })).await?;
        sleep(SCRAPED).await;
    }
    for machine in machines {
        machine.xid("63");
    }
    bed.report(5, 2, 8, &[("79", 3)]).await?;
    // A node that Kubernetes loses, and sees again.
    bed.set_ready(node(6), "Unknown").await?;
    sleep(LOST).await;
    bed.set_ready(node(6), "True").await
}

async fn status(bed: &TestCluster, name: &str, status: Value) -> Result<()> {
    let patch = json!({ "status": status });
    let request = kube::core::Request::new(PODS);
    let params = kube::api::PatchParams::default();
    let request = request.patch_subresource("status", name, &params, &kube::api::Patch::Merge(&patch))?;
    bed.admin.request::<Value>(request).await?;
    Ok(())
}
