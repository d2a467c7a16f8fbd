//! The cluster as a person sees it, with the rights of that person: everything is listed, or followed, and the brain is asked
//! what it would do. It leads nothing and writes nothing; it needs `get` and `list`, and `watch` where it follows. Kinds that
//! the person may not read, or that the cluster does not know, are named, so that nobody takes a part for the whole.

mod following;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use mainstay_api::{Cell, GROUP, Incident, OwnerKind, VERSION};
use mainstay_engine::Engine;
use mainstay_model::{
    Decision, Epoch, Fact, GangFacts, GangId, NodeFacts, NodeName, Observation, Policy, PoolName, Report, Request,
    Timestamp,
};
use tokio::time::timeout;

use crate::source;
use crate::trouble::{CALL_WITHIN, Failure, Trouble};
use crate::watch::Told;
use crate::world::{Kind, News, World};

pub use crate::node::Others;
pub use following::Following;

/// The cluster at one moment.
pub struct View {
    now: Timestamp,
    /// Kinds of ours that the cluster knows.
    installed: BTreeSet<String>,
    world: World,
    engine: Engine,
    decision: Decision,
    violations: Vec<String>,
    nodes: BTreeMap<NodeName, Seen>,
    gangs: BTreeMap<GangId, GangFacts>,
    policies: BTreeMap<PoolName, Policy>,
    unread: Vec<Unread>,
}

/// What is told of one node, apart from what the brain makes of it.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// What its registration says; none where only a report or a record is left of it.
    pub facts: Option<NodeFacts>,
    /// What its agent says.
    pub report: Option<Report>,
    /// When that came, as far as the server tells.
    pub reported_at: Option<Timestamp>,
    /// What a person asks for it.
    pub request: Option<Request>,
}

/// A kind that this view is without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Which, as `kubectl get` calls it.
    pub kind: &'static str,
    /// Why.
    pub why: UnreadWhy,
}

/// Why a kind is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadWhy {
    /// The caller may not.
    Forbidden,
    /// The cluster does not know it: Mainstay is not installed there.
    NotInstalled,
}

// === impl View ===

