//! Writes of our own objects. Every write carries the epoch of its decision, is made only while the
//! Lease is certainly held, and is retried a bounded number of times. It has no way to write a node, a pod or any
//! object of another owner: only `backend` has, for actions.

mod failures;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, ObjectReference};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::core::ClusterResourceScope;
use kube::{Client, Resource, ResourceExt as _};
use mainstay_api::{
    CELL_NAME, Cell, CellStatus, Condition, Conditions, DELETE_EPOCH, EPOCH, Fabric, FabricStatus, FleetPolicy,
    FleetPolicyStatus, GpuNode, GpuNodeSpec, GpuNodeStatus, Incident, IncidentSpec, IncidentStatus, Moment, NodeReport,
    Slo, SloStatus,
};
use mainstay_model::{CellRecord, Epoch, NodeName, Reason, Request, RequestKind, Timestamp, WaitingOn};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::error::{Backoff, CALL_WITHIN, Failure, words};
use crate::lease::Tenure;
use crate::metrics::{List, Metrics};
use crate::world::ConfigKind;

pub(crate) use failures::FailureLog;

/// Field manager of every write by the controller, also of the Lease and of the takeover.
pub(crate) const FIELD_MANAGER: &str = "mainstay-controller";
/// Attempts per write. After that, the next decision asks for it again.
const TRIES_MAX: u32 = 5;
/// Events about cluster-scoped objects are stored here, as those about nodes are.
const EVENTS_NAMESPACE: &str = "default";
/// Longest note that the API server accepts.
const NOTE_BYTES_MAX: usize = 1_024;

/// An object that is written. At most one write to each is in flight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Cell,
    Node(NodeName),
    Incident(String),
    Written(ConfigKind, String),
    Report(NodeName),
    Slo(String),
    Event(String),
}

/// One write to the API server.
#[derive(Debug, Clone)]
pub(crate) enum Write {
    /// The stored state of a node.
    Record { node: NodeName, status: Box<GpuNodeStatus>, is_new: bool },
    /// What a node waits for, and its conditions if they changed, where the stored state stays.
    Wait { node: NodeName, waiting_on: WaitingOn, message: Reason, conditions: Option<Conditions> },
    /// An incident, new or changed.
    Incident { name: String, status: Box<IncidentStatus>, is_new: bool },
    /// Deletion of a closed incident that was exported.
    Forget { name: String, uid: String },
    /// Rule counters of the Cell, its conditions, or both.
    Cell { record: Option<Box<CellRecord>>, conditions: Vec<Condition> },
    /// The leader's time in the Cell, with which the admission policies compare the expiry of approvals.
    CellTime,
    /// Status of a FleetPolicy or a Fabric.
    Judged { kind: ConfigKind, name: String, condition: Box<Condition>, placed: Option<i32> },
    /// Report of a node that may be gone. It is checked again before deletion.
    Orphan { node: NodeName },
    /// Deletion of the stored state of a node that is gone. The node is read again before deletion.
    ForgetNode { node: NodeName },
    /// Error budget of an objective.
    Slo { name: String, status: Box<SloStatus> },
    /// An Event for `kubectl describe`.
    Event(Box<NewEvent>),
}

/// A Kubernetes Event to write about a GpuNode or an Incident.
#[derive(Debug, Clone)]
pub(crate) struct NewEvent {
    /// Name made from what happened and when, so that a repeated write has no effect.
    pub(crate) name: String,
    pub(crate) regarding: EventObject,
    pub(crate) reason: String,
    pub(crate) action: &'static str,
    pub(crate) note: String,
    pub(crate) is_warning: bool,
}

/// The object that a Kubernetes Event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventObject {
    Node(NodeName),
    Incident(String),
}

impl EventObject {
    /// The object's own place in the queue of writes.
    pub(crate) fn target(&self) -> Target {
        match self {
            Self::Node(node) => Target::Node(node.clone()),
            Self::Incident(name) => Target::Incident(name.clone()),
        }
    }
}

/// Result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Not written: the Lease may belong to another controller.
    NotLeading,
    /// Given up, with the last error in the words of the API server.
    Failed(String),
}

/// Writes to the API server with the epoch and Lease of one leadership.
#[derive(Clone)]
pub(crate) struct Writer {
    client: Client,
    epoch: Epoch,
    identity: Arc<str>,
    tenure: Tenure,
    metrics: Metrics,
    orphans_kept: Duration,
}

// === impl Target ===

