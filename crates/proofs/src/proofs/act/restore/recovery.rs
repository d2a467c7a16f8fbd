//! What the runbook `controller-writes` asks of an operator after a restore of etcd, with the commands that it names.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use testbed::eventually;
use xtask::command;

use super::trial::{LATER, Trial};

const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// Sets the mode to Observe, files the lost request again, raises the epoch, and sets the mode back. The controller then treats the fault that
/// it only observed.
pub(super) async fn recover(trial: &Trial<'_>, program: &Path, root: &Path) -> Result<()> {
    let bed = &trial.cluster.bed;
    set_mode(trial, "Observe").await?;
    let mut list = command::program(program, root);
    list.args(["node", "list"]).env("KUBECONFIG", bed.cluster.kubeconfig());
    let listed = command::text(&mut list, COMMAND_LIMIT).await?;
    ensure!(listed.contains(&bed.nodes[LATER].name), "node list does not name a faulty node: {listed}");
    trial.request().await?;
    raise_epoch(trial).await?;
    eventually("the condition Current", async || Ok(trial.is_current().await? == Some(true))).await?;
    set_mode(trial, "Act").await?;
    let name = &bed.nodes[LATER].name;
    eventually("the quarantine of the later fault", async || trial.cluster.is_quarantined(name).await).await
}

async fn set_mode(trial: &Trial<'_>, mode: &str) -> Result<()> {
    let patch = format!(r#"{{"spec":{{"mode":"{mode}"}}}}"#);
    let args = ["patch", "cell", "cell", "--type", "merge", "-p", &patch];
    trial.cluster.bed.cluster.run_kubectl(&args).await.map(drop)
}

/// Raises the epoch above the highest one seen, which the Cell's condition names.
async fn raise_epoch(trial: &Trial<'_>) -> Result<()> {
    let cell = trial.cell().await?;
    let conditions = cell["conditions"].as_array().into_iter().flatten();
    let message = conditions.filter(|one| one["type"] == "Current").find_map(|one| one["message"].as_str());
    let numbers = message.context("no condition Current")?.split(|c: char| !c.is_ascii_digit());
    let seen: i64 = numbers.filter_map(|number| number.parse().ok()).max().context("no epoch in the condition")?;
    let patch = format!(r#"{{"status":{{"epoch":{}}}}}"#, seen + 1);
    let args = ["patch", "cell", "cell", "--subresource=status", "--type", "merge", "-p", &patch];
    trial.cluster.bed.cluster.run_kubectl(&args).await.map(drop)
}
