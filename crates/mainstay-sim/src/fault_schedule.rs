//! Random faults of a run, drawn before it begins, so that two policies meet the same ones. What comes back after a
//! repair does depend on it, and is drawn then (`relapse.rs`).

mod multiplier;
mod relapse;
#[cfg(test)]
mod tests;

use mainstay_model::{Span, Timestamp};

use crate::model::{Parameter, Unit};
use crate::rng::{Purpose, RandomStream, span_seconds, stream};
use crate::{FailureModel, FaultClass};

pub use multiplier::{is_lemon, multiplier};
pub(crate) use relapse::Relapses;

/// Within how long a neighbour follows; the definition under which LANL's bursts were counted.
const BURST_WITHIN: Span = Span::minutes(10);

/// The most faults of one process, so that no setting makes a run without end. It also keeps keys apart.
const ORDINALS_MAX: u32 = 1 << 20;

/// The process of a key where it is not the number of a class: the faults of a node, and those that follow a neighbour's.
const NODE_PROCESS: u64 = 32;
const BURST_PROCESS: u64 = 33;

/// Number of nodes in the fleet, in a rack and below a leaf, and of parts in a node. Racks and leaves are runs of
/// neighbouring nodes; the last may be short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetShape {
    /// Nodes in the fleet.
    pub nodes: u32,
    /// GPUs of a node.
    pub gpus_per_node: u32,
    /// Network adapters of a node, each with its link.
    pub nics_per_node: u32,
    /// Nodes of a rack.
    pub nodes_per_rack: u32,
    /// Nodes below a leaf switch.
    pub nodes_per_leaf: u32,
}

/// Time, class and place at which one fault begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledFault {
    /// When, from the beginning of the run, which is 0.
    pub at: Timestamp,
    /// What.
    pub class: FaultClass,
    /// Where; of a rack or a leaf, its first node.
    pub node: u32,
    /// Which GPU or adapter of the node; 0 where it is neither.
    pub device: u32,
    /// Its name in this run, below 2^62: what seeds everything that becomes of it.
    pub key: u64,
}

/// Every fault that begins before `until`, in order of (at, node, class, key).
///
/// The faults of a node's hardware are one renewal process (Weibull), already in motion when the run begins, with a class
/// drawn for each. Passing errors and software come on their own (Poisson), as do those of leaves and racks. Each process
/// has its own chance, so a rate that changes leaves the other processes as they were.
#[must_use]
pub fn fault_schedule(model: &FailureModel, shape: &FleetShape, seed: u64, until: Timestamp) -> Vec<ScheduledFault> {
    let mut draft = ScheduleBuilder { model, shape, seed, until, found: Vec::new() };
    let hardware = draft.hardware();
    for node in 0..shape.nodes {
        let multiplier = multiplier(model, seed, node);
        draft.hardware_faults(&hardware, node, multiplier);
        for class in FaultClass::ALL.into_iter().filter(|&class| process(class) == Process::Passing) {
            draft.own_faults(class, node, shape.per_node(model.unit(class)) * multiplier);
        }
        draft.delivery_defect(node);
    }
    for (class, nodes_each) in
        [(FaultClass::LeafSwitchCrash, shape.nodes_per_leaf), (FaultClass::RackPower, shape.nodes_per_rack)]
    {
        for first in (0..shape.nodes).step_by(usize::try_from(nodes_each.max(1)).unwrap_or(1)) {
            draft.own_faults(class, first, 1.0);
        }
    }
    let mut found = draft.found;
    found.sort_unstable_by_key(|onset| (onset.at, onset.node, onset.class, onset.key));
    found
}

/// What a class takes part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Process {
    /// The one process of a node's hardware.
    Hardware,
    /// One of its own per node.
    Passing,
    /// One of its own per leaf or rack.
    Domain,
    /// None: once in the life of a new node.
    Once,
}

const fn process(class: FaultClass) -> Process {
    match class {
        FaultClass::GpuHardFault | FaultClass::GpuHbmUncorrectable | FaultClass::GpuSramGspThermal => Process::Hardware,
        FaultClass::GpuSilentDataCorruption | FaultClass::NicHardFault => Process::Hardware,
        FaultClass::LinkHardFault | FaultClass::HostHardware => Process::Hardware,
        FaultClass::HostUnplannedMaintenance | FaultClass::FailSlowOnset => Process::Hardware,
        FaultClass::NvlinkTransient | FaultClass::LinkFlap | FaultClass::SoftwareAndWatchdog => Process::Passing,
        FaultClass::LeafSwitchCrash | FaultClass::RackPower => Process::Domain,
        FaultClass::DeliveryDefect => Process::Once,
    }
}

/// The process of a node's hardware: how often, and what.
struct Hardware {
    /// Per class, faults of an average node a day.
    rates: [f64; FaultClass::ALL.len()],
    /// Their sum.
    rate: f64,
    /// The shape of the Weibull, and the mean of one with scale 1.
    weibull_shape: f64,
    weibull_mean: f64,
}

impl Hardware {
    fn of(model: &FailureModel, shape: &FleetShape) -> Self {
        let rates = FaultClass::ALL.map(|class| match process(class) {
            Process::Hardware => model.rate_per_day(class) * shape.per_node(model.unit(class)),
            Process::Passing | Process::Domain | Process::Once => 0.0,
        });
        let weibull_shape = model.get(Parameter::TimeBetweenFailuresShape);
        let weibull_mean = libm::tgamma(1.0 + 1.0 / weibull_shape);
        Self { rates, rate: rates.iter().sum(), weibull_shape, weibull_mean }
    }

    /// The scale, in days, of the Weibull between faults that come this often a day.
    fn scale_days(&self, rate: f64) -> f64 {
        1.0 / (rate * self.weibull_mean)
    }

