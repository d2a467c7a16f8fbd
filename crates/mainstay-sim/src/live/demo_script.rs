//! The demo script of a live fleet: faults injected minutes apart, each with a condition that completes its step. The
//! texts (`demo_script/texts.rs`) are built from what happened in the run.

mod texts;

use mainstay_model::{BreakerState, Level, Span, Stage, Subject, Timestamp};

use super::injection::{CRYING, Injection, LEAF_DOWN};
use super::jobs::{LARGE, SECOND, THIRD};
use crate::fleet::GPUS;
use crate::job::{Job, State};
use crate::rng::{Purpose, stream};
use crate::world::World;

/// Which events happen without a user in a live fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoScript {
    /// Six things that a fleet lives through, within an hour and a half.
    Tour,
    /// Nothing.
    Calm,
}

/// A step of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it is about.
    pub title: &'static str,
    /// When its trouble is planted; later where the step before takes longer.
    pub due_at: Timestamp,
    /// When it came to what it should; none while it has not.
    pub happened_at: Option<Timestamp>,
    /// Before: what is going to happen. Then: what happened, in numbers.
    pub text: String,
}

/// The subject of one step of the demo script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    AskedFirst,
    NothingToSave,
    SilentRail,
    LeafDown,
    MadSensor,
    BackInService,
}

/// The steps: what, in which minute, and what is said before.
const STEPS: [(StepKind, u32, &str, &str); 6] = [
    (
        StepKind::AskedFirst,
        3,
        "A GPU of the large job needs a reset",
        "A GPU of the large job will report a pending row remap. The job can continue, so Mainstay first requests a checkpoint.",
    ),
    (
        StepKind::NothingToSave,
        14,
        "A GPU falls off the bus",
        "A GPU will fail at once. The job cannot save any more, so Mainstay requests no checkpoint.",
    ),
    (
        StepKind::SilentRail,
        25,
        "A network port fails without a log line",
        "A port will stop passing traffic. The kernel log will not show it.",
    ),
    (
        StepKind::LeafDown,
        35,
        "A leaf switch goes down",
        "A leaf switch will go down with every node below it. Removing the nodes one by one would not help.",
    ),
    (
        StepKind::MadSensor,
        49,
        "A sensor raises false alarms",
        "Every node with one driver version will raise a false alarm. The circuit breaker must stop the removals.",
    ),
    (
        StepKind::BackInService,
        50,
        "A node returns to service",
        "A repaired node must pass its tests before it runs jobs again.",
    ),
];

/// Between a step that has happened and the next trouble.
const PAUSE: Span = Span::minutes(1);

/// The fault that a step of the demo script injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StepFault {
    at: Timestamp,
    node: u32,
    device: u32,
    /// The job that it is about.
    job: u32,
    /// How many nodes it reaches.
    nodes: u32,
    /// When it is over by itself.
    ends_at: Option<Timestamp>,
}

/// Kind, injected fault and completion of one step of the demo script.
#[derive(Debug, Clone)]
struct StepProgress {
    plot: StepKind,
    trouble: Option<StepFault>,
    /// Whether all of it is told.
    told: bool,
    /// Whether somebody has looked since the trouble was over by itself.
    looked_at_end: bool,
}

/// A demo script in progress, with the state of each step.
#[derive(Debug, Clone)]
pub(super) struct ScriptRun {
    steps: Vec<Step>,
    scenes: Vec<StepProgress>,
}

impl ScriptRun {
    pub(super) fn new(begins_at: Timestamp) -> Self {
        let step = |(_, minute, title, ahead): (StepKind, u32, &'static str, &str)| Step {
            title,
            due_at: begins_at + Span::minutes(minute),
            happened_at: None,
            text: ahead.to_owned(),
        };
        Self {
            steps: STEPS.into_iter().map(step).collect(),
            scenes: STEPS
                .into_iter()
                .map(|(plot, ..)| StepProgress { plot, trouble: None, told: false, looked_at_end: false })
                .collect(),
        }
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step that is on: the first that has not happened.
    fn current(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.happened_at.is_none())
    }

