//! The world: nodes that break, jobs that run, people who repair, a store that answers late, and the production brain in
//! the middle of it. One loop moves virtual time from event to event; everything that happens is in the files below.

mod agent;
mod backend;
mod breakage;
mod checks;
mod disturbances;
mod drain_tool;
mod event;
mod fact_delivery;
mod incidents;
mod job_scheduling;
mod lemons;
mod live_control;
mod node_state;
mod sensors;
mod technicians;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use mainstay_engine::{Engine, Guards};
use mainstay_model::{
    Bounded, BreakerState, Budget, CellFacts, Decision, DrainRule, Epoch, Execution, Level, Mode, NodeLimit, NodeName,
    Policy, Ppm, RuleName, Span, Timestamp,
};

use crate::accounting::Accounting;
use crate::event_log::EventLog;
use crate::fault_schedule::{FleetShape, Relapses, ScheduledFault};
use crate::fleet::{self, Drivers, Hall, NodeKind};
use crate::history::HistoryRecorder;
use crate::injected_fault::InjectionEvent;
use crate::job::{Job, State};
use crate::machine::Machine;
use crate::model::{FailureModel, Parameter};
use crate::options::{CheckpointPolicy, Policies};
use crate::property::PropertyChecker;
use crate::signature::Signatures;
use crate::training::TrainingOutcome;
pub(crate) use drain_tool::ToolView;
use event::{Event, EventQueue};
use fact_delivery::FactQueue;
use lemons::LemonStatus;

/// The share of each pool that stays in service in a mixed fleet, and what an operator raises it to for a while.
const FLOOR: Ppm = Ppm(700_000);
const RAISED_FLOOR: Ppm = Ppm(970_000);

/// Whether the store delivers facts at once or late, reordered and with losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreBehaviour {
    /// Everything arrives at once and nothing is lost.
    Fair,
    /// Facts come late and out of order, acts are lost or refused.
    Foul,
}

/// What a world is made from.
pub(crate) struct Plan {
    pub(crate) nodes: u32,
    pub(crate) seed: u64,
    pub(crate) starts_at: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) jobs: Vec<Job>,
    pub(crate) model: FailureModel,
    pub(crate) policies: Policies,
    pub(crate) script: Vec<InjectionEvent>,
    pub(crate) weather: StoreBehaviour,
    pub(crate) guards: Guards,
    /// Every agent's heartbeat is told, not only those that change anything. For the test that shows they do not.
    pub(crate) heartbeats: Heartbeats,
    pub(crate) drivers: Drivers,
    pub(crate) hall: Hall,
}

/// Which heartbeats are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heartbeats {
    /// Those that can change a decision: of nodes that the backend does not hear from.
    Telling,
    /// All of them.
    All,
}

