//! The hall: which nodes there are, what they are called and what they share. It is as regular as a drawing; what
//! happens in it is elsewhere.

use std::collections::BTreeMap;
use std::ops::Range;

use mainstay_model::{
    DomainName, Level, Literal, NodeFacts, NodeName, NodeUid, PlannedWork, PoolName, Power, Ready, Schedulable,
    TextError,
};

use crate::Situation;
use crate::fault_schedule::FleetShape;

/// GPUs of a node, and adapters of the compute fabric: one for each GPU.
pub(crate) const GPUS: u32 = 8;

/// How nodes share racks, feeds and leaves. Four nodes of eight GPUs fill the power of a rack, two racks share a feed,
/// and a leaf serves eight racks.
const NODES_PER_RACK: u32 = 4;
const NODES_PER_PDU: u32 = 8;
const NODES_PER_LEAF: u32 = 32;
const NODES_PER_SPINE: u32 = 512;

/// Where the kinds of nodes begin in a mixed fleet. The last ones fill racks that are one NVLink domain each: 18 nodes of
/// four GPUs, as in a GB200 NVL72.
const MIG_FROM: u32 = 120;
const NVL72_FROM: u32 = 136;
const NVL72_NODES_PER_RACK: u32 = 18;
const NVL72_GPUS: u32 = 4;

/// The pools of nodes.
const POOL: Literal<PoolName> = PoolName::literal("gpu");
const MIG_POOL: Literal<PoolName> = PoolName::literal("mig");
const NVL72_POOL: Literal<PoolName> = PoolName::literal("nvl72");

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NodeKind {
    /// Eight GPUs.
    Hgx,
    /// The same, split into MIG instances.
    Mig,
    /// A tray of a rack that is one NVLink domain.
    Nvl72,
}

/// Which kinds of nodes a fleet has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hall {
    /// One kind, in one pool.
    Uniform,
    /// Three kinds, in a pool each.
    Mixed,
}

/// Which driver versions the fleet runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drivers {
    /// One.
    One,
    /// An old one and, on two nodes of five, a new one.
    Two,
}

/// The shape of a fleet of so many nodes.
pub(crate) const fn shape(nodes: u32) -> FleetShape {
    FleetShape {
        nodes,
        gpus_per_node: GPUS,
        nics_per_node: GPUS,
        nodes_per_rack: NODES_PER_RACK,
        nodes_per_leaf: NODES_PER_LEAF,
    }
}

/// A text of ours, which fits its bound by construction; the tests build the largest fleet.
pub(crate) fn text<T>(parse: impl Fn(&str) -> Result<T, TextError>, text: &str) -> T {
    match parse(text) {
        Ok(parsed) => parsed,
        Err(refused) => unreachable!("a name of the virtual fleet: {refused}"),
    }
}

/// Whether a node runs the new driver where there are two: two of five do, in every rack and leaf.
pub(crate) const fn has_new_driver(node: u32) -> bool {
    node % 5 < 2
}

impl NodeKind {
    pub(crate) fn pool(self) -> PoolName {
        match self {
            Self::Hgx => POOL.get(),
            Self::Mig => MIG_POOL.get(),
            Self::Nvl72 => NVL72_POOL.get(),
        }
    }

    /// What it is counted as when a rule removes a node of this kind.
    pub(crate) const fn removal(self) -> Situation {
        match self {
            Self::Hgx => Situation::RemovalHgx,
            Self::Mig => Situation::RemovalMig,
            Self::Nvl72 => Situation::RemovalNvl72,
        }
    }

    /// What it is counted as when a job begins on nodes of this kind.
    pub(crate) const fn job(self) -> Situation {
        match self {
            Self::Hgx => Situation::JobHgx,
            Self::Mig => Situation::JobMig,
            Self::Nvl72 => Situation::JobNvl72,
        }
    }

    pub(crate) const fn gpus(self) -> u32 {
        match self {
            Self::Hgx | Self::Mig => GPUS,
            Self::Nvl72 => NVL72_GPUS,
        }
    }
}

