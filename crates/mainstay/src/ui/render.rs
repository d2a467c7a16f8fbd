//! Builds snapshots of a cluster from a view of it, each from the previous one. GPU temperatures and lost
//! work are left out, because no object of a cluster contains them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mainstay_api::http::{Capacity, ClusterAccess, Decision, Slo, UnreadableKind, UnreadableReason};
use mainstay_engine::Engine;
use mainstay_kube::{NodeInputs, View};
use mainstay_model::{DomainName, Execution, Level, NodeFacts, NodeName, Persisted, Span, Timestamp};
use mainstay_web::render::needs::{self, Leadership};
use mainstay_web::render::{self, NodeInput, NodeRenderer};
use mainstay_web::snapshot::{FleetTopology, NodeLocation, NodeSnapshot, Snapshot};

use super::capacity;
use super::incidents::Incidents;
use super::jobs::{self, Gangs};

/// Decisions that a picture holds.
const DECISIONS_MAX: usize = 4_096;
/// GPUs of a node that the map can tell apart.
const GPUS_MAX: u16 = 8;

/// Capacity is counted again after this: it takes time proportional to the number of pods.
const CAPACITY_EVERY: Span = Span::seconds(2);

/// Spine, leaf and rack of a node, as far as the cluster labels them.
type Location = [Option<DomainName>; 3];

/// The objectives of the cluster, or why they cannot be read.
pub(super) type Objectives = Result<Arc<[Slo]>, UnreadableReason>;

/// Builds snapshots of the cluster and reuses unchanged parts of the previous one.
pub(super) struct ClusterRenderer {
    name: Arc<str>,
    seen: ClusterAccess,
    hall: Arc<FleetTopology>,
    places: BTreeMap<NodeName, Location>,
    /// Nodes in the order of the hall.
    order: Vec<NodeName>,
    nodes: NodeRenderer,
    incidents: Incidents,
    decisions: Vec<Arc<Decision>>,
    capacity: Option<(Timestamp, Arc<Capacity>)>,
    last: Option<Arc<Snapshot>>,
}

impl ClusterRenderer {
    pub(super) fn new(name: Arc<str>, seen: ClusterAccess) -> Self {
        Self {
            name,
            seen,
            hall: Arc::new(FleetTopology::new([], 1)),
            places: BTreeMap::new(),
            order: Vec::new(),
            nodes: NodeRenderer::default(),
            incidents: Incidents::default(),
            decisions: Vec::new(),
            capacity: None,
            last: None,
        }
    }

    /// The cluster as it is seen.
    pub(super) fn render(
        &mut self,
        view: &View,
        silent_since: Option<Timestamp>,
        (leadership, slos): (Leadership, &Objectives),
    ) -> Arc<Snapshot> {
        if !self.is_topology_current(view) {
            self.rebuild_topology(view);
        }
        let engine = view.engine();
        let gangs = Gangs::of(view);
        let mode = view.mode_in_effect().unwrap_or_default();
        let incidents = self.incidents.draw(view, &gangs, mode);
        let open_on = self.incidents.open_on();
        let sights = self.order.iter().filter_map(|name| sight(view, &gangs, name));
        let nodes = self
            .nodes
            .render(engine, sights, self.last.as_deref(), |node| open_on.get(node).map(|id| (*id).to_owned()));
        self.decides(engine, &nodes);
        let needs = needs::needs(&crate::commands::facts(view, leadership, needs::open(&incidents)));
        let picture = Arc::new(Snapshot {
            name: self.name.clone(),
            now: view.now(),
            mode,
            mode_set: view.cell().map_or(mode, |cell| cell.spec.mode),
            mode_notice: view.mode_notice(),
            topology: self.hall.clone(),
            nodes,
            jobs: jobs::jobs(&gangs, &self.hall, self.last.as_deref()),
            job_of: self.order.iter().map(|name| gangs.on(name)).collect(),
            incidents,
            decisions: self.decisions.clone(),
            budgets: render::budgets(engine),
            breakers: render::breakers(engine),
            needs,
            costs: None,
            gauges: None,
            script: Vec::new(),
            slos: slos.as_ref().map_or_else(|_| Arc::from([]), Arc::clone),
            capacity: self.capacity(view),
            cluster: Some(self.seen(view, slos, silent_since)),
        });
        self.last = Some(picture.clone());
        picture
    }

    fn capacity(&mut self, view: &View) -> Arc<Capacity> {
        match &self.capacity {
            Some((at, known)) if view.now().since(*at) < CAPACITY_EVERY => known.clone(),
            Some(_) | None => {
                let counted = Arc::new(capacity::capacity(view));
                self.capacity = Some((view.now(), counted.clone()));
                counted
            }
        }
    }

