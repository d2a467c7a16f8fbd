//! Why a pod ended: success, infrastructure, user or preempted. Pure, and from fields that Kubernetes itself writes: no
//! text of a tenant is read.

use mainstay_model::Stage;

use crate::pod::{PartialPod, PartialPodStatus};

/// Outcome of a job, and of one of its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Every pod succeeded.
    Success,
    /// The job's own program failed, or its owner deleted the job.
    User,
    /// Another job took its place.
    Preempted,
    /// The node, the cluster or the operator ended it.
    Infrastructure,
}

/// Whether Mainstay has found the node of a pod to be faulty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeHealth {
    Faulty,
    NotKnownFaulty,
}

impl NodeHealth {
    /// Health of a node by its stored stage. Planned work is no fault.
    pub(crate) const fn of(stage: Option<Stage>) -> Self {
        match stage {
            Some(Stage::Suspect | Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying) => {
                Self::Faulty
            }
            Some(Stage::InService | Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading)
            | Some(Stage::Held | Stage::Retired)
            | None => Self::NotKnownFaulty,
        }
    }
}

impl Outcome {
    pub(crate) const ALL: [Self; 4] = [Self::Success, Self::User, Self::Preempted, Self::Infrastructure];

    /// Value of the label `outcome`.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::User => "user",
            Self::Preempted => "preempted",
            Self::Infrastructure => "infrastructure",
        }
    }
}

/// Outcome of an ended pod. What Kubernetes states about the end comes first, then what Mainstay knows about the node;
/// every other failure is the user's. None for a pod that its owner deleted: workers are stopped after a job's success, too.
pub(crate) fn outcome(pod: &PartialPod, node: NodeHealth) -> Option<Outcome> {
    let status = &pod.status;
    if status.phase == "Succeeded" {
        return Some(Outcome::Success);
    }
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    let stated = disrupted(status).or_else(|| ended_by_kubelet(status));
    match (stated, node) {
        (Some(stated), _) => Some(stated),
        (None, NodeHealth::Faulty) => Some(Outcome::Infrastructure),
        (None, NodeHealth::NotKnownFaulty) => (!is_deleted).then_some(Outcome::User),
    }
}

/// Reasons of the condition `DisruptionTarget`, from Kubernetes' page on disruptions. An eviction through the API is a
/// drain: an operator or a tool decided it.
fn disrupted(status: &PartialPodStatus) -> Option<Outcome> {
    let is_set = |type_: &str| {
        let mut found = status.conditions.iter().filter(move |one| one.type_ == type_ && one.status == "True");
        found.next().map(|one| one.reason.as_str())
    };
    match is_set("DisruptionTarget") {
        Some("PreemptionByScheduler" | "PreemptionByKubeScheduler") => Some(Outcome::Preempted),
        Some("DeletionByTaintManager" | "DeletionByPodGC" | "TerminationByKubelet" | "EvictionByEvictionAPI") => {
            Some(Outcome::Infrastructure)
        }
        Some(_) | None => None,
    }
    // Kueue sets this condition on the pods of a group that it evicts.
    .or_else(|| {
        is_set("TerminationTarget").filter(|why| *why == "WorkloadEvictedDueToPreempted").map(|_| Outcome::Preempted)
    })
}

/// Reasons of the kubelet for the pod as a whole, and of a container whose end it did not see.
fn ended_by_kubelet(status: &PartialPodStatus) -> Option<Outcome> {
    let unseen = |reason: &str| reason == "ContainerStatusUnknown";
    let ends = status.container_statuses.iter().filter_map(|one| one.state.terminated.as_ref());
    match status.reason.as_str() {
        // The kubelet made room for a critical pod.
        "Preempting" => Some(Outcome::Preempted),
        "Evicted" | "NodeLost" | "NodeShutdown" | "Shutdown" | "Terminated" | "UnexpectedAdmissionError" => {
            Some(Outcome::Infrastructure)
        }
        _ => ends.into_iter().any(|end| unseen(&end.reason)).then_some(Outcome::Infrastructure),
    }
}
