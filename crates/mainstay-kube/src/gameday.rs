//! Writes of a drill on a test cluster, with the caller's own permissions: reports of nodes that have no agent, a cordon, and
//! evictions. Which node gets what is decided by the caller.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{EvictParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use mainstay_api::{GROUP, NodeReport, VERSION};
use mainstay_model::{Code, NodeName, NodeUid, Source};
use serde_json::json;

use crate::error::{Error, Failure};
use crate::user_actions::{trouble, with_timeout};

/// Label of the Cell of a cluster on which drills are allowed. Its value is `true`.
pub const TEST_CLUSTER: &str = "mainstay.dev/test-cluster";

/// Agent version in the reports of a drill, by which they are recognised.
const AGENT_VERSION: &str = "gameday";
const MANAGER: &str = "mainstay-gameday";
/// Reports that are listed: more than any test cluster has.
const REPORTS_MAX: u32 = 2_000;
const GPUS: usize = 8;

/// A report that a drill writes in place of an agent.
#[derive(Debug, Clone)]
pub struct DrillNodeReport<'a> {
    /// Node of the report.
    pub node: &'a NodeName,
    /// Registration of the node.
    pub uid: &'a NodeUid,
    /// Number of the boot: a later one begins without evidence.
    pub boot: u64,
    /// Number of the report within the boot.
    pub sequence: u64,
    /// Driver version.
    pub driver: &'a str,
    /// Evidence on the first GPU: source, code and count since boot.
    pub evidence: &'a [(Source, &'a str, u64)],
}

/// Whether a node has a report, and of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporter {
    /// An agent.
    Agent,
    /// An earlier drill.
    Drill,
}

/// Lists who reports for each node.
///
/// # Errors
/// [`Error::Refused`] if the caller may not list reports or there are too many, [`Error::Failed`] if the call fails.
pub async fn reporters(client: &Client) -> Result<BTreeMap<String, Reporter>, Error> {
    const WHAT: &str = "listing the agents' reports";
    let reports: Api<NodeReport> = Api::all(client.clone());
    let page = with_timeout(WHAT, reports.list(&ListParams::default().limit(REPORTS_MAX))).await?;
    let page = page.map_err(|error| trouble(WHAT, &error))?;
    if page.metadata.continue_.is_some_and(|token| !token.is_empty()) {
        return Err(Error::Refused { what: WHAT, why: format!("there are more than {REPORTS_MAX}") });
    }
    let reporter = |report: &NodeReport| match report.spec.agent_version.as_str() {
        AGENT_VERSION => Reporter::Drill,
        _ => Reporter::Agent,
    };
    Ok(page.items.iter().map(|report| (report.name_any(), reporter(report))).collect())
}

/// Writes a report.
///
/// # Errors
/// [`Error::Refused`] without permission, [`Error::Failed`] if the call fails.
pub async fn report(client: &Client, report: &DrillNodeReport<'_>) -> Result<(), Error> {
    const WHAT: &str = "writing the report of a drill";
    let now = Timestamp::now().to_string();
    let serial = |gpu: usize| format!("GAMEDAY-{}-{gpu}", report.node);
    let gpus: Vec<_> = (0..GPUS)
        .map(|gpu| {
            let uuid = format!("GPU-gameday-{}-{gpu}", report.node);
            json!({ "index": gpu, "serial": serial(gpu), "uuid": uuid, "pci": format!("0000:{:02x}:00.0", 16 + gpu) })
        })
        .collect();
    let evidence: Vec<_> = report
        .evidence
        .iter()
        .map(|(source, code, count)| {
            let code = Code::parse(code).map_err(|refused| Error::Refused { what: WHAT, why: refused.to_string() })?;
            Ok(json!({
                "source": source, "code": code, "device": serial(0), "count": count, "firstSeenAt": now, "lastSeenAt": now,
            }))
        })
        .collect::<Result<_, Error>>()?;
    let object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "NodeReport", "metadata": { "name": report.node },
        "spec": {
            "nodeUid": report.uid, "bootId": format!("gameday-{}", report.boot), "sequence": report.sequence,
            "reportedAt": now, "agentVersion": AGENT_VERSION, "evidence": evidence,
            "inventory": {
                "board": format!("GAMEDAY-{}", report.node), "product": "Game day GPU", "driver": report.driver,
                "kernel": "gameday", "gpus": gpus,
            },
        },
    });
    let reports: Api<NodeReport> = Api::all(client.clone());
    let params = PatchParams::apply(MANAGER).force();
    let written = with_timeout(WHAT, reports.patch(report.node.as_str(), &params, &Patch::Apply(&object))).await?;
    written.map(drop).map_err(|error| trouble(WHAT, &error))
}

/// Cordons a node, or makes it schedulable again.
///
/// # Errors
/// As [`report`].
pub async fn set_unschedulable(client: &Client, node: &NodeName, is_unschedulable: bool) -> Result<(), Error> {
    const WHAT: &str = "changing whether the node takes pods";
    let nodes: Api<Node> = Api::all(client.clone());
    let value = is_unschedulable.then_some(true);
    let patch = Patch::Merge(json!({ "spec": { "unschedulable": value } }));
    let written = with_timeout(WHAT, nodes.patch(node.as_str(), &PatchParams::default(), &patch)).await?;
    written.map(drop).map_err(|error| trouble(WHAT, &error))
}

/// Evicts a pod through the API, so that disruption budgets of pods hold.
///
/// # Errors
/// As [`report`]; a disruption budget that has no room is [`Error::Failed`].
pub async fn evict(client: &Client, namespace: &str, pod: &str) -> Result<(), Error> {
    const WHAT: &str = "evicting a pod";
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    match with_timeout(WHAT, pods.evict(pod, &EvictParams::default())).await? {
        Ok(_) => Ok(()),
        Err(error) if Failure::of(&error) == Failure::Absent => Ok(()),
        Err(error) => Err(trouble(WHAT, &error)),
    }
}
