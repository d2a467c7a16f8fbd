//! Reads the fields of a Node that the engine needs. Actions of other tools are distinguished from ours and named.

mod other_actors;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use mainstay_api::Topology;
use mainstay_model::{
    DomainName, Level, NodeFacts, NodeName, NodeUid, PlannedWork, PoolName, Power, Ready, Schedulable,
};
use serde::{Deserialize, Serialize};

use crate::execution::Capability;

pub use other_actors::OtherActors;

/// Label that names the pool of a node.
const POOL_LABEL: &str = "mainstay.dev/pool";
/// Pool of nodes without the label. Without a FleetPolicy for it, nothing is done there.
const POOL_UNNAMED: &str = "unnamed";
/// Label with the number of GPUs that feature discovery found at boot. It stays if the device plugin loses a GPU.
const GPU_COUNT_LABEL: &str = "nvidia.com/gpu.count";
/// How often each GPU is offered under time-slicing, and the product, by the same tool. With MIG the product names the instance.
const GPU_REPLICAS_LABEL: &str = "nvidia.com/gpu.replicas";
const GPU_PRODUCT_LABEL: &str = "nvidia.com/gpu.product";
const MIG_PRODUCT: &str = "-MIG-";
/// Resources of MIG instances.
const MIG_RESOURCE: &str = "nvidia.com/mig-";
/// GPU resource names, by vendor.
pub(crate) const GPU_RESOURCES: [&str; 2] = ["nvidia.com/gpu", "amd.com/gpu"];
/// Largest number of GPUs in a node.
const GPUS_MAX: u16 = 16;
/// Label of the GPU operator's driver upgrade.
const UPGRADE_LABEL: &str = "nvidia.com/gpu-driver-upgrade-state";
const UPGRADING: [&str; 7] = [
    "cordon-required",
    "wait-for-jobs-required",
    "pod-deletion-required",
    "drain-required",
    "pod-restart-required",
    "validation-required",
    "uncordon-required",
];
/// Taint of a cloud provider on a node that is not set up yet.
const UNINITIALIZED_TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Prefix of the taints with which Kubernetes' node readiness controller keeps work from a node that is not ready yet.
const NOT_READY_YET: &str = "readiness.k8s.io/";

/// Fields of a Node that the controller reads.
#[derive(Resource, Debug, Clone, Serialize, Deserialize)]
#[resource(inherit = Node)]
pub(crate) struct PartialNode {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: PartialNodeSpec,
    #[serde(default)]
    pub(crate) status: PartialNodeStatus,
}

/// Fields of a Node's spec that the controller reads.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartialNodeSpec {
    #[serde(default)]
    pub(crate) unschedulable: bool,
    #[serde(default)]
    pub(crate) taints: Vec<PartialTaint>,
}

/// Key and effect of a taint on a Node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartialTaint {
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) effect: String,
}

/// Fields of a Node's status that the controller reads.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartialNodeStatus {
    #[serde(default)]
    pub(crate) capacity: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) allocatable: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) conditions: Vec<PartialCondition>,
}

/// Type, status and last change of a Node's condition.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialCondition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) last_transition_time: Option<jiff::Timestamp>,
}

/// A node with GPUs or a pool, converted for the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagedNode {
    pub(crate) name: NodeName,
    pub(crate) facts: NodeFacts,
    pub(crate) others: OtherActors,
}

/// Result of converting a Node: managed, not managed or invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadResult {
    Ours(Box<ManagedNode>),
    /// The node has no GPUs and no pool.
    NotOurs,
    /// The node's name or UID is invalid.
    Unfit(String),
}

