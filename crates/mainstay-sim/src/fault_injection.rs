//! Fault-injection phase and recovery phase of one seed, with safety and liveness checks. In the storm nothing may be
//! done that must not be; in the calm everything has to come right within its bounds.

mod script;
mod shrink;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::BTreeMap;

use mainstay_engine::{Guard, Guards};
use mainstay_model::{Ppm, Span, Timestamp, WaitingOn};
use serde::Serialize;

pub use shrink::{MinimalRun, shrink};
pub use timeline::timeline;

use crate::fleet::{Drivers, Hall};
use crate::injected_fault::InjectionEvent;
use crate::job;
use crate::model::{FailureModel, Parameter, Rates};
use crate::options::Policies;
use crate::property::PropertyViolation;
use crate::world::{Heartbeats, Plan, StoreBehaviour, World};

/// How long the storm lasts.
pub const STORM: Span = Span::hours(12);

/// Every sound node is back in service, and nobody waits on anything, this long after the storm: the sum of the bounds
/// on the longest way (its turn, a save, the ladder, a person, a suite, and a day of suspicion).
pub const CALM_WITHIN: Span = Span::hours(96);

/// How many nodes a storm hits.
pub const NODES: u32 = 208;

/// What they are.
const HALL: Hall = Hall::Mixed;

/// Jobs that are submitted over a storm and its calm.
const JOBS: u32 = 400;

/// How often everything is looked at.
const LOOK: Span = Span::minutes(10);

/// A fault-injection run: its seed, a disabled rule and the injected faults to keep. What is left out is left out by
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedRun {
    /// The seed.
    pub seed: u64,
    /// A rule of the brain that is switched off, to see whether anybody notices.
    without: Option<Guard>,
    /// Only these troubles, by number; all of them where absent.
    pub keep: Option<Vec<usize>>,
}

/// Counts, longest waits and violations of a fault-injection run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeedResult {
    /// The seed.
    pub seed: u64,
    /// Troubles that were planted.
    pub troubles: u64,
    /// Decisions that were made and audited.
    pub decisions: u64,
    /// What happened how often: classes of faults by their word, `restart`, `lost-effect`, `spent-budget`, …
    pub happened: BTreeMap<String, u64>,
    /// The longest wait in the calm, in seconds, by what was waited on.
    pub longest_wait_seconds: BTreeMap<WaitingOn, u64>,
    /// When the last sound node was back and nobody waited any more, counted from the end of the storm.
    pub calm_after_seconds: Option<u64>,
    /// What was broken; nothing, if the brain is right.
    #[serde(skip)]
    pub broken: Vec<PropertyViolation>,
}

impl SeedRun {
    /// The storm of a seed.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        Self { seed, without: None, keep: None }
    }

    /// The same with only these troubles, by number; all of them where absent.
    #[must_use]
    pub fn keeping(mut self, keep: Option<Vec<usize>>) -> Self {
        self.keep = keep;
        self
    }

    /// The same without one safety rule of the engine.
    #[cfg(feature = "disable-guards")]
    #[must_use]
    pub const fn without(mut self, guard: Guard) -> Self {
        self.without = Some(guard);
        self
    }

    /// The safety rule that is off.
    #[must_use]
    pub const fn disabled(&self) -> Option<Guard> {
        self.without
    }

    const fn guards(&self) -> Guards {
        #[cfg(feature = "disable-guards")]
        if let Some(guard) = self.without {
            return Guards::without(guard);
        }
        Guards::all_on()
    }

    /// What is planted, in order of time, with its number.
    pub(crate) fn script(&self) -> Vec<(usize, InjectionEvent)> {
        let all = script::script(self.seed).into_iter().enumerate();
        let kept = |number: &usize| self.keep.as_ref().is_none_or(|keep| keep.contains(number));
        all.filter(|(number, _)| kept(number)).collect()
    }

    fn world(&self) -> World {
        let script: Vec<InjectionEvent> = self.script().into_iter().map(|(_, planted)| planted).collect();
        let (model, until) = (model(), Timestamp(0) + STORM + CALM_WITHIN);
        World::new(Plan {
            nodes: NODES,
            seed: self.seed,
            starts_at: Timestamp(0),
            until,
            jobs: job::jobs(&model, self.seed, JOBS, NODES, until),
            model,
            policies: Policies { rack_nodes_out_max: 1, fleet_out_max: Ppm(100_000), ..Policies::default() },
            script,
            weather: StoreBehaviour::Foul,
            guards: self.guards(),
            heartbeats: Heartbeats::Telling,
            drivers: Drivers::One,
            hall: HALL,
        })
    }

    /// Lives through it, until the first thing is broken or the calm has come.
    #[must_use]
    pub fn weather(&self) -> SeedResult {
        let mut world = self.world();
        let troubles = self.script().len();
        let calm_after = endure(&mut world, &mut |_| {});
        let mut happened = world.happened();
        happened.insert("trouble".to_owned(), u64::try_from(troubles).unwrap_or(u64::MAX));
        let longest = world.promises.longest.iter().map(|(on, span)| (*on, span.0 / 1_000));
        SeedResult {
            seed: self.seed,
            troubles: u64::try_from(troubles).unwrap_or(u64::MAX),
            decisions: world.books.brain.decisions,
            happened,
            longest_wait_seconds: longest.collect(),
            calm_after_seconds: calm_after.map(|span| span.0 / 1_000),
            broken: world.promises.broken,
        }
    }
}

/// Storm, then calm. Answers how long the calm took to come; none where something was broken before.
fn endure(world: &mut World, watch: &mut dyn FnMut(&mut World)) -> Option<Span> {
    let storm_ends_at = Timestamp(0) + STORM;
    let mut look_at = Timestamp(0);
    let mut calm = false;
    loop {
        let goes_on = world.step();
        watch(world);
        if !calm && world.now >= storm_ends_at {
            calm = true;
            world.calms();
        }
        if world.now >= look_at || !goes_on {
            world.check_properties();
            look_at = world.now + LOOK;
        }
        if !world.promises.broken.is_empty() {
            return None;
        }
        if calm && world.is_calm() {
            return Some(world.now.since(storm_ends_at));
        }
        if !goes_on {
            world.still_waiting();
            return None;
        }
    }
}

/// The failure model of a storm: people and parts come within hours, so that the calm does.
pub(crate) fn model() -> FailureModel {
    let mut model = FailureModel::built_in(Rates::Base);
    let settings = [
        (Parameter::RepairCrewsPer1000Nodes, 40.0),
        (Parameter::RmaDaysMin, 0.1),
        (Parameter::RmaDaysMax, 0.3),
        (Parameter::RepairLnMinutesSigma, 0.5),
        (Parameter::RepairFacilitiesMedian, 90.0),
        (Parameter::RepairNetworkMedian, 60.0),
        (Parameter::PeopleNoticeHours, 2.0),
    ];
    for (parameter, value) in settings {
        if let Err(refused) = model.set(parameter.word(), value) {
            unreachable!("invalid setting of the fault-injection phase: {refused}");
        }
    }
    model
}
