//! Everything read from all sources: signals of nodes over time, boots, and the part in each slot. A new kind of source
//! is one more writer of this; what is made of it does not know where it came from.

use std::collections::BTreeMap;

use mainstay_model::{Code, Detail, GpuUuid, NodeName, Part, PciAddress, Product, Serial, Source, Timestamp, Version};
use mainstay_signal::{Identity, Place, Recognition, Signal, Writer, identify, recognise, unrecognised};
use serde::Serialize;

use super::dropped::{DropReason, DroppedInput};
use super::unrecognised::Templates;

/// Nodes that are told apart: ten times the largest cell.
const NODES_MAX: usize = 1_000_000;
/// Pieces of evidence that are kept, at 32 bytes each: 640 MB. A second of one signal on one node is one piece.
const EVENTS_MAX: usize = 20_000_000;
/// Signals that are told apart. Codes and details are words of drivers; a hostile log may make up more.
const SIGNALS_MAX: usize = 1_000_000;
/// Times that one slot's part is seen to change.
const SERIALS_MAX: usize = 64;
/// Boots of one node this close together are one, told by two sources or printed twice.
const ONE_BOOT_MS: i64 = 120_000;

/// What a node said, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) at: Timestamp,
    pub(super) node: u32,
    pub(super) what: EventKind,
    /// Which file or server said it.
    source: u32,
}

/// A boot, or a signal with its number and count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EventKind {
    Boot,
    /// A signal by its number, so many times.
    Signal(u32, u32),
}

/// What is known of a slot of a node.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) part: Part,
    /// Who sat there, from when on; in the order of time once settled.
    pub(super) serials: Vec<(Timestamp, Serial)>,
    pub(super) uuid: Option<GpuUuid>,
}

/// What was read from one kind of source.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Volume {
    /// Files, or queries.
    pub(super) pieces: u64,
    pub(super) bytes: u64,
    /// Lines, entries or samples.
    pub(super) entries: u64,
    /// Of these, evidence.
    pub(super) signals: u64,
    /// Entries without a date, whose time is estimated from the time of the file.
    pub(super) estimated: u64,
}

/// All evidence of all sources, with nodes and signals stored by number.
#[derive(Debug, Default)]
pub(super) struct Input {
    numbers: BTreeMap<NodeName, u32>,
    pub(super) nodes: Vec<NodeName>,
    signal_numbers: BTreeMap<(Source, Code, Place, Detail), u32>,
    pub(super) signals: Vec<Signal>,
    pub(super) events: Vec<Event>,
    /// Where each node's events are, once settled.
    by_node: BTreeMap<u32, Vec<u32>>,
    pub(super) slots: BTreeMap<(u32, PciAddress), Slot>,
    pub(super) drivers: BTreeMap<u32, Version>,
    pub(super) products: BTreeMap<u32, Product>,
    /// The first and the last entry of each node, evidence or not.
    pub(super) entry_spans: BTreeMap<u32, (Timestamp, Timestamp)>,
    pub(super) volumes: BTreeMap<&'static str, Volume>,
    pub(super) skipped: DroppedInput,
    /// Error lines that no parser knows.
    pub(super) unrecognised: Templates,
    /// The GPU that a node's driver named last.
    named: BTreeMap<u32, PciAddress>,
    sources: u32,
}