/// Reads a node. If several fabrics have a label on it, the first by name gives the domain at a level. `by_dra` is the number
/// of GPUs that the node offers in ResourceSlices.
pub(crate) fn read(
    node: &PartialNode,
    fabrics: &BTreeMap<String, Topology>,
    by_dra: u16,
    capability: Capability,
) -> ReadResult {
    let empty = BTreeMap::new();
    let labels = node.metadata.labels.as_ref().unwrap_or(&empty);
    let gpus = match gpus(node, labels) {
        0 => by_dra.min(GPUS_MAX),
        known => known,
    };
    let has_gpus = offers_gpus(node) || by_dra > 0;
    let pool = labels.get(POOL_LABEL).and_then(|pool| PoolName::parse(pool).ok());
    if gpus == 0 && !has_gpus && pool.is_none() {
        return ReadResult::NotOurs;
    }
    let parsed = |text: &Option<String>| text.clone().unwrap_or_default();
    let name = NodeName::parse(&parsed(&node.metadata.name));
    let uid = NodeUid::parse(&parsed(&node.metadata.uid));
    let (name, uid) = match (name, uid) {
        (Ok(name), Ok(uid)) => (name, uid),
        (Err(refused), _) | (_, Err(refused)) => return ReadResult::Unfit(refused.to_string()),
    };
    let Some(pool) = pool.or_else(|| PoolName::parse(POOL_UNNAMED).ok()) else {
        return ReadResult::Unfit("no pool".to_owned());
    };
    let mut others = OtherActors::of(node, capability);
    let mut domains: BTreeMap<Level, DomainName> = BTreeMap::new();
    for (place, topology) in (0_u32..).zip(fabrics.values()) {
        let of_fabric = topology.domains(labels);
        if of_fabric.len() == topology.labels().len() {
            others.placed |= 1_u16.checked_shl(place).unwrap_or(0);
        }
        for (level, name) in of_fabric {
            domains.entry(level).or_insert(name);
        }
    }
    let schedulable = match (capability.can_taint() && other_actors::has_our_taint(node), &others.kept_away) {
        (true, _) => Schedulable::NotByUs,
        (false, Some(_)) => Schedulable::NotByOthers,
        (false, None) => Schedulable::Yes,
    };
    let facts = NodeFacts {
        uid,
        domains,
        pool,
        gpus,
        ready: ready(node),
        schedulable,
        planned: planned(node, labels),
        avoided: node.spec.taints.iter().any(|taint| taint.key == mainstay_api::AVOID_TAINT),
        // No adapter for BMCs exists yet.
        power: Power::Unknown,
    };
    ReadResult::Ours(Box::new(ManagedNode { name, facts, others }))
}

/// Number of GPUs it should have: the largest number ever reported, so that a lost GPU is noticed. Zero where it is not
/// known: GPUs that are split by MIG are offered as instances, and the labels do not show how many GPUs there are.
fn gpus(node: &PartialNode, labels: &BTreeMap<String, String>) -> u16 {
    if labels.get(GPU_PRODUCT_LABEL).is_some_and(|product| product.contains(MIG_PRODUCT)) {
        return 0;
    }
    // Each GPU that is shared by time-slicing is offered several times.
    let replicas = labels.get(GPU_REPLICAS_LABEL).and_then(|replicas| replicas.parse::<u16>().ok()).unwrap_or(1);
    let offered = GPU_RESOURCES.iter().filter_map(|resource| node.status.capacity.get(*resource)?.parse::<u16>().ok());
    let labelled = labels.get(GPU_COUNT_LABEL).and_then(|count| count.parse::<u16>().ok());
    let counts = offered.map(|count| count / replicas.max(1)).chain(labelled);
    counts.max().unwrap_or(0).min(GPUS_MAX)
}

/// Whether it offers GPUs, or instances of GPUs.
fn offers_gpus(node: &PartialNode) -> bool {
    let is_gpu = |resource: &str| GPU_RESOURCES.contains(&resource) || resource.starts_with(MIG_RESOURCE);
    node.status.capacity.iter().any(|(resource, count)| is_gpu(resource) && count != "0")
}

/// Number of allocatable GPUs. None without a GPU resource. A GPU that the device plugin lost is not included. A node whose
/// device plugin was replaced by DRA keeps the resource with a count of zero.
pub(crate) fn offered(node: &PartialNode, by_dra: u16) -> Option<u16> {
    let offered = GPU_RESOURCES.iter().filter_map(|resource| node.status.allocatable.get(*resource));
    let offered = offered.filter_map(|count| count.parse().ok()).max();
    offered.filter(|count| *count > 0 || by_dra == 0).or_else(|| (by_dra > 0).then_some(by_dra))
}

fn ready(node: &PartialNode) -> Ready {
    let ready = node.status.conditions.iter().find(|condition| condition.type_ == "Ready");
    match ready.map(|condition| condition.status.as_str()) {
        Some("True") => Ready::Yes,
        Some("False") => Ready::No,
        Some(_) | None => Ready::Unknown,
    }
}

fn planned(node: &PartialNode, labels: &BTreeMap<String, String>) -> PlannedWork {
    let upgrading = labels.get(UPGRADE_LABEL).is_some_and(|state| UPGRADING.contains(&state.as_str()));
    let is_new = |taint: &PartialTaint| taint.key == UNINITIALIZED_TAINT || taint.key.starts_with(NOT_READY_YET);
    let is_new = node.spec.taints.iter().any(is_new);
    match (is_new, upgrading) {
        (true, _) => PlannedWork::Bootstrap,
        (false, true) => PlannedWork::Upgrade,
        (false, false) => PlannedWork::Nothing,
    }
}

#[cfg(test)]
mod tests;