/// A virtual fleet and its brain.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) until: Timestamp,
    seed: u64,
    shape: FleetShape,
    hall: Hall,
    model: FailureModel,
    relapses: Relapses,
    voices: Arc<Signatures>,
    policies: Policies,
    script: Vec<InjectionEvent>,
    heartbeats: Heartbeats,
    agenda: EventQueue,
    machines: Vec<Machine>,
    /// What the brain made of each.
    called: Vec<LemonStatus>,
    names: Arc<[NodeName]>,
    jobs: Vec<Job>,
    /// Jobs that wait for nodes, the longest waiting first.
    queue: VecDeque<u32>,
    free: BTreeSet<u32>,
    /// Nodes that the interrupted jobs in the queue want.
    wanted_again: u32,
    placing: bool,
    cell: CellFacts,
    /// Whether the brain has raised the epoch.
    is_led: bool,
    engine: Engine,
    guards: Guards,
    wire: FactQueue,
    crews_free: u32,
    tickets: VecDeque<u32>,
    pub(crate) books: Accounting,
    pub(crate) promises: PropertyChecker,
    /// What was proposed last, for a person to say yes to.
    proposed: Vec<mainstay_model::OrderId>,
    /// How often the cell's record was to be written.
    cell_records: u64,
    /// The last of these writes that was taken.
    cell_kept: u64,
    /// How breakers stood that were not closed, and how often one changed to what.
    breakers: BTreeMap<RuleName, BreakerState>,
    breakers_seen: BTreeMap<&'static str, u64>,
    /// Rules that were ever stopped.
    stopped_rules: BTreeSet<(NodeKind, RuleName)>,
    /// Faults that begin during the next tests.
    during_tests: VecDeque<ScheduledFault>,
    /// What happened, by its key, and how often.
    counted: BTreeMap<&'static str, u64>,
    /// Approvals that an operator gives as soon as something is proposed.
    approvals_due: u32,
    /// The share of each pool that stays in service in a mixed fleet.
    floor: Ppm,
    /// Nothing breaks any more.
    calm: bool,
    /// Since when the brain knows that nothing may be done.
    observing_since: Option<Timestamp>,
    /// What happened, a line each, where somebody wants to read it.
    pub(crate) diary: Option<Vec<(Timestamp, String)>>,
    /// The same for whoever watches it live.
    pub(crate) chronicle: Option<EventLog>,
    /// What its logs say and what is true, where somebody wants to read old logs.
    pub(crate) ledger: Option<Box<HistoryRecorder>>,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let start = plan.starts_at;
        let shape = fleet::shape(plan.nodes);
        let crews = f64::from(plan.nodes) / 1_000.0 * plan.model.get(Parameter::RepairCrewsPer1000Nodes);
        let mut world = Self {
            now: start,
            until: plan.until,
            seed: plan.seed,
            shape,
            hall: plan.hall,
            relapses: Relapses::new(&plan.model, &shape),
            voices: Arc::new(Signatures::built_in()),
            policies: plan.policies,
            script: plan.script,
            heartbeats: plan.heartbeats,
            agenda: EventQueue::default(),
            machines: (0..plan.nodes).map(|node| Machine::new(node, plan.hall, plan.drivers, start)).collect(),
            called: vec![LemonStatus::default(); plan.nodes as usize],
            names: (0..plan.nodes).map(fleet::name).collect(),
            jobs: plan.jobs,
            queue: VecDeque::new(),
            free: (0..plan.nodes).collect(),
            wanted_again: 0,
            placing: false,
            cell: CellFacts { epoch: Epoch(1), mode: Mode::Act, ..CellFacts::default() },
            is_led: true,
            engine: Engine::guarded(plan.guards.clone()),
            guards: plan.guards,
            wire: FactQueue::new(plan.weather),
            crews_free: u32::try_from(crate::rng::whole(crews)).unwrap_or(1).max(1),
            tickets: VecDeque::new(),
            books: Accounting::new(start, plan.until),
            promises: PropertyChecker::new(plan.nodes, start),
            proposed: Vec::new(),
            cell_records: 0,
            cell_kept: 0,
            breakers: BTreeMap::new(),
            breakers_seen: BTreeMap::new(),
            stopped_rules: BTreeSet::new(),
            during_tests: VecDeque::new(),
            counted: BTreeMap::new(),
            approvals_due: 0,
            floor: FLOOR,
            calm: false,
            observing_since: None,
            diary: None,
            chronicle: None,
            ledger: None,
            model: plan.model,
        };
        world.begin();
        world
    }

    /// Lists everything to the brain for the first time, and plants what is going to happen.
    fn begin(&mut self) {
        self.retell();
        for node in 0..self.shape.nodes {
            self.report_now(node);
            if self.heartbeats == Heartbeats::All {
                self.agenda.add(self.beat_after(node), Event::Beats { node });
            }
        }
        for number in 0..self.script.len() {
            self.agenda.add(self.script[number].at, Event::Trouble { number });
        }
        for job in 0..self.jobs.len() {
            let number = self.jobs[job].number;
            self.agenda.add(self.jobs[job].submitted_at, Event::Submits { job: number });
        }
    }

    /// How many nodes there are.
    pub(crate) const fn nodes(&self) -> u32 {
        self.shape.nodes
    }

    /// How breakers stand that are not closed.
    pub(crate) const fn breakers(&self) -> &BTreeMap<RuleName, BreakerState> {
        &self.breakers
    }

    /// Who was taken out at this moment.
    pub(crate) fn taken_out_now(&self) -> impl Iterator<Item = u32> + '_ {
        let now = self.now;
        self.machines.iter().filter(move |one| one.seen.taken_out_at == Some(now)).map(|one| one.number)
    }

    /// Moves to the next moment at which anything happens. False when the end is reached.
    pub(crate) fn step(&mut self) -> bool {
        self.step_until(self.until)
    }

    /// The same with a nearer end.
    pub(crate) fn step_until(&mut self, until: Timestamp) -> bool {
        let wake = self.engine.wake_at().map(|at| at.max(self.now + Span(1)));
        let Some(next) = [self.agenda.next_at(), wake].into_iter().flatten().min().filter(|at| *at <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        self.books.tick(self.now);
        while let Some(event) = self.agenda.take(self.now) {
            self.happen(event);
        }
        self.ask_brain();
        true
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Trouble { number } => self.trouble(number),
            Event::Ends { node, ending } => self.ending(node, ending),
            Event::Submits { job } => self.submits(job),
            Event::Places => self.place(),
            Event::Finishes { job, turn } => self.finishes(job, turn),
            Event::Dies { job, turn } => self.dies(job, turn),
            Event::Saved { job, turn } => self.saved(job, turn),
            Event::Left { job, turn } => self.left(job, turn),
            Event::ToolLooks { node } => self.tool_looks(node),
            Event::ToolStops { node, cordon } => self.tool_stops(node, cordon),
            Event::Speaks { node, key } => self.speaks(node, key),
            Event::Polls { node, key } => self.polls(node, key),
            Event::Alarms { node, class, voice, key } => self.alarms(node, class, voice, key),
            Event::Straggles { node, key } => self.straggles(node, key),
            Event::Passes { node, key } => self.passes(node, key),
            Event::Relapses { node, onset } => self.relapses(node, *onset),
            Event::Reports { node } => self.reports(node),
            Event::Beats { node } => self.beats(node),
            Event::OrderEnds { node, boot, order } => self.order_ends(node, boot, &order),
            Event::ComesUp { node, boot, after } => self.comes_up(node, boot, after),
            Event::Unheard { node, boot } => self.unheard(node, boot),
            Event::Arrives { effect } => self.arrives(&effect),
            Event::Keeps { epoch, number, record } => self.keeps(epoch, number, *record),
            Event::Told { number } => self.told(number),
            Event::Notices { node, key } => self.notices(node, key),
            Event::PartIsHere { node } => self.part_is_here(node),
            Event::Repaired { node } => self.repaired(node),
            Event::Breaks { onset } => self.breaks(&onset),
            Event::AgentStops { node, down } => self.agent_stops(node, down),
            Event::TakesOver => self.takes_over(),
        }
    }

    /// One decision, audited, written into the books and carried out.
    fn ask_brain(&mut self) {
        self.sync();
        let decision = self.engine.decide(self.now);
        self.books.brain.decisions += 1;
        for violation in self.engine.audit(&decision, self.now) {
            self.books.brain.violations += 1;
            let promise = format!("invariant {}", violation.invariant.name());
            let on = violation.node.as_ref().map(|node| format!("{node}: ")).unwrap_or_default();
            self.promises.record_violation(self.now, &promise, format!("{on}{}", violation.detail));
        }
        self.stand(&decision);
        self.watches_breakers();
        self.carry_out(decision);
    }

    fn carry_out(&mut self, decision: Decision) {
        self.proposed.clear();
        if let Some(record) = decision.cell {
            self.sends_record(record);
        }
        for effect in decision.effects {
            self.chronicles(&effect);
            match effect.execution {
                Execution::Ordered => self.send(effect),
                Execution::Proposed => self.proposed.push(effect.id),
                Execution::DryRun => {}
            }
        }
        if self.approvals_due > 0 && !self.calm {
            self.approves();
        }
    }

    /// How many nodes of a rack may be out at once. A rack of the large kind has more nodes.
    fn rack_nodes_out_max(&self, kind: NodeKind) -> u32 {
        match kind {
            NodeKind::Hgx | NodeKind::Mig => self.policies.rack_nodes_out_max,
            NodeKind::Nvl72 => self.policies.rack_nodes_out_max * 2,
        }
    }

    /// How many nodes of a pool may be out at once.
    fn nodes_out_max(&self, kind: NodeKind) -> u32 {
        NodeLimit::Share(self.policies.fleet_out_max).of(self.pool_nodes(kind))
    }

    fn pool_nodes(&self, kind: NodeKind) -> u32 {
        let nodes = self.machines.iter().filter(|machine| machine.kind == kind).count();
        u32::try_from(nodes).unwrap_or(u32::MAX)
    }

    /// What became of the first job, where it is the one training job.
    pub(crate) fn training(&self) -> Option<TrainingOutcome> {
        let job = self.jobs.first()?;
        let seconds = self.now.since(Timestamp(0)).0 / 1_000;
        let held = self.books.held.seconds(self.now) / u64::from(job.nodes_wanted).max(1);
        let slowed: u64 = self.books.lost().values().map(|loss| loss.slowed_gpu_seconds).sum();
        let slowed = slowed / job.gpu_seconds(Span::seconds(1)).max(1);
        let share = |part: u64| part.saturating_mul(1_000_000) / seconds.max(1);
        Some(TrainingOutcome {
            // A step of a job takes one second at full pace.
            ettr_ppm: share(job.step(self.now) + slowed),
            slowed_ppm: share(slowed),
            waited_seconds: seconds.saturating_sub(held),
            node_repairs: self.machines.iter().map(|machine| u64::from(machine.visits)).sum(),
        })
    }

    /// Closes the books.
    pub(crate) fn close(mut self, outcome: &mut crate::Outcome) {
        self.settle_all_out();
        for job in &self.jobs {
            match job.state {
                State::Waiting if job.submitted_at <= self.now => self.books.work.waiting += 1,
                State::Running => self.books.work.running += 1,
                State::Waiting | State::Finished => {}
            }
        }
        outcome.lemons = self.lemons();
        let most = self.hall.kinds().iter().map(|kind| self.nodes_out_max(*kind)).sum();
        self.books.close(self.shape.nodes, most, self.now, outcome);
    }

    fn policy(&self, kind: NodeKind) -> Policy {
        let budgets = vec![
            Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(self.rack_nodes_out_max(kind)) },
            Budget { level: None, most: NodeLimit::Share(self.policies.fleet_out_max) },
        ];
        Policy {
            mode: self.policies.mode,
            budgets: Bounded::try_from(budgets).unwrap_or_default(),
            drain_rule: match self.policies.checkpoint {
                CheckpointPolicy::Ask => DrainRule::AskOnly,
                CheckpointPolicy::Wait | CheckpointPolicy::AtOnce => DrainRule::CostModel,
            },
            floor: match self.hall {
                Hall::Uniform => None,
                Hall::Mixed => Some(NodeLimit::Share(self.floor)),
            },
            ..Policy::new(kind.pool())
        }
    }

    fn asks_first(&self) -> bool {
        self.policies.checkpoint != CheckpointPolicy::AtOnce
    }

    fn machine(&mut self, node: u32) -> &mut Machine {
        &mut self.machines[node as usize]
    }

    fn job(&mut self, job: u32) -> &mut Job {
        &mut self.jobs[job as usize]
    }
}
