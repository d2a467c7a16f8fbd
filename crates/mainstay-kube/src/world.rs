//! Turns watch events into facts for the engine. It keeps only what is needed for that and for comparing stored state
//! with decided state. It decides nothing and waits for nothing.

mod checkpoint;
mod config_status;
mod event;
mod incidents;
mod jobs;
mod nodes;
mod reported_epochs;

use std::collections::{BTreeMap, BTreeSet};

use kube::{Resource as _, ResourceExt as _};
use mainstay_api::{Cell, GpuNode, GpuNodeStatus, Incident, NodeReport, OwnerKind, Topology};
use mainstay_model::{
    CellFacts, Epoch, Fact, GangId, NodeName, Observation, Persisted, PoolName, Report, Request, Span, Stage,
    Timestamp, WaitingOn,
};

use crate::backend::GangRules;
use crate::execution::{self, Capability};
use crate::jobs::{JobCounts, Jobs};
use crate::node::OtherActors;
use crate::object_conditions::{FIRST_GENERATION, StoredCondition};
use crate::pod::Gangs;
use crate::resource_slice::{PartialSlice, ResourceSlices};
use crate::tolerant::Tolerant;
use crate::watch::{Phase, WatchEvent};

use config_status::ValidPolicy;
pub(crate) use config_status::{ConfigKind, ConfigStatus, ConfigStatuses};
pub(crate) use event::{ClusterEvent, ClusterMessage, EndEvent, Kind};
pub(crate) use incidents::{StoredIncident, same};
pub(crate) use jobs::InventoryRow;
use nodes::NodeReadings;
use reported_epochs::ReportedEpochs;

/// Largest number of owner kinds that are followed.
const OWNER_KINDS_MAX: usize = 16;

/// Stage, start time, wait and condition of a node, as its GpuNode stores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredNode {
    pub(crate) stage: Stage,
    pub(crate) since: Timestamp,
    pub(crate) waiting_on: WaitingOn,
    pub(crate) condition: Option<StoredCondition>,
}

/// Whether this process acts on what it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Role {
    /// It only shows the cluster. The engine gets no epoch, so it takes no step that only the leader may take.
    #[default]
    Viewer,
    /// It leads the cell with this epoch.
    Leader(Epoch),
}

/// State of the cluster, as far as the adapter needs it.
#[derive(Default)]
pub(crate) struct World {
    role: Role,
    capability: Capability,
    fabrics: BTreeMap<String, Topology>,
    policies: BTreeMap<String, ValidPolicy>,
    /// Whether nodes and pods are being read with the known fabrics and policies.
    has_read: bool,
    listed: Vec<Kind>,
    /// Time until which each required kind is known. A kind that is listed again keeps its time until the new list is
    /// complete.
    known_until: BTreeMap<Kind, Timestamp>,
    nodes: BTreeMap<NodeName, OtherActors>,
    /// Last facts of each of these nodes, and nodes whose object cannot be read now.
    readings: NodeReadings,
    /// GPUs that nodes offer by DRA. A change takes effect with the next update of the Node, which its kubelet writes at
    /// least every five minutes.
    slices: ResourceSlices,
    has_listed_slices: bool,
    gangs: Gangs,
    /// Jobs for metrics and the web UI. None in a view that is read once.
    jobs: Option<Box<Jobs>>,
    has_listed_pending: bool,
    /// GPU model, driver and firmware that agents report, by node.
    versions: BTreeMap<NodeName, InventoryRow>,
    owners_listed: BTreeSet<usize>,
    records: BTreeMap<NodeName, StoredNode>,
    requests: BTreeMap<NodeName, Request>,
    /// Nodes whose GpuNode arrived since the last call.
    arrived: Vec<NodeName>,
    /// Generations of GpuNodes that were edited since they were created.
    generations: BTreeMap<NodeName, i64>,
    /// Nodes whose stored state claims an action that was never executed.
    overstated: BTreeSet<NodeName>,
    /// Nodes whose stored condition is missing, or older than the last edit of their GpuNode.
    stale_conditions: BTreeSet<NodeName>,
    incidents: BTreeMap<String, StoredIncident>,
    cell: Option<Box<Cell>>,
    judged: ConfigStatuses,
    has_judged_anew: bool,
    /// Nodes with a report and without a Node object.
    orphans: BTreeSet<NodeName>,
    /// Start of the next check, so that every report is checked in turn.
    orphans_from: Option<NodeName>,
    facts: Vec<Observation>,
    /// Epochs above ours in the reports of agents.
    reported_epochs: ReportedEpochs,
    /// Number of invalid objects since the start, by kind.
    unfit: BTreeMap<Kind, u64>,
}

