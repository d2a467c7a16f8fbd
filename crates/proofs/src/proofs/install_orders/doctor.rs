//! `mainstay doctor` in one state: it must name every object that is missing, and no object that is there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use testbed::Cluster;
use tokio::process::Command;
use tokio::time::timeout;

use super::installation::{Installation, key};

const ENDS_AT_MOST: Duration = Duration::from_secs(60);
/// Kinds of the workloads that `doctor` leaves out: they are nothing without the Deployment.
const NOT_CHECKED: [&str; 2] = ["Service", "PodDisruptionBudget"];

/// What `doctor` gets wrong, if anything.
pub(super) async fn wrong(cluster: &Cluster, mainstay: &Path, pieces: &Installation) -> Result<Option<String>> {
    let mut command = Command::new(mainstay);
    command.args(["doctor", "-o", "json"]).env("KUBECONFIG", cluster.kubeconfig()).stdin(Stdio::null());
    let output = timeout(ENDS_AT_MOST, command.kill_on_drop(true).output()).await.context("doctor hangs")??;
    ensure!(
        matches!(output.status.code(), Some(0 | 5)),
        "{}: doctor: {}",
        pieces.state(),
        String::from_utf8_lossy(&output.stderr)
    );
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let checks = answer["checks"].as_array().context("no checks")?;
    let missing = checks.iter().flat_map(|check| check["missing"].as_array().into_iter().flatten());
    let named: BTreeSet<String> = missing.filter_map(|name| name.as_str().map(ToOwned::to_owned)).collect();
    let mut is_something_missing = false;
    for (document, is_stored) in pieces.objects() {
        let kind = document["kind"].as_str().unwrap_or_default();
        if NOT_CHECKED.contains(&kind) {
            continue;
        }
        is_something_missing |= !is_stored;
        if is_named(document, &named) == is_stored {
            return Ok(Some(format!("{} is stored: {is_stored}; named as missing: {named:?}", key(document))));
        }
    }
    let of = |what: &str| checks.iter().find(|check| check["what"] == what);
    let others = of("Other writes").context("no check of other clients' writes")?;
    if others["level"] != "Ok" {
        return Ok(Some(others.to_string()));
    }
    // No controller runs here, so `doctor` never passes; a check reports each missing piece.
    let is_warned = checks.iter().any(|check| check["level"] != "Ok" && check["missing"].is_array());
    Ok((is_something_missing != is_warned).then(|| format!("missing: {is_something_missing}, shown: {is_warned}")))
}

fn is_named(document: &Value, named: &BTreeSet<String>) -> bool {
    let key = key(document);
    let (kind, name) = key.split_once(' ').unwrap_or_default();
    match kind {
        "CustomResourceDefinition" => named.contains(name),
        // Where its definition is missing, that is what is named.
        "FleetPolicy" => named.iter().any(|one| one.starts_with("FleetPolicy") || one.starts_with("fleetpolicies.")),
        "Fabric" => named.iter().any(|one| one.starts_with("Fabric") || one.starts_with("fabrics.")),
        kind => named.contains(&format!("{} {name}", kind.trim_start_matches("ValidatingAdmission"))),
    }
}
