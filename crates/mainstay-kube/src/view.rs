//! A cluster as a user sees it, with that user's permissions: everything is listed or watched, and the engine computes
//! what it would do. A view never leads and never writes. It needs `get` and `list`, and `watch` where it follows.
//! Kinds that it cannot read are reported, so that a partial view is recognised as partial.

mod live;

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use mainstay_api::{Cell, GROUP, Incident, OwnerKind, VERSION};
use mainstay_engine::Engine;
use mainstay_model::{
    Decision, Fact, GangFacts, GangId, Mode, NodeFacts, NodeName, Observation, Policy, PoolName, Report, Request,
    Timestamp,
};
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Error, Failure};
use crate::permission::{Access, may};
use crate::resource_slice::{self, SliceAccess};
use crate::source;
use crate::world::{ClusterEvent, Kind, World};

pub use crate::node::OtherActors;
pub use live::LiveView;

/// A cluster at one point in time.
pub struct View {
    now: Timestamp,
    /// Mainstay kinds that the cluster has.
    installed: BTreeSet<String>,
    world: World,
    engine: Engine,
    decision: Decision,
    violations: Vec<String>,
    nodes: BTreeMap<NodeName, NodeInputs>,
    gangs: BTreeMap<GangId, GangFacts>,
    policies: BTreeMap<PoolName, Policy>,
    unread: Vec<SkippedKind>,
}

/// What the cluster stores about one node, without the engine's results.
#[derive(Debug, Clone, Default)]
pub struct NodeInputs {
    /// Data of the Node object. None if only a report or a GpuNode is left.
    pub facts: Option<NodeFacts>,
    /// Latest report of the node's agent.
    pub report: Option<Report>,
    /// Time at which the report was written, by the server's record.
    pub reported_at: Option<Timestamp>,
    /// Open request of an operator for the node.
    pub request: Option<Request>,
}

/// GPUs that pods request: those that run, and those that wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuRequests {
    /// Whole GPUs that scheduled pods request, by node.
    pub used: BTreeMap<NodeName, u16>,
    /// Pods without a node, by queue. At most 65 queues.
    pub pending: Vec<PendingPods>,
}

/// Pods of one queue that request GPUs and have no node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPods {
    /// Namespace and Kueue queue, or the namespace alone.
    pub queue: String,
    /// Jobs with at least one of these pods.
    pub jobs: u64,
    /// Number of pods.
    pub pods: u64,
    /// Whole GPUs that the pods request.
    pub gpus: u64,
    /// Creation of the pod that waits longest.
    pub since: Timestamp,
}

/// A resource kind that this view could not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedKind {
    /// Resource kind, as `kubectl get` names it.
    pub kind: &'static str,
    /// Why it could not be read.
    pub why: SkipReason,
}

/// Why a view could not read a resource kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The caller has no permission to list it.
    Forbidden,
    /// The cluster does not have this kind: Mainstay is not installed.
    NotInstalled,
}

// === impl View ===

impl View {
    /// Lists everything once and runs the engine.
    ///
    /// # Errors
    /// [`Error::Refused`] without permission to list nodes, [`Error::Failed`] if the server does not answer.
    pub async fn read(client: &Client) -> Result<Self, Error> {
        let mut view = Self::empty(installed(client).await?);
        if view.may_read_slices(client, "list").await? {
            let news = source::list_slices(client).await.map_err(|failure| {
                let why = format!("{}: {}", resource_slice::PLURAL, failure.word());
                Error::Failed { what: "reading the cluster", tries: 1, why }
            })?;
            for one in news {
                view.take(one);
            }
        }
        let others = Kind::ALL.into_iter().filter(|kind| !Kind::FIRST.contains(kind));
        for (place, kind) in Kind::FIRST.into_iter().chain(others).enumerate() {
            if place == Kind::FIRST.len() {
                view.world.begin_reading();
                view.read_owners(client).await?;
            }
            if !view.may_read(client, kind, "list").await? {
                continue;
            }
            let news = source::list(kind, client).await.map_err(|failure| {
                let why = format!("{}: {}", kind.word(), failure.word());
                Error::Failed { what: "reading the cluster", tries: 1, why }
            })?;
            for one in news {
                view.take(one);
            }
        }
        view.run_engine();
        Ok(view)
    }

    async fn read_owners(&mut self, client: &Client) -> Result<(), Error> {
        for (place, kind) in self.readable_owners(client, "list").await? {
            let news = source::list_owners((place, &kind), client).await.map_err(|failure| {
                let why = format!("{}: {}", kind.plural, failure.word());
                Error::Failed { what: "reading the cluster", tries: 1, why }
            })?;
            for one in news {
                self.take(one);
            }
        }
        Ok(())
    }

