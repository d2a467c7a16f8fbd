//! Which pods on a node belong to a gang, by reads of the server alone: pods, and the owners of their owners.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, ListParams};
use kube::core::PartialObjectMeta;
use kube::core::params::GetParams;
use mainstay_api::OwnerKind;
use mainstay_model::{GangId, NodeName};

use super::evict::PodToEvict;
use super::{ClusterBackend, GangRules, Read, read};
use crate::pod::{self, Gangs, PartialPod};
use crate::source::resource;

/// Namespace of the cluster's own pods, which are never evicted.
const KUBE_SYSTEM: &str = "kube-system";
/// Namespace of Mainstay's own pods.
const MAINSTAY_SYSTEM: &str = "mainstay-system";
/// Deepest chain of owners that is read.
const ABOVE_MAX: usize = 8;
/// Phases in which a pod no longer runs.
const ENDED: [&str; 2] = ["Succeeded", "Failed"];

/// What an order depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenOnNode {
    /// Whether a pod of a gang runs on the node.
    pub(super) runs_jobs: bool,
    /// Whether the pod of an executor runs on the node.
    pub(super) has_executor: bool,
}

impl ClusterBackend {
    pub(super) async fn pods_to_evict(&self, gang: &GangId, node: &NodeName) -> Read<Vec<PodToEvict>> {
        let of_node = self.pods_on(node, Some(gang.namespace.as_str())).await?;
        let rules = self.gangs.borrow().clone();
        let mut known = Gangs::by(rules.labels.iter().cloned().collect());
        let mut pods = Vec::new();
        for pod in of_node.into_iter().filter(may_be_evicted) {
            if let Some(owner) = controller(&pod.metadata.owner_references) {
                self.read_owners(&rules, gang.namespace.as_str(), owner.clone(), &mut known).await?;
            }
            if known.gang_of(&pod).as_ref() == Some(gang) {
                pods.extend(to_evict(&pod));
            }
        }
        Ok(pods)
    }

    /// What runs on the node.
    pub(super) async fn seen_on(&self, node: &NodeName) -> Read<SeenOnNode> {
        let pods = self.pods_on(node, None).await?;
        let runs_jobs = pods.iter().any(|pod| is_running(pod) && !pod::belongs_to_its_node(&pod.metadata));
        let has_executor = pods.iter().any(|pod| is_running(pod) && is_executor(pod));
        Ok(SeenOnNode { runs_jobs, has_executor })
    }

    async fn pods_on(&self, node: &NodeName, namespace: Option<&str>) -> Read<Vec<PartialPod>> {
        let client = self.client.clone();
        let pods: Api<PartialPod> = match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        Ok(read(pods.list(&on_node)).await?.items)
    }

    /// Reads the chain of owners above a pod, as far as their kinds are named in the policies.
    async fn read_owners(
        &self,
        rules: &GangRules,
        namespace: &str,
        first: OwnerReference,
        known: &mut Gangs,
    ) -> Read<()> {
        let mut above = Some(first);
        for _ in 0..ABOVE_MAX {
            let Some(owner) = above.take() else { break };
            let kinds = rules.owners.iter().enumerate();
            let Some((place, kind)) = kinds.into_iter().find(|(_, kind)| is_of(&owner, kind)) else { break };
            let api: Api<PartialObjectMeta> = Api::namespaced_with(self.client.clone(), namespace, &resource(kind));
            let Some(found) = read(api.get_metadata_opt_with(&owner.name, &GetParams::default())).await? else { break };
            // Another object of the same name is not the owner.
            if found.metadata.uid.as_deref() != Some(&owner.uid) {
                break;
            }
            known.owner_is(place, &found.metadata);
            above = controller(&found.metadata.owner_references).cloned();
        }
        Ok(())
    }
}

fn controller(owners: &Option<Vec<OwnerReference>>) -> Option<&OwnerReference> {
    owners.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Whether a reference names an object of this kind. A policy has the plural of the kind only.
fn is_of(owner: &OwnerReference, kind: &OwnerKind) -> bool {
    let singular = owner.kind.to_ascii_lowercase();
    let stem = singular.strip_suffix('y').unwrap_or(&singular);
    owner.api_version == kind.api_version && kind.plural.starts_with(stem) && kind.plural.len() <= singular.len() + 3
}

fn is_running(pod: &PartialPod) -> bool {
    !ENDED.contains(&pod.status.phase.as_str())
}

/// Whether it is the pod of a node executor: one of Mainstay's own namespace with its labels.
fn is_executor(pod: &PartialPod) -> bool {
    let has = |key: &str, value: &str| {
        pod.metadata.labels.as_ref().and_then(|labels| labels.get(key)).is_some_and(|known| known == value)
    };
    pod.metadata.namespace.as_deref() == Some(MAINSTAY_SYSTEM)
        && has("app.kubernetes.io/name", "mainstay")
        && has("app.kubernetes.io/component", "executor")
        && pod::belongs_to_its_node(&pod.metadata)
}

fn may_be_evicted(pod: &PartialPod) -> bool {
    is_running(pod)
        && pod.metadata.deletion_timestamp.is_none()
        && pod.metadata.namespace.as_deref() != Some(KUBE_SYSTEM)
        && !pod::belongs_to_its_node(&pod.metadata)
}

fn to_evict(pod: &PartialPod) -> Option<PodToEvict> {
    Some(PodToEvict {
        namespace: pod.metadata.namespace.clone()?,
        name: pod.metadata.name.clone()?,
        uid: pod.metadata.uid.clone()?,
        resource_version: pod.metadata.resource_version.clone()?,
    })
}
