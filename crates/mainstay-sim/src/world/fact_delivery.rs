//! Delivery of facts to the engine: in order for each object, possibly late and out of order between objects. The
//! age of the engine's view is the age of the oldest fact that has not arrived.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{Bounded, CellFacts, Checkpoints, Contract, Epoch, Fact, GangFacts, Observation, Span, Timestamp};

use super::event::Event;
use super::{StoreBehaviour, World};
use crate::fleet::NodeKind;
use crate::job::{CheckpointRequest, Job, State};
use crate::rng::{Purpose, span_seconds, stream};

/// What a fact is about: facts about one object arrive in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Object {
    Cell,
    Policy(NodeKind),
    Node(u32),
    Report(u32),
    Record(u32),
    Request(u32),
    Gang(u32),
}

/// Facts on their way from the store to the engine.
#[derive(Debug, Clone)]
pub(super) struct FactQueue {
    pub(super) weather: StoreBehaviour,
    under_way: BTreeMap<u64, (Timestamp, Fact)>,
    oldest: BTreeSet<(Timestamp, u64)>,
    last: BTreeMap<Object, Timestamp>,
    count: u64,
    /// Since when nothing arrives.
    pub(super) stalled_at: Option<Timestamp>,
    pub(super) lost_ppm: u32,
    pub(super) refused_ppm: u32,
    /// How many facts came more than a moment late.
    pub(super) late: u64,
}

/// In foul weather so many acts of a million are lost and refused, even without a trouble of their own.
const LOST_PPM: u32 = 20_000;
const REFUSED_PPM: u32 = 5_000;

impl FactQueue {
    pub(super) fn new(weather: StoreBehaviour) -> Self {
        let (lost_ppm, refused_ppm) = match weather {
            StoreBehaviour::Fair => (0, 0),
            StoreBehaviour::Foul => (LOST_PPM, REFUSED_PPM),
        };
        Self {
            weather,
            under_way: BTreeMap::new(),
            oldest: BTreeSet::new(),
            last: BTreeMap::new(),
            count: 0,
            stalled_at: None,
            lost_ppm,
            refused_ppm,
            late: 0,
        }
    }

    pub(super) fn clears(&mut self) {
        self.weather = StoreBehaviour::Fair;
        (self.lost_ppm, self.refused_ppm) = (0, 0);
    }

    pub(super) fn settles(&mut self) {
        (self.lost_ppm, self.refused_ppm) = match self.weather {
            StoreBehaviour::Fair => (0, 0),
            StoreBehaviour::Foul => (LOST_PPM, REFUSED_PPM),
        };
    }
}

impl World {
    /// Something changed in the store; the brain will hear of it.
    pub(super) fn tell(&mut self, object: Object, fact: Fact) {
        let foul = self.wire.weather == StoreBehaviour::Foul;
        if !foul && self.wire.stalled_at.is_none() && self.wire.under_way.is_empty() {
            return self.observe(self.now, fact);
        }
        self.wire.count += 1;
        let number = self.wire.count;
        let delay = if foul { self.delay(number) } else { Span(1) };
        self.wire.late += u64::from(delay > Span::seconds(2));
        let at = (self.now + delay).max(self.wire.last.get(&object).copied().unwrap_or(self.now));
        self.wire.last.insert(object, at);
        self.wire.under_way.insert(number, (self.now, fact));
        self.wire.oldest.insert((self.now, number));
        self.agenda.add(at, Event::Told { number });
    }

    /// Mostly a moment, sometimes half a minute, now and then a relist after minutes: what was lost comes with it.
    fn delay(&self, number: u64) -> Span {
        let mut chance = stream(self.seed, Purpose::Wire, number);
        let seconds = match chance.pick(&[0.85, 0.12, 0.03]) {
            0 => chance.unit() * 2.0,
            1 => chance.unit() * 30.0,
            _ => 30.0 + chance.unit() * 150.0,
        };
        span_seconds(seconds)
    }

    pub(super) fn told(&mut self, number: u64) {
        if self.wire.stalled_at.is_some() {
            // It waits until the watch works again; whoever ends the stall delivers it.
            return;
        }
        if let Some((created_at, fact)) = self.wire.under_way.remove(&number) {
            self.wire.oldest.remove(&(created_at, number));
            self.observe(self.now, fact);
        }
    }

    /// The watch works again: what piled up arrives, in order.
    pub(super) fn flows_again(&mut self) {
        self.wire.stalled_at = None;
        let waiting: Vec<u64> = self.wire.under_way.keys().copied().collect();
        for number in waiting {
            self.told(number);
        }
    }

    pub(super) fn observe(&mut self, at: Timestamp, fact: Fact) {
        self.books.brain.observations += 1;
        self.promises.observe(&fact, at);
        if let Fact::Cell(cell) = &fact {
            self.observes(cell.mode, at);
        }
        self.engine.observe(&Observation { at, fact });
    }

