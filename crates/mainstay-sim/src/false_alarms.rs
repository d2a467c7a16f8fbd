//! False-alarm storm: every node of one driver version raises false alarms for hours while real faults occur. Meanwhile
//! other things really break. What matters is how few sound nodes go out, and that the real faults are still repaired.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mainstay_engine::Guards;
use mainstay_model::{BreakerState, RuleName, Span, Timestamp};
use serde::Serialize;

use crate::fleet::{self, Drivers, GPUS, Hall};
use crate::injected_fault::{InjectedFault, InjectionEvent};
use crate::options::Policies;
use crate::property::PropertyViolation;
use crate::rng::{Purpose, span_seconds, stream};
use crate::world::{Heartbeats, Plan, StoreBehaviour, World};
use crate::{FaultClass, ScheduledFault, fault_injection, job};

/// When it begins and when it is mended. Evidence counts for a day, so the end is more than a day later.
const BEGINS: Span = Span::hours(2);
const MENDED: Span = Span::hours(14);
const ENDS: Span = Span::hours(54);

/// What the sensor cries, and how often on each node.
const CRIES: FaultClass = FaultClass::GpuHbmUncorrectable;
const CRIES_EVERY: Span = Span::hours(1);

/// What really breaks meanwhile: kinds that the sensor does not cry.
const BREAKS: [FaultClass; 2] = [FaultClass::GpuHardFault, FaultClass::HostHardware];
/// One an hour: tens of times as many as a fleet of a thousand nodes sees. With two an hour the dead machines open the
/// breaker of their own rule, and the last of them waits for hours.
const BREAK: u64 = 12;

/// Jobs that run meanwhile.
const JOBS: u32 = 300;

/// A really broken node is out within this time: two witnesses of a silent one take minutes, and a rack may be busy.
const OUT_WITHIN: Span = Span::hours(4);

/// Wrong removals, breaker changes and repaired faults during a false-alarm storm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FalseAlarmResult {
    /// Nodes of the fleet.
    pub nodes: u32,
    /// Nodes whose sensor cries.
    pub crying: u32,
    /// Sound nodes that went out for nothing, in all and at most within any hour.
    pub taken_out: u32,
    /// At most within any hour.
    pub taken_out_within_an_hour: u32,
    /// How often a breaker opened, was tried on a node, and closed.
    pub opened: u32,
    /// Tried.
    pub half_opened: u32,
    /// Closed.
    pub closed: u32,
    /// How long after the sensor was mended the last breaker closed; none where one is still open at the end.
    pub closed_after_seconds: Option<u64>,
    /// Faults of other kinds that came while the sensor was mad and did not pass by themselves.
    pub broke: u32,
    /// Of these, taken out in time.
    pub broke_and_out: u32,
    /// Of these, repaired and back in service at the end.
    pub broke_and_back: u32,
    /// What was broken of invariants and promises.
    #[serde(skip)]
    pub broken: Vec<PropertyViolation>,
}

/// Lives through it.
#[must_use]
pub fn run_false_alarms(nodes: u32, seed: u64) -> FalseAlarmResult {
    let crying: Vec<u32> = (0..nodes).filter(|node| fleet::has_new_driver(*node)).collect();
    let real = breaks(nodes, seed);
    let script = cries(&crying, seed).into_iter().chain(real.iter().map(planted));
    let mut script: Vec<InjectionEvent> = script.collect();
    script.sort_by_key(|planted| planted.at);
    let (model, until) = (fault_injection::model(), Timestamp(0) + ENDS);
    let mut world = World::new(Plan {
        nodes,
        seed,
        starts_at: Timestamp(0),
        until,
        jobs: job::jobs(&model, seed, JOBS, nodes, until),
        model,
        policies: Policies::default(),
        script,
        weather: StoreBehaviour::Fair,
        guards: Guards::all_on(),
        heartbeats: Heartbeats::Telling,
        drivers: Drivers::Two,
        hall: Hall::Uniform,
    });
    let mut watch = Tracker::new(&real);
    while world.step() {
        watch.looks(&world);
    }
    watch.sums_up(&world, u32::try_from(crying.len()).unwrap_or(u32::MAX))
}

/// Every node of the version cries once within each of its hours, each at a minute of its own.
fn cries(crying: &[u32], seed: u64) -> Vec<InjectionEvent> {
    let hours = (MENDED.0 - BEGINS.0) / CRIES_EVERY.0;
    let each = crying.iter().flat_map(|node| (0..hours).map(move |hour| (*node, hour)));
    let cry = |(node, hour): (u32, u64)| {
        let key = (u64::from(node) << 16) | hour;
        let after = span_seconds(stream(seed, Purpose::Alarm, key).unit() * 3_600.0);
        let at = Timestamp(0) + BEGINS + Span(CRIES_EVERY.0 * hour) + after;
        InjectionEvent { at, trouble: InjectedFault::FalseAlarms { first: node, nodes: 1, class: CRIES, key: seed } }
    };
    each.map(cry).collect()
}

