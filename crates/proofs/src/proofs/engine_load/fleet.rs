//! The generated fleet: its nodes, their next reports, and how the cluster follows decisions. It knows no rule.

use std::collections::BTreeMap;

use mainstay_engine::Engine;
use mainstay_model::{
    BootId, Bounded, Budget, CellFacts, Code, Decision, Detail, DomainName, Epoch, Evidence, EvidenceKey, Execution,
    Fact, Gpu, GpuUuid, Inventory, Level, Mode, NodeFacts, NodeLimit, NodeName, NodeUid, Observation, PciAddress,
    Persisted, PlannedWork, Policy, PoolName, Ppm, Product, Ready, Report, Schedulable, Sequence, Serial, Source,
    Stage, Step, TextError, Timestamp, Version,
};

pub(super) const NODES: u32 = 100_000;
const GPUS: u16 = 8;
/// One transition in this number is an unknown code, on a node that has not reported one yet: it is watched.
const UNKNOWN_EVERY: u64 = 80;
/// One in this number is a GPU off the bus, within the budgets.
const OFF_THE_BUS_EVERY: u64 = 1_000;

pub(super) struct Fleet {
    /// What each node said so often, by code.
    said: Vec<ReportCounts>,
    /// Stored status of nodes that may get orders.
    treated: BTreeMap<NodeName, Box<Persisted>>,
    /// What the world answers to the last decision.
    pub(super) answers: Vec<Observation>,
}

/// Counters that a node's next report carries.
#[derive(Clone, Copy, Default)]
struct ReportCounts {
    sequence: u64,
    noise: u64,
    unknown: u64,
    off_the_bus: u64,
}

/// A text within its maximum length; a longer one is an error of the proof, and the fleet is then empty.
fn text<T>(parse: impl Fn(&str) -> Result<T, TextError>, text: &str) -> T {
    match parse(text) {
        Ok(parsed) => parsed,
        Err(refused) => unreachable!("{refused}"),
    }
}

impl Fleet {
    pub(super) fn new() -> Self {
        Self { said: vec![ReportCounts::default(); NODES as usize], treated: BTreeMap::new(), answers: Vec::new() }
    }

    pub(super) fn name(&self, node: u32) -> NodeName {
        text(NodeName::parse, &format!("n{node:06}"))
    }

    /// The state before the first transition, as a first list would return it.
    pub(super) fn introduce(&mut self, engine: &mut Engine) {
        let at = Timestamp(0);
        let mut tell = |fact| engine.observe(&Observation { at, fact });
        tell(Fact::Cell(CellFacts { epoch: Epoch(1), mode: Mode::Act, ..CellFacts::default() }));
        tell(Fact::Policy(Box::new(policy())));
        for node in 0..NODES {
            tell(Fact::Node { node: self.name(node), facts: Box::new(facts(node)) });
        }
        for node in 0..NODES {
            let observation = self.report(node, at);
            engine.observe(&observation);
        }
        engine.observe(&self.synced(at));
        let decision = engine.decide(at);
        self.follow(&decision, at);
        for observation in std::mem::take(&mut self.answers) {
            engine.observe(&observation);
        }
        engine.decide(at);
    }

    pub(super) fn synced(&self, now: Timestamp) -> Observation {
        Observation { at: now, fact: Fact::Synced { as_of: now } }
    }

    /// The next transition: mostly noise, from all over the fleet.
    pub(super) fn transition(&mut self, number: u64, now: Timestamp) -> Observation {
        let node = u32::try_from(mix(number) % u64::from(NODES)).unwrap_or(0);
        let said = &mut self.said[node as usize];
        if number.is_multiple_of(OFF_THE_BUS_EVERY) {
            said.off_the_bus += 1;
        } else if number.is_multiple_of(UNKNOWN_EVERY) {
            said.unknown += 1;
        } else {
            said.noise += 1;
        }
        self.report(node, now)
    }

    /// One more of the same from one node.
    pub(super) fn noise(&mut self, node: u32, now: Timestamp) -> Observation {
        self.said[node as usize].noise += 1;
        self.report(node, now)
    }

