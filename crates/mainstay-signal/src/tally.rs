//! Counts the signals of one boot into the bounded list that a node reports. It maps a place to a part and does not
//! interpret faults; a new boot begins with a new tally.

use std::collections::BTreeMap;

use mainstay_model::{Bounded, Evidence, EvidenceKey, Inventory, PciAddress, Serial, Source, Span, Timestamp};

use crate::place::pci;
use crate::signal::bounded_detail;
use crate::{Place, Signal};

/// Maximum number of pieces of evidence in a report. The fullest report and GpuNode have 60,275 of 65,535 bytes
/// (`node-bytes-fullest`). Sixteen more pieces of up to 340 bytes would not fit, and the controller stores 16 kinds.
const EVIDENCE_MAX: usize = 48;

/// Maximum number of pieces with their own detail; the rest is reserved for new faults and parts. Without the reserve,
/// one application that faults on every GPC and TPC of eight GPUs would leave no room for a GPU off the bus.
const DETAILED_MAX: usize = 32;

/// Time without an event after which a fault of a part may be dropped for another. A lasting state is reported every
/// hour, so a fault without events is over. No rule looks back more than a day; twice that time allows for a controller
/// that received the report late.
const QUIET: Span = Span::hours(48);

/// The detail that collects all further details of a fault of a part.
const MORE: &str = "more";

/// The code that counts signals without room, and faults that were dropped to make room.
const OVERFLOW: &str = "overflow";

/// The evidence of one boot. Counts only rise. A fault of a part is dropped, with all its details, only if the list is
/// full, it had no event for two days, and no other fault has been without events for longer. The overflow counts it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    counted: BTreeMap<EvidenceKey, Count>,
    overflow: Option<Count>,
}

/// The effect of a signal on the tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TallyOutcome {
    /// A new piece of evidence was added.
    New,
    /// The count of an existing piece rose.
    Repeat,
    /// There was no room: the overflow count rose.
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
    /// Creates an empty tally.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Restores a tally from stored evidence of the same boot.
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

    /// Counts a signal. The inventory maps the place to a serial. A place that is not in the inventory is evidence
    /// about the node, and the detail begins with the place.
    ///
    /// A GPU that fell off the bus soon disappears from the driver's list, but later signals still belong to it. The
    /// inventory must therefore contain every part of this boot.
    pub fn note(&mut self, signal: &Signal, inventory: &Inventory, at: Timestamp) -> TallyOutcome {
        self.note_many(signal, 1, inventory, at)
    }

    /// Counts a signal that occurred several times since it was last counted.
    pub fn note_many(&mut self, signal: &Signal, times: u64, inventory: &Inventory, at: Timestamp) -> TallyOutcome {
        let key = self.room_for(key_of(signal, inventory));
        if let Some(count) = self.counted.get_mut(&key) {
            count.again(times, at);
            TallyOutcome::Repeat
        } else if self.counted.len() < EVIDENCE_MAX - 1 || self.make_room(at) {
            self.counted.entry(key).or_insert(Count::none(at)).again(times, at);
            TallyOutcome::New
        } else {
            self.overflow.get_or_insert(Count::none(at)).again(times, at);
            TallyOutcome::Overflow
        }
    }

    /// Returns the evidence, sorted by key.
    #[must_use]
    pub fn evidence(&self) -> Bounded<Evidence, EVIDENCE_MAX> {
        let counted = self.counted.iter().map(|(key, count)| count.of(key.clone()));
        let overflow = self.overflow.and_then(|count| Some(count.of(overflow_key()?)));
        let mut list: Vec<Evidence> = counted.chain(overflow).collect();
        list.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut evidence = Bounded::new();
        for piece in list {
            // One place is reserved for the overflow, so the list is never full here; the tests check this.
            let _ = evidence.try_push(piece);
        }
        evidence
    }

    /// Drops the fault of a part that has been without events the longest; returns whether there was one. All its
    /// details are dropped together: the controller counts them together, and a partial sum would look like a count
    /// that fell.
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
        // Adds one and not its count, because the controller already counted those events.
        self.overflow.get_or_insert(Count::none(at)).again(1, at);
        true
    }

    /// Returns the key itself while there is room; later the key that collects further details of the same fault of the
    /// same part.
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

    /// If the clock stepped back, the times stay as they are.
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
        // The place comes first, because a cut must not remove what distinguishes two places.
        (place, None) => bounded_detail(&format!("{place} {}", signal.detail)),
    };
    EvidenceKey {
        source: signal.source,
        code: signal.code.clone(),
        device,
        detail: detail.unwrap_or_else(|| signal.detail.clone()),
    }
}

/// Returns the part at an address. Inventories come from NVML and from the kernel, which write addresses differently.
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
