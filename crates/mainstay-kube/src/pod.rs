//! Groups pods into gangs: by the label in the pool's policy, otherwise by the topmost controller that owns them. Pods that
//! belong to a node, such as those of a DaemonSet, are left out.

mod checkpoint_contract;
mod owners;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use mainstay_model::{Bounded, Contract, Fact, GangFacts, GangId, GangName, Namespace, NodeName};
use serde::{Deserialize, Serialize};

use crate::watch::Key;
use checkpoint_contract::CheckpointContract;
use owners::{Owner, Owners};

/// Field selector for pods that are scheduled and have not ended.
pub(crate) const RUNNING: &str = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
/// Field selector for pods that have no node yet. They are for metrics and the web UI only.
pub(crate) const PENDING: &str = "spec.nodeName=,status.phase=Pending";
/// Field selector for pods that had a node and ended. They are metrics only.
pub(crate) const ENDED: &str = "spec.nodeName!=,status.phase!=Pending,status.phase!=Running,status.phase!=Unknown";
/// Annotation of a kubelet's static pods.
const STATIC_POD: &str = "kubernetes.io/config.mirror";
/// API group of the Slinky operator, which owns slurmd pods. Slurm manages and drains their work.
const SLINKY_GROUP: &str = "slinky.slurm.net/";
/// Prefix of the gang name of a slurmd pod.
pub(crate) const SLURMD: &str = "slurmd/";

/// Fields of a Pod that the controller reads.
#[derive(Resource, Debug, Clone, Serialize, Deserialize)]
#[resource(inherit = Pod)]
pub(crate) struct PartialPod {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: PartialPodSpec,
    #[serde(default)]
    pub(crate) status: PartialPodStatus,
}

/// Node name and resources in the spec of a Pod.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialPodSpec {
    #[serde(default)]
    pub(crate) node_name: Option<String>,
    #[serde(default)]
    pub(crate) containers: Vec<PartialContainer>,
}

/// Resources of a container. Kubernetes requires a limit for every GPU resource.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartialContainer {
    #[serde(default)]
    pub(crate) resources: PartialResources,
}

/// Limits of a container, by resource name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartialResources {
    #[serde(default)]
    pub(crate) limits: BTreeMap<String, String>,
}

/// Fields of a Pod's status that metrics are made from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialPodStatus {
    #[serde(default)]
    pub(crate) phase: String,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) conditions: Vec<PartialPodCondition>,
    #[serde(default)]
    pub(crate) container_statuses: Vec<PartialContainerStatus>,
}

/// Type, status and reason of a Pod's condition.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartialPodCondition {
    #[serde(rename = "type", default)]
    pub(crate) type_: String,
    #[serde(default)]
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) reason: String,
}

/// Restarts and state of a container.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialContainerStatus {
    #[serde(default)]
    pub(crate) restart_count: u32,
    #[serde(default)]
    pub(crate) state: PartialContainerState,
}

/// How a container ended, if it did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartialContainerState {
    #[serde(default)]
    pub(crate) terminated: Option<PartialTermination>,
}

/// Reason of a container's end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartialTermination {
    #[serde(default)]
    pub(crate) reason: String,
}

/// Gang and node of a pod, with its checkpoint contract.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Placement {
    gang: GangId,
    node: NodeName,
    /// Checkpoint contract of the pod.
    promise: CheckpointContract,
    /// Controller of the pod, if the gang is named after its topmost owner.
    owner: Option<Owner>,
}

/// One running gang.
#[derive(Debug, Default)]
struct Gang {
    /// Number of its pods per node.
    nodes: BTreeMap<NodeName, u32>,
    /// Number of its pods per checkpoint contract.
    promises: BTreeMap<CheckpointContract, u32>,
}

/// All running gangs, updated with every pod event.
#[derive(Debug, Default)]
pub(crate) struct Gangs {
    /// Labels that name a gang, in order. The first one on a pod counts.
    labels: BTreeSet<String>,
    pods: BTreeMap<Key, Placement>,
    gangs: BTreeMap<GangId, Gang>,
    owners: Owners,
    /// Pods by the UID of their controller.
    owned: BTreeMap<Box<str>, BTreeSet<Key>>,
    changed: BTreeSet<GangId>,
    unfit: u64,
    /// Nodes that a gang had no room for.
    lost_nodes: usize,
}

