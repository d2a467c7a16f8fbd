//! The hall: which nodes there are, what they are called and what they share. It is as regular as a drawing; what
//! happens in it is elsewhere.

use std::collections::BTreeMap;

use mainstay_model::{
    DomainName, Level, Literal, NodeFacts, NodeName, NodeUid, PlannedWork, PoolName, Power, Ready, Schedulable,
    TextError,
};

use crate::fault_schedule::FleetShape;

/// GPUs of a node, and adapters of the compute fabric: one for each GPU.
pub(crate) const GPUS: u32 = 8;

/// How nodes share racks, feeds and leaves. Four nodes of eight GPUs fill the power of a rack, two racks share a feed,
/// and a leaf serves eight racks.
const NODES_PER_RACK: u32 = 4;
const NODES_PER_PDU: u32 = 8;
const NODES_PER_LEAF: u32 = 32;
const NODES_PER_SPINE: u32 = 512;

/// The pool that every node is in.
const POOL: Literal<PoolName> = PoolName::literal("gpu");

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

pub(crate) fn pool() -> PoolName {
    POOL.get()
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

/// What the backend says of a node that is well, in this registration of it.
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
        pool: pool(),
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
