//! The fleet as a tree of spines, leaves and racks, with all nodes in one fixed order. Names alone; how a node stands
//! is in the picture.

use std::collections::BTreeMap;
use std::ops::Range;

/// Spines, leaves and racks of the fleet, shared by all snapshots until nodes change. It does not change while a server
/// runs, so pictures share it.
pub(crate) struct FleetTopology {
    pub(super) spines: Vec<Spine>,
    places: BTreeMap<String, usize>,
    pub(crate) gpus_per_node: u32,
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
pub(crate) struct NodeLocation {
    pub(crate) name: String,
    pub(crate) spine: String,
    pub(crate) leaf: String,
    pub(crate) rack: String,
}

impl FleetTopology {
    /// Of nodes in the order of the hall: those of a rack follow each other, and so do racks and leaves.
    pub(crate) fn new(stands: impl IntoIterator<Item = NodeLocation>, gpus_per_node: u32) -> Self {
        let mut hall = Self { spines: Vec::new(), places: BTreeMap::new(), gpus_per_node };
        for (place, stand) in stands.into_iter().enumerate() {
            hall.add(place, stand);
        }
        hall
    }

    fn add(&mut self, place: usize, stand: NodeLocation) {
        self.places.insert(stand.name, place);
        if self.spines.last().is_none_or(|spine| spine.name != stand.spine) {
            self.spines.push(Spine { name: stand.spine, leaves: Vec::new() });
        }
        let Some(spine) = self.spines.last_mut() else { return };
        if spine.leaves.last().is_none_or(|leaf| leaf.name != stand.leaf) {
            spine.leaves.push(Leaf { name: stand.leaf, racks: Vec::new() });
        }
        let Some(leaf) = spine.leaves.last_mut() else { return };
        match leaf.racks.last_mut() {
            Some(rack) if rack.name == stand.rack => rack.nodes.end = place + 1,
            Some(_) | None => leaf.racks.push(Rack { name: stand.rack, nodes: place..place + 1 }),
        }
    }

    /// A node's place.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}
