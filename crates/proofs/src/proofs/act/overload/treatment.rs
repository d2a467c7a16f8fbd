//! A faulty node and its pod: whether the treatment is as far as it gets without an executor, and how it ended.

use anyhow::Result;
use serde_json::{Value, json};
use testbed::TestCluster;
use testbed::audit::AuditedWrite;
use testbed::test_cluster::resource_path;
use xtask::output;

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Code of an eviction that a disruption budget refuses.
const TOO_MANY_REQUESTS: u64 = 429;

/// A fault of one node, which runs one pod of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) node: usize,
    pub(super) xid: &'static str,
    pub(super) pod: &'static str,
    pub(super) job: &'static str,
}

/// Violations, counted.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Faults whose end differs from the reference.
    pub(super) lost: i64,
    /// Actions on a faulty node or its pod beyond those of the reference.
    pub(super) twice: i64,
    /// Actions on nodes and pods without a fault.
    pub(super) others: i64,
}

impl Fault {
    /// Whether the node is quarantined, its pod is gone, and the treatment waits for the repair that nothing carries out here.
    pub(super) async fn is_treated(&self, bed: &TestCluster) -> Result<bool> {
        let end = self.end(bed).await?;
        Ok(end["stage"] == "Repairing"
            && end["waitingOn"] == "Order"
            && end["pods"] == 0
            && end["incidents"] == json!([true]))
    }

    /// Whether the tenant's budget refused the eviction of the pod.
    pub(super) fn is_refused_eviction(&self, bed: &TestCluster) -> Result<bool> {
        let mut writes = bed.cluster.audited_writes("mainstay-controller")?;
        Ok(writes.any(|one| one.is_ok_and(|one| one.code == TOO_MANY_REQUESTS && one.name == self.pod)))
    }

    /// The incidents of the node.
    async fn incidents(&self, bed: &TestCluster) -> Result<Vec<Value>> {
        let name = json!(bed.nodes[self.node].name);
        let is_of_node = |one: &Value| one["status"]["nodes"].as_array().is_some_and(|all| all.contains(&name));
        Ok(bed.list(&resource_path("incidents")).await?.into_iter().filter(is_of_node).collect())
    }

    /// How it is now, without what differs between two faults: names, times and the cause.
    async fn end(&self, bed: &TestCluster) -> Result<Value> {
        let name = &bed.nodes[self.node].name;
        let named = |all: Vec<Value>| all.into_iter().find(|one| one["metadata"]["name"] == **name).unwrap_or_default();
        let node = named(bed.list(NODES).await?);
        let stored = named(bed.list(&resource_path("gpunodes")).await?)["status"].clone();
        let is_open: Vec<bool> =
            self.incidents(bed).await?.iter().map(|one| one["status"]["closedAt"].is_null()).collect();
        let pods = bed.list(PODS).await?.into_iter().filter(|pod| pod["spec"]["nodeName"] == **name).count();
        let keys = |field: &str| -> Vec<String> {
            let all = node["metadata"][field].as_object().into_iter().flatten();
            all.map(|(key, _)| key.clone()).collect()
        };
        let taints = node["spec"]["taints"].as_array().into_iter().flatten();
        let taints: Vec<Value> = taints.map(|one| json!([one["key"], one["effect"]])).collect();
        Ok(json!({
            "stage": stored["stage"], "waitingOn": stored["waitingOn"], "orders": stored["orders"],
            "grant": [stored["grant"]["by"], stored["grant"]["needs"]],
            "taints": taints, "labels": keys("labels"), "annotations": keys("annotations"),
            "pods": pods, "incidents": is_open,
        }))
    }
}

/// Compares every fault with the reference, and the writes to nodes and evictions of pods with those of the reference.
pub(super) async fn compare(bed: &TestCluster, reference: &Fault, all: &[Fault]) -> Result<Found> {
    let mut found = Found::default();
    let expected = reference.end(bed).await?;
    let writes: Vec<AuditedWrite> =
        bed.cluster.audited_writes("mainstay-controller")?.filter(is_action).collect::<Result<_>>()?;
    let count = |place: &str, name: &str| {
        let count = writes.iter().filter(|one| one.place == place && one.name == name).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    };
    let mut of_faults = 0;
    for fault in all {
        let end = fault.end(bed).await?;
        let is_lost = end != expected || !fault.is_treated(bed).await?;
        if is_lost {
            let incidents = [fault.incidents(bed).await?, reference.incidents(bed).await?].map(|all| words(&all));
            output::note(format_args!("{fault:?}: {end}, expected {expected}; incidents {incidents:?}"));
        }
        found.lost += i64::from(is_lost);
        let (patches, evictions) = (count("/nodes", &bed.nodes[fault.node].name), count("/pods/eviction", fault.pod));
        found.twice += (patches - 1).max(0) + (evictions - 1).max(0);
        of_faults += patches + evictions;
    }
    found.others = i64::try_from(writes.len())? - of_faults;
    if found.twice + found.others > 0 {
        output::note(format_args!("{writes:?}"));
    }
    Ok(found)
}

/// The rule of each incident, and when it was opened and closed.
fn words(incidents: &[Value]) -> Vec<String> {
    let word = |one: &Value| format!("{} {} {}", one["rule"], one["openedAt"], one["closedAt"]);
    incidents.iter().map(|one| word(&one["status"])).collect()
}

/// Whether a write was carried out and changed a node or a job.
fn is_action(write: &Result<AuditedWrite>) -> bool {
    let is_action = |one: &AuditedWrite| {
        let is_of_others = one.place.starts_with("/nodes") || one.place.starts_with("/pods");
        (is_of_others || one.place.ends_with("/checkpointrequests")) && (200..300).contains(&one.code)
    };
    write.as_ref().map_or(true, is_action)
}
