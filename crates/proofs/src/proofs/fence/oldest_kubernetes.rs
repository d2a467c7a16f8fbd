//! Proof on the oldest supported Kubernetes: the whole matrix on its API server, then a controller that leads on it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{ListParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use testbed::{Cluster, NAMESPACE, Options};
use tokio::process::Command;
use tokio::time::{Instant, sleep};
use xtask::command;
use xtask::output;

use super::fenced_cluster::KubernetesVersion;
use crate::proofs::image;
use crate::prove::{Context, Measurement};

const SOON: Duration = Duration::from_mins(2);
/// Every watch is begun by then, and every kind of record written.
const SETTLES: Duration = Duration::from_secs(5);

pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let matrix = super::measure(context, KubernetesVersion::Oldest).await?;
    let (version, calls) = observed(context).await?;
    let detail = format!("on {version}: {}; a GpuNode was recorded in {calls} calls, none refused", matrix.detail);
    Ok(Measurement { detail, ..matrix })
}

/// A controller with its own account makes a record of a report. Answers the server's version and how many calls it took.
async fn observed(context: &Context) -> Result<(String, usize)> {
    let root = &context.workspace.root;
    let mainstay = command::debug_program(&context.workspace, "mainstay").await?;
    let cluster = testbed::own_on_oldest(Options { nodes_max: 0, parts: Vec::new() }).await?;
    cluster.install_mainstay().await?;
    let version = reported(&cluster, root).await?;

    let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?;
    let mut serve = Command::new(mainstay);
    serve.args(["serve", "--listen", "127.0.0.1:0"]).env("KUBECONFIG", kubeconfig);
    let mut serve = serve.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn()?;
    let give_up_at = Instant::now() + SOON;
    let ask = ["get", "gpunodes", "n1", "--ignore-not-found", "-o", "jsonpath={.status.stage}"];
    while cluster.run_kubectl(&ask).await?.is_empty() {
        ensure!(serve.try_wait()?.is_none(), "the controller ended; standard error says why above");
        ensure!(Instant::now() < give_up_at, "no GpuNode within {} s", SOON.as_secs());
        sleep(Duration::from_millis(100)).await;
    }
    sleep(SETTLES).await;
    ensure!(serve.try_wait()?.is_none(), "the controller ended; standard error says why above");
    let (calls, refused) = image::told(&cluster.audit_log())?;
    for call in &refused {
        output::note(format_args!("refused: {call}"));
    }
    ensure!(refused.is_empty(), "{} calls are refused", refused.len());
    Ok((version, calls))
}

/// One node and its report, as an administrator; answers which version the server says it is.
async fn reported(cluster: &Cluster, root: &Path) -> Result<String> {
    let admin = cluster.client().await?;
    let create = async |prefix: &str, object: &Value| -> Result<Value> {
        let request = Request::new(prefix).create(&PostParams::default(), serde_json::to_vec(object)?)?;
        admin.request(request).await.with_context(|| format!("{prefix} refused {object}"))
    };
    let node = json!({ "metadata": { "name": "n1", "labels": { "mainstay.dev/pool": "h100" } } });
    let node = create("/api/v1/nodes", &node).await?;
    let text = std::fs::read_to_string(root.join("deploy/examples/node-report.yaml"))?;
    let mut report: Value = serde_saphyr::from_str(&text)?;
    report["metadata"] = json!({ "name": "n1" });
    report["spec"]["nodeUid"] = node["metadata"]["uid"].clone();
    create("/apis/mainstay.dev/v1alpha1/nodereports", &report).await?;
    // The client has no call for a bare path; listing it is a plain GET.
    let version: Value = admin.request(Request::new("/version").list(&ListParams::default())?).await?;
    version["gitVersion"].as_str().map(str::to_owned).context("a server without a version")
}