impl Target {
    /// Resource and name of the object, as `kubectl get` takes them.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Cell => format!("cell {CELL_NAME}"),
            Self::Node(node) => format!("gpunode {node}"),
            Self::Incident(name) => format!("incident {name}"),
            Self::Written(ConfigKind::Policy, name) => format!("fleetpolicy {name}"),
            Self::Written(ConfigKind::Fabric, name) => format!("fabric {name}"),
            Self::Report(node) => format!("nodereport {node}"),
            Self::Slo(name) => format!("slo {name}"),
            Self::Event(name) => format!("event {name}"),
        }
    }
}

// === impl Write ===

impl Write {
    pub(crate) fn target(&self) -> Target {
        match self {
            Self::Record { node, .. } | Self::Wait { node, .. } | Self::ForgetNode { node } => {
                Target::Node(node.clone())
            }
            Self::Incident { name, .. } | Self::Forget { name, .. } => Target::Incident(name.clone()),
            Self::Cell { .. } | Self::CellTime => Target::Cell,
            Self::Judged { kind, name, .. } => Target::Written(*kind, name.clone()),
            Self::Orphan { node } => Target::Report(node.clone()),
            Self::Slo { name, .. } => Target::Slo(name.clone()),
            Self::Event(note) => Target::Event(note.name.clone()),
        }
    }

    /// Label value for metrics.
    const fn word(&self) -> &'static str {
        match self {
            Self::Record { .. } => "record",
            Self::Wait { .. } => "wait",
            Self::Incident { .. } => "incident",
            Self::Forget { .. } => "forget",
            Self::Cell { .. } => "cell",
            Self::CellTime => "cell-time",
            Self::Judged { .. } => "judged",
            Self::Orphan { .. } => "orphan",
            Self::ForgetNode { .. } => "forget-node",
            Self::Slo { .. } => "slo",
            Self::Event(_) => "event",
        }
    }
}

// === impl Writer ===

impl Writer {
    pub(crate) fn new(
        client: Client,
        (epoch, identity): (Epoch, Arc<str>),
        tenure: Tenure,
        metrics: Metrics,
        orphans_kept: Duration,
    ) -> Self {
        Self { client, epoch, identity, tenure, metrics, orphans_kept }
    }

    /// Counts writes for which the queue had no place.
    pub(crate) fn dropped(&self, writes: usize) {
        self.metrics.lost(List::Writes, writes);
    }

    /// Writes it, or returns why it could not.
    pub(crate) async fn write(&self, write: &Write) -> Outcome {
        let mut pauses = Backoff::new();
        let mut last = String::new();
        for _ in 0..TRIES_MAX {
            if !self.tenure.holds() {
                self.metrics.wrote(write.word(), "not-leading");
                return Outcome::NotLeading;
            }
            let error = match timeout(CALL_WITHIN, self.once(write)).await {
                Ok(Ok(())) => {
                    self.metrics.wrote(write.word(), "done");
                    return Outcome::Done;
                }
                Ok(Err(error)) => error,
                Err(_) => kube::Error::Service("no answer before the timeout".into()),
            };
            let failure = Failure::of(&error);
            self.metrics.wrote(write.word(), failure.word());
            last = words(&error);
            if failure == Failure::Refused {
                break;
            }
            sleep(pauses.after(&failure)).await;
        }
        self.metrics.gave_up(write.word());
        Outcome::Failed(last)
    }

    async fn once(&self, write: &Write) -> kube::Result<()> {
        match write {
            Write::Record { node, status, is_new } => {
                self.put(GpuNode::new(node.as_str(), GpuNodeSpec::default()), status, *is_new).await
            }
            Write::Wait { node, waiting_on, message, conditions } => {
                let mut status = json!({ "epoch": self.epoch.0, "waitingOn": waiting_on, "message": message });
                if let Some(conditions) = conditions {
                    status["conditions"] = json!(conditions);
                }
                let nodes: Api<GpuNode> = self.api();
                let patch = Patch::Merge(json!({ "status": status }));
                nodes.patch_status(node.as_str(), &as_us(), &patch).await.map(|_| ())
            }
            Write::Incident { name, status, is_new } => {
                self.put(Incident::new(name, IncidentSpec::default()), status, *is_new).await
            }
            Write::Forget { name, uid } => self.forget(&self.api::<Incident>(), name, uid).await,
            Write::Cell { record, conditions } => self.cell(record.as_deref(), conditions).await,
            Write::CellTime => self.cell_time().await,
            Write::Judged { kind, name, condition, placed } => self.judged(*kind, name, condition, *placed).await,
            Write::Orphan { node } => self.orphan(node).await,
            Write::ForgetNode { node } => self.forget_node(node).await,
            Write::Slo { name, status } => {
                let status = SloStatus { epoch: self.epoch_number(), ..(**status).clone() };
                self.apply_status(&self.api::<Slo>(), name, &status).await
            }
            Write::Event(note) => self.event(note).await,
        }
    }