    /// Says how old the view is.
    pub(super) fn sync(&mut self) {
        let oldest = self.wire.oldest.first().map(|(at, _)| *at - Span(1));
        let as_of = [Some(self.now), oldest, self.wire.stalled_at].into_iter().flatten().min().unwrap_or(self.now);
        self.engine.observe(&Observation { at: self.now, fact: Fact::Synced { as_of } });
    }

    /// A brain that has just started hears of everything there is, as from a first list. What was under way to its
    /// predecessor is in the list.
    pub(super) fn retell(&mut self) {
        self.wire.under_way.clear();
        self.wire.oldest.clear();
        self.wire.last.clear();
        let cell = self.cell_facts();
        self.observe(self.now, Fact::Cell(cell));
        for kind in self.hall.kinds() {
            let policy = Box::new(self.policy(*kind));
            self.observe(self.now, Fact::Policy(policy));
        }
        for node in 0..self.shape.nodes {
            let name = self.names[node as usize].clone();
            let machine = self.machine(node);
            let recorded = machine.recorded.clone();
            let facts = Box::new(machine.facts.clone());
            let (reported, request) = (machine.reported.clone(), machine.request.clone());
            if let Some(persisted) = recorded {
                self.observe(self.now, Fact::Recorded { node: name.clone(), persisted });
            }
            self.observe(self.now, Fact::Node { node: name.clone(), facts });
            if let Some(report) = reported.map(|report| Box::new((*report).clone())) {
                self.observe(self.now, Fact::Report { node: name.clone(), report });
            }
            if request.is_some() {
                self.observe(self.now, Fact::Request { node: name, request });
            }
        }
        let is_listed = |job: &&Job| job.state == State::Running || !job.left_behind.is_empty();
        let listed: Vec<u32> = self.jobs.iter().filter(is_listed).map(|job| job.number).collect();
        for job in listed {
            let facts = self.gang_facts(job);
            let gang = self.job(job).gang();
            self.observe(self.now, Fact::Gang { gang: gang.clone(), facts });
            for (node, CheckpointRequest { drain, answer_by, saved_step }) in self.job(job).asked.clone() {
                let node = self.names[node as usize].clone();
                self.observe(self.now, Fact::Asked { gang: gang.clone(), node, drain, answer_by, saved_step });
            }
        }
    }

    /// The leader dies. Its successor sees the cell before it leads it.
    pub(super) fn restarts(&mut self, takeover: Span) {
        self.books.brain.restarts += 1;
        self.engine = mainstay_engine::Engine::guarded(self.guards.clone());
        self.is_led = false;
        self.retell();
        self.agenda.add(self.now + takeover, Event::TakesOver);
    }

    pub(super) fn takes_over(&mut self) {
        self.cell.epoch = self.cell.epoch.next();
        self.is_led = true;
        self.tell_cell();
    }

    /// The cell as its brain sees it. The epoch is that of a leader: who has not raised it has none.
    fn cell_facts(&self) -> CellFacts {
        let cell = self.cell.clone();
        if self.is_led { cell } else { CellFacts { epoch: Epoch(0), ..cell } }
    }

    pub(super) fn tell_cell(&mut self) {
        let cell = self.cell_facts();
        self.tell(Object::Cell, Fact::Cell(cell));
    }

    pub(super) fn tell_node(&mut self, node: u32) {
        self.settle_free(node);
        self.settle_out(node);
        self.is_seen_down(node);
        let fact = Fact::Node {
            node: self.names[node as usize].clone(),
            facts: Box::new(self.machines[node as usize].facts.clone()),
        };
        self.tell(Object::Node(node), fact);
        self.tool_will_look(node);
    }

    pub(super) fn tell_request(&mut self, node: u32) {
        let request = self.machine(node).request.clone();
        let fact = Fact::Request { node: self.names[node as usize].clone(), request };
        self.tell(Object::Request(node), fact);
    }

    pub(super) fn gang_facts(&mut self, job: u32) -> Box<GangFacts> {
        let asks_first = self.asks_first();
        let job = &self.jobs[job as usize];
        let nodes = job.nodes.iter().chain(&job.left_behind);
        let names: Vec<_> = nodes.map(|node| self.names[*node as usize].clone()).collect();
        let tells_nobody = job.contract == Contract::OnRequest && !asks_first;
        let contract = if tells_nobody { Contract::None } else { job.contract };
        let checkpoints = if asks_first { job.checkpoints() } else { Checkpoints::default() };
        Box::new(GangFacts {
            nodes: Bounded::try_from(names).unwrap_or_default(),
            contract,
            checkpoints,
            progressed_at: job.progressed_at,
        })
    }
}
