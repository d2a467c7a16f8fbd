//! Where a node stands: one failure domain at each topology level.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DomainName, NodeName};

/// A kind of failure domain, narrowest first. The order is by usual size and is only a convention of display and
/// configuration: a PDU need not contain whole racks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Level {
    /// GPUs that share one NVLink fabric.
    NvlinkDomain,
    /// Nodes that share a rack.
    Rack,
    /// Nodes that share a power feed.
    Pdu,
    /// Nodes that share a leaf switch (or a rail group of them).
    Leaf,
    /// Nodes that share a spine.
    Spine,
}

impl Level {
    /// All levels, narrowest first.
    pub const ALL: [Self; 5] = [Self::NvlinkDomain, Self::Rack, Self::Pdu, Self::Leaf, Self::Spine];
}

/// A node's place. A level the node has no label for is absent: it then shares no budget and no blame there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The node.
    pub node: NodeName,
    /// Its domain at each level that is known.
    pub domains: BTreeMap<Level, DomainName>,
}
