//! Reads a cluster once with `list` on nodes, ResourceSlices, pods and events only; Mainstay need not be installed. Kinds without
//! permission are reported. Permissions are not queried in advance, because a review is a write.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Event, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use kube::{Api, Client, Resource, ResourceExt as _};
use mainstay_model::{DomainName, ExternalCondition, Level, NodeName, PoolName, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Failure};
use crate::execution::Capability;
use crate::node::{self, OtherActors, PartialNode, ReadResult};
use crate::resource_slice::{self, OF_DRIVER, PartialSlice, ResourceSlices};
use crate::watch;

/// Labels that name a failure domain without a Fabric: NVIDIA's feature discovery, and our own.
const DOMAINS: [(&str, Level); 5] = [
    ("nvidia.com/gpu.clique", Level::NvlinkDomain),
    ("mainstay.dev/rack", Level::Rack),
    ("mainstay.dev/pdu", Level::Pdu),
    ("network.topology.nvidia.com/leaf", Level::Leaf),
    ("network.topology.nvidia.com/spine", Level::Spine),
];
/// Event reason that a kubelet uses for a reboot.
const REBOOTED: &str = "Rebooted";
/// Largest number of distinct event reasons per node.
const REASONS_MAX: usize = 16;

/// Nodes with GPUs, pod counts and warning events from one read of the cluster.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Time at which the cluster was read.
    pub at: Timestamp,
    /// Nodes with GPUs, by name.
    pub nodes: BTreeMap<NodeName, ScannedNode>,
    /// Number of nodes without GPUs.
    pub nodes_without_gpus: u64,
    /// Number of pods that were read.
    pub pods: u64,
    /// Number of warning events that were read.
    pub events: u64,
    /// Kinds that the account has no permission to list.
    pub unread: Vec<&'static str>,
}

/// State of one GPU node: health, GPU counts, failed pods, restarts, reboots and warnings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScannedNode {
    /// Pool whose FleetPolicy would apply to it.
    pub pool: Option<PoolName>,
    /// Failure domains that it shares with other nodes.
    pub domains: BTreeMap<Level, DomainName>,
    /// Number of GPUs it should have.
    pub gpus: u16,
    /// Number of allocatable GPUs. None if it has no GPU resource.
    pub offered: Option<u16>,
    /// Time since which it is not ready. None while it is ready.
    pub not_ready_since: Option<Timestamp>,
    /// Actor that cordoned or tainted it.
    pub kept_away: Option<String>,
    /// Other tool that repairs it.
    pub remediator: Option<&'static str>,
    /// Node conditions in which other agents report a problem.
    pub complaints: Vec<ExternalCondition>,
    /// Number of failed pods that still exist.
    pub failed: u64,
    /// Number of failed pods that were evicted.
    pub evicted: u64,
    /// Number of container restarts.
    pub restarts: u64,
    /// Reboots that its kubelet reported.
    pub boots: BTreeSet<Timestamp>,
    /// Warning events about it, by reason.
    pub warnings: BTreeMap<String, u64>,
}

/// Fields of a Pod that a scan reads: its node, phase and restarts.
#[derive(Resource, Debug, Clone, Serialize, Deserialize)]
#[resource(inherit = Pod)]
struct ScannedPod {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    #[serde(default)]
    node_name: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodStatus {
    #[serde(default)]
    phase: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    #[serde(default)]
    restart_count: u64,
}

/// Fields of an Event that a scan reads: its object, reason, count and time.
#[derive(Resource, Debug, Clone, Serialize, Deserialize)]
#[resource(inherit = Event)]
#[serde(rename_all = "camelCase")]
struct ScannedEvent {
    metadata: ObjectMeta,
    #[serde(default)]
    involved_object: InvolvedObject,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    last_timestamp: Option<Time>,
    #[serde(default)]
    event_time: Option<MicroTime>,
}

/// Kind and name of the object that an Event is about.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct InvolvedObject {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
}

// === impl Scan ===

