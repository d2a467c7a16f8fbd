//! One node as its agent would have seen it: evidence counted within a boot, and reports that are paced as an agent's are.

use std::collections::BTreeMap;

use mainstay_model::{
    BootId, Bounded, Gpu, GpuUuid, Inventory, Nic, NodeUid, Part, PciAddress, Product, Report, Sequence, Serial,
    Source, Span, Timestamp, Version,
};
use mainstay_signal::{Link, Meter, Place, Reading, Signal, Tally};

use crate::input::Input;

/// Repeats are reported after 1, 2, 4 … seconds, and never more slowly than this.
const PAUSE_SECONDS_MAX: u32 = 60;
/// Slots of a node: the bounds of an inventory.
const SLOTS_MAX: usize = 16;

/// One node.
#[derive(Debug, Default)]
pub(super) struct Machine {
    gpus: Vec<PciAddress>,
    nics: Vec<PciAddress>,
    tally: Tally,
    boot: u32,
    sequence: u64,
    reported_at: Option<Timestamp>,
    pause_seconds: u32,
    due_at: Option<Timestamp>,
    /// Ports that a line called down and none called up since: a state that lasts says more than the line.
    down: BTreeMap<PciAddress, Timestamp>,
    meter: Meter,
}

/// State of a port after one poll, and whether it produced evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollResult {
    Up,
    Down,
    /// It is down, and that is worth a word.
    Said,
}

/// All nodes, each with every slot that a source ever named.
pub(super) fn all(gathered: &Input) -> Vec<Machine> {
    let mut machines: Vec<Machine> = gathered.nodes.iter().map(|_| Machine::default()).collect();
    for ((node, place), slot) in &gathered.slots {
        let Some(machine) = machines.get_mut(*node as usize) else { continue };
        let slots = match slot.part {
            Part::Gpu => &mut machine.gpus,
            Part::Nic => &mut machine.nics,
            Part::Board => continue,
        };
        if slots.len() < SLOTS_MAX {
            slots.push(place.clone());
        }
    }
    machines
}

impl Machine {
    pub(super) fn gpus(&self) -> u16 {
        u16::try_from(self.gpus.len()).unwrap_or(u16::MAX)
    }

    /// Everything is counted anew. Answers the report that was due and will not come.
    pub(super) fn boots(&mut self) -> Option<Timestamp> {
        self.tally = Tally::new();
        self.boot += 1;
        self.sequence = 0;
        self.down.clear();
        self.meter = Meter::new();
        self.due_at.take()
    }

    pub(super) fn hears(&mut self, gathered: &Input, node: u32, signal: &Signal, times: u32, at: Timestamp) {
        if let Some(inventory) = self.inventory(gathered, node, at) {
            self.tally.note_many(signal, u64::from(times), &inventory, at);
        }
    }

    /// A line says of a port whether it is up. Answers whether it has just gone down: an agent would look at it from now on.
    pub(super) fn port(&mut self, signal: &Signal, at: Timestamp) -> Option<PciAddress> {
        let Place::Pci(place) = &signal.place else { return None };
        match signal.code.as_str() {
            "link-down" if signal.source == Source::Nic => {
                let is_new = !self.down.contains_key(place);
                self.down.entry(place.clone()).or_insert(at);
                is_new.then(|| place.clone())
            }
            "link-up" if signal.source == Source::Nic => {
                self.down.remove(place);
                let _ = self.meter.read(&signal.place, &Reading::Port(1, Link::Up), at);
                None
            }
            _ => None,
        }
    }

    /// Looks at a port that went down; false where it has come up since.
    pub(super) fn polls(&mut self, gathered: &Input, node: u32, place: &PciAddress, at: Timestamp) -> PollResult {
        if !self.down.contains_key(place) {
            return PollResult::Up;
        }
        let said = self.meter.read(&Place::Pci(place.clone()), &Reading::Port(1, Link::Down), at);
        let Some((signal, times)) = said else { return PollResult::Down };
        self.hears(gathered, node, &signal, u32::try_from(times).unwrap_or(1), at);
        PollResult::Said
    }

    /// When what was heard is reported; none where a report is due already.
    pub(super) fn will_report(&mut self, at: Timestamp) -> Option<Timestamp> {
        if self.due_at.is_some() {
            return None;
        }
        let last = self.reported_at.unwrap_or(at);
        let quiet = at.since(last) > Span::seconds(PAUSE_SECONDS_MAX * 2);
        let pause = if quiet { 1 } else { self.pause_seconds.max(1) };
        self.pause_seconds = (pause * 2).min(PAUSE_SECONDS_MAX);
        let due = (last + Span::seconds(pause)).max(at);
        self.due_at = Some(due);
        self.due_at
    }

    pub(super) fn reports(&mut self, gathered: &Input, node: u32, at: Timestamp) -> Option<Report> {
        self.due_at = None;
        self.reported_at = Some(at);
        self.sequence += 1;
        Some(Report {
            uid: NodeUid::parse(&format!("node-{node}")).ok()?,
            boot_id: BootId::parse(&format!("boot-{node}-{}", self.boot)).ok()?,
            sequence: Sequence(self.sequence),
            inventory: self.inventory(gathered, node, at)?,
            evidence: self.tally.evidence(),
            outcomes: Bounded::new(),
            results: Bounded::new(),
            unrecognised: Bounded::new(),
        })
    }

    /// What sits in its slots at a moment. A part that nobody named is called after its slot.
    fn inventory(&self, gathered: &Input, node: u32, at: Timestamp) -> Option<Inventory> {
        let serial = |place: &PciAddress| {
            gathered.serial_at(node, place, at).cloned().or_else(|| Serial::parse(place.as_str()).ok())
        };
        let gpus = (0..).zip(&self.gpus).filter_map(|(index, place)| {
            let uuid = GpuUuid::parse(&format!("slot-{index}")).ok()?;
            Some(Gpu { index, serial: serial(place)?, uuid, pci: place.clone() })
        });
        let nics = (0..)
            .zip(&self.nics)
            .filter_map(|(rail, place)| Some(Nic { rail, serial: serial(place)?, pci: place.clone() }));
        Some(Inventory {
            board: Serial::parse("board").ok()?,
            product: gathered.products.get(&node).cloned().or_else(|| Product::parse("").ok())?,
            driver: gathered.drivers.get(&node).cloned().or_else(|| Version::parse("unknown").ok())?,
            gpus: Bounded::try_from(gpus.collect::<Vec<_>>()).unwrap_or_default(),
            gpus_unavailable: None,
            nics: Bounded::try_from(nics.collect::<Vec<_>>()).unwrap_or_default(),
        })
    }
}
