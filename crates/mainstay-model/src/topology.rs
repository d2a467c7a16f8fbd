//! Kinds of failure domains. Which domain a node belongs to at each level is in its facts.

use serde::{Deserialize, Serialize};

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
