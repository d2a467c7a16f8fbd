//! The fleet: which nodes there are, where they stand in the fabric, and what the GPU operator would say about them.
//! Pure and decided by the seed alone; putting them into a cluster is in `create`.

pub mod labels;

mod create;
mod node;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use create::{Readiness, readiness};
pub use node::FleetNode;

/// A fleet to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// Tells fleets on one server apart: part of every node's name, unless empty, and of its labels.
    pub name: String,
    /// How many nodes.
    pub nodes: usize,
    /// GPUs in each. Four means racks of one NVLink domain (NVL72); any other number means machines of their own (HGX).
    pub gpus_per_node: u32,
    /// Decides the mix of products and drivers and which racks have a gap.
    pub seed: u64,
}

/// The counts that make a fabric out of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) nodes_per_rack: u64,
    pub(crate) racks_per_pdu: u64,
    pub(crate) racks_per_leaf: u64,
    pub(crate) leaves_per_spine: u64,
    pub(crate) nvlink: Nvlink,
}

/// How far NVLink reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nvlink {
    Node,
    Rack,
}

/// Eight GPUs in a box: about 10 kW each, so four to an air-cooled rack of 40 kW, two racks on one PDU of 100 kW.
/// 32 nodes share their leaf switches, as in a scalable unit of a DGX SuperPOD; 16 such units make a spine pod.
const HGX: Shape =
    Shape { nodes_per_rack: 4, racks_per_pdu: 2, racks_per_leaf: 8, leaves_per_spine: 16, nvlink: Nvlink::Node };

/// 18 trays of four GPUs and one NVLink domain of 72 in a rack of 130 kW, each with a PDU of its own. Eight racks
/// make a scalable unit.
const NVL72: Shape =
    Shape { nodes_per_rack: 18, racks_per_pdu: 1, racks_per_leaf: 8, leaves_per_spine: 16, nvlink: Nvlink::Rack };

/// One rack in so many lacks a node, as real ones do.
const RACKS_PER_GAP: u64 = 16;

impl Fleet {
    /// A fleet whose nodes have plain names.
    pub fn new(nodes: usize, gpus_per_node: u32, seed: u64) -> Self {
        Self { name: String::new(), nodes, gpus_per_node, seed }
    }

    /// The same under a name, for servers that are shared.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    pub(crate) fn shape(&self) -> Shape {
        if self.gpus_per_node == 4 { NVL72 } else { HGX }
    }

    /// Every node, rack by rack. The first n nodes are the same whatever the size.
    pub fn nodes(&self) -> impl Iterator<Item = FleetNode<'_>> {
        let shape = self.shape();
        (0..)
            .flat_map(move |rack| (0..self.slots(rack)).map(move |slot| (rack, slot)))
            .take(self.nodes)
            .enumerate()
            .map(move |(ordinal, (rack, slot))| FleetNode::at(self, shape, ordinal, rack, slot))
    }

    /// How many nodes the rack has.
    fn slots(&self, rack: u64) -> u64 {
        let gap = u64::from(mix(self.seed, RandomStream::Gap, rack).is_multiple_of(RACKS_PER_GAP));
        self.shape().nodes_per_rack - gap
    }
}

/// Property of a node that the seed decides, each from its own sequence of random numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RandomStream {
    Gap = 1,
    Product = 2,
    Driver = 3,
    Pool = 4,
    Uuid = 5,
    Serial = 6,
}

/// A number that looks random and depends on nothing but its input (the finaliser of SplitMix64).
pub(crate) fn mix(seed: u64, what: RandomStream, index: u64) -> u64 {
    let scramble = |value: u64| {
        let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    scramble(scramble(scramble(seed) ^ what as u64) ^ index)
}
