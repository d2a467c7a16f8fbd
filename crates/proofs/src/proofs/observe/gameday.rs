//! The five drills of `mainstay gameday` on a test cluster, with the shipped alert rules on a real Prometheus. Every check of every
//! report must pass. Before the Cell has its label, a drill must be refused.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use testbed::Prometheus;
use tokio::process::Command;
use xtask::{command, output};

use super::controller::Controller;
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};

/// Three leaves of 32 nodes.
const NODES: usize = 96;
const DRILLS: [&str; 5] = ["driver-restart", "thermal", "node-eviction", "leaf-down", "false-alarms"];
/// Pods of the job that is evicted.
const PODS: usize = 2;

pub(in super::super) async fn measure(context: &Context) -> Result<Measurement> {
    let program = command::debug_program(&context.workspace, "mainstay").await?;
    let bed = TestCluster::start(NODES).await?;
    let folder = TempDir::new()?;
    let served = Controller::start_with(&program, &bed.controller().await?, &folder.path().join("audit"), 15).await?;
    served.wait_until_leading().await?;
    let alerts = context.workspace.root.join("deploy/alerts");
    let rules =
        ["rules.yaml", "gpu-rules.yaml", "fleet-rules.yaml"].map(|name| alerts.join(name).display().to_string());
    let prometheus = Prometheus::serve(
        folder.path(),
        &format!(
            "global: {{ scrape_interval: 5s, evaluation_interval: 5s }}\nrule_files: [{}]\nscrape_configs:\n\
             - {{ job_name: mainstay-controller, honor_labels: true, static_configs: [{{ targets: ['{}'] }}] }}\n",
            rules.join(", "),
            served.address(),
        ),
    )
    .await?;
    for pod in 0..PODS {
        bed.run_pod(&format!("train-{pod}"), &bed.nodes[NODES - 1], &[("job", "train")]).await?;
    }
    let kubeconfig = bed.cluster.kubeconfig();
    let refused = run(&program, &kubeconfig, &["gameday", "run", "thermal"]).await?;
    ensure!(refused.1.contains("not a test cluster"), "a drill ran on a cluster without the label: {refused:?}");
    bed.cluster.run_kubectl(&["label", "cell", "cell", "mainstay.dev/test-cluster=true"]).await?;
    let (mut wrong, mut told) = (0, Vec::new());
    for drill in DRILLS {
        let words = ["gameday", "run", drill, "--prometheus", &prometheus.url, "-o", "json"];
        let (text, problem) = run(&program, &kubeconfig, &words).await?;
        let report: Value = serde_json::from_str(&text).with_context(|| format!("{drill}: {problem}"))?;
        let checks = report["checks"].as_array().context("no checks")?;
        let failed = checks.iter().filter(|check| check["result"] != "Passed").count();
        output::note(format_args!("gameday: {report:#}"));
        wrong += failed;
        told.push(format!("{drill}: {} of {} checks passed", checks.len() - failed, checks.len()));
    }
    Ok(Measurement { value: i64::try_from(wrong)?, detail: format!("{NODES} emulated nodes; {}", told.join("; ")) })
}

/// Standard output and standard error of the program.
async fn run(program: &Path, kubeconfig: &Path, words: &[&str]) -> Result<(String, String)> {
    let output = Command::new(program).args(words).env("KUBECONFIG", kubeconfig).output().await?;
    Ok((String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}