impl View {
    /// Lists everything once and asks the brain.
    ///
    /// # Errors
    /// [`Trouble::Refused`] where nodes may not be listed, [`Trouble::Failed`] where the server does not answer.
    pub async fn read(client: &Client) -> Result<Self, Trouble> {
        let mut view = Self::empty(installed(client).await?);
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
                Trouble::Failed { what: "reading the cluster", tries: 1, why }
            })?;
            for one in news {
                view.take(one);
            }
        }
        view.ask();
        Ok(view)
    }

    async fn read_owners(&mut self, client: &Client) -> Result<(), Trouble> {
        for (place, kind) in self.readable_owners(client, "list").await? {
            let news = source::list_owners((place, &kind), client).await.map_err(|failure| {
                let why = format!("{}: {}", kind.plural, failure.word());
                Trouble::Failed { what: "reading the cluster", tries: 1, why }
            })?;
            for one in news {
                self.take(one);
            }
        }
        Ok(())
    }

    /// Kinds of owners that the caller may read. The others are left out: a gang is then known by the owner that its pods
    /// name.
    async fn readable_owners(&self, client: &Client, verb: &str) -> Result<Vec<(usize, OwnerKind)>, Trouble> {
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
                Ok(Err(error)) => return Err(Trouble::of("asking which kinds there are", &error)),
                Err(_) => return Err(Trouble::late()),
            };
            if names.iter().any(|known| known.name == kind.plural)
                && may(client, verb, Some(&resource.group), &resource.plural).await?
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
            world: World::under(Epoch(0)),
            engine: Engine::new(),
            decision: Decision::default(),
            violations: Vec::new(),
            nodes: BTreeMap::new(),
            gangs: BTreeMap::new(),
            policies: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// As of when.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The brain, after it was asked.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What the brain would do now. None of it is done from here.
    #[must_use]
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// What is wrong with that, by the second opinion; a leader would not carry it out.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Every node that is known, by name.
    #[must_use]
    pub const fn nodes(&self) -> &BTreeMap<NodeName, Seen> {
        &self.nodes
    }

    /// What others do to a node.
    #[must_use]
    pub fn others(&self, node: &NodeName) -> Option<&Others> {
        self.world.others().get(node)
    }

    /// The work that runs, by gang.
    #[must_use]
    pub const fn gangs(&self) -> &BTreeMap<GangId, GangFacts> {
        &self.gangs
    }

    /// Which gang a running pod belongs to, and on which node it is; none where it does not run, or belongs to its node.
    #[must_use]
    pub fn pod(&self, namespace: &str, name: &str) -> Option<(&GangId, &NodeName)> {
        self.world.pods().find(|(pod, _, _)| pod.0 == namespace && pod.1 == name).map(|(_, gang, node)| (gang, node))
    }

    /// Every running pod that is somebody's work, by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = (&str, &str)> {
        self.world.pods().map(|(pod, _, _)| pod)
    }

    /// What is allowed, by pool.
    #[must_use]
    pub const fn policies(&self) -> &BTreeMap<PoolName, Policy> {
        &self.policies
    }

    /// Incidents as they are stored, by name.
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

    /// Kinds that this view is without.
    #[must_use]
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// Objects that could not be understood, by kind.
    pub fn unfit(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.world.unfit().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.word(), count))
    }

    /// Asks the server whether the caller may read a kind; one that may not be read is remembered. Without nodes there is
    /// nothing to see.
    async fn may_read(&mut self, client: &Client, kind: Kind, verb: &str) -> Result<bool, Trouble> {
        let is_core = matches!(kind, Kind::Node | Kind::Pod);
        if !is_core && !self.installed.contains(kind.word()) {
            self.is_without(kind, UnreadWhy::NotInstalled);
            return Ok(false);
        }
        if may(client, verb, (!is_core).then_some(GROUP), kind.word()).await? {
            return Ok(true);
        }
        if kind == Kind::Node {
            let why = format!("this account may not {verb} nodes");
            return Err(Trouble::Refused { what: "reading the cluster", why });
        }
        self.is_without(kind, UnreadWhy::Forbidden);
        Ok(false)
    }

    fn is_without(&mut self, kind: Kind, why: UnreadWhy) {
        self.unread.push(Unread { kind: kind.word(), why });
    }

    /// Takes what was told, and answers whether everything has to be read anew. Whoever leads is only looked at from here.
    fn take(&mut self, news: News) -> bool {
        if let News::Cell(Told::Is(told)) = &news
            && let Ok(cell) = &told.object
        {
            let epoch = cell.status.as_ref().map_or(0, |status| status.epoch);
            self.world.is_led_under(Epoch(u64::try_from(epoch).unwrap_or(0)));
        }
        self.world.take(news, self.now).is_err()
    }

    /// Hands what came to the brain, and asks it.
    fn ask(&mut self) {
        self.now = self.now.max(now());
        for observation in self.world.flush(self.now) {
            self.see(&observation);
            self.engine.observe(&observation);
        }
        self.engine.observe(&Observation { at: self.now, fact: Fact::Synced { as_of: self.now } });
        let decision = self.engine.decide(self.now);
        let violations = self.engine.audit(&decision, self.now);
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
            Fact::Gang { gang, facts } => drop(self.gangs.insert(gang.clone(), (**facts).clone())),
            Fact::GangGone { gang } => drop(self.gangs.remove(gang)),
            Fact::Policy(policy) => drop(self.policies.insert(policy.pool.clone(), (**policy).clone())),
            Fact::Cell(_)
            | Fact::Synced { .. }
            | Fact::Complaints { .. }
            | Fact::Asked { .. }
            | Fact::Refused { .. } => {}
        }
    }

    fn seen(&mut self, node: &NodeName) -> &mut Seen {
        self.nodes.entry(node.clone()).or_default()
    }
}

/// Asks the server whether the caller may do something to a kind, everywhere.
pub(crate) async fn may(client: &Client, verb: &str, group: Option<&str>, resource: &str) -> Result<bool, Trouble> {
    let attributes = ResourceAttributes {
        group: group.map(ToOwned::to_owned),
        resource: Some(resource.to_owned()),
        verb: Some(verb.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec =
        SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..SelfSubjectAccessReviewSpec::default() };
    let asked = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    match timeout(CALL_WITHIN, reviews.create(&PostParams::default(), &asked)).await {
        Ok(Ok(answer)) => Ok(answer.status.is_some_and(|status| status.allowed)),
        Ok(Err(error)) => Err(Trouble::of("asking for the caller's permissions", &error)),
        Err(_) => Err(Trouble::late()),
    }
}

/// The kinds of ours that the cluster knows; none where Mainstay is not installed.
pub(crate) async fn installed(client: &Client) -> Result<BTreeSet<String>, Trouble> {
    let version = format!("{GROUP}/{VERSION}");
    match timeout(CALL_WITHIN, client.list_api_group_resources(&version)).await {
        Ok(Ok(list)) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
        Ok(Err(error)) if Failure::of(&error) == Failure::Absent => Ok(BTreeSet::new()),
        Ok(Err(error)) => Err(Trouble::of("asking which kinds there are", &error)),
        Err(_) => Err(Trouble::late()),
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
