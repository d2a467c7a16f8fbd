//! What a storm plants: every class of fault, mad sensors, restarts, stalls, people, other tools. Each trouble has draws
//! of its own, so that leaving one out leaves the others as they were.

use mainstay_model::{Mode, Planned, RequestKind, Span, Timestamp};

use super::{NODES, STORM};
use crate::chance::{Purpose, Stream, span_seconds, stream};
use crate::class::Reach;
use crate::fleet::{self, GPUS};
use crate::trouble::{Planted, Trouble};
use crate::{FaultClass, Onset};

/// How many troubles there are of each kind.
const FAULTS_OF_EACH_CLASS: u64 = 3;
const MORE_FAULTS: u64 = 40;
const OTHERS: u64 = 90;

/// Nothing that a person or a tool does lasts longer.
const LASTS_MAX: f64 = 2.0 * 3_600.0;

/// The script of a seed, in order of time.
pub(super) fn script(seed: u64) -> Vec<Planted> {
    let classes = (0..FAULTS_OF_EACH_CLASS).flat_map(|_| FaultClass::ALL).map(Some);
    let more = (0..MORE_FAULTS).map(|_| None);
    let faults = (0..).zip(classes.chain(more)).map(|(number, class)| fault(seed, number, class));
    let others = (0..OTHERS).map(|number| other(seed, 1_000 + number));
    let mut script: Vec<Planted> = faults.chain(others).collect();
    script.sort_by_key(|planted| planted.at);
    script
}

fn when(chance: &mut Stream) -> Timestamp {
    Timestamp(0)
        + Span::minutes(1)
        + Span(span_seconds(chance.unit() * 1_000.0).0 * (STORM.0 / 1_000) / 1_000 * 95 / 100)
}

fn lasts(chance: &mut Stream) -> Span {
    span_seconds(30.0 + chance.unit() * chance.unit() * LASTS_MAX)
}

/// Half of all trouble is in one quarter of the hall, so that budgets are spent.
fn somewhere(chance: &mut Stream) -> u32 {
    let crowded = chance.happens(0.5);
    chance.below(if crowded { NODES / 4 } else { NODES })
}

fn fault(seed: u64, number: u64, class: Option<FaultClass>) -> Planted {
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
        Reach::Rack => node / shape.nodes_per_rack * shape.nodes_per_rack,
        Reach::Leaf => node / shape.nodes_per_leaf * shape.nodes_per_leaf,
        Reach::Node => node,
    };
    let device = chance.below(GPUS);
    Planted { at, trouble: Trouble::Fault(Onset { at, class, node, device, key: seed << 20 ^ number }) }
}

fn other(seed: u64, number: u64) -> Planted {
    let mut chance = stream(seed, Purpose::Storm, number);
    let at = when(&mut chance);
    let node = somewhere(&mut chance);
    let lasts = lasts(&mut chance);
    let trouble = match chance.below(24) {
        0..=2 => mad_sensor(&mut chance, node, seed << 20 ^ number),
        3..=5 => Trouble::Restart { takeover: span_seconds(1.0 + chance.unit() * 120.0) },
        6 => Trouble::Stall { lasts: Span(lasts.0 / 8) },
        7 => Trouble::Mode { mode: Mode::Observe, lasts },
        8 => Trouble::Mode { mode: Mode::Propose, lasts },
        9 => Trouble::Approves,
        10 => Trouble::Asks { node, kind: RequestKind::Hold, lasts },
        11 => Trouble::Asks { node, kind: RequestKind::Quarantine, lasts },
        12 => Trouble::Asks { node, kind: RequestKind::Drain, lasts },
        13 => Trouble::Asks { node, kind: RequestKind::Return, lasts },
        14 | 15 => Trouble::Cordoned { node, lasts },
        16 => Trouble::Planned { node, planned: Planned::Maintenance, lasts },
        17 => Trouble::Planned { node, planned: Planned::Upgrade, lasts },
        18 => Trouble::Swapped { node, gpu: chance.below(GPUS) },
        19 => Trouble::Silent { node, lasts },
        20 | 21 => Trouble::Unready { node, lasts },
        22 => Trouble::Recreated { node },
        _ => Trouble::Flaky { lost_ppm: 300_000, refused_ppm: 100_000, lasts: Span(lasts.0 / 4) },
    };
    Planted { at, trouble }
}

/// Some nodes all over the hall cry wolf, in the words of a class that condemns.
fn mad_sensor(chance: &mut Stream, first: u32, key: u64) -> Trouble {
    const WOLVES: [FaultClass; 4] = [
        FaultClass::GpuHardFault,
        FaultClass::GpuHbmUncorrectable,
        FaultClass::GpuSramGspThermal,
        FaultClass::NvlinkTransient,
    ];
    let class = WOLVES[chance.below(4) as usize];
    Trouble::FalseAlarms { first, nodes: 1 + chance.below(24), class, key }
}
