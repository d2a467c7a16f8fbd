//! Who said what, how often: signals counted by the part that they are about, and by code.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_engine::Catalogue;
use mainstay_model::{Part, Serial, Source, Timestamp};
use mainstay_signal::{Place, Signal};

use super::{EvidenceLine, PartKind, PartName};
use crate::input::{EventKind, Input};
use crate::tickets::FaultKind;

/// Signals of one part by code, with the first and the last time.
#[derive(Debug, Default)]
pub(super) struct PartCounts {
    pub(super) first: Option<Timestamp>,
    pub(super) last: Timestamp,
    pub(super) said: BTreeMap<(Source, String), u64>,
}

/// Signals with one code: the count, and the nodes and parts that reported them.
#[derive(Debug, Default)]
struct CodeStats {
    count: u64,
    nodes: BTreeSet<u32>,
    parts: BTreeSet<PartName>,
}

/// Everything that was said.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) parts: BTreeMap<PartName, PartCounts>,
    by_code: BTreeMap<(Source, String), CodeStats>,
    pub(super) boots: u64,
}

impl Counts {
    pub(super) fn of(gathered: &Input) -> Self {
        let mut counts = Self::default();
        for event in &gathered.events {
            let (number, times) = match event.what {
                EventKind::Boot => {
                    counts.boots += 1;
                    continue;
                }
                EventKind::Signal(number, times) => (number, u64::from(times)),
            };
            let Some(signal) = gathered.signals.get(number as usize) else { continue };
            let name = name_of(gathered, event.node, signal, event.at);
            let code = (signal.source, signal.code.to_string());
            let of_code = counts.by_code.entry(code.clone()).or_default();
            of_code.count += times;
            of_code.nodes.insert(event.node);
            if !of_code.parts.contains(&name) {
                of_code.parts.insert(name.clone());
            }
            let counted = counts.parts.entry(name).or_default();
            counted.first.get_or_insert(event.at);
            counted.last = event.at;
            *counted.said.entry(code).or_default() += times;
        }
        counts
    }

    pub(super) fn evidence(&self) -> Vec<EvidenceLine> {
        let catalogue = Catalogue::built_in();
        let line = |((source, code), of_code): (&(Source, String), &CodeStats)| EvidenceLine {
            source: *source,
            code: code.clone(),
            component: catalogue.component(*source, code),
            kind: FaultKind::of_evidence(*source, code),
            count: of_code.count,
            nodes: size(of_code.nodes.len()),
            parts: size(of_code.parts.len()),
        };
        let mut lines: Vec<EvidenceLine> = self.by_code.iter().map(line).collect();
        lines.sort_by(|a, b| (b.count, a.source, &a.code).cmp(&(a.count, b.source, &b.code)));
        lines
    }

    pub(super) fn nodes_with_evidence(&self) -> u64 {
        let nodes: BTreeSet<&str> = self.parts.keys().map(|name| name.node.as_str()).collect();
        size(nodes.len())
    }
}

pub(super) fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn name_of(gathered: &Input, node: u32, signal: &Signal, at: Timestamp) -> PartName {
    match &signal.place {
        Place::Pci(place) => {
            let serial = gathered.serial_at(node, place, at).map(ToString::to_string);
            let slot = gathered.slots.get(&(node, place.clone())).map(|slot| slot.part);
            PartName { node: name(gathered, node), slot: Some(place.to_string()), serial, kind: kind(slot) }
        }
        Place::Interface(_) | Place::NvSwitch(_) => PartName {
            node: name(gathered, node),
            slot: Some(signal.place.to_string()),
            serial: None,
            kind: PartKind::Node,
        },
        Place::Node => whole(gathered, node),
    }
}

pub(super) fn whole(gathered: &Input, node: u32) -> PartName {
    PartName { node: name(gathered, node), slot: None, serial: None, kind: PartKind::Node }
}

pub(super) fn name(gathered: &Input, node: u32) -> String {
    gathered.nodes.get(node as usize).map_or_else(String::new, ToString::to_string)
}

/// The part that the brain knows by this serial, which is its slot where nobody named it.
pub(super) fn part_of(gathered: &Input, node: u32, device: Option<&Serial>, at: Timestamp) -> PartName {
    let Some(device) = device else { return whole(gathered, node) };
    let first = mainstay_model::PciAddress::parse("0");
    let of_node = first
        .into_iter()
        .flat_map(|first| gathered.slots.range((node, first)..))
        .take_while(|((of, _), _)| *of == node);
    for ((_, place), slot) in of_node {
        let named = gathered.serial_at(node, place, at);
        let was_there = slot.serials.iter().any(|(_, serial)| serial == device);
        if named == Some(device) || was_there || (named.is_none() && place.as_str() == device.as_str()) {
            let serial = (place.as_str() != device.as_str()).then(|| device.to_string());
            return PartName {
                node: name(gathered, node),
                slot: Some(place.to_string()),
                serial,
                kind: kind(Some(slot.part)),
            };
        }
    }
    PartName { node: name(gathered, node), slot: None, serial: Some(device.to_string()), kind: PartKind::Node }
}

const fn kind(part: Option<Part>) -> PartKind {
    match part {
        Some(Part::Gpu) => PartKind::Gpu,
        Some(Part::Nic) => PartKind::Nic,
        Some(Part::Board) | None => PartKind::Node,
    }
}