// === impl World ===

impl World {
    /// The world of a leader with this epoch.
    pub(crate) fn under(epoch: Epoch, capability: Capability) -> Self {
        Self { role: Role::Leader(epoch), capability, ..Self::default() }
    }

    /// Follows jobs, with the counts of an earlier leadership of this process.
    pub(crate) fn with_jobs(self, settle: Span, counts: JobCounts) -> Self {
        Self { jobs: Some(Box::new(Jobs::new(settle, counts))), ..self }
    }

    /// The world of a view, which never leads.
    pub(crate) fn of_view() -> Self {
        Self { role: Role::Viewer, ..Self::default() }
    }

    /// Handles one message of a watch.
    pub(crate) fn receive(&mut self, message: ClusterMessage, now: Timestamp) -> Result<(), EndEvent> {
        let kind = message.event.kind().filter(|_| message.phase == Phase::Following);
        self.take(message.event, now)?;
        if let Some(kind) = kind {
            let known = self.known_until.entry(kind).or_insert(message.heard_at);
            *known = message.heard_at.max(*known);
        }
        Ok(())
    }

    /// Time until which every required kind is known. None until the first list of each is complete.
    pub(crate) fn as_of(&self) -> Option<Timestamp> {
        let known = Kind::ALL.into_iter().map(|kind| self.known_until.get(&kind).copied());
        known.min().flatten()
    }

    /// Handles one event.
    pub(crate) fn take(&mut self, news: ClusterEvent, now: Timestamp) -> Result<(), EndEvent> {
        match news {
            ClusterEvent::Cell(told) => return self.cell(told, now),
            ClusterEvent::Policy(told) => return self.policy(told, now),
            ClusterEvent::Fabric(told) => return self.fabric(told),
            ClusterEvent::Node(told) => self.node(told, now),
            ClusterEvent::Slice(told) => self.slice(told),
            ClusterEvent::Pod(WatchEvent::Is(pod)) => match &pod.object {
                Ok(pod) => {
                    self.gangs.is(pod);
                    if let Some(jobs) = &mut self.jobs {
                        jobs.running(pod, &self.gangs, now);
                    }
                }
                Err(invalid) => self.gangs.is_invalid(pod.meta(), invalid.node_name.as_deref()),
            },
            ClusterEvent::Pod(WatchEvent::Gone(key)) => {
                self.gangs.gone(&key);
                if let Some(jobs) = &mut self.jobs {
                    jobs.left_running(&key);
                }
            }
            ClusterEvent::Pod(WatchEvent::Listed) => self.list(Kind::Pod),
            ClusterEvent::Pod(WatchEvent::Bookmark) | ClusterEvent::Owner { told: WatchEvent::Bookmark, .. } => {}
            ClusterEvent::PendingPod(told) => self.pending_pod(told, now),
            ClusterEvent::EndedPod(told) => self.ended_pod(told, now),
            ClusterEvent::Owner { place, told: WatchEvent::Is(owner) } => self.gangs.owner_is(place, owner.meta()),
            ClusterEvent::Owner { place, told: WatchEvent::Gone(key) } => self.gangs.owner_gone(place, key),
            ClusterEvent::Owner { place, told: WatchEvent::Listed } => drop(self.owners_listed.insert(place)),
            ClusterEvent::Report(told) => self.report(told, now),
            ClusterEvent::GpuNode(told) => self.gpu_node(told, now),
            ClusterEvent::Incident(told) => self.incident(told),
            ClusterEvent::Checkpoint(told) => self.checkpoint(told, now),
        }
        Ok(())
    }

    /// Whether the first list of all these kinds is complete.
    pub(crate) fn has_listed(&self, kinds: &[Kind]) -> bool {
        kinds.iter().all(|kind| self.listed.contains(kind))
    }

    /// Starts reading nodes and pods, with the fabrics and policies known now.
    pub(crate) fn begin_reading(&mut self) {
        let labels = self.policies.values().filter_map(|seen| seen.gang.label.clone());
        self.gangs = Gangs::by(labels.collect());
        self.has_read = true;
    }