    /// When the next trouble is to be planted: after the step before has happened.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        let current = self.current()?;
        let before = current.checked_sub(1).and_then(|before| self.steps[before].happened_at);
        let after = before.map_or(self.steps[current].due_at, |before| before + PAUSE);
        self.scenes[current].trouble.is_none().then_some(self.steps[current].due_at.max(after))
    }

    /// When it has to be asked for: something is to be planted, or what was planted is over.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let untold = self.scenes.iter().filter(|scene| !scene.told && !scene.looked_at_end);
        let ends = untold.filter_map(|scene| scene.trouble?.ends_at);
        ends.chain(self.due_at()).min()
    }

    /// Plants what is due.
    pub(super) fn plants(&mut self, world: &mut World, seed: u64, key: u64) {
        let Some(current) = self.current() else { return };
        let plot = self.scenes[current].plot;
        let mut chance = stream(seed, Purpose::Live, key);
        let (part, device) = (chance.unit(), chance.below(GPUS));
        let victim = |job: u32| member(world, job, part);
        let (injection, job, node) = match plot {
            StepKind::AskedFirst => (Some(Injection::RowRemapPending), LARGE, victim(LARGE)),
            StepKind::NothingToSave => (Some(Injection::GpuOffTheBus), SECOND, victim(SECOND)),
            StepKind::SilentRail => (Some(Injection::SilentRail), THIRD, victim(THIRD)),
            StepKind::LeafDown => (Some(Injection::LeafDown), LARGE, leaf_without(world, LARGE)),
            StepKind::MadSensor => (Some(Injection::MadSensor), LARGE, 0),
            StepKind::BackInService => (None, LARGE, 0),
        };
        let at = world.now;
        let nodes = injection.map_or(0, |injection| super::plant(world, injection, node, device, key));
        let lasts = match plot {
            StepKind::LeafDown => Some(LEAF_DOWN),
            StepKind::MadSensor => Some(CRYING),
            StepKind::AskedFirst | StepKind::NothingToSave | StepKind::SilentRail | StepKind::BackInService => None,
        };
        let trouble = StepFault { at, node, device, job, nodes, ends_at: lasts.map(|lasts| at + lasts) };
        self.steps[current].due_at = at;
        self.scenes[current].trouble = Some(trouble);
    }

    /// Looks whether something has come to what it should.
    pub(super) fn looks(&mut self, world: &World) {
        let current = self.current();
        for (number, scene) in self.scenes.iter_mut().enumerate().filter(|(_, scene)| !scene.told) {
            let (Some(trouble), step) = (scene.trouble, &mut self.steps[number]) else { continue };
            scene.looked_at_end = trouble.ends_at.is_none_or(|at| world.now >= at);
            if current == Some(number)
                && let Some(text) = happened(scene.plot, &trouble, world)
            {
                step.text = text;
                step.happened_at = Some(world.now);
            }
            if step.happened_at.is_some()
                && let Some(more) = ended(scene.plot, &trouble, world)
            {
                step.text.push_str(&more);
                scene.told = true;
            }
        }
    }
}