impl Scan {
    /// Lists nodes, pods and events once.
    ///
    /// # Errors
    /// [`Error::Refused`] without permission to list nodes, [`Error::Failed`] if the server does not answer.
    pub async fn take(client: &Client) -> Result<Self, Error> {
        let at = Timestamp(jiff::Timestamp::now().as_millisecond());
        let mut survey = Self { at, ..Self::default() };
        let mut slices = ResourceSlices::default();
        survey.list::<PartialSlice>(client, resource_slice::PLURAL, Some(OF_DRIVER), |_, one| slices.is(one)).await?;
        let nodes = survey.list::<PartialNode>(client, "nodes", None, |survey, one| survey.node(one, &slices)).await?;
        if !nodes {
            let why = "this account has no permission to list nodes".to_owned();
            return Err(Error::Refused { what: "reading the cluster", why });
        }
        survey.list::<ScannedPod>(client, "pods", None, Self::pod).await?;
        survey.list::<ScannedEvent>(client, "events", Some("type=Warning"), Self::event).await?;
        Ok(survey)
    }

    /// Lists one kind page by page. Returns whether the server has the kind and the account may list it.
    async fn list<K>(
        &mut self,
        client: &Client,
        kind: &'static str,
        fields: Option<&'static str>,
        mut take: impl FnMut(&mut Self, &K),
    ) -> Result<bool, Error>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let api: Api<K> = Api::all(client.clone());
        let mut next = None;
        loop {
            let page = match watch::page(&api, fields, next).await {
                Ok(page) => page,
                Err(Failure::Refused) => {
                    self.unread.push(kind);
                    return Ok(false);
                }
                Err(Failure::Absent) => return Ok(false),
                Err(failure) => {
                    let why = format!("{kind}: {}", failure.word());
                    return Err(Error::Failed { what: "reading the cluster", tries: 1, why });
                }
            };
            page.items.iter().for_each(|one| take(self, one));
            next = page.metadata.continue_.filter(|token| !token.is_empty());
            if next.is_none() {
                return Ok(true);
            }
        }
    }

    fn node(&mut self, seen: &PartialNode, slices: &ResourceSlices) {
        let by_dra = slices.gpus(&seen.name_any());
        let ReadResult::Ours(read) = node::read(seen, &BTreeMap::new(), by_dra, Capability::Observe) else {
            self.nodes_without_gpus += 1;
            return;
        };
        let labels = seen.metadata.labels.clone().unwrap_or_default();
        let domain = |(label, level): (&str, Level)| Some((level, DomainName::parse(labels.get(label)?).ok()?));
        let ready = seen.status.conditions.iter().find(|condition| condition.type_ == "Ready");
        let not_ready = ready.filter(|condition| condition.status != "True");
        let OtherActors { kept_away, remediator, complaints, .. } = read.others;
        let surveyed = ScannedNode {
            pool: Some(read.facts.pool),
            domains: DOMAINS.into_iter().filter_map(domain).collect(),
            gpus: read.facts.gpus,
            offered: node::offered(seen, by_dra),
            not_ready_since: not_ready
                .map(|condition| condition.last_transition_time.map_or(self.at, |at| Timestamp(at.as_millisecond()))),
            kept_away: kept_away.map(|who| who.to_string()),
            remediator,
            complaints: complaints.as_slice().to_vec(),
            ..ScannedNode::default()
        };
        self.nodes.insert(read.name, surveyed);
    }

    fn pod(&mut self, pod: &ScannedPod) {
        self.pods += 1;
        let name = pod.spec.node_name.as_deref().and_then(|name| NodeName::parse(name).ok());
        let Some(node) = name.and_then(|name| self.nodes.get_mut(&name)) else { return };
        let has_failed = pod.status.phase == "Failed";
        node.failed += u64::from(has_failed);
        node.evicted += u64::from(has_failed && pod.status.reason == "Evicted");
        node.restarts += pod.status.container_statuses.iter().map(|one| one.restart_count).sum::<u64>();
    }

    fn event(&mut self, event: &ScannedEvent) {
        self.events += 1;
        let Some(name) = NodeName::parse(&event.involved_object.name).ok() else { return };
        let Some(node) = self.nodes.get_mut(&name).filter(|_| event.involved_object.kind == "Node") else { return };
        let at = event.last_timestamp.as_ref().map(moment);
        let at = at.or_else(|| event.event_time.as_ref().map(|time| Timestamp(time.0.as_millisecond())));
        if let (REBOOTED, Some(at)) = (event.reason.as_str(), at) {
            node.boots.insert(at);
        }
        if node.warnings.len() < REASONS_MAX || node.warnings.contains_key(&event.reason) {
            *node.warnings.entry(event.reason.clone()).or_default() += event.count.unwrap_or(1).max(1);
        }
    }
}

fn moment(time: &Time) -> Timestamp {
    Timestamp(time.0.as_millisecond())
}
