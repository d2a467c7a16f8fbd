//! Signals of one boot, counted into the bounded list that a node reports. It knows which part a place is, and not
//! what a fault means; a new boot begins with a new tally.

use std::collections::BTreeMap;

use mainstay_model::{Bounded, Evidence, EvidenceKey, Inventory, PciAddress, Serial, Source, Span, Timestamp};

use crate::place::pci;
use crate::signal::bounded_detail;
use crate::{Place, Signal};

/// How much evidence a report takes. The fullest report and GpuNode have 60,275 of 65,535 bytes (`node-bytes-fullest`). Sixteen
/// more pieces of up to 340 bytes would not fit, and the controller remembers 16 kinds.
const EVIDENCE_MAX: usize = 48;

/// Pieces with a detail of their own; the rest of the room is for faults and parts that were not seen before. Without
/// it, one application that faults on every GPC and TPC of eight GPUs would leave no room for a GPU off the bus.
const DETAILED_MAX: usize = 32;

/// How long a fault of a part must have been quiet before it may make room for another. A state that lasts is told every
/// hour, so what is quiet is also over; and no rule looks back further than a day, so that twice as long leaves room for
/// a controller that heard of it late.
const QUIET: Span = Span::hours(48);

/// Stands for every further detail of a fault of a part.
const MORE: &str = "more";

/// The code under which the signals are counted that found no room at all, and the faults that made room.
const OVERFLOW: &str = "overflow";

/// The evidence of one boot so far. Counts only rise. A fault of a part goes away, with all its details, only where the
/// list is full, it has been quiet for two days, and none has been for longer; the overflow counts that it went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    counted: BTreeMap<EvidenceKey, Count>,
    overflow: Option<Count>,
}

/// What a note changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Noted {
    /// There is a new piece of evidence.
    New,
    /// A piece that was there counts more.
    Repeat,
    /// There was no room: the overflow counts more.
    Overflow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    count: u64,
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
}

// === impl Tally ===

impl Tally {
    /// Nothing seen.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes up the evidence of the same boot as it was written down.
    #[must_use]
    pub fn of_evidence(evidence: &Bounded<Evidence, EVIDENCE_MAX>) -> Self {
        let mut tally = Self::new();
        let overflow = overflow_key();
        for Evidence { key, count, first_seen_at, last_seen_at } in evidence.as_slice() {
            let count = Count { count: *count, first_seen_at: *first_seen_at, last_seen_at: *last_seen_at };
            if overflow.as_ref() == Some(key) {
                tally.overflow = Some(count);
            } else if tally.counted.len() < EVIDENCE_MAX - 1 {
                tally.counted.insert(key.clone(), count);
            }
        }
        tally
    }

    /// Counts a signal. The place becomes a serial through the inventory; one that the inventory does not have is
    /// evidence about the node, and the detail begins with it.
    ///
    /// A GPU that fell off the bus is soon missing from the driver's list, and its later signals are still its own:
    /// hand in every part of this boot.
    pub fn note(&mut self, signal: &Signal, inventory: &Inventory, at: Timestamp) -> Noted {
        self.note_many(signal, 1, inventory, at)
    }

    /// Counts a signal that says how often it happened since it was last noted.
    pub fn note_many(&mut self, signal: &Signal, times: u64, inventory: &Inventory, at: Timestamp) -> Noted {
        let key = self.room_for(key_of(signal, inventory));
        if let Some(count) = self.counted.get_mut(&key) {
            count.again(times, at);
            Noted::Repeat
        } else if self.counted.len() < EVIDENCE_MAX - 1 || self.make_room(at) {
            self.counted.entry(key).or_insert(Count::none(at)).again(times, at);
            Noted::New
        } else {
            self.overflow.get_or_insert(Count::none(at)).again(times, at);
            Noted::Overflow
        }
    }

    /// The evidence so far, in the order of its keys.
    #[must_use]
    pub fn evidence(&self) -> Bounded<Evidence, EVIDENCE_MAX> {
        let counted = self.counted.iter().map(|(key, count)| count.of(key.clone()));
        let overflow = self.overflow.and_then(|count| Some(count.of(overflow_key()?)));
        let mut list: Vec<Evidence> = counted.chain(overflow).collect();
        list.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut evidence = Bounded::new();
        for piece in list {
            // One place is kept for the overflow, so this is never refused; the tests count.
            let _ = evidence.try_push(piece);
        }
        evidence
    }