    /// Kinds whose objects are followed as owners of pods.
    pub(crate) fn owner_kinds(&self) -> Vec<OwnerKind> {
        let all: BTreeSet<&OwnerKind> = self.policies.values().flat_map(|seen| &seen.gang.owners).collect();
        all.into_iter().take(OWNER_KINDS_MAX).cloned().collect()
    }

    /// Whether the first list of ResourceSlices is complete.
    pub(crate) const fn has_listed_slices(&self) -> bool {
        self.has_listed_slices
    }

    /// Number of owner kinds whose first list is complete.
    pub(crate) fn owners_listed(&self) -> usize {
        self.owners_listed.len()
    }

    /// Facts since the last call, in order of arrival.
    pub(crate) fn flush(&mut self, now: Timestamp) -> Vec<Observation> {
        let mut facts = std::mem::take(&mut self.facts);
        facts.extend(self.gangs.flush().into_iter().map(|fact| Observation { at: now, fact }));
        facts
    }

    /// Nodes that a gang had no room for since the last call.
    pub(crate) fn take_lost_gang_nodes(&mut self) -> usize {
        self.gangs.take_lost_nodes()
    }

    /// Nodes whose GpuNode changed or was deleted since the last call.
    pub(crate) fn take_arrived(&mut self) -> Vec<NodeName> {
        std::mem::take(&mut self.arrived)
    }

    pub(crate) fn on_record(&self, node: &NodeName) -> Option<StoredNode> {
        self.records.get(node).copied()
    }

    /// Nodes whose stored state claims an action that was never executed.
    pub(crate) const fn overstated(&self) -> &BTreeSet<NodeName> {
        &self.overstated
    }

    /// Nodes whose stored condition is missing, or older than the last edit of their GpuNode.
    pub(crate) const fn stale_conditions(&self) -> &BTreeSet<NodeName> {
        &self.stale_conditions
    }

    /// Generation of a node's GpuNode. That of a new object if there is none.
    pub(crate) fn generation(&self, node: &NodeName) -> i64 {
        self.generations.get(node).copied().unwrap_or(FIRST_GENERATION)
    }

    pub(crate) fn incidents(&self) -> &BTreeMap<String, StoredIncident> {
        &self.incidents
    }

    pub(crate) fn cell_seen(&self) -> Option<&Cell> {
        self.cell.as_deref()
    }

    /// State of every FleetPolicy and Fabric.
    pub(crate) const fn judged(&self) -> &ConfigStatuses {
        &self.judged
    }

    /// Whether that state, or the Cell's mode, changed since the last call.
    pub(crate) const fn config_changed(&mut self) -> bool {
        std::mem::replace(&mut self.has_judged_anew, false)
    }

    /// The names of the fabrics that are in force.
    pub(crate) fn fabrics(&self) -> impl Iterator<Item = &str> {
        self.fabrics.keys().map(String::as_str)
    }

    /// How many nodes have a domain at every level of a fabric.
    pub(crate) fn placed(&self, fabric: &str) -> i32 {
        let Some(place) = self.fabrics.keys().position(|name| name == fabric) else { return 0 };
        let placed = self.nodes.values().filter(|others| others.is_placed(place)).count();
        i32::try_from(placed).unwrap_or(i32::MAX)
    }

    /// Some nodes with a report and without a Node object, others at each call.
    pub(crate) fn orphans(&mut self, most: usize) -> Vec<NodeName> {
        let from = self.orphans_from.take();
        let after = self.orphans.iter().filter(|node| from.as_ref().is_none_or(|from| *node > from));
        let some: Vec<NodeName> = after.take(most).cloned().collect();
        self.orphans_from = some.last().filter(|_| some.len() == most).cloned();
        some
    }

    /// What the leader may execute.
    pub(crate) const fn capability(&self) -> Capability {
        self.capability
    }

    /// The pool of a node.
    pub(crate) fn pool(&self, node: &NodeName) -> Option<PoolName> {
        self.readings.pool(node).cloned()
    }

    /// How pods become gangs.
    pub(crate) fn gang_rules(&self) -> GangRules {
        let labels: BTreeSet<String> = self.policies.values().filter_map(|seen| seen.gang.label.clone()).collect();
        GangRules { labels: labels.into_iter().collect(), owners: self.owner_kinds() }
    }

