//! What other tools do to a node: cordon it, repair it, or report a problem on it. They are recognised by the marks in
//! their own documentation.

use mainstay_model::{Bounded, Code, ExternalCondition, Timestamp};

use super::PartialNode;
use crate::execution::Capability;

/// Taints with which other tools remove a node from service, and the tool. Other taints say nothing about the node's
/// health.
const TAKES_OUT: [(&str, &str); 4] = [
    ("ToBeDeletedByClusterAutoscaler", "cluster-autoscaler"),
    ("karpenter.sh/disrupted", "karpenter"),
    ("node.kubernetes.io/out-of-service", "out-of-service"),
    ("medik8s.io/remediation", "medik8s"),
];
/// Labels and annotations of other tools that repair nodes.
const REMEDIATORS: [(&str, &str); 4] = [
    ("dgxc.nvidia.com/nvsentinel-state", "nvsentinel"),
    ("k8saas.nvidia.com/cordon-by", "nvsentinel"),
    ("weave.works/kured-reboot-in-progress", "kured"),
    ("nodeset.slinky.slurm.net/node-cordon-reason", "slinky"),
];
/// Prefix of Kubernetes' own taints. They follow from conditions that are read anyway.
const OF_THE_CLUSTER: &str = "node.kubernetes.io/";
/// Conditions of kubelet and network, which are not complaints of another agent.
const OF_THE_KUBELET: [&str; 5] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
/// Largest number of complaints, and of taints, kept per node.
const COMPLAINTS_MAX: usize = 16;
/// Longest name of another tool that is kept.
const NAME_BYTES_MAX: usize = 63;

/// Cordons, repairs, taints and complaints of other tools on one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherActors {
    /// Actor that cordoned or tainted the node.
    pub kept_away: Option<Box<str>>,
    /// Other tool that repairs the node.
    pub remediator: Option<&'static str>,
    /// Taints that say nothing about the node's health, by key.
    pub taints: Vec<Box<str>>,
    /// Node conditions in which other agents report a problem.
    pub complaints: Bounded<ExternalCondition, COMPLAINTS_MAX>,
    /// Bit i is set if the node has a domain at every level of fabric i.
    pub(super) placed: u16,
}

impl OtherActors {
    pub(super) fn of(node: &PartialNode, capability: Capability) -> Self {
        let remediator = remediator(node);
        let taken_out = TAKES_OUT.iter().find(|(key, _)| node.spec.taints.iter().any(|taint| taint.key == *key));
        let cordoned = node.spec.unschedulable.then(|| remediator.map_or_else(|| cordoned_by(node), Into::into));
        // Without the permission to act, the taint is from an earlier installation, and nothing here removes it.
        let tainted = (has_our_taint(node) && !capability.can_taint()).then(|| plain(mainstay_api::TAINT));
        let strange = node.spec.taints.iter().filter(|taint| is_strange(&taint.key)).take(COMPLAINTS_MAX);
        Self {
            kept_away: taken_out.map(|(_, who)| (*who).into()).or(cordoned).or(tainted),
            remediator,
            taints: strange.map(|taint| plain(&taint.key)).collect(),
            complaints: complaints(node),
            placed: 0,
        }
    }

    /// Whether the node has a domain at every level of the fabric at this index.
    pub(crate) fn is_placed(&self, fabric: usize) -> bool {
        u32::try_from(fabric).ok().and_then(|place| self.placed.checked_shr(place)).is_some_and(|bits| bits & 1 == 1)
    }

    /// The tool that treats the node now: it repairs it, or takes it out of service. A cordon alone is no treatment.
    pub(crate) fn treated_by(&self) -> Option<Box<str>> {
        let by_taint = || TAKES_OUT.iter().find(|(_, who)| self.kept_away.as_deref() == Some(*who));
        self.remediator.or_else(|| by_taint().map(|(_, who)| *who)).map(Into::into)
    }
}

/// Whether Mainstay keeps new work off the node.
pub(super) fn has_our_taint(node: &PartialNode) -> bool {
    node.spec.taints.iter().any(|taint| taint.key == mainstay_api::TAINT)
}

fn is_strange(key: &str) -> bool {
    let is_ours = key == mainstay_api::TAINT || key == mainstay_api::AVOID_TAINT;
    !key.starts_with(OF_THE_CLUSTER) && !is_ours && !TAKES_OUT.iter().any(|(known, _)| *known == key)
}

fn remediator(node: &PartialNode) -> Option<&'static str> {
    let marks = [node.metadata.labels.as_ref(), node.metadata.annotations.as_ref()];
    let marked = |key: &str| marks.iter().flatten().any(|marks| marks.contains_key(key));
    let by_taint = node.spec.taints.iter().any(|taint| taint.key == "medik8s.io/remediation").then_some("medik8s");
    REMEDIATORS.iter().find(|(key, _)| marked(key)).map(|(_, who)| *who).or(by_taint)
}

/// Field manager that set `unschedulable`. Any client can choose that name.
fn cordoned_by(node: &PartialNode) -> Box<str> {
    let managers = node.metadata.managed_fields.iter().flatten();
    let set = managers.filter(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        fields.and_then(|fields| fields.pointer("/f:spec/f:unschedulable")).is_some()
    });
    let last = set.max_by_key(|entry| entry.time.as_ref().map(|time| time.0));
    last.and_then(|entry| entry.manager.as_deref()).map_or_else(|| "somebody".into(), plain)
}

/// Problems that other agents report: a condition named `…Ready` that is False, or any other that is True.
fn complaints(node: &PartialNode) -> Bounded<ExternalCondition, COMPLAINTS_MAX> {
    let foreign = node.status.conditions.iter().filter(|condition| !OF_THE_KUBELET.contains(&condition.type_.as_str()));
    let bad = foreign.filter(|condition| {
        let is_praise = condition.type_.ends_with("Ready");
        condition.status == if is_praise { "False" } else { "True" }
    });
    let read = bad.filter_map(|condition| {
        let since = condition.last_transition_time.map_or(0, jiff::Timestamp::as_millisecond);
        Some(ExternalCondition { code: Code::parse(&condition.type_).ok()?, since: Timestamp(since) })
    });
    let mut complaints: Vec<ExternalCondition> = read.take(COMPLAINTS_MAX).collect();
    complaints.sort_unstable();
    Bounded::within(complaints)
}

fn plain(text: &str) -> Box<str> {
    let kept = text.chars().filter(|c| c.is_ascii_alphanumeric() || "._:/@+-".contains(*c));
    kept.take(NAME_BYTES_MAX).collect::<String>().into()
}
