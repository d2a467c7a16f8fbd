//! A fleet to watch: the same world and the same brain as a run, moved on by whoever holds it. It is a function of its
//! options and of what was done to it, moment by moment; a snapshot is a clone. Placement is the simulator's own first
//! fit, and nothing breaks by chance: only what the story plants, or somebody who tries it.

mod demo_script;
mod gpu_readings;
mod injection;
mod jobs;
mod large_fleet;
#[cfg(test)]
mod tests;
mod user_actions;
mod view;

use mainstay_engine::{Engine, Guards};
use mainstay_model::{Mode, NodeName, Ppm, Reason, Request, RequestKind, Span, Timestamp, UserName};
use mainstay_text::Problem;

pub use demo_script::{DemoScript, Step};
pub use gpu_readings::GpuReadings;
pub use injection::Injection;
pub use view::{AccountingView, JobState, JobView, NodeView};

use crate::event_log::{EventLog, JobLog};
use crate::fleet::{Drivers, GPUS, Hall};
use crate::job::Job;
use crate::machine::Power;
use crate::model::{FailureModel, Parameter};
use crate::options::Policies;
use crate::rng::{Purpose, stream};
use crate::world::{Heartbeats, Plan, StoreBehaviour, World};
use crate::{GPUS_MAX, GPUS_PER_NODE, fault_injection};
use demo_script::ScriptRun;
use injection::{CRYING, InjectionEffect, LEAF_DOWN};
use user_actions::{UserAction, UserActions};

/// The smallest live fleet: one leaf full of nodes.
pub const LIVE_GPUS_MIN: u32 = 256;

/// Jobs have run for so long when somebody begins to watch.
const WARM_UP: Span = Span::minutes(30);

/// Nodes that may be out at once: a tenth, and in a small fleet enough for the whole story.
const OUT_MAX: Ppm = Ppm(100_000);
const NODES_OUT_MIN: u32 = 12;

/// Keys of what is planted live begin here, far from those of a run.
const KEYS: u64 = 1 << 50;

/// What a live fleet depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveOptions {
    /// GPUs in the fleet; whole nodes of eight.
    pub gpus: u32,
    /// The seed.
    pub seed: u64,
    /// What happens by itself.
    pub story: DemoScript,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self { gpus: 1_024, seed: 7, story: DemoScript::Tour }
    }
}

/// Time of an injected fault and the number of nodes it affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectionResult {
    /// When.
    pub at: Timestamp,
    /// How many nodes it reaches.
    pub nodes: u32,
}

/// A virtual fleet that its caller advances, changes and displays.
#[derive(Debug, Clone)]
pub struct LiveFleet {
    world: World,
    options: LiveOptions,
    tour: Option<ScriptRun>,
    injected: u64,
    acts: UserActions,
    /// For a job that nothing is known of yet.
    no_log: JobLog,
}

// === impl Live ===

impl LiveFleet {
    /// When somebody begins to watch: three in the morning of a Monday, as a fleet's clock.
    pub const BEGINS_AT: Timestamp = Timestamp(1_768_186_800_000);

    /// A fleet whose jobs have run for half an hour.
    ///
    /// # Errors
    ///
    /// A fleet that is not made of whole nodes or is out of bounds.
    pub fn new(options: LiveOptions) -> Result<Self, Problem> {
        let nodes = nodes_of(options.gpus)?;
        let starts_at = Self::BEGINS_AT - WARM_UP;
        let tenth = OUT_MAX.0.max(NODES_OUT_MIN * 1_000_000 / nodes);
        let policies = Policies { fleet_out_max: Ppm(tenth), ..Policies::default() };
        let jobs = jobs::jobs(nodes, options.seed, starts_at);
        let mut live = Self::stands(options, starts_at, policies, jobs);
        live.advance(Self::BEGINS_AT);
        live.tour = match options.story {
            DemoScript::Tour => Some(ScriptRun::new(Self::BEGINS_AT)),
            DemoScript::Calm => None,
        };
        Ok(live)
    }

    fn stands(options: LiveOptions, starts_at: Timestamp, policies: Policies, jobs: Vec<Job>) -> Self {
        let mut world = World::new(Plan {
            nodes: options.gpus / GPUS,
            seed: options.seed,
            starts_at,
            until: Timestamp(i64::MAX),
            jobs,
            model: model(),
            policies,
            script: Vec::new(),
            weather: StoreBehaviour::Fair,
            guards: Guards::all_on(),
            heartbeats: Heartbeats::Telling,
            drivers: Drivers::Two,
            hall: Hall::Uniform,
        });
        world.is_watched();
        Self { world, options, tour: None, injected: 0, acts: UserActions::default(), no_log: JobLog::default() }
    }

    /// Lives on until then: everything that is due happens, the brain is asked whenever something did. In how many calls
    /// makes no difference.
    pub fn advance(&mut self, until: Timestamp) {
        loop {
            let next_at = self.tour.as_ref().and_then(ScriptRun::next_at).filter(|at| *at <= until);
            let went_on = self.world.step_until(next_at.unwrap_or(until));
            self.world.tallies();
            let Some(tour) = &mut self.tour else { if went_on { continue } else { return } };
            tour.looks(&self.world);
            if !went_on && tour.due_at().is_some_and(|due| due <= self.world.now) {
                self.injected += 1;
                tour.plants(&mut self.world, self.options.seed, KEYS + self.injected);
            } else if !went_on && next_at.is_none() {
                return;
            }
        }
    }