    fn class(&self, chance: &mut RandomStream) -> FaultClass {
        FaultClass::ALL[chance.pick(&self.rates)]
    }
}

/// Collects the faults of a run while they are drawn.
struct ScheduleBuilder<'a> {
    model: &'a FailureModel,
    shape: &'a FleetShape,
    seed: u64,
    until: Timestamp,
    found: Vec<ScheduledFault>,
}

// === impl FleetShape ===

impl FleetShape {
    /// How many of a unit a node has.
    fn per_node(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Gpu => f64::from(self.gpus_per_node),
            Unit::Nic | Unit::Link => f64::from(self.nics_per_node),
            Unit::Node | Unit::NodeOnce => 1.0,
            Unit::Leaf | Unit::Rack => 0.0,
        }
    }

    /// A node of the same rack that is not this one; this one where it is alone there, so that no fault gets lost.
    fn neighbour(&self, node: u32, chance: &mut RandomStream) -> u32 {
        let each = self.nodes_per_rack.max(1);
        let first = node - node % each;
        let others = each.min(self.nodes - first) - 1;
        let pick = first + chance.below(others);
        if others > 0 && pick >= node { pick + 1 } else { pick }
    }
}

// === impl ScheduleBuilder ===

impl ScheduleBuilder<'_> {
    fn hardware(&self) -> Hardware {
        Hardware::of(self.model, self.shape)
    }

    /// The renewal process of one node. Its first gap is what is left of one that was under way: a gap that is met by
    /// chance is a long one, with Gamma(1 + 1/k) in place of the exponential below the root, and any part of it is over.
    fn hardware_faults(&mut self, hardware: &Hardware, node: u32, multiplier: f64) {
        // A burst adds its second fault, so the first ones are fewer by as much.
        let burst_share = self.model.get(Parameter::BurstShare);
        let rate = hardware.rate * multiplier / (1.0 + burst_share);
        if rate <= 0.0 {
            return;
        }
        let (scale, k) = (hardware.scale_days(rate), hardware.weibull_shape);
        let mut chance = stream(self.seed, Purpose::NodeFaults, u64::from(node));
        let mut days = chance.unit() * scale * libm::pow(chance.gamma(1.0 + 1.0 / k, 1.0), 1.0 / k);
        for ordinal in 0..ORDINALS_MAX {
            let at = moment(days);
            if at >= self.until {
                return;
            }
            let class = hardware.class(&mut chance);
            let device = self.device(class, &mut chance);
            let first = ScheduledFault { at, class, node, device, key: key(NODE_PROCESS, node, ordinal) };
            self.found.push(first);
            self.burst(hardware, first, ordinal, burst_share);
            days += chance.weibull(scale, k);
        }
    }

    /// What follows a fault in the rack, if anything does.
    fn burst(&mut self, hardware: &Hardware, first: ScheduledFault, ordinal: u32, share: f64) {
        let mut chance = stream(self.seed, Purpose::Burst, first.key);
        if !chance.happens(share) {
            return;
        }
        let node = self.shape.neighbour(first.node, &mut chance);
        let class = hardware.class(&mut chance);
        let device = self.device(class, &mut chance);
        let within = chance.below(u32::try_from(BURST_WITHIN.0).unwrap_or(u32::MAX));
        let at = first.at + Span(u64::from(within));
        if at < self.until {
            self.found.push(ScheduledFault { at, class, node, device, key: key(BURST_PROCESS, first.node, ordinal) });
        }
    }

    /// The Poisson process of one class at one place, which has so many of the unit.
    fn own_faults(&mut self, class: FaultClass, node: u32, units: f64) {
        let rate = self.model.rate_per_day(class) * units;
        if rate <= 0.0 {
            return;
        }
        let number = number(class);
        let mut chance = stream(self.seed, Purpose::OwnFaults, key(number, node, 0));
        let mut days = 0.0;
        for ordinal in 0..ORDINALS_MAX {
            days += chance.exponential(1.0 / rate);
            let at = moment(days);
            if at >= self.until {
                return;
            }
            let device = self.device(class, &mut chance);
            self.found.push(ScheduledFault { at, class, node, device, key: key(number, node, ordinal) });
        }
    }

    fn delivery_defect(&mut self, node: u32) {
        let class = FaultClass::DeliveryDefect;
        let mut chance = stream(self.seed, Purpose::Delivery, u64::from(node));
        let is_new = chance.happens(self.model.get(Parameter::NewNodesShare));
        let is_defective = chance.happens(self.model.rate_per_day(class));
        let at = moment(chance.unit() * self.model.get(Parameter::DeliveryDefectDays));
        if is_new && is_defective && at < self.until {
            // Whichever part of it: the GPUs are most of a node.
            let device = chance.below(self.shape.gpus_per_node);
            self.found.push(ScheduledFault { at, class, node, device, key: key(number(class), node, 0) });
        }
    }

    fn device(&self, class: FaultClass, chance: &mut RandomStream) -> u32 {
        match self.model.unit(class) {
            Unit::Gpu => chance.below(self.shape.gpus_per_node),
            Unit::Nic | Unit::Link => chance.below(self.shape.nics_per_node),
            Unit::Node | Unit::NodeOnce | Unit::Leaf | Unit::Rack => 0,
        }
    }
}

fn moment(days: f64) -> Timestamp {
    Timestamp(0) + span_seconds(days * 86_400.0)
}

const fn number(class: FaultClass) -> u64 {
    class as u64
}

/// The process, the place and the place in the process: no two faults of a run share it.
fn key(process: u64, node: u32, ordinal: u32) -> u64 {
    (process << 56) | (u64::from(node) << 24) | u64::from(ordinal)
}
