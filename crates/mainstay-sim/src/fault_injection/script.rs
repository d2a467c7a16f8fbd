//! Draws the injected faults of a seed: fault classes, false alarms, restarts, stalls, operators, other tools. Each
//! trouble has draws of its own, so that leaving one out leaves the others as they were.

use mainstay_model::{Mode, PlannedWork, RequestKind, Span, Timestamp};

use super::{HALL, NODES, STORM};
use crate::class::FaultScope;
use crate::fleet::{self, GPUS};
use crate::injected_fault::{Incident, InjectedFault, InjectionEvent};
use crate::rng::{Purpose, RandomStream, span_seconds, stream};
use crate::{FaultClass, ScheduledFault};

/// How many troubles there are of each kind.
const FAULTS_OF_EACH_CLASS: u64 = 3;
const MORE_FAULTS: u64 = 40;
const OTHERS: u64 = 90;
const INCIDENTS: u64 = 66;

/// Nothing that a person or a tool does lasts longer.
const LASTS_MAX: f64 = 2.0 * 3_600.0;

/// The script of a seed, in order of time.
pub(super) fn script(seed: u64) -> Vec<InjectionEvent> {
    let classes = (0..FAULTS_OF_EACH_CLASS).flat_map(|_| FaultClass::ALL).map(Some);
    let more = (0..MORE_FAULTS).map(|_| None);
    let faults = (0..).zip(classes.chain(more)).map(|(number, class)| fault(seed, number, class));
    let others = (0..OTHERS).map(|number| other(seed, 1_000 + number));
    let incidents = (0..INCIDENTS).map(|number| incident(seed, 2_000 + number));
    let mut script: Vec<InjectionEvent> = faults.chain(others).chain(incidents).collect();
    script.sort_by_key(|planted| planted.at);
    script
}

fn when(chance: &mut RandomStream) -> Timestamp {
    Timestamp(0)
        + Span::minutes(1)
        + Span(span_seconds(chance.unit() * 1_000.0).0 * (STORM.0 / 1_000) / 1_000 * 95 / 100)
}

fn lasts(chance: &mut RandomStream) -> Span {
    span_seconds(30.0 + chance.unit() * chance.unit() * LASTS_MAX)
}

/// Half of all trouble is in one quarter of the hall, so that budgets are spent.
fn somewhere(chance: &mut RandomStream) -> u32 {
    let crowded = chance.happens(0.5);
    chance.below(if crowded { NODES / 4 } else { NODES })
}

fn fault(seed: u64, number: u64, class: Option<FaultClass>) -> InjectionEvent {
    let mut chance = stream(seed, Purpose::Storm, number);
    let class = class.unwrap_or_else(|| {
        const USUAL: [FaultClass; 4] = [
            FaultClass::GpuHardFault,
            FaultClass::GpuHbmUncorrectable,
            FaultClass::GpuSramGspThermal,
            FaultClass::HostHardware,
        ];
        USUAL[chance.below(4) as usize]
    });
    let at = when(&mut chance);
    let shape = fleet::shape(NODES);
    let node = somewhere(&mut chance);
    let node = match class.reach() {
        FaultScope::Rack => HALL.rack(node).start,
        FaultScope::Leaf => node / shape.nodes_per_leaf * shape.nodes_per_leaf,
        FaultScope::Node => node,
    };
    let device = chance.below(GPUS);
    InjectionEvent {
        at,
        trouble: InjectedFault::Fault(ScheduledFault { at, class, node, device, key: seed << 20 ^ number }),
    }
}

fn other(seed: u64, number: u64) -> InjectionEvent {
    let mut chance = stream(seed, Purpose::Storm, number);
    let at = when(&mut chance);
    let node = somewhere(&mut chance);
    let lasts = lasts(&mut chance);
    let trouble = match chance.below(24) {
        0..=2 => mad_sensor(&mut chance, node, seed << 20 ^ number),
        3..=5 => InjectedFault::Restart { takeover: span_seconds(1.0 + chance.unit() * 120.0) },
        6 => InjectedFault::Stall { lasts: Span(lasts.0 / 8) },
        7 => InjectedFault::Mode { mode: Mode::Observe, lasts },
        8 => InjectedFault::Mode { mode: Mode::Propose, lasts },
        9 => InjectedFault::Approves,
        10 => InjectedFault::Asks { node, kind: RequestKind::Hold, lasts },
        11 => InjectedFault::Asks { node, kind: RequestKind::Quarantine, lasts },
        12 => InjectedFault::Asks { node, kind: RequestKind::Drain, lasts },
        13 => InjectedFault::Asks { node, kind: RequestKind::Return, lasts },
        14 | 15 => InjectedFault::Cordoned { node, lasts },
        16 => InjectedFault::Planned { node, planned: PlannedWork::Maintenance, lasts },
        17 => InjectedFault::Planned { node, planned: PlannedWork::Upgrade, lasts },
        18 => InjectedFault::Swapped { node, gpu: chance.below(GPUS) },
        19 => InjectedFault::Silent { node, lasts },
        20 | 21 => InjectedFault::Unready { node, lasts },
        22 => InjectedFault::Recreated { node },
        _ => InjectedFault::Flaky { lost_ppm: 300_000, refused_ppm: 100_000, lasts: Span(lasts.0 / 4) },
    };
    InjectionEvent { at, trouble }
}

/// Each kind of incident is as frequent as the others.
fn incident(seed: u64, number: u64) -> InjectionEvent {
    let mut chance = stream(seed, Purpose::Storm, number);
    let at = when(&mut chance);
    let node = somewhere(&mut chance);
    let lasts = lasts(&mut chance);
    let key = seed << 20 ^ number;
    let fault = |class| ScheduledFault { at, class, node, device: (number % 4) as u32, key };
    let incident = match number % 11 {
        0 => Incident::AgentRollout { first: node, nodes: 32, down: Span(lasts.0 / 4) },
        1 => Incident::Partition { node, lasts },
        2 => Incident::FaultDuringTests { fault: fault(FaultClass::GpuHardFault) },
        3 => Incident::CrashedJob { node, key },
        4 => Incident::CordonUndone { node },
        5 => Incident::TwoNodesOfOneGang { fault: fault(FaultClass::GpuHbmUncorrectable) },
        6 => Incident::HungJob { number: chance.below(NODES), lasts },
        7 => Incident::TwoGpusOfOneNode { fault: fault(FaultClass::GpuHbmUncorrectable) },
        8 => Incident::SparesTaken { lasts },
        9 => Incident::FloorRaised { lasts },
        _ => Incident::PartOnBackOrder { fault: fault(FaultClass::GpuHardFault) },
    };
    InjectionEvent { at, trouble: InjectedFault::Incident(incident) }
}

/// Some nodes all over the hall cry wolf, in the words of a class that condemns.
fn mad_sensor(chance: &mut RandomStream, first: u32, key: u64) -> InjectedFault {
    const WOLVES: [FaultClass; 4] = [
        FaultClass::GpuHardFault,
        FaultClass::GpuHbmUncorrectable,
        FaultClass::GpuSramGspThermal,
        FaultClass::NvlinkTransient,
    ];
    let class = WOLVES[chance.below(4) as usize];
    InjectedFault::FalseAlarms { first, nodes: 1 + chance.below(24), class, key }
}