/// Whether a step has come to what it should, and the words for it.
fn happened(plot: StepKind, trouble: &StepFault, world: &World) -> Option<String> {
    match plot {
        StepKind::AskedFirst => is_taken_out(world, trouble).then(|| texts::asked_first(world, trouble))?,
        StepKind::NothingToSave => is_taken_out(world, trouble).then(|| texts::nothing_to_save(world, trouble))?,
        StepKind::SilentRail => is_taken_out(world, trouble).then(|| texts::silent_rail(world, trouble))?,
        StepKind::LeafDown => {
            let below = world.machines()[trouble.node as usize].facts.domains.get(&Level::Leaf)?;
            let blamed = world.engine().blamed().into_iter().find(|blamed| match &blamed.subject {
                Subject::Domain { level, name } => *level == Level::Leaf && name == below,
                Subject::Node(_) | Subject::Part { .. } | Subject::Driver(_) => false,
            })?;
            Some(texts::leaf_down(&blamed.rule, below, trouble))
        }
        StepKind::MadSensor => {
            let mut breakers = world.engine().breakers().into_iter();
            let open = breakers
                .find(|line| line.state == BreakerState::Open && line.since.is_some_and(|since| since >= trouble.at))?;
            Some(texts::mad_sensor(world, &open))
        }
        StepKind::BackInService => {
            let back = |entry: &&crate::event_log::StageChange| {
                entry.to == Stage::InService && entry.from == Stage::Qualifying
            };
            let back = world.chronicle.as_ref()?.moves_since(trouble.at).find(back)?;
            Some(texts::back_in_service(world, back))
        }
    }
}

/// Whether what followed has ended, and the words for that; empty where nothing follows.
fn ended(plot: StepKind, trouble: &StepFault, world: &World) -> Option<String> {
    match plot {
        StepKind::AskedFirst | StepKind::NothingToSave => {
            let back = world.machines()[trouble.node as usize].seen.stage == Stage::InService;
            back.then(|| texts::node_is_back(world, trouble))
        }
        StepKind::LeafDown => texts::leaf_is_back(world, trouble),
        StepKind::MadSensor => {
            trouble.ends_at.filter(|at| world.now >= *at).map(|at| texts::sensor_mended(world, trouble, at))
        }
        StepKind::SilentRail | StepKind::BackInService => Some(String::new()),
    }
}

/// Whether the node is out since the trouble began.
fn is_taken_out(world: &World, trouble: &StepFault) -> bool {
    world.machines()[trouble.node as usize].seen.taken_out_at.is_some_and(|at| at >= trouble.at)
}

/// One of a job's nodes; any node where the job runs nowhere. The part is a share of them.
fn member(world: &World, job: u32, part: f64) -> u32 {
    let nodes = world.jobs().get(job as usize).map_or(&[][..], |job| &job.nodes[..]);
    let count = f64::from(u32::try_from(nodes.len()).unwrap_or(0));
    let place = crate::rng::whole((part * count - 0.5).max(0.0));
    let place = usize::try_from(place).unwrap_or(0).min(nodes.len().saturating_sub(1));
    nodes.get(place).copied().unwrap_or(0)
}

/// The first node of a whole leaf on which a job does not run and others do; of the last whole leaf where there is none.
fn leaf_without(world: &World, job: u32) -> u32 {
    let machines = world.machines();
    let size = world.leaf_of(0).len();
    let leaves = || (0..world.nodes()).map(|node| world.leaf_of(node)).filter(|leaf| leaf.len() == size);
    let is_spared = |leaf: &std::ops::Range<u32>| {
        let mut jobs = leaf.clone().filter_map(|node| machines[node as usize].job).peekable();
        jobs.peek().is_some() && jobs.all(|one| one != job)
    };
    leaves().step_by(size).find(is_spared).or_else(|| leaves().next_back()).map_or(0, |leaf| leaf.start)
}

/// Nodes with the same driver as this one, those first that the fewest GPUs would miss: idle ones, then small jobs'.
pub(super) fn criers(world: &World, node: u32) -> Vec<u32> {
    let machines = world.machines();
    let driver = machines[node as usize].driver();
    let missed = |node: &u32| {
        let job = machines[*node as usize].job.and_then(|job| world.jobs().get(job as usize));
        job.filter(|job| job.state == State::Running).map_or(0, |job: &Job| job.nodes_wanted)
    };
    let mut nodes: Vec<u32> =
        machines.iter().filter(|machine| machine.driver() == driver).map(|machine| machine.number).collect();
    nodes.sort_by_key(|node| (missed(node), *node));
    nodes
}
