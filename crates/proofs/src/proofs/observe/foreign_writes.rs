//! Injects faults, a failed leaf, a false alarm on half the fleet, jobs, an operator's cordon and a killed leader. Then
//! the audit log shows which account wrote what.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use testbed::eventually_within;
use testbed::test_cluster::resource_path;
use tokio::time::sleep;
use xtask::{dist, output};

use super::controller::Controller;
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};

const NODES: usize = 200;
/// Whatever comes of it is there by then, on two busy cores.
pub(super) const SOON: Duration = Duration::from_mins(2);
/// What the controller may write, and nothing else.
const OURS: [&str; 11] = [
    "mainstay.dev/gpunodes",
    "mainstay.dev/gpunodes/status",
    "mainstay.dev/incidents",
    "mainstay.dev/incidents/status",
    "mainstay.dev/cells/status",
    "mainstay.dev/fleetpolicies/status",
    "mainstay.dev/fabrics/status",
    "mainstay.dev/slos/status",
    "events.k8s.io/events",
    // A question about its own permissions; the server stores nothing.
    "authorization.k8s.io/selfsubjectaccessreviews",
    "coordination.k8s.io/leases",
];

pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let program = dist::binary(&context.workspace).await?;
    let bed = TestCluster::start(NODES).await?;
    let folder = TempDir::new()?;
    let kubeconfig = bed.controller().await?;
    let served = Controller::start(&program, &kubeconfig, folder.path()).await?;
    served.wait_until_leading().await?;
    for node in 0..NODES {
        bed.report(node, 1, 8, &[]).await?;
    }
    work(&bed).await?;
    // A GPU off the bus; an operator's cordon and a fault.
    bed.report(0, 2, 8, &[("79", 1)]).await?;
    bed.merge("/api/v1/nodes", &bed.nodes[1].name, &json!({ "spec": { "unschedulable": true } })).await?;
    bed.report(1, 2, 8, &[("48", 2)]).await?;
    // A whole leaf.
    let leaf = bed.nodes[NODES - 1].leaf.clone();
    let of_leaf: Vec<usize> = (0..NODES).filter(|node| bed.nodes[*node].leaf == leaf).collect();
    for node in &of_leaf {
        bed.report(*node, 2, 8, &[("74", 9), ("79", 1)]).await?;
    }
    let incidents = async || Ok(bed.list(&resource_path("incidents")).await?.len() >= 2);
    eventually_within(SOON, "incidents", incidents).await?;
    served.kill().await?;
    let served = Controller::start(&program, &kubeconfig, folder.path()).await?;
    served.wait_until_leading().await?;
    // A false alarm on half the fleet.
    for node in (2..NODES).step_by(2) {
        bed.report(node, 3, 8, &[("79", 4)]).await?;
    }
    let suspects = async || {
        let records = bed.list(&resource_path("gpunodes")).await?;
        Ok(records.iter().filter(|record| record["status"]["stage"] == "Suspect").count() >= NODES / 2)
    };
    eventually_within(SOON, "suspects", suspects).await?;
    sleep(Duration::from_secs(5)).await;
    drop(served);
    summary(&bed, &of_leaf)
}

/// Work on some nodes, so that there is something to evict.
async fn work(bed: &TestCluster) -> Result<()> {
    for node in bed.nodes.iter().take(8) {
        bed.run_pod(&format!("work-{}", node.name), node, &[]).await?;
    }
    Ok(())
}

fn summary(bed: &TestCluster, of_leaf: &[usize]) -> Result<Measurement> {
    let (of_others, told) = foreign_writes(bed)?;
    let detail = format!("{NODES} nodes, a leaf of {}, an alarm on half of them, 2 leaders; {told}", of_leaf.len());
    Ok(Measurement { value: i64::try_from(of_others)?, detail })
}

/// To how many places that are not ours the controller wrote, and what it wrote in all.
pub(super) fn foreign_writes(bed: &TestCluster) -> Result<(usize, String)> {
    let by_place = bed.cluster.audited_write_counts("mainstay-controller")?;
    let of_others: Vec<_> = by_place.iter().filter(|(place, _)| !OURS.contains(&place.as_str())).collect();
    for (place, count) in &of_others {
        output::note(format_args!("written: {count} to {place}"));
    }
    let writes: u64 = by_place.values().sum();
    ensure!(by_place.len() >= 5 && writes > 100, "the controller hardly wrote anything: {by_place:?}");
    let all: Vec<String> = by_place.iter().map(|(place, count)| format!("{place} {count}")).collect();
    Ok((of_others.len(), format!("{writes} writes: {}", all.join(", "))))
}