    fn seen(&self, view: &View, slos: &Objectives, silent_since: Option<Timestamp>) -> ClusterAccess {
        let why = |why: mainstay_kube::SkipReason| match why {
            mainstay_kube::SkipReason::Forbidden => UnreadableReason::Forbidden,
            mainstay_kube::SkipReason::NotInstalled => UnreadableReason::NotInstalled,
        };
        let unread = view.unread().iter().map(|one| UnreadableKind { kind: one.kind.to_owned(), why: why(one.why) });
        let unread = unread
            .chain(slos.as_ref().err().map(|why| UnreadableKind { kind: mainstay_kube::SLOS.to_owned(), why: *why }));
        ClusterAccess { unreadable: unread.collect(), stale_since: silent_since.map(|at| at.0), ..self.seen.clone() }
    }

    /// Whether the same nodes stand at the same places.
    fn is_topology_current(&self, view: &View) -> bool {
        self.last.is_some()
            && registered(view).map(|(name, facts)| (name, place(facts))).eq(self.places.iter().map(of_ref))
    }

    /// Puts every node where it stands. Nothing that was drawn has its place any more.
    fn rebuild_topology(&mut self, view: &View) {
        let owned = |(name, facts): (&NodeName, &NodeFacts)| (name.clone(), place(facts).map(Option::<&_>::cloned));
        self.places = registered(view).map(owned).collect();
        let mut order: Vec<(&Location, &NodeName)> = self.places.iter().map(|(name, place)| (place, name)).collect();
        order.sort_unstable();
        let text = |name: &Option<DomainName>| name.as_ref().map_or_else(String::new, ToString::to_string);
        let stands = order.iter().map(|([spine, leaf, rack], name)| NodeLocation {
            name: name.to_string(),
            spine: text(spine),
            leaf: text(leaf),
            rack: text(rack),
        });
        let gpus = registered(view).map(|(_, facts)| facts.gpus).max().unwrap_or(1).clamp(1, GPUS_MAX);
        self.hall = Arc::new(FleetTopology::new(stands, gpus.into()));
        self.order = order.into_iter().map(|(_, name)| name.clone()).collect();
        (self.nodes, self.last) = (NodeRenderer::default(), None);
    }

    /// What was decided, from the records of nodes that were drawn anew: each tells its latest.
    fn decides(&mut self, engine: &Engine, nodes: &[Arc<NodeSnapshot>]) {
        let known = self.last.as_ref().map_or(&[][..], |last| &last.nodes);
        let is_new =
            |place: usize, node: &Arc<NodeSnapshot>| known.get(place).is_none_or(|old| !Arc::ptr_eq(old, node));
        let drawn = nodes.iter().enumerate().filter(|(place, node)| is_new(*place, node));
        let names: Vec<&NodeName> = drawn.filter_map(|(place, _)| self.order.get(place)).collect();
        if names.is_empty() {
            return;
        }
        let told = |decision: &Decision| (decision.at, decision.node.clone(), decision.action.clone());
        let mut all: BTreeMap<_, Arc<Decision>> =
            self.decisions.drain(..).map(|decision| (told(&decision), decision)).collect();
        for name in names {
            for decision in engine.persisted(name).into_iter().flat_map(|known| decided(name, known)) {
                all.entry(told(&decision)).or_insert_with(|| Arc::new(decision));
            }
        }
        let mut newest: VecDeque<Arc<Decision>> = all.into_values().collect();
        newest.drain(..newest.len().saturating_sub(DECISIONS_MAX));
        self.decisions = newest.into();
    }
}

/// Nodes that stand somewhere: of others only a report or a record is left.
fn registered(view: &View) -> impl Iterator<Item = (&NodeName, &NodeFacts)> {
    view.nodes().iter().filter_map(|(name, seen)| Some((name, seen.facts.as_ref()?)))
}

fn place(facts: &NodeFacts) -> [Option<&DomainName>; 3] {
    [Level::Spine, Level::Leaf, Level::Rack].map(|level| facts.domains.get(&level))
}

fn of_ref<'a>((name, place): (&'a NodeName, &'a Location)) -> (&'a NodeName, [Option<&'a DomainName>; 3]) {
    (name, place.each_ref().map(Option::as_ref))
}

fn sight<'a>(view: &'a View, gangs: &Gangs<'_>, name: &'a NodeName) -> Option<NodeInput<'a>> {
    let NodeInputs { facts, report, request, .. } = view.nodes().get(name)?;
    Some(NodeInput {
        name,
        facts: facts.as_ref()?,
        report: report.as_ref(),
        request: request.as_ref(),
        recorded: view.engine().persisted(name),
        job: gangs.on(name).and_then(|place| gangs.id(place)),
    })
}

/// What was decided about a node: changes of its stage, which are our own record, and acts that stand on paper.
fn decided<'a>(name: &'a NodeName, known: &'a Persisted) -> impl Iterator<Item = Decision> + 'a {
    let moved = known.history.as_slice().iter().map(|step| Decision {
        at: step.at.0,
        node: name.to_string(),
        action: format!("move to {:?}", step.to),
        execution: Execution::Ordered,
        rule: Some(step.rule.to_string()),
    });
    let proposed = known.proposals.as_slice().iter().map(|proposal| Decision {
        at: proposal.decided_at.0,
        node: name.to_string(),
        action: "remove from service".to_owned(),
        execution: Execution::DryRun,
        rule: Some(proposal.rule.to_string()),
    });
    moved.chain(proposed)
}
