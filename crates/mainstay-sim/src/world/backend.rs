//! The backend: carries out what the brain ordered, if the fence lets it and if nothing is lost on the way. It refuses
//! whatever was decided about another registration, another record or by another leader, as the real one does.

use mainstay_model::{
    CellRecord, Effect, Epoch, Fact, Order, Outcome, Persisted, Power, Reason, Schedulable, Span, Stage, Step,
};

use super::event::Event;
use super::fact_delivery::Object;
use super::{StoreBehaviour, World};
use crate::fleet;
use crate::job::{CheckpointRequest, Job, StopSource};
use crate::rng::{Purpose, RandomStream, span_seconds, stream};

/// How long an effect takes to be carried out in fair weather.
const EFFECT_TAKES: Span = Span(500);

impl World {
    /// An effect leaves for the backend.
    pub(super) fn send(&mut self, effect: Effect) {
        let word = match effect.step {
            Step::Store(_) => "record",
            Step::Order(_) => "order",
            Step::Cordon => "cordon",
            Step::Uncordon => "uncordon",
            Step::Avoid => "avoid",
            Step::EndAvoid => "end-avoid",
            Step::PowerOff => "power-off",
            Step::ReleasePods => "release",
            Step::AskCheckpoint { .. } => "ask",
            Step::Stop { .. } => "evict",
        };
        *self.books.brain.effects.entry(word.to_owned()).or_default() += 1;
        let number = fleet::number(&effect.node).unwrap_or(0);
        let recorded = self.machines[number as usize].recorded.as_deref();
        self.promises.orders(&effect, recorded, self.now);
        match &effect.step {
            Step::Store(_) => {}
            Step::Order(new) => {
                let Order { task, boot_id, .. } = &new.order;
                self.notes(|| format!("{} is ordered: {task:?} in {boot_id}", effect.node));
            }
            Step::Cordon
            | Step::Uncordon
            | Step::Avoid
            | Step::EndAvoid
            | Step::PowerOff
            | Step::ReleasePods
            | Step::AskCheckpoint { .. }
            | Step::Stop { .. } => {
                self.notes(|| format!("{} is ordered: {word} {}", effect.node, effect.id));
            }
        }
        // Its own node's count, so that what happens elsewhere does not change its fate.
        let sent = &mut self.machine(number).effects;
        *sent += 1;
        let draw = u64::from(number) << 32 | u64::from(*sent);
        let mut chance = stream(self.seed, Purpose::Effect, draw);
        let delay = self.takes(&mut chance);
        let fate = f64::from(chance.below(1_000_000));
        let (lost, refused) = (f64::from(self.wire.lost_ppm), f64::from(self.wire.refused_ppm));
        if fate < lost {
            self.books.brain.effects_lost += 1;
            return;
        }
        if fate < lost + refused && !matches!(effect.step, Step::Store(_)) {
            self.books.brain.effects_lost += 1;
            let why = const { Reason::literal("the backend is busy") }.get();
            let gang = effect.step.gang().cloned();
            let fact = Fact::Outcome { node: effect.node, effect: effect.id, gang, outcome: Outcome::Refused(why) };
            return self.tell(Object::Node(number), fact);
        }
        self.agenda.add(self.now + delay, Event::Arrives { effect: Box::new(effect) });
    }

    /// How long a write is under way.
    fn takes(&self, chance: &mut RandomStream) -> Span {
        match self.wire.weather {
            StoreBehaviour::Fair => EFFECT_TAKES,
            StoreBehaviour::Foul => span_seconds(0.05 + chance.unit() * 0.95),
        }
    }

    /// What the cell is to keep of its rules leaves for the backend.
    pub(super) fn sends_record(&mut self, record: CellRecord) {
        *self.books.brain.effects.entry("cell".to_owned()).or_default() += 1;
        self.cell_records += 1;
        let mut chance = stream(self.seed, Purpose::CellRecord, self.cell_records);
        let delay = self.takes(&mut chance);
        if chance.below(1_000_000) < self.wire.lost_ppm {
            self.books.brain.effects_lost += 1;
            return;
        }
        let number = self.cell_records;
        let keeps = Event::Keeps { epoch: self.cell.epoch, number, record: Box::new(record) };
        self.agenda.add(self.now + delay, keeps);
    }