/// Real faults while the sensor is mad, each on a node of its own rack.
fn breaks(nodes: u32, seed: u64) -> Vec<ScheduledFault> {
    let racks = nodes / fleet::shape(nodes).nodes_per_rack;
    let fault = |number: u64| {
        let mut chance = stream(seed, Purpose::Storm, number);
        let after = span_seconds(chance.unit() * 3_600.0).0 * ((MENDED.0 - BEGINS.0) / Span::hours(1).0);
        let rack = u32::try_from(number).unwrap_or_default() * 7 % racks.max(1);
        ScheduledFault {
            at: Timestamp(0) + BEGINS + Span(after),
            class: BREAKS[chance.below(2) as usize],
            node: rack * fleet::shape(nodes).nodes_per_rack,
            device: chance.below(GPUS),
            key: (1 << 40) + number,
        }
    };
    (0..BREAK).map(fault).collect()
}

fn planted(onset: &ScheduledFault) -> InjectionEvent {
    InjectionEvent { at: onset.at, trouble: InjectedFault::Fault(*onset) }
}

/// Counts removals and breaker changes while the world runs.
struct Tracker<'a> {
    real: &'a [ScheduledFault],
    /// Since when each of them was really broken, whatever became of the fault.
    really_broken: BTreeMap<u32, Timestamp>,
    quarantines: u64,
    lately: VecDeque<Timestamp>,
    taken_out: u32,
    taken_out_within_an_hour: u32,
    breakers: BTreeMap<RuleName, BreakerState>,
    changes: [u32; 3],
    last_closed_at: Option<Timestamp>,
    /// When each really broken node was taken out, or that its fault passed by itself.
    out_at: BTreeMap<u32, Timestamp>,
    passed: BTreeSet<u64>,
}

impl<'a> Tracker<'a> {
    fn new(real: &'a [ScheduledFault]) -> Self {
        Self {
            real,
            really_broken: real.iter().map(|onset| (onset.node, onset.at)).collect(),
            quarantines: 0,
            lately: VecDeque::new(),
            taken_out: 0,
            taken_out_within_an_hour: 0,
            breakers: BTreeMap::new(),
            changes: [0; 3],
            last_closed_at: None,
            out_at: BTreeMap::new(),
            passed: BTreeSet::new(),
        }
    }

    fn looks(&mut self, world: &World) {
        let total = world.books.quarantines.total;
        if total != self.quarantines {
            self.quarantines = total;
            for node in world.taken_out_now() {
                if self.really_broken.get(&node).is_some_and(|since| world.now >= *since) {
                    self.out_at.entry(node).or_insert(world.now);
                } else {
                    self.taken_out += 1;
                    self.lately.push_back(world.now);
                }
            }
            self.lately.retain(|at| world.now.since(*at) < Span::hours(1));
            let lately = u32::try_from(self.lately.len()).unwrap_or(u32::MAX);
            self.taken_out_within_an_hour = self.taken_out_within_an_hour.max(lately);
        }
        for onset in self.real {
            let is_due = world.now.since(onset.at) >= OUT_WITHIN && !self.out_at.contains_key(&onset.node);
            if is_due && !world.is_broken(onset.node) {
                self.passed.insert(onset.key);
            }
        }
        let stand = world.breakers();
        if *stand != self.breakers {
            for rule in stand.keys().chain(self.breakers.keys()).collect::<BTreeSet<_>>() {
                let change = match (self.breakers.get(rule), stand.get(rule)) {
                    (before, after) if before == after => continue,
                    (_, Some(BreakerState::Open)) => 0,
                    (_, Some(BreakerState::HalfOpen)) => 1,
                    (_, Some(BreakerState::Closed) | None) => 2,
                };
                self.changes[change] += 1;
            }
            self.breakers = stand.clone();
            self.last_closed_at = self.breakers.is_empty().then_some(world.now);
        }
    }

    fn sums_up(self, world: &World, crying: u32) -> FalseAlarmResult {
        let count = |counted: usize| u32::try_from(counted).unwrap_or(u32::MAX);
        let in_time = |onset: &&ScheduledFault| {
            self.out_at.get(&onset.node).is_some_and(|at| *at >= onset.at && at.since(onset.at) < OUT_WITHIN)
        };
        let stayed = |onset: &&ScheduledFault| !self.passed.contains(&onset.key);
        let back = |onset: &&ScheduledFault| in_time(onset) && world.is_well(onset.node);
        let [opened, half_opened, closed] = self.changes;
        FalseAlarmResult {
            nodes: world.nodes(),
            crying,
            taken_out: self.taken_out,
            taken_out_within_an_hour: self.taken_out_within_an_hour,
            opened,
            half_opened,
            closed,
            closed_after_seconds: self.last_closed_at.map(|at| at.since(Timestamp(0) + MENDED).0 / 1_000),
            broke: count(self.real.iter().filter(stayed).count()),
            broke_and_out: count(self.real.iter().filter(in_time).count()),
            broke_and_back: count(self.real.iter().filter(back).count()),
            broken: world.promises.broken.clone(),
        }
    }
}
