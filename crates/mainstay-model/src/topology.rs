//! Kinds of failure domains. The facts of a node name its domain at each level.

use serde::{Deserialize, Serialize};

/// A kind of failure domain, narrowest first. The order follows the usual size and serves display and configuration
/// only: a PDU need not contain whole racks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Level {
    /// GPUs that share one NVLink fabric.
    NvlinkDomain,
    /// Nodes that share a rack.
    Rack,
    /// Nodes that share a power feed.
    Pdu,
    /// Nodes that share a leaf switch (or a rail group of leaf switches).
    Leaf,
    /// Nodes that share a spine.
    Spine,
}

impl Level {
    /// All levels, narrowest first.
    pub const ALL: [Self; 5] = [Self::NvlinkDomain, Self::Rack, Self::Pdu, Self::Leaf, Self::Spine];
}