    /// One that a later write has overtaken is refused: it was made from an object that is no longer the newest.
    pub(super) fn keeps(&mut self, epoch: Epoch, number: u64, record: CellRecord) {
        if epoch != self.cell.epoch || number < self.cell_kept {
            self.books.brain.effects_lost += 1;
            return;
        }
        self.cell_kept = number;
        self.promises.check_counters(&self.cell.record, &record, self.now);
        self.cell.record = record;
        self.tell_cell();
    }

    pub(super) fn arrives(&mut self, effect: &Effect) {
        let Some(node) = fleet::number(&effect.node).filter(|node| *node < self.shape.nodes) else { return };
        let machine = &self.machines[node as usize];
        let recorded = machine.recorded.as_ref().map_or(Stage::InService, |recorded| recorded.stage);
        let stands = effect.epoch == self.cell.epoch
            && effect.expected.uid == machine.facts.uid
            && effect.expected.recorded == recorded
            && self.is_as_expected(effect, node);
        if !stands {
            self.books.brain.effects_lost += 1;
            return;
        }
        match &effect.step {
            Step::Store(persisted) => {
                self.store(node, persisted.clone());
            }
            Step::Order(new) => {
                // The same order may arrive twice, and runs once.
                let recorded = self.machine(node).recorded.clone();
                if let Some(mut persisted) = recorded.filter(|recorded| !recorded.has_order(&new.order.nonce)) {
                    persisted.add_order(new);
                    self.store(node, persisted);
                }
            }
            Step::Cordon => {
                let machine = self.machine(node);
                if machine.facts.schedulable != Schedulable::NotByUs {
                    machine.by_others_too = machine.facts.schedulable == Schedulable::NotByOthers;
                    machine.facts.schedulable = Schedulable::NotByUs;
                    self.tell_node(node);
                }
            }
            Step::Uncordon => {
                let machine = self.machine(node);
                if machine.facts.schedulable == Schedulable::NotByUs {
                    let is_out = std::mem::take(&mut machine.by_others_too);
                    machine.facts.schedulable = if is_out { Schedulable::NotByOthers } else { Schedulable::Yes };
                    self.tell_node(node);
                }
            }
            Step::Avoid | Step::EndAvoid => {
                self.machine(node).facts.avoided = matches!(effect.step, Step::Avoid);
                self.tell_node(node);
            }
            Step::PowerOff => self.turned_off(node),
            Step::ReleasePods => {
                if self.machine(node).facts.power != Power::Off {
                    let what = format!("{}: its pods are released while its machine is not off", effect.node);
                    self.promises.record_violation(self.now, "pods are released from a machine that is off", what);
                }
                self.pods_go(node);
            }
            Step::AskCheckpoint { gang, drain, answer_by, .. } => {
                if let Some(job) = self.job_on(gang, node) {
                    self.asked(job, node, CheckpointRequest { drain: *drain, answer_by: *answer_by, saved_step: None });
                }
            }
            Step::Stop { gang } => {
                if let Some(job) = self.job_on(gang, node) {
                    self.told_to_stop(job, StopSource::Brain);
                }
            }
        }
    }

    /// Whether a fresh read shows what the effect expects: the same cordon, and no job where there was none.
    fn is_as_expected(&self, effect: &Effect, node: u32) -> bool {
        let machine = &self.machines[node as usize];
        let is_busy = machine.job.is_some() || machine.left_behind.is_some();
        match effect.step {
            Step::Store(_) => true,
            // No agent would run it any more.
            Step::Order(_) if effect.start_by <= self.now => false,
            Step::Order(_) => {
                effect.expected.schedulable == machine.facts.schedulable && !(effect.expected.is_empty && is_busy)
            }
            Step::Cordon | Step::Uncordon | Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => {
                effect.expected.schedulable == machine.facts.schedulable
            }
            Step::AskCheckpoint { .. } | Step::Stop { .. } => true,
        }
    }

    fn store(&mut self, node: u32, persisted: Box<Persisted>) {
        let before = self.machine(node).recorded.replace(persisted.clone());
        self.promises.records(before.as_deref(), &persisted);
        let name = self.names[node as usize].clone();
        self.tell(Object::Record(node), Fact::Recorded { node: name, persisted });
        self.reads_orders(node);
        self.bmc_reads_orders(node);
        self.closes_ticket(node);
    }

    /// The job behind a gang, where it still runs on the node.
    fn job_on(&self, gang: &mainstay_model::GangId, node: u32) -> Option<u32> {
        let number = Job::number_of(gang).and_then(|number| self.jobs.get(number)).map(|job| job.number)?;
        (self.machines[node as usize].job == Some(number)).then_some(number)
    }
}