impl Hall {
    pub(crate) const fn kinds(self) -> &'static [NodeKind] {
        match self {
            Self::Uniform => &[NodeKind::Hgx],
            Self::Mixed => &[NodeKind::Hgx, NodeKind::Mig, NodeKind::Nvl72],
        }
    }

    pub(crate) const fn kind(self, node: u32) -> NodeKind {
        match self {
            Self::Mixed if node >= NVL72_FROM => NodeKind::Nvl72,
            Self::Mixed if node >= MIG_FROM => NodeKind::Mig,
            Self::Uniform | Self::Mixed => NodeKind::Hgx,
        }
    }

    /// The nodes of the rack of this one.
    pub(crate) const fn rack(self, node: u32) -> Range<u32> {
        let (from, size) = match self.kind(node) {
            NodeKind::Hgx | NodeKind::Mig => (0, NODES_PER_RACK),
            NodeKind::Nvl72 => (NVL72_FROM, NVL72_NODES_PER_RACK),
        };
        let first = node - (node - from) % size;
        first..first + size
    }

    /// The node object of a healthy node in this registration.
    pub(crate) fn facts(self, node: u32, registration: u32) -> NodeFacts {
        let (kind, rack) = (self.kind(node), self.rack(node));
        let mut facts = facts(node, registration);
        facts.pool = kind.pool();
        match kind {
            NodeKind::Hgx => {}
            // The backend counts instances, and does not know how many GPUs there are.
            NodeKind::Mig => facts.gpus = 0,
            NodeKind::Nvl72 => {
                let domain = |letter: char| text(DomainName::parse, &format!("{letter}n{}", rack.start));
                facts.gpus = u16::try_from(NVL72_GPUS).unwrap_or_default();
                let levels = [(Level::NvlinkDomain, 'v'), (Level::Rack, 'r'), (Level::Pdu, 'p')];
                facts.domains.extend(levels.map(|(level, letter)| (level, domain(letter))));
            }
        }
        facts
    }
}

/// `r0012n03`: the rack, and the place in it.
pub(crate) fn name(node: u32) -> NodeName {
    text(NodeName::parse, &format!("r{:04}n{:02}", node / NODES_PER_RACK, node % NODES_PER_RACK))
}

/// The number behind a name.
pub(crate) fn number(name: &NodeName) -> Option<u32> {
    let (rack, slot) = name.as_str().strip_prefix('r')?.split_once('n')?;
    Some(rack.parse::<u32>().ok()? * NODES_PER_RACK + slot.parse::<u32>().ok()?)
}

/// The same in a fleet of one kind.
pub(crate) fn facts(node: u32, registration: u32) -> NodeFacts {
    let domain = |letter: char, size: u32| text(DomainName::parse, &format!("{letter}{}", node / size));
    NodeFacts {
        uid: text(NodeUid::parse, &format!("uid-{node}-{registration}")),
        domains: BTreeMap::from([
            (Level::NvlinkDomain, domain('v', 1)),
            (Level::Rack, domain('r', NODES_PER_RACK)),
            (Level::Pdu, domain('p', NODES_PER_PDU)),
            (Level::Leaf, domain('l', NODES_PER_LEAF)),
            (Level::Spine, domain('s', NODES_PER_SPINE)),
        ]),
        pool: POOL.get(),
        gpus: 8,
        ready: Ready::Yes,
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: power(node),
    }
}

/// What the BMC of a machine that runs reports. One machine of four has none.
pub(crate) const fn power(node: u32) -> Power {
    if node % 4 == 3 { Power::Unknown } else { Power::On }
}

/// Where a GPU sits, as the driver prints it.
pub(crate) fn gpu_place(gpu: u32) -> String {
    format!("0000:{:02x}:00", 0x11 + gpu * 0x11)
}

/// Where an adapter sits, as the kernel prints it.
pub(crate) fn nic_place(nic: u32) -> String {
    format!("0000:{:02x}:00.0", 0x12 + nic * 0x11)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_node() {
        for node in [0, 3, 4, 12_499, 124_999] {
            assert_eq!(number(&name(node)), Some(node));
            assert!(facts(node, 3).uid.as_str().ends_with("-3"));
        }
    }
}