    /// Owner kinds that the caller may read. Without an owner kind, a gang is named after the owner that its pods name.
    async fn readable_owners(&self, client: &Client, verb: &str) -> Result<Vec<(usize, OwnerKind)>, Error> {
        let mut readable = Vec::new();
        for (place, kind) in self.world.owner_kinds().into_iter().enumerate() {
            let resource = source::resource(&kind);
            let known = async {
                if resource.group.is_empty() {
                    client.list_core_api_resources(&resource.version).await
                } else {
                    client.list_api_group_resources(&kind.api_version).await
                }
            };
            let names = match timeout(CALL_WITHIN, known).await {
                Ok(Ok(list)) => list.resources,
                // One that the cluster does not know owns nothing.
                Ok(Err(error)) if Failure::of(&error) == Failure::Absent => continue,
                Ok(Err(error)) => return Err(Error::of("asking which kinds there are", &error)),
                Err(_) => return Err(Error::late()),
            };
            if names.iter().any(|known| known.name == kind.plural)
                && may(
                    client,
                    Access { verb, group: Some(&resource.group), resource: &resource.plural, subresource: None },
                )
                .await?
            {
                readable.push((place, kind));
            }
        }
        Ok(readable)
    }

    fn empty(installed: BTreeSet<String>) -> Self {
        Self {
            now: now(),
            installed,
            world: World::of_view(),
            engine: Engine::new(),
            decision: Decision::default(),
            violations: Vec::new(),
            nodes: BTreeMap::new(),
            gangs: BTreeMap::new(),
            policies: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// Time of the view.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The engine after its decision.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What the engine would do now. A view executes none of it.
    #[must_use]
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Invariants that the decision violates, by the independent checker. A leader would not execute such a decision.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Every known node, by name.
    #[must_use]
    pub const fn nodes(&self) -> &BTreeMap<NodeName, NodeInputs> {
        &self.nodes
    }

    /// What other actors do to a node.
    #[must_use]
    pub fn others(&self, node: &NodeName) -> Option<&OtherActors> {
        self.world.others().get(node)
    }

    /// Running gangs and their nodes.
    #[must_use]
    pub const fn gangs(&self) -> &BTreeMap<GangId, GangFacts> {
        &self.gangs
    }

    /// Gang and node of a running pod. None if it does not run, or belongs to its node.
    #[must_use]
    pub fn pod(&self, namespace: &str, name: &str) -> Option<(&GangId, &NodeName)> {
        self.world.pods().find(|(pod, _, _)| pod.0 == namespace && pod.1 == name).map(|(_, gang, node)| (gang, node))
    }

    /// Every running pod that belongs to a gang, by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = (&str, &str)> {
        self.world.pods().map(|(pod, _, _)| pod)
    }

    /// GPUs that pods request. None where pods may not be read, and in a view that is read once.
    #[must_use]
    pub fn gpu_requests(&self) -> Option<GpuRequests> {
        let jobs = self.world.jobs().filter(|_| self.world.has_listed_pending())?;
        let gauges = jobs.gauges(self.now);
        let pending = gauges.pending(jobs.counts()).map(|(queue, pending)| PendingPods {
            queue: queue.to_owned(),
            jobs: pending.jobs,
            pods: pending.pods,
            gpus: pending.gpus,
            since: self.now - pending.longest,
        });
        Some(GpuRequests { pending: pending.collect(), used: gauges.used })
    }

    /// Firmware version of a node's GPUs, where its agent reports it.
    #[must_use]
    pub fn firmware(&self, node: &NodeName) -> Option<&str> {
        self.world.firmware(node)
    }

    /// Policy in effect for each pool.
    #[must_use]
    pub const fn policies(&self) -> &BTreeMap<PoolName, Policy> {
        &self.policies
    }

    /// Stored incidents, by name.
    pub fn incidents(&self) -> impl Iterator<Item = (&str, &Incident)> {
        self.world.incidents().iter().map(|(name, known)| (name.as_str(), &known.object))
    }

    /// Every Fabric that is in force, with the number of nodes that it places at all of its levels.
    pub fn fabrics(&self) -> impl Iterator<Item = (&str, i32)> {
        self.world.fabrics().map(|name| (name, self.world.placed(name)))
    }

    /// The Cell; none where there is none, or where it may not be read.
    #[must_use]
    pub fn cell(&self) -> Option<&Cell> {
        self.world.cell_seen()
    }

    /// The mode in effect, which is also the engine's; none where the Cell is absent or not readable.
    #[must_use]
    pub fn mode_in_effect(&self) -> Option<Mode> {
        self.cell().map(|cell| self.world.capability().in_effect(cell.spec.mode))
    }

    /// Why the mode that an operator set has no effect; none where it is in effect.
    #[must_use]
    pub fn mode_notice(&self) -> Option<String> {
        self.cell().and_then(|cell| self.world.capability().notice(cell.spec.mode))
    }

    /// Kinds that this view could not read.
    #[must_use]
    pub fn unread(&self) -> &[SkippedKind] {
        &self.unread
    }

    /// Number of objects that do not match their schema, by kind.
    pub fn unfit(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.world.unfit().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.word(), count))
    }

    /// Checks whether the caller may read a kind, and remembers it if not. Without nodes there is nothing to show.
    async fn may_read(&mut self, client: &Client, kind: Kind, verb: &str) -> Result<bool, Error> {
        let is_core = matches!(kind, Kind::Node | Kind::Pod);
        if !is_core && !self.installed.contains(kind.word()) {
            self.is_without(kind, SkipReason::NotInstalled);
            return Ok(false);
        }
        let group = (!is_core).then_some(GROUP);
        if may(client, Access { verb, group, resource: kind.word(), subresource: None }).await? {
            return Ok(true);
        }
        if kind == Kind::Node {
            let why = format!("this account has no permission to {verb} nodes");
            return Err(Error::Refused { what: "reading the cluster", why });
        }
        self.is_without(kind, SkipReason::Forbidden);
        Ok(false)
    }

    /// Checks whether the caller may read ResourceSlices, and remembers it if not. Where the API server does not serve them,
    /// no node offers GPUs in them.
    async fn may_read_slices(&mut self, client: &Client, verb: &str) -> Result<bool, Error> {
        let access = resource_slice::access(client, verb).await?;
        if access == SliceAccess::Forbidden {
            self.unread.push(SkippedKind { kind: resource_slice::PLURAL, why: SkipReason::Forbidden });
        }
        Ok(access == SliceAccess::Readable)
    }

    fn is_without(&mut self, kind: Kind, why: SkipReason) {
        self.unread.push(SkippedKind { kind: kind.word(), why });
    }

    /// Takes one event. Returns whether everything has to be read again.
    fn take(&mut self, news: ClusterEvent) -> bool {
        self.world.take(news, self.now).is_err()
    }

    /// Passes new facts to the engine and runs it.
    fn run_engine(&mut self) {
        self.now = self.now.max(now());
        self.world.step_jobs(self.now);
        for observation in self.world.flush(self.now) {
            self.see(&observation);
            self.engine.observe(&observation);
        }
        self.engine.observe(&Observation { at: self.now, fact: Fact::Synced { as_of: self.now } });
        let decision = self.engine.decide(self.now);
        let violations = self.engine.audit(&decision, self.now);
        let known = self.engine.sizes().nodes;
        if self.nodes.len() > known {
            // Nodes that the engine forgot: they were gone, and only their reports were seen.
            self.nodes.retain(|node, inputs| inputs.facts.is_some() || self.engine.persisted(node).is_some());
        }
        // The brain speaks of what it looked at again; of everybody else, what it wanted before still stands.
        let again: BTreeSet<&NodeName> = decision.report.iter().map(|line| &line.node).collect();
        let mut effects = std::mem::take(&mut self.decision.effects);
        effects.retain(|effect| !again.contains(&effect.node) && self.nodes.contains_key(&effect.node));
        effects.extend(decision.effects.iter().cloned());
        self.decision = Decision { effects, ..decision };
        self.violations = violations.iter().map(|one| format!("{}: {}", one.invariant.words(), one.detail)).collect();
    }

    fn see(&mut self, observation: &Observation) {
        match &observation.fact {
            Fact::Node { node, facts } => self.seen(node).facts = Some((**facts).clone()),
            Fact::NodeGone { node } => drop(self.nodes.remove(node)),
            Fact::Report { node, report } => {
                let seen = self.seen(node);
                seen.report = Some((**report).clone());
                seen.reported_at = Some(observation.at);
            }
            Fact::Request { node, request } => self.seen(node).request.clone_from(request),
            Fact::Recorded { node, .. } => drop(self.seen(node)),
            Fact::RecordGone { node } => {
                if self.nodes.get(node).is_some_and(|known| known.facts.is_none()) {
                    self.nodes.remove(node);
                }
            }
            Fact::Gang { gang, facts } => drop(self.gangs.insert(gang.clone(), (**facts).clone())),
            Fact::GangGone { gang } => drop(self.gangs.remove(gang)),
            Fact::Policy(policy) => drop(self.policies.insert(policy.pool.clone(), (**policy).clone())),
            Fact::Cell(_)
            | Fact::Synced { .. }
            | Fact::Freezes(_)
            | Fact::Complaints { .. }
            | Fact::Asked { .. }
            | Fact::Outcome { .. } => {}
        }
    }

    fn seen(&mut self, node: &NodeName) -> &mut NodeInputs {
        self.nodes.entry(node.clone()).or_default()
    }
}

/// The kinds of ours that the cluster knows; none where Mainstay is not installed.
pub(crate) async fn installed(client: &Client) -> Result<BTreeSet<String>, Error> {
    let version = format!("{GROUP}/{VERSION}");
    match timeout(CALL_WITHIN, client.list_api_group_resources(&version)).await {
        Ok(Ok(list)) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
        Ok(Err(error)) if Failure::of(&error) == Failure::Absent => Ok(BTreeSet::new()),
        Ok(Err(error)) => Err(Error::of("asking which kinds there are", &error)),
        Err(_) => Err(Error::late()),
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
