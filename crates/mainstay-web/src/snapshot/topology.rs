//! The fleet as a tree of spines, leaves and racks, with all nodes in one fixed order. It holds names only; the state of
//! nodes is in the snapshot.

use std::collections::BTreeMap;
use std::ops::Range;

/// Spines, leaves and racks of the fleet, shared by all snapshots until nodes change.
pub struct FleetTopology {
    pub(super) spines: Vec<Spine>,
    places: BTreeMap<String, usize>,
    /// GPUs of the largest node.
    pub gpus_per_node: u32,
}

pub(super) struct Spine {
    pub(super) name: String,
    pub(super) leaves: Vec<Leaf>,
}

pub(super) struct Leaf {
    pub(super) name: String,
    pub(super) racks: Vec<Rack>,
}

pub(super) struct Rack {
    pub(super) name: String,
    pub(super) nodes: Range<usize>,
}

/// Spine, leaf and rack of one node.
pub struct NodeLocation {
    /// Name of the node.
    pub name: String,
    /// Name of its spine.
    pub spine: String,
    /// Name of its leaf.
    pub leaf: String,
    /// Name of its rack.
    pub rack: String,
}

impl FleetTopology {
    /// Builds the tree. Nodes of a rack must follow each other, as must racks of a leaf and leaves of a spine.
    pub fn new(locations: impl IntoIterator<Item = NodeLocation>, gpus_per_node: u32) -> Self {
        let mut topology = Self { spines: Vec::new(), places: BTreeMap::new(), gpus_per_node };
        for (place, location) in locations.into_iter().enumerate() {
            topology.add(place, location);
        }
        topology
    }

    fn add(&mut self, place: usize, location: NodeLocation) {
        self.places.insert(location.name, place);
        if self.spines.last().is_none_or(|spine| spine.name != location.spine) {
            self.spines.push(Spine { name: location.spine, leaves: Vec::new() });
        }
        let Some(spine) = self.spines.last_mut() else { return };
        if spine.leaves.last().is_none_or(|leaf| leaf.name != location.leaf) {
            spine.leaves.push(Leaf { name: location.leaf, racks: Vec::new() });
        }
        let Some(leaf) = spine.leaves.last_mut() else { return };
        match leaf.racks.last_mut() {
            Some(rack) if rack.name == location.rack => rack.nodes.end = place + 1,
            Some(_) | None => leaf.racks.push(Rack { name: location.rack, nodes: place..place + 1 }),
        }
    }

    /// Position of a node in the order of the snapshot.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}
