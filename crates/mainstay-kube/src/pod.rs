//! A Pod in the few fields we use, and the gangs that pods make up: by the label that the pool's policy names, else by the
//! controller that owns them. Pods that belong to the node and not to anybody's work are left out.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use mainstay_model::{Bounded, Checkpoints, Contract, Fact, GangFacts, GangId, GangName, Namespace, NodeName};
use serde::{Deserialize, Serialize};

use crate::watch::Key;

/// Pods that are placed and have not ended; the server has this selector.
pub(crate) const RUNNING: &str = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
/// What a kubelet marks its own pods with.
const STATIC_POD: &str = "kubernetes.io/config.mirror";
/// Slinky's owner of pods that run slurmd: what happens in them is Slurm's, and so is emptying them.
const SLINKY_GROUP: &str = "slinky.slurm.net/";
/// The name that the model gives such a pod's work.
pub(crate) const SLURMD: &str = "slurmd/";

/// What is read of a Pod.
#[derive(Resource, Debug, Clone, Serialize, Deserialize)]
#[resource(inherit = Pod)]
pub(crate) struct SeenPod {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: SeenPodSpec,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SeenPodSpec {
    #[serde(default)]
    pub(crate) node_name: Option<String>,
}

/// Where a pod's work is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    gang: GangId,
    node: NodeName,
}

/// Every gang that runs, kept as pods come and go.
#[derive(Debug, Default)]
pub(crate) struct Gangs {
    /// The labels that name a gang, in order; the first that a pod has counts.
    labels: BTreeSet<String>,
    pods: BTreeMap<Key, Place>,
    /// How many pods of a gang run on a node.
    gangs: BTreeMap<GangId, BTreeMap<NodeName, u32>>,
    changed: BTreeSet<GangId>,
    unfit: u64,
}

impl Gangs {
    /// Gangs that are known by these labels.
    pub(crate) fn by(labels: BTreeSet<String>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// A pod runs.
    pub(crate) fn is(&mut self, pod: &SeenPod) {
        let Some(key) = key(pod) else { return };
        let place = self.place(pod);
        if self.pods.get(&key) == place.as_ref() {
            return;
        }
        self.gone(&key);
        if let Some(place) = place {
            let nodes = self.gangs.entry(place.gang.clone()).or_default();
            *nodes.entry(place.node.clone()).or_default() += 1;
            self.changed.insert(place.gang.clone());
            self.pods.insert(key, place);
        }
    }

    /// A pod runs no more.
    pub(crate) fn gone(&mut self, key: &Key) {
        let Some(place) = self.pods.remove(key) else { return };
        if let Some(nodes) = self.gangs.get_mut(&place.gang)
            && let Some(count) = nodes.get_mut(&place.node)
        {
            *count -= 1;
            if *count == 0 {
                nodes.remove(&place.node);
                self.changed.insert(place.gang);
            }
        }
    }

    /// What changed since the last time. A gang of a thousand pods that come one by one is told once.
    pub(crate) fn flush(&mut self) -> Vec<Fact> {
        let changed = std::mem::take(&mut self.changed);
        let mut facts = Vec::with_capacity(changed.len());
        for gang in changed {
            let nodes = self.gangs.get(&gang).filter(|nodes| !nodes.is_empty());
            let Some(nodes) = nodes else {
                self.gangs.remove(&gang);
                facts.push(Fact::GangGone { gang });
                continue;
            };
            // Beyond what a gang may have the rest is left out: a cell of the largest size has room for six such gangs.
            let nodes: Vec<NodeName> = nodes.keys().take(GANG_NODES_MAX).cloned().collect();
            let nodes = Bounded::try_from(nodes).unwrap_or_default();
            let facts_of = GangFacts { nodes, contract: Contract::None, checkpoints: Checkpoints::default() };
            facts.push(Fact::Gang { gang, facts: Box::new(facts_of) });
        }
        facts
    }

    /// Every pod that is counted: its namespace and name, its gang and its node.
    pub(crate) fn pods(&self) -> impl Iterator<Item = ((&str, &str), &GangId, &NodeName)> {
        self.pods.iter().map(|(key, place)| {
            let namespace = key.namespace.as_deref().unwrap_or_default();
            ((namespace, &*key.name), &place.gang, &place.node)
        })
    }

    /// How many pods could not be understood.
    pub(crate) const fn unfit(&self) -> u64 {
        self.unfit
    }

    /// Pods that run Slurm's daemon.
    pub(crate) fn slurmd(&self) -> u64 {
        let pods = self.gangs.iter().filter(|(gang, _)| is_slurmd(gang));
        pods.map(|(_, nodes)| nodes.values().map(|count| u64::from(*count)).sum::<u64>()).sum()
    }

    fn place(&mut self, pod: &SeenPod) -> Option<Place> {
        let node = pod.spec.node_name.as_deref().filter(|name| !name.is_empty())?;
        let owner = pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        let of_the_node = owner.is_some_and(|owner| owner.kind == "DaemonSet")
            || pod.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(STATIC_POD));
        if of_the_node {
            return None;
        }
        let named = self.gang(pod, owner);
        let namespace = Namespace::parse(pod.metadata.namespace.as_deref().unwrap_or_default());
        match (named, namespace, NodeName::parse(node)) {
            (Some(name), Ok(namespace), Ok(node)) => Some(Place { gang: GangId { namespace, name }, node }),
            _ => {
                self.unfit += 1;
                None
            }
        }
    }

    fn gang(&self, pod: &SeenPod, owner: Option<&OwnerReference>) -> Option<GangName> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if owner.is_some_and(|owner| owner.api_version.starts_with(SLINKY_GROUP)) {
            return GangName::parse(&format!("{SLURMD}{name}")).ok();
        }
        let labels = pod.metadata.labels.as_ref();
        let labelled = self.labels.iter().find_map(|label| labels?.get(label));
        let text = match (labelled, owner) {
            (Some(label), _) => label.clone(),
            (None, Some(owner)) => format!("{}/{}", owner.kind.to_ascii_lowercase(), owner.name),
            (None, None) => format!("pod/{name}"),
        };
        GangName::parse(&text).ok()
    }
}

/// The model's bound on the nodes of a gang.
const GANG_NODES_MAX: usize = 16_384;

/// Whether this is Slurm's work, which is not ours to evict.
pub(crate) fn is_slurmd(gang: &GangId) -> bool {
    gang.name.as_str().starts_with(SLURMD)
}

fn key(pod: &SeenPod) -> Option<Key> {
    let name = pod.metadata.name.as_deref()?.into();
    Some(Key { namespace: pod.metadata.namespace.as_deref().map(Box::from), name })
}

#[cfg(test)]
mod tests;