    /// The fleet's now.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.world.now
    }

    /// What it was made from.
    #[must_use]
    pub const fn options(&self) -> LiveOptions {
        self.options
    }

    /// The brain, for everything that it knows.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        self.world.engine()
    }

    /// How far the brain may go.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.world.mode()
    }

    /// The steps of the story, in order; none where there is no story.
    #[must_use]
    pub fn story(&self) -> &[Step] {
        self.tour.as_ref().map_or(&[], ScriptRun::steps)
    }

    /// Plants something at a node, now.
    ///
    /// # Errors
    ///
    /// No such node, or one that is down: nobody would see it.
    pub fn inject(&mut self, injection: Injection, node: &NodeName) -> Result<InjectionResult, Problem> {
        let number = self.known(node)?;
        self.inject_at(injection, number)
    }

    fn inject_at(&mut self, injection: Injection, number: u32) -> Result<InjectionResult, Problem> {
        if self.world.machines()[number as usize].power != Power::Up {
            return Err(Problem {
                what: format!("cannot inject a fault into {}", self.world.name(number)),
                detail: "the node is down.".to_owned(),
                hint: "choose a running node, or wait until this one is up".to_owned(),
            });
        }
        self.injected += 1;
        let key = KEYS + self.injected;
        let device = stream(self.options.seed, Purpose::Live, key).below(GPUS);
        let nodes = plant(&mut self.world, injection, number, device, key);
        self.record_action(UserAction::Inject(injection, number));
        Ok(InjectionResult { at: self.now(), nodes })
    }

    /// A person asks something of a node; it stands until it is withdrawn.
    ///
    /// # Errors
    ///
    /// No such node.
    pub fn request(
        &mut self,
        node: &NodeName,
        kind: RequestKind,
        by: UserName,
        reason: Reason,
    ) -> Result<Timestamp, Problem> {
        let number = self.known(node)?;
        let request = Request { kind, reason, by, word: None };
        self.world.is_asked(number, Some(request.clone()));
        self.record_action(UserAction::Ask(number, Some(request)));
        Ok(self.now())
    }

    /// Withdraws what was asked of a node.
    ///
    /// # Errors
    ///
    /// No such node, or nothing was asked.
    pub fn release(&mut self, node: &NodeName) -> Result<Timestamp, Problem> {
        let number = self.known(node)?;
        if self.world.machines()[number as usize].request.is_none() {
            return Err(Problem {
                what: format!("no request to withdraw on {node}"),
                detail: "the node has no operator request.".to_owned(),
                hint: "check the request of the node first".to_owned(),
            });
        }
        self.world.is_asked(number, None);
        self.record_action(UserAction::Ask(number, None));
        Ok(self.now())
    }

    /// A person says how far the brain may go.
    pub fn set_mode(&mut self, mode: Mode) -> Timestamp {
        self.world.sets_mode(mode);
        self.record_action(UserAction::Mode(mode));
        self.now()
    }

    fn known(&self, node: &NodeName) -> Result<u32, Problem> {
        self.world.number(node).ok_or_else(|| Problem {
            what: format!("unknown node: {node}"),
            detail: format!("the fleet has {} nodes; the first is {}.", self.world.nodes(), self.world.name(0)),
            hint: "list the nodes".to_owned(),
        })
    }

    const fn chronicle(&self) -> Option<&EventLog> {
        self.world.chronicle.as_ref()
    }

    fn job_log(&self, job: u32) -> &JobLog {
        self.chronicle().and_then(|chronicle| chronicle.job_log(job)).unwrap_or(&self.no_log)
    }
}

/// Plants it; answers how many nodes it reaches.
fn plant(world: &mut World, injection: Injection, node: u32, device: u32, key: u64) -> u32 {
    let count = |nodes: usize| u32::try_from(nodes).unwrap_or(u32::MAX);
    match injection.planting() {
        InjectionEffect::Fault(class, manner) => {
            world.breaks_now(class, manner, node, device, key);
            count(world.machines().iter().filter(|machine| machine.faults.iter().any(|fault| fault.key == key)).count())
        }
        InjectionEffect::Leaf => {
            world.leaf_goes_down(node, LEAF_DOWN, key);
            count(world.leaf_of(node).len())
        }
        InjectionEffect::Cry(class, manner) => {
            let nodes = demo_script::criers(world, node);
            world.cries(&nodes, class, manner, CRYING, key);
            count(nodes.len())
        }
    }
}

fn nodes_of(gpus: u32) -> Result<u32, Problem> {
    if (LIVE_GPUS_MIN..=GPUS_MAX).contains(&gpus) && gpus.is_multiple_of(GPUS_PER_NODE) {
        return Ok(gpus / GPUS);
    }
    let near = (gpus / GPUS_PER_NODE * GPUS_PER_NODE).clamp(LIVE_GPUS_MIN, GPUS_MAX);
    Err(Problem {
        what: format!("invalid fleet size: {gpus} GPUs"),
        detail: format!("nodes have {GPUS_PER_NODE} GPUs; a demo has {LIVE_GPUS_MIN} to {GPUS_MAX} GPUs."),
        hint: format!("use --gpus {near}"),
    })
}

/// The failure model of a live fleet. What is planted says so, what is repaired stays so, and people come within hours: a
/// story must not hang on a draw. What a fault needs and how long people take is still drawn.
fn model() -> FailureModel {
    let mut model = fault_injection::model();
    let certain = [
        (Parameter::SensorHardRecall, 1.0),
        (Parameter::RmaShare, 0.0),
        (Parameter::RungFails, 0.0),
        (Parameter::QualificationRecall, 1.0),
        (Parameter::QualificationFalseFail, 0.0),
        (Parameter::Relapse1Day, 0.0),
        (Parameter::Relapse7Days, 0.0),
        (Parameter::Relapse30Days, 0.0),
    ];
    for (parameter, value) in certain {
        if let Err(refused) = model.set(parameter.word(), value) {
            unreachable!("a setting of the live fleet: {refused}");
        }
    }
    model
}