    pub(crate) const fn others(&self) -> &BTreeMap<NodeName, OtherActors> {
        &self.nodes
    }

    /// Nodes whose object cannot be read now.
    pub(crate) const fn unreadable_nodes(&self) -> &BTreeSet<NodeName> {
        self.readings.unreadable()
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = ((&str, &str), &GangId, &NodeName)> {
        self.gangs.pods()
    }

    pub(crate) fn slurmd(&self) -> u64 {
        self.gangs.slurmd()
    }

    pub(crate) fn unfit(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        let pods = (Kind::Pod, self.gangs.unfit());
        self.unfit.iter().map(|(kind, count)| (*kind, *count)).chain([pods])
    }

    fn tell(&mut self, at: Timestamp, fact: Fact) {
        self.facts.push(Observation { at, fact });
    }

    fn list(&mut self, kind: Kind) {
        if !self.listed.contains(&kind) {
            self.listed.push(kind);
        }
    }

    fn is_unfit(&mut self, kind: Kind) {
        *self.unfit.entry(kind).or_default() += 1;
    }

    fn cell(&mut self, told: WatchEvent<Tolerant<Cell>>, now: Timestamp) -> Result<(), EndEvent> {
        let cell = match told {
            WatchEvent::Is(cell) if cell.name_any() == mainstay_api::CELL_NAME => cell.object,
            WatchEvent::Listed => {
                self.list(Kind::Cell);
                return Ok(());
            }
            // Without its Cell the fence refuses everything; what is known of it stands until it is back.
            WatchEvent::Gone(_) | WatchEvent::Is(_) | WatchEvent::Bookmark => return Ok(()),
        };
        let facts = cell.map_err(|_| ()).and_then(|cell| cell.facts(now).map(|facts| (cell, facts)).map_err(|_| ()));
        let Ok((cell, facts)) = facts else {
            self.is_unfit(Kind::Cell);
            return Ok(());
        };
        let epoch = match self.role {
            Role::Viewer => Epoch(0),
            Role::Leader(epoch) if facts.epoch > epoch => return Err(EndEvent::Deposed(facts.epoch)),
            // Our own takeover came before the first list, so an older cell was restored.
            Role::Leader(epoch) if facts.epoch < epoch => return Err(EndEvent::Restored(facts.epoch)),
            Role::Leader(epoch) => epoch,
        };
        let requested = facts.mode;
        if self.role == Role::Viewer {
            let shown = Capability::shown_by(&cell);
            let before = std::mem::replace(&mut self.capability, shown);
            if self.has_read && before != shown {
                return Err(EndEvent::ReadAnew("the controller may now act, or no longer"));
            }
        }
        self.has_judged_anew |= self.cell.as_ref().is_none_or(|known| known.spec.mode != requested);
        self.cell = Some(Box::new(cell));
        self.tell(now, Fact::Cell(CellFacts { epoch, mode: self.capability.in_effect(requested), ..facts }));
        Ok(())
    }

    fn slice(&mut self, told: WatchEvent<PartialSlice>) {
        match told {
            WatchEvent::Is(slice) => self.slices.is(&slice),
            WatchEvent::Gone(key) => self.slices.gone(&key.name, |node| self.nodes.contains_key(node)),
            WatchEvent::Listed => self.has_listed_slices = true,
            WatchEvent::Bookmark => {}
        }
    }

    fn report(&mut self, told: WatchEvent<Tolerant<NodeReport>>, now: Timestamp) {
        let (seen, is_listing) = match told {
            WatchEvent::Is(seen) => (seen, !self.listed.contains(&Kind::Report)),
            // A report that is deleted says nothing: silence is neither health nor failure.
            WatchEvent::Gone(key) => {
                if let Ok(node) = NodeName::parse(&key.name) {
                    self.orphans.remove(&node);
                    self.versions.remove(&node);
                    self.reported_epochs.forget(&node);
                }
                return;
            }
            WatchEvent::Listed => return self.list(Kind::Report),
            WatchEvent::Bookmark => return,
        };
        // What is there already arrived when it was written, by the server's clock.
        let at = if is_listing { written_at(&*seen).map_or(now, |at| at.min(now)) } else { now };
        let node = NodeName::parse(&seen.name_any());
        let spec = seen.object.ok().map(|object| object.spec);
        let report = spec.as_ref().and_then(|spec| Report::try_from(spec).ok());
        match (node, report) {
            (Ok(node), Some(report)) => {
                self.keep_versions(&node, spec.as_ref());
                self.keep_reported_epoch(&node, spec.as_ref());
                if !self.nodes.contains_key(&node) {
                    self.orphans.insert(node.clone());
                }
                self.tell(at, Fact::Report { node, report: Box::new(report) });
            }
            (Ok(_) | Err(_), _) => self.is_unfit(Kind::Report),
        }
    }

    fn gpu_node(&mut self, told: WatchEvent<Tolerant<GpuNode>>, now: Timestamp) {
        let (name, read) = match told {
            WatchEvent::Is(seen) => (seen.name_any(), Some(seen.object)),
            WatchEvent::Gone(key) => (key.name.into(), None),
            WatchEvent::Listed => return self.list(Kind::GpuNode),
            WatchEvent::Bookmark => return,
        };
        let Ok(node) = NodeName::parse(&name) else { return self.is_unfit(Kind::GpuNode) };
        if self.role != Role::Viewer && self.listed.contains(&Kind::GpuNode) {
            self.arrived.push(node.clone());
        }
        let object = match read {
            Some(Ok(object)) => Some(object),
            Some(Err(_)) => return self.is_unfit(Kind::GpuNode),
            None => None,
        };
        let request = object.as_ref().and_then(|object| object.spec.request.as_ref()).map(Request::from);
        self.requested(&node, request, now);
        let generation = object.as_ref().and_then(|object| object.metadata.generation).unwrap_or(FIRST_GENERATION);
        if generation == FIRST_GENERATION {
            self.generations.remove(&node);
        } else {
            self.generations.insert(node.clone(), generation);
        }
        match object.and_then(|object| object.status) {
            Some(status) => self.recorded(node, &status, now),
            // Deleted by an operator, or by a leader because the node is gone. It is written again if the node exists.
            None if self.records.remove(&node).is_some() => {
                self.overstated.remove(&node);
                self.stale_conditions.remove(&node);
                self.tell(now, Fact::RecordGone { node });
            }
            None => {}
        }
    }

    fn requested(&mut self, node: &NodeName, request: Option<Request>, now: Timestamp) {
        if self.requests.get(node) != request.as_ref() {
            match &request {
                Some(request) => self.requests.insert(node.clone(), request.clone()),
                None => self.requests.remove(node),
            };
            self.tell(now, Fact::Request { node: node.clone(), request });
        }
    }

    fn recorded(&mut self, node: NodeName, status: &GpuNodeStatus, now: Timestamp) {
        let Ok(persisted) = Persisted::try_from(status) else { return self.is_unfit(Kind::GpuNode) };
        let (stage, condition) = (persisted.stage, StoredCondition::in_service(&status.conditions));
        let on_record = StoredNode { stage, since: persisted.since, waiting_on: status.waiting_on, condition };
        self.records.insert(node.clone(), on_record);
        if condition.is_some_and(|condition| condition.fits(stage, self.generation(&node))) {
            self.stale_conditions.remove(&node);
        } else {
            self.stale_conditions.insert(node.clone());
        }
        let corrected = execution::corrected(&persisted, self.capability);
        if corrected.is_some() {
            self.overstated.insert(node.clone());
        } else {
            self.overstated.remove(&node);
        }
        let persisted = Box::new(corrected.unwrap_or(persisted));
        self.tell(now, Fact::Recorded { node, persisted });
    }

    fn incident(&mut self, told: WatchEvent<Tolerant<Incident>>) {
        match told {
            WatchEvent::Is(seen) => {
                let name = seen.name_any();
                match seen.object {
                    Ok(object) => drop(self.incidents.insert(name, StoredIncident::of(object))),
                    Err(_) => self.is_unfit(Kind::Incident),
                }
            }
            WatchEvent::Gone(key) => drop(self.incidents.remove(&*key.name)),
            WatchEvent::Listed => self.list(Kind::Incident),
            WatchEvent::Bookmark => {}
        }
    }
}

/// Time of the last write of an object, by the server's clock.
fn written_at(object: &impl kube::Resource) -> Option<Timestamp> {
    let entries = object.meta().managed_fields.iter().flatten();
    entries.filter_map(|entry| entry.time.as_ref()).map(|time| Timestamp(time.0.as_millisecond())).max()
}

#[cfg(test)]
mod tests;