impl Input {
    /// The number of a node; none where there are too many.
    pub(super) fn node(&mut self, name: &NodeName) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.nodes.len() >= NODES_MAX {
            self.skipped.add(DropReason::TooMany, 1, name.as_str());
            return None;
        }
        let number = u32::try_from(self.nodes.len()).ok()?;
        self.nodes.push(name.clone());
        self.numbers.insert(name.clone(), number);
        Some(number)
    }

    /// Times of the first and the last entry of all nodes.
    pub(super) fn period(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let first = self.entry_spans.values().map(|(first, _)| *first).min();
        (first, self.entry_spans.values().map(|(_, last)| *last).max())
    }

    /// The number of a node that was heard of.
    pub(super) fn known(&self, name: &NodeName) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// A line of a node's kernel. Answers whether it is evidence.
    #[cfg(test)]
    pub(super) fn line(&mut self, node: u32, at: Timestamp, text: &str) -> bool {
        self.line_of(node, at, text, Writer::Kernel, None)
    }

    /// A line of a node, with its writer and its syslog priority. Answers whether it is evidence.
    pub(super) fn line_of(
        &mut self,
        node: u32,
        at: Timestamp,
        text: &str,
        writer: Writer<'_>,
        priority: Option<u8>,
    ) -> bool {
        self.note_entry(node, at);
        match recognise(text, writer) {
            Recognition::Fault(signal) => {
                self.signal(node, at, &signal, 1);
                return true;
            }
            Recognition::Harmless => {}
            Recognition::Unknown => {
                if let Some(template) = unrecognised(text, writer, priority) {
                    self.unrecognised.note(node, at, template);
                }
            }
        }
        match Some(text).filter(|_| !matches!(writer, Writer::Program(_))).and_then(identify) {
            None => {}
            Some(Identity::Boot) => self.boot(node, at),
            Some(Identity::Driver(version)) => {
                self.drivers.insert(node, version);
            }
            Some(Identity::Gpu { at: place, uuid }) => {
                if let Some(slot) = self.slot(node, &place, Part::Gpu) {
                    slot.uuid = Some(uuid);
                }
                self.named.insert(node, place);
            }
            Some(Identity::BoardSerial(serial)) => {
                if let Some(place) = self.named.get(&node).cloned() {
                    self.add_serial(node, &place, at, serial);
                }
            }
            Some(Identity::GpuSerial { at: place, serial }) => self.add_serial(node, &place, at, serial),
        }
        false
    }

    pub(super) fn note_entry(&mut self, node: u32, at: Timestamp) {
        let (first, last) = self.entry_spans.entry(node).or_insert((at, at));
        (*first, *last) = ((*first).min(at), (*last).max(at));
    }

    pub(super) fn boot(&mut self, node: u32, at: Timestamp) {
        self.push(Event { at, node, what: EventKind::Boot, source: 0 });
    }

    /// Evidence, so many times.
    pub(super) fn signal(&mut self, node: u32, at: Timestamp, signal: &Signal, times: u32) {
        if let Place::Pci(place) = &signal.place {
            match signal.source {
                Source::Xid | Source::Nvml | Source::Driver => {
                    let _ = self.slot(node, place, Part::Gpu);
                }
                Source::Nic => {
                    let _ = self.slot(node, place, Part::Nic);
                }
                Source::Sxid
                | Source::PcieAer
                | Source::Kernel
                | Source::Inventory
                | Source::External
                | Source::Service
                | Source::Unrecognised => {}
            }
        }
        let Signal { source, code, place, detail } = signal.clone();
        let key = (source, code, place, detail);
        let number = match self.signal_numbers.get(&key) {
            Some(number) => *number,
            None if self.signals.len() >= SIGNALS_MAX => return self.skipped.add(DropReason::TooMany, 1, "signals"),
            None => {
                let number = u32::try_from(self.signals.len()).unwrap_or(u32::MAX);
                self.signals.push(signal.clone());
                self.signal_numbers.insert(key, number);
                number
            }
        };
        self.push(Event { at, node, what: EventKind::Signal(number, times), source: 0 });
    }

    /// A part sits at an address from now on.
    pub(super) fn add_serial(&mut self, node: u32, place: &PciAddress, at: Timestamp, serial: Serial) {
        let Some(slot) = self.slot(node, place, Part::Gpu) else { return };
        let is_new = slot.serials.last().is_none_or(|(_, last)| *last != serial);
        if is_new && slot.serials.len() < SERIALS_MAX {
            slot.serials.push((at, serial));
        }
    }

    pub(super) fn slot(&mut self, node: u32, place: &PciAddress, part: Part) -> Option<&mut Slot> {
        let new = || Slot { part, serials: Vec::new(), uuid: None };
        Some(self.slots.entry((node, place.clone())).or_insert_with(new))
    }

    fn push(&mut self, event: Event) {
        if self.events.len() >= EVENTS_MAX {
            return self.skipped.add(DropReason::TooMany, 1, "evidence");
        }
        self.events.push(event);
    }

    pub(super) fn read(&mut self, kind: &'static str, volume: Volume) {
        let all = self.volumes.entry(kind).or_default();
        all.pieces += volume.pieces;
        all.bytes = all.bytes.saturating_add(volume.bytes);
        all.entries = all.entries.saturating_add(volume.entries);
        all.signals = all.signals.saturating_add(volume.signals);
        all.estimated = all.estimated.saturating_add(volume.estimated);
    }

    /// Takes over what another source gathered.
    pub(super) fn merge(&mut self, other: Self) {
        self.sources += 1;
        let source = self.sources;
        let nodes: Vec<Option<u32>> = other.nodes.iter().map(|name| self.node(name)).collect();
        let node_of = |number: u32| nodes.get(number as usize).copied().flatten();
        for event in other.events {
            let Some(node) = node_of(event.node) else { continue };
            match event.what {
                EventKind::Boot => self.push(Event { node, source, ..event }),
                EventKind::Signal(number, times) => {
                    let Some(signal) = other.signals.get(number as usize) else { continue };
                    self.signal(node, event.at, signal, times);
                    if let Some(last) = self.events.last_mut() {
                        last.source = source;
                    }
                }
            }
        }
        for ((node, place), slot) in other.slots {
            let Some(node) = node_of(node) else { continue };
            if let Some(known) = self.slot(node, &place, slot.part) {
                let room = SERIALS_MAX.saturating_sub(known.serials.len());
                known.serials.extend(slot.serials.into_iter().take(room));
                known.uuid = known.uuid.take().or(slot.uuid);
            }
        }
        let moved = |(node, value)| Some((node_of(node)?, value));
        self.drivers.extend(other.drivers.into_iter().filter_map(moved));
        self.products.extend(other.products.into_iter().filter_map(|(node, value)| Some((node_of(node)?, value))));
        for (node, (first, last)) in other.entry_spans {
            if let Some(node) = node_of(node) {
                self.note_entry(node, first);
                self.note_entry(node, last);
            }
        }
        for (kind, volume) in other.volumes {
            self.read(kind, volume);
        }
        self.unrecognised.merge(other.unrecognised, node_of);
        self.skipped.merge(other.skipped);
    }

    /// Puts everything in the order of time. What two sources say of one node, one second and one signal was said once: it
    /// counts as often as the one that heard more says.
    pub(super) fn settle(&mut self) {
        for slot in self.slots.values_mut() {
            slot.serials.sort_by_key(|(at, _)| *at);
            slot.serials.dedup_by(|later, earlier| later.1 == earlier.1);
        }
        let second = |event: &Event| event.at.0.div_euclid(1_000);
        let which = |event: &Event| match event.what {
            EventKind::Boot => None,
            EventKind::Signal(number, _) => Some(number),
        };
        self.events.sort_unstable_by_key(|event| (second(event), event.node, which(event), event.source, event.at));
        let mut settled: Vec<Event> = Vec::with_capacity(self.events.len());
        // How often the source at hand has said what the last settled event says.
        let mut said: u32 = 0;
        let mut booted: BTreeMap<u32, Timestamp> = BTreeMap::new();
        for event in std::mem::take(&mut self.events) {
            let same = settled.last_mut().filter(|last| {
                second(last) == second(&event) && last.node == event.node && which(last) == which(&event)
            });
            match (event.what, same) {
                (EventKind::Boot, _) => {
                    let before = booted.insert(event.node, event.at);
                    if before.is_none_or(|before| event.at.0 - before.0 > ONE_BOOT_MS) {
                        settled.push(event);
                    }
                }
                (EventKind::Signal(number, times), Some(last)) => {
                    said = if last.source == event.source { said.saturating_add(times) } else { times };
                    last.source = event.source;
                    if let EventKind::Signal(_, most) = last.what {
                        last.what = EventKind::Signal(number, most.max(said));
                    }
                }
                (EventKind::Signal(_, times), None) => {
                    said = times;
                    settled.push(event);
                }
            }
        }
        settled.sort_by_key(|event| event.at);
        self.by_node = BTreeMap::new();
        for (place, event) in (0..).zip(&settled) {
            self.by_node.entry(event.node).or_default().push(place);
        }
        self.events = settled;
    }

    /// What a node said, in the order of time.
    pub(super) fn of_node(&self, node: u32) -> impl Iterator<Item = &Event> {
        let places = self.by_node.get(&node).into_iter().flatten();
        places.filter_map(|place| self.events.get(*place as usize))
    }

    /// Who sat in a slot at a moment: the last that was named before it, or the first after it.
    pub(super) fn serial_at(&self, node: u32, place: &PciAddress, at: Timestamp) -> Option<&Serial> {
        let serials = &self.slots.get(&(node, place.clone()))?.serials;
        let before = serials.iter().rev().find(|(from, _)| *from <= at);
        before.or_else(|| serials.first()).map(|(_, serial)| serial)
    }
}

#[cfg(test)]
mod tests;