    fn report(&mut self, node: u32, at: Timestamp) -> Observation {
        let said = &mut self.said[node as usize];
        said.sequence += 1;
        let said = *said;
        let counted = [("45", said.noise), ("999", said.unknown), ("79", said.off_the_bus)];
        let evidence: Vec<Evidence> = counted
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(code, count)| evidence(node, code, *count, at))
            .collect();
        let report = Report {
            uid: text(NodeUid::parse, &format!("uid-{node}")),
            boot_id: text(BootId::parse, "boot-1"),
            sequence: Sequence(said.sequence),
            inventory: inventory(node),
            evidence: Bounded::try_from(evidence).unwrap_or_default(),
            outcomes: Bounded::new(),
            results: Bounded::new(),
            unrecognised: Bounded::new(),
        };
        Observation { at, fact: Fact::Report { node: self.name(node), report: Box::new(report) } }
    }

    /// Does what was ordered, and answers how many changes of stage were written down.
    pub(super) fn follow(&mut self, decision: &Decision, now: Timestamp) -> u64 {
        let mut stages_changed = 0;
        for effect in decision.effects.iter().filter(|effect| effect.execution == Execution::Ordered) {
            let node = effect.node.clone();
            let fact = match &effect.step {
                Step::Store(persisted) => {
                    stages_changed += u64::from(persisted.stage != effect.expected.recorded);
                    if matches!(persisted.stage, Stage::Repairing | Stage::Qualifying) {
                        self.treated.insert(node.clone(), persisted.clone());
                    } else {
                        self.treated.remove(&node);
                    }
                    Fact::Recorded { node, persisted: persisted.clone() }
                }
                Step::Cordon | Step::Uncordon | Step::Avoid | Step::EndAvoid => {
                    let Some(number) = node.as_str().strip_prefix('n').and_then(|number| number.parse().ok()) else {
                        continue;
                    };
                    let cordoned = matches!(effect.step, Step::Cordon);
                    let schedulable = if cordoned { Schedulable::NotByUs } else { Schedulable::Yes };
                    let avoided = matches!(effect.step, Step::Avoid);
                    Fact::Node { node, facts: Box::new(NodeFacts { schedulable, avoided, ..facts(number) }) }
                }
                // Nothing runs in this fleet.
                Step::Order(new) => {
                    let Some(persisted) = self.treated.get_mut(&node) else { continue };
                    persisted.add_order(new);
                    Fact::Recorded { node, persisted: persisted.clone() }
                }
                Step::AskCheckpoint { .. } | Step::Stop { .. } | Step::PowerOff | Step::ReleasePods => continue,
            };
            self.answers.push(Observation { at: now, fact });
        }
        stages_changed
    }

    /// How many transitions are in the records of all nodes.
    pub(super) fn counted(&self, engine: &Engine) -> u64 {
        (0..NODES).filter_map(|node| engine.persisted(&self.name(node))).map(counted_of).sum()
    }
}

pub(super) fn counted_of(persisted: &Persisted) -> u64 {
    persisted.arrivals.as_slice().iter().map(|arrivals| arrivals.counted).sum()
}

/// Looks random and depends on nothing but the number (the finaliser of SplitMix64).
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A pool of a hundred thousand nodes in racks of four: one of a rack may be out, and two in a hundred in all.
fn policy() -> Policy {
    let budgets = vec![
        Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(1) },
        Budget { level: None, most: NodeLimit::Share(Ppm(20_000)) },
    ];
    Policy {
        mode: Mode::Act,
        budgets: Bounded::try_from(budgets).unwrap_or_default(),
        ..Policy::new(text(PoolName::parse, "h100"))
    }
}

fn facts(node: u32) -> NodeFacts {
    let domain = |letter: char, size: u32| text(DomainName::parse, &format!("{letter}{}", node / size));
    NodeFacts {
        uid: text(NodeUid::parse, &format!("uid-{node}")),
        domains: BTreeMap::from([
            (Level::Rack, domain('r', 4)),
            (Level::Pdu, domain('p', 8)),
            (Level::Leaf, domain('l', 32)),
            (Level::Spine, domain('s', 512)),
        ]),
        pool: text(PoolName::parse, "h100"),
        gpus: GPUS,
        ready: Ready::Yes,
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: mainstay_model::Power::Unknown,
    }
}

fn serial(node: u32, gpu: u16) -> Serial {
    text(Serial::parse, &format!("16528{node:06}{gpu:02}"))
}

fn inventory(node: u32) -> Inventory {
    let gpus = (0..GPUS).map(|index| Gpu {
        index,
        serial: serial(node, index),
        uuid: text(GpuUuid::parse, &format!("GPU-3f1c0a52-6a1e-0a43-8a3b-{node:08x}{index:04x}")),
        pci: text(PciAddress::parse, &format!("0000:{:02x}:00.0", 0x10 + index)),
    });
    Inventory {
        board: text(Serial::parse, &format!("15717{node:06}")),
        product: text(Product::parse, "NVIDIA H100 80GB HBM3"),
        driver: text(Version::parse, "580.95.05"),
        gpus: Bounded::try_from(gpus.collect::<Vec<_>>()).unwrap_or_default(),
        gpus_unavailable: None,
        nics: Bounded::new(),
    }
}

fn evidence(node: u32, code: &str, count: u64, at: Timestamp) -> Evidence {
    Evidence {
        key: EvidenceKey {
            source: Source::Xid,
            code: text(Code::parse, code),
            device: Some(serial(node, 3)),
            detail: text(Detail::parse, ""),
        },
        count,
        first_seen_at: at,
        last_seen_at: at,
    }
}
