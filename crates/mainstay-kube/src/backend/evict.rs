//! Evictions of a gang's pods on one node, through the Eviction API, so that disruption budgets of tenants and grace periods are kept.

use std::time::{Duration, Instant};

use mainstay_act::Reply;
use mainstay_api::{FENCED, NODE};
use mainstay_model::{Effect, GangId, NodeName, Outcome, Reason};
use serde_json::{Map, Value, json};

use super::calls::Answer;
use super::node_patch::signature;
use super::{ClusterBackend, LATER, Read, calls};
use crate::error::{Failure, words};
use crate::pod::is_slurmd;

/// Shortest time for one eviction.
const EVICTION_MIN: Duration = Duration::from_millis(500);

/// A pod as the server has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodToEvict {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
}

/// Why evictions stop before the last pod.
enum Stopped {
    Later(Reason),
    Ended(Outcome),
}

impl ClusterBackend {
    /// The pods of a gang on a node that have to leave, by a consistent list. Slurm's own pods are never among them.
    pub(super) async fn pods_of(&self, gang: &GangId, node: &NodeName) -> Read<Vec<PodToEvict>> {
        if is_slurmd(gang) {
            return Ok(Vec::new());
        }
        self.pods_to_evict(gang, node).await
    }

    /// Evicts the pods one after the other.
    pub(super) async fn evict(&self, effect: &Effect, pods: &[PodToEvict], within: Duration) -> Reply {
        let until = Instant::now() + within;
        for pod in pods {
            let left = until.saturating_duration_since(Instant::now());
            if left < EVICTION_MIN {
                return Reply::Later { after: Duration::ZERO, why: Reason::lossy("more pods have to be evicted") };
            }
            match self.evict_one(effect, pod, left).await {
                Ok(()) => {}
                // The eviction of a pod that changed has used the tenant's disruption budget, which needs some seconds to recover.
                Err(Stopped::Later(why)) => return Reply::Later { after: LATER, why },
                Err(Stopped::Ended(outcome)) => return Reply::Ended(outcome),
            }
        }
        // Each pod now has its grace period. The watch shows when it is gone.
        Reply::Ended(Outcome::Started)
    }

    async fn evict_one(&self, effect: &Effect, pod: &PodToEvict, within: Duration) -> Result<(), Stopped> {
        let PodToEvict { namespace, name, uid, resource_version } = pod;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
        let mut annotations: Map<String, Value> = signature(effect, self.epoch)
            .map(|(key, value)| (key.to_owned(), Value::from(value)))
            .into_iter()
            .collect();
        annotations.insert(NODE.to_owned(), Value::from(effect.node.as_str()));
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {
                "name": name, "namespace": namespace, "labels": { (FENCED): "" }, "annotations": annotations,
            },
            "deleteOptions": { "preconditions": { "uid": uid, "resourceVersion": resource_version } },
        });
        result(&calls::create(&self.client, &path, &eviction, within).await, pod)
    }
}

fn result(answer: &Answer, pod: &PodToEvict) -> Result<(), Stopped> {
    let error = match answer {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error,
        Err(_) => return Err(Stopped::Ended(Outcome::Unknown)),
    };
    let why = || Reason::lossy(&format!("pod {}/{}: {}", pod.namespace, pod.name, words(error)));
    match Failure::of(error) {
        Failure::Absent => Ok(()),
        Failure::Conflict | Failure::Busy { .. } | Failure::Expired => Err(Stopped::Later(why())),
        Failure::Broken => Err(Stopped::Ended(Outcome::Unknown)),
        Failure::Refused => Err(Stopped::Ended(Outcome::Refused(why()))),
    }
}