impl Gangs {
    /// Gangs that these labels name.
    pub(crate) fn by(labels: BTreeSet<String>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// Adds or updates a running pod.
    pub(crate) fn is(&mut self, pod: &PartialPod) {
        let Some(key) = key_of(&pod.metadata) else { return };
        let place = self.place(pod);
        if self.pods.get(&key) == place.as_ref() {
            return;
        }
        self.gone(&key);
        if let Some(place) = place {
            self.put(key, place);
        }
    }

    /// Adds a pod that cannot be read, so that its node never counts as empty. A pod that was readable before on the same
    /// node keeps its gang; any other is a gang of its own, without a contract.
    pub(crate) fn is_invalid(&mut self, meta: &ObjectMeta, node: Option<&str>) {
        self.unfit += 1;
        let (Some(key), Some(node)) = (key_of(meta), node.and_then(|node| NodeName::parse(node).ok())) else { return };
        if self.pods.get(&key).is_some_and(|known| known.node == node) || belongs_to_its_node(meta) {
            return;
        }
        let namespace = Namespace::parse(key.namespace.as_deref().unwrap_or_default());
        let name = GangName::parse(&format!("pod/{}", key.name));
        self.gone(&key);
        if let (Ok(namespace), Ok(name)) = (namespace, name) {
            let gang = GangId { namespace, name };
            self.put(key, Placement { gang, node, promise: CheckpointContract::default(), owner: None });
        }
    }

    fn put(&mut self, key: Key, place: Placement) {
        let gang = self.gangs.entry(place.gang.clone()).or_default();
        *gang.nodes.entry(place.node.clone()).or_default() += 1;
        *gang.promises.entry(place.promise).or_default() += 1;
        self.changed.insert(place.gang.clone());
        if let Some(owner) = &place.owner {
            self.owned.entry(owner.uid().into()).or_default().insert(key.clone());
        }
        self.pods.insert(key, place);
    }

    /// Removes a pod that no longer runs.
    pub(crate) fn gone(&mut self, key: &Key) {
        let Some(place) = self.pods.remove(key) else { return };
        if let Some(gang) = self.gangs.get_mut(&place.gang) {
            let left_a_node = take_one(&mut gang.nodes, &place.node);
            let left_a_promise = take_one(&mut gang.promises, &place.promise);
            if left_a_node || left_a_promise {
                self.changed.insert(place.gang);
            }
        }
        if let Some(owner) = &place.owner
            && let Some(owned) = self.owned.get_mut(owner.uid())
        {
            owned.remove(key);
            if owned.is_empty() {
                self.owned.remove(owner.uid());
            }
        }
    }

    /// Stores an owner. Its pods may belong to another gang now.
    pub(crate) fn owner_is(&mut self, kind: usize, meta: &ObjectMeta) {
        let Some(key) = key_of(meta) else { return };
        for uid in self.owners.is(kind, key, meta) {
            for key in self.owned.get(&uid).cloned().unwrap_or_default() {
                let Some(mut place) = self.pods.get(&key).cloned() else { continue };
                let name = place.owner.as_ref().and_then(|owner| GangName::parse(&self.owners.top(owner).words).ok());
                if let Some(name) = name.filter(|name| *name != place.gang.name) {
                    place.gang.name = name;
                    self.gone(&key);
                    self.put(key, place);
                }
            }
        }
    }

    /// Forgets a deleted owner.
    pub(crate) fn owner_gone(&mut self, kind: usize, key: Key) {
        self.owners.gone(kind, key);
    }

    /// Changes since the last call. A gang with a thousand new pods is reported once.
    pub(crate) fn flush(&mut self) -> Vec<Fact> {
        let changed = std::mem::take(&mut self.changed);
        let mut facts = Vec::with_capacity(changed.len());
        for gang in changed {
            let Some(Gang { nodes, promises }) = self.gangs.get(&gang).filter(|gang| !gang.nodes.is_empty()) else {
                self.gangs.remove(&gang);
                facts.push(Fact::GangGone { gang });
                continue;
            };
            // A cell of the largest size has room for six gangs of this size.
            self.lost_nodes += nodes.len().saturating_sub(GANG_NODES_MAX);
            let nodes = Bounded::within(nodes.keys().take(GANG_NODES_MAX).cloned());
            // The weakest contract among the gang's pods counts; a pod without a contract is ignored.
            let promised = promises.keys().find(|(contract, _)| *contract != Contract::None);
            let (contract, checkpoints) = promised.or_else(|| promises.keys().next()).copied().unwrap_or_default();
            let facts_of = GangFacts { nodes, contract, checkpoints, progressed_at: None };
            facts.push(Fact::Gang { gang, facts: Box::new(facts_of) });
        }
        facts
    }

    /// Every counted pod: namespace and name, gang, node.
    pub(crate) fn pods(&self) -> impl Iterator<Item = ((&str, &str), &GangId, &NodeName)> {
        self.pods.iter().map(|(key, place)| {
            let namespace = key.namespace.as_deref().unwrap_or_default();
            ((namespace, &*key.name), &place.gang, &place.node)
        })
    }

    /// Nodes that a gang had no room for since the last call.
    pub(crate) const fn take_lost_nodes(&mut self) -> usize {
        std::mem::replace(&mut self.lost_nodes, 0)
    }

    /// Number of invalid pods.
    pub(crate) const fn unfit(&self) -> u64 {
        self.unfit
    }

    /// Number of pods that run slurmd.
    pub(crate) fn slurmd(&self) -> u64 {
        let pods = self.gangs.iter().filter(|(gang, _)| is_slurmd(gang));
        pods.map(|(_, gang)| gang.nodes.values().map(|count| u64::from(*count)).sum::<u64>()).sum()
    }

    fn place(&mut self, pod: &PartialPod) -> Option<Placement> {
        let node = pod.spec.node_name.as_deref().filter(|name| !name.is_empty())?;
        let owner = controller(&pod.metadata);
        if belongs_to_its_node(&pod.metadata) {
            return None;
        }
        let named = self.gang(pod, owner);
        let namespace = Namespace::parse(pod.metadata.namespace.as_deref().unwrap_or_default());
        match (named, namespace, NodeName::parse(node)) {
            (Some((name, owner)), Ok(namespace), Ok(node)) => {
                let promise = checkpoint_contract::promise(pod.metadata.annotations.as_ref());
                Some(Placement { gang: GangId { namespace, name }, node, promise, owner })
            }
            _ => {
                self.unfit += 1;
                None
            }
        }
    }

    /// Gang of a pod that may have no node. None for a pod that belongs to its node, or with an invalid name.
    pub(crate) fn gang_of(&self, pod: &PartialPod) -> Option<GangId> {
        let namespace = Namespace::parse(pod.metadata.namespace.as_deref().unwrap_or_default()).ok()?;
        let (name, _) = self.gang(pod, controller(&pod.metadata)).filter(|_| !belongs_to_its_node(&pod.metadata))?;
        Some(GangId { namespace, name })
    }

    /// Name of the pod's gang, and its controller where that names the gang.
    fn gang(&self, pod: &PartialPod, owner: Option<&OwnerReference>) -> Option<(GangName, Option<Owner>)> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if owner.is_some_and(|owner| owner.api_version.starts_with(SLINKY_GROUP)) {
            return Some((GangName::parse(&format!("{SLURMD}{name}")).ok()?, None));
        }
        let labels = pod.metadata.labels.as_ref();
        let labelled = self.labels.iter().find_map(|label| labels?.get(label));
        match (labelled, owner) {
            (Some(label), _) => Some((GangName::parse(label).ok()?, None)),
            (None, Some(owner)) => {
                let owner = Owner::of(owner);
                Some((GangName::parse(&self.owners.top(&owner).words).ok()?, Some(owner)))
            }
            (None, None) => Some((GangName::parse(&format!("pod/{name}")).ok()?, None)),
        }
    }
}

fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Whether a pod belongs to its node: one of a DaemonSet, or a static pod.
pub(crate) fn belongs_to_its_node(meta: &ObjectMeta) -> bool {
    controller(meta).is_some_and(|owner| owner.kind == "DaemonSet")
        || meta.annotations.as_ref().is_some_and(|all| all.contains_key(STATIC_POD))
}

/// Decrements a count. Returns whether it reached zero.
fn take_one<K: Ord>(counts: &mut BTreeMap<K, u32>, key: &K) -> bool {
    let Some(count) = counts.get_mut(key) else { return false };
    *count -= 1;
    let is_last = *count == 0;
    if is_last {
        counts.remove(key);
    }
    is_last
}

/// Largest number of nodes of a gang in the model.
const GANG_NODES_MAX: usize = 16_384;

/// Whether this is Slurm's own work, which Mainstay never evicts.
pub(crate) fn is_slurmd(gang: &GangId) -> bool {
    gang.name.as_str().starts_with(SLURMD)
}

pub(crate) fn key_of(meta: &ObjectMeta) -> Option<Key> {
    let name = meta.name.as_deref()?.into();
    Some(Key { namespace: meta.namespace.as_deref().map(Box::from), name })
}

#[cfg(test)]
mod tests;