    /// Creates the object first if none is known to be stored, which saves a call. An object that was deleted meanwhile
    /// is created again.
    async fn put<K, S>(&self, mut object: K, status: &S, is_new: bool) -> kube::Result<()>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + std::fmt::Debug,
        K: serde::Serialize + serde::de::DeserializeOwned,
        S: serde::Serialize,
    {
        let (api, name) = (self.api::<K>(), object.name_any());
        if !is_new {
            match self.apply_status(&api, &name, status).await {
                Err(error) if Failure::of(&error) == Failure::Absent => {}
                answer => return answer,
            }
        }
        object.meta_mut().annotations = Some(self.signed());
        there(api.create(&made_by_us(), &object).await)?;
        self.apply_status(&api, &name, status).await
    }

    /// Deletes an object. The deletion is announced on the object first, where the admission policies look for it.
    async fn forget<K>(&self, api: &Api<K>, name: &str, uid: &str) -> kube::Result<()>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let epoch = self.epoch_text();
        let marks = json!({ (EPOCH): epoch, (DELETE_EPOCH): epoch });
        let announced = Patch::Merge(json!({ "metadata": { "annotations": marks, "uid": uid } }));
        api.patch(name, &as_us(), &announced).await?;
        let only = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        match api.delete(name, &DeleteParams::default().preconditions(only)).await {
            Err(error) if Failure::of(&error) == Failure::Absent => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    /// Writes the Cell under the version that was read, because operators and new leaders write it as well.
    async fn cell(&self, record: Option<&CellRecord>, conditions: &[Condition]) -> kube::Result<()> {
        let cells: Api<Cell> = self.api();
        let mut cell = cells.get(CELL_NAME).await?;
        let before = cell
            .status
            .take()
            .unwrap_or_else(|| CellStatus::of(self.epoch, None, &CellRecord::default(), Conditions::default()));
        let mut all = before.conditions.clone();
        all.0.retain(|one| conditions.iter().all(|newer| newer.type_ != one.type_));
        all.0.extend(conditions.iter().cloned());
        all.0.truncate(Conditions::LEN_MAX);
        cell.status = Some(match record {
            // The fence refuses a status without the time that is stored.
            Some(record) => {
                CellStatus { as_of: before.as_of, ..CellStatus::of(self.epoch, before.leader, record, all) }
            }
            None => CellStatus { epoch: self.epoch_number(), conditions: all, ..before },
        });
        cells.replace_status(CELL_NAME, &made_by_us(), &cell).await.map(|_| ())
    }

    /// Raises the leader's time in the Cell. It never goes back, whatever the clock of this machine does.
    async fn cell_time(&self) -> kube::Result<()> {
        let cells: Api<Cell> = self.api();
        let mut cell = cells.get(CELL_NAME).await?;
        let Some(status) = &mut cell.status else { return Ok(()) };
        let now = Moment::from(Timestamp(jiff::Timestamp::now().as_millisecond()));
        if status.as_of.is_some_and(|known| known >= now) {
            return Ok(());
        }
        (status.epoch, status.as_of) = (self.epoch_number(), Some(now));
        cells.replace_status(CELL_NAME, &made_by_us(), &cell).await.map(|_| ())
    }

    async fn judged(
        &self,
        kind: ConfigKind,
        name: &str,
        condition: &Condition,
        placed: Option<i32>,
    ) -> kube::Result<()> {
        let (epoch, conditions) = (self.epoch_number(), Conditions(vec![condition.clone()]));
        match kind {
            ConfigKind::Policy => {
                let status = FleetPolicyStatus { epoch, conditions };
                self.apply_status(&self.api::<FleetPolicy>(), name, &status).await
            }
            ConfigKind::Fabric => {
                let status = FabricStatus { epoch, nodes_placed: placed.unwrap_or(0), conditions };
                self.apply_status(&self.api::<Fabric>(), name, &status).await
            }
        }
    }

    /// Deletes a report if its node is not registered and the report is old. Both are read again, because watch data
    /// may be stale.
    async fn orphan(&self, node: &NodeName) -> kube::Result<()> {
        let nodes: Api<Node> = self.api();
        let reports: Api<NodeReport> = self.api();
        if nodes.get_metadata_opt(node.as_str()).await?.is_some() {
            return Ok(());
        }
        let Some(report) = reports.get_metadata_opt(node.as_str()).await? else { return Ok(()) };
        let written = report.metadata.managed_fields.iter().flatten().filter_map(|entry| entry.time.as_ref());
        let silent = written.filter_map(|time| Duration::try_from(jiff::Timestamp::now() - time.0).ok()).min();
        match (silent, report.metadata.uid) {
            (Some(silent), Some(uid)) if silent > self.orphans_kept => self.forget(&reports, node.as_str(), &uid).await,
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Deletes the stored state of a node if the node is not registered. An operator's open request keeps it. Both are read
    /// again, and the deletion fails if the object changed since.
    async fn forget_node(&self, node: &NodeName) -> kube::Result<()> {
        let nodes: Api<Node> = self.api();
        let stored: Api<GpuNode> = self.api();
        if nodes.get_metadata_opt(node.as_str()).await?.is_some() {
            return Ok(());
        }
        let Some(object) = stored.get_opt(node.as_str()).await? else { return Ok(()) };
        let is_open = |kind: RequestKind| kind != RequestKind::Retire;
        if object.spec.request.as_ref().is_some_and(|request| is_open(Request::from(request).kind)) {
            return Ok(());
        }
        let epoch = self.epoch_text();
        let marks = json!({ (EPOCH): epoch, (DELETE_EPOCH): epoch });
        let meta = json!({ "annotations": marks, "resourceVersion": object.metadata.resource_version });
        let announced = stored.patch(node.as_str(), &as_us(), &Patch::Merge(json!({ "metadata": meta }))).await?;
        let (uid, resource_version) = (announced.metadata.uid, announced.metadata.resource_version);
        let only = Preconditions { uid, resource_version };
        match stored.delete(node.as_str(), &DeleteParams::default().preconditions(only)).await {
            Err(error) if Failure::of(&error) == Failure::Absent => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    async fn event(&self, note: &NewEvent) -> kube::Result<()> {
        let text: String = note.note.chars().take(NOTE_BYTES_MAX).collect();
        let event = Event {
            metadata: ObjectMeta { name: Some(note.name.clone()), ..ObjectMeta::default() },
            event_time: Some(MicroTime(jiff::Timestamp::now())),
            action: Some(note.action.to_owned()),
            reason: Some(note.reason.clone()),
            note: Some(text),
            type_: Some(if note.is_warning { "Warning" } else { "Normal" }.to_owned()),
            reporting_controller: Some("mainstay.dev/controller".to_owned()),
            reporting_instance: Some(self.identity.to_string()),
            regarding: Some(match &note.regarding {
                EventObject::Node(node) => self.reference::<GpuNode>(node.as_str()).await?,
                EventObject::Incident(name) => self.reference::<Incident>(name).await?,
            }),
            ..Event::default()
        };
        let events: Api<Event> = Api::namespaced(self.client.clone(), EVENTS_NAMESPACE);
        there(events.create(&made_by_us(), &event).await)
    }

    /// A reference as `kubectl describe` looks for it: with the UID, and without a namespace, because our kinds have none.
    async fn reference<K>(&self, name: &str) -> kube::Result<ObjectReference>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + std::fmt::Debug,
        K: serde::de::DeserializeOwned,
    {
        let object = self.api::<K>().get_metadata(name).await?;
        Ok(ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            name: Some(name.to_owned()),
            uid: object.uid(),
            ..ObjectReference::default()
        })
    }

    async fn apply_status<K, S>(&self, api: &Api<K>, name: &str, status: &S) -> kube::Result<()>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
        S: serde::Serialize,
    {
        let object = json!({
            "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": { "name": name }, "status": status,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        api.patch_status(name, &params, &Patch::Apply(object)).await.map(|_| ())
    }

    fn api<K: Resource<DynamicType = (), Scope = ClusterResourceScope>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    fn epoch_number(&self) -> i64 {
        i64::try_from(self.epoch.0).unwrap_or(i64::MAX)
    }

    fn epoch_text(&self) -> String {
        self.epoch.0.to_string()
    }

    fn signed(&self) -> std::collections::BTreeMap<String, String> {
        [(EPOCH.to_owned(), self.epoch_text())].into()
    }
}

/// Patch parameters with our field manager.
fn as_us() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// Parameters of a create or an update with our field manager.
pub(crate) fn made_by_us() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Treats an object that exists already as created.
fn there<K>(answer: kube::Result<K>) -> kube::Result<()> {
    match answer {
        Err(error) if Failure::of(&error) == Failure::Conflict => Ok(()),
        answer => answer.map(|_| ()),
    }
}