    /// Lets go of the fault of a part that has been quiet the longest; answers whether there was one. All of its details go
    /// at once: the controller counts them together, and a part of a sum would be a count that fell.
    fn make_room(&mut self, at: Timestamp) -> bool {
        let mut kinds: BTreeMap<_, Timestamp> = BTreeMap::new();
        for (key, count) in &self.counted {
            let seen_at = kinds.entry((key.source, &key.code, &key.device)).or_insert(count.last_seen_at);
            *seen_at = count.last_seen_at.max(*seen_at);
        }
        let quiet = kinds.into_iter().filter(|(_, seen_at)| at.since(*seen_at) >= QUIET);
        let Some((source, code, device)) = quiet.min_by_key(|(_, seen_at)| *seen_at).map(|(kind, _)| kind) else {
            return false;
        };
        let (code, device) = (code.clone(), device.clone());
        self.counted.retain(|key, _| (key.source, &key.code, &key.device) != (source, &code, &device));
        // One, and not its count: that was told, and was counted by who heard it.
        self.overflow.get_or_insert(Count::none(at)).again(1, at);
        true
    }

    /// The key itself while there is plenty of room; later the one that stands for further details of the same fault
    /// of the same part.
    fn room_for(&self, key: EvidenceKey) -> EvidenceKey {
        if self.counted.len() < DETAILED_MAX || self.counted.contains_key(&key) {
            return key;
        }
        let known = self
            .counted
            .keys()
            .any(|other| (other.source, &other.code, &other.device) == (key.source, &key.code, &key.device));
        match bounded_detail(MORE) {
            Some(detail) if known => EvidenceKey { detail, ..key },
            Some(_) | None => key,
        }
    }
}

// === impl Count ===

impl Count {
    const fn none(at: Timestamp) -> Self {
        Self { count: 0, first_seen_at: at, last_seen_at: at }
    }

    /// A clock that stepped back does not unsee anything.
    fn again(&mut self, times: u64, at: Timestamp) {
        self.count = self.count.saturating_add(times);
        self.last_seen_at = self.last_seen_at.max(at);
    }

    const fn of(self, key: EvidenceKey) -> Evidence {
        let Self { count, first_seen_at, last_seen_at } = self;
        Evidence { key, count, first_seen_at, last_seen_at }
    }
}

fn key_of(signal: &Signal, inventory: &Inventory) -> EvidenceKey {
    let device = match &signal.place {
        Place::Pci(address) => serial_at(address, inventory),
        Place::Interface(_) | Place::NvSwitch(_) | Place::Node => None,
    };
    let detail = match (&signal.place, &device) {
        (Place::Node, _) | (_, Some(_)) => None,
        // The place first: where something is cut, it must not be what tells two places apart.
        (place, None) => bounded_detail(&format!("{place} {}", signal.detail)),
    };
    EvidenceKey {
        source: signal.source,
        code: signal.code.clone(),
        device,
        detail: detail.unwrap_or_else(|| signal.detail.clone()),
    }
}

/// The part at an address. Inventories come from NVML and from the kernel, which spell addresses differently.
fn serial_at(address: &PciAddress, inventory: &Inventory) -> Option<Serial> {
    let gpus = inventory.gpus.as_slice().iter().map(|gpu| (&gpu.pci, &gpu.serial));
    let nics = inventory.nics.as_slice().iter().map(|nic| (&nic.pci, &nic.serial));
    let (_, serial) = gpus.chain(nics).find(|(at, _)| pci(at.as_str()).as_ref() == Some(address))?;
    Some(serial.clone())
}

fn overflow_key() -> Option<EvidenceKey> {
    let Signal { source, code, detail, .. } = Signal::new(Source::Kernel, OVERFLOW, Place::Node, "")?;
    Some(EvidenceKey { source, code, device: None, detail })
}

#[cfg(test)]
mod tests;
