//! What is thought to be wrong, and with what. Which evidence leads to which finding is `mainstay-health`'s to say.

use serde::{Deserialize, Serialize};

use crate::{Bounded, DomainName, Level, NodeName, Part, RuleName, Rung, Serial, Urgency, Version};

/// What a finding or an incident blames.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// One part, wherever it is plugged in.
    Part {
        /// What it is.
        part: Part,
        /// Which one.
        serial: Serial,
    },
    /// One machine as a whole.
    Node(NodeName),
    /// A shared failure domain: one leaf instead of its eighteen sick nodes.
    Domain {
        /// Of which kind.
        level: Level,
        /// Which one.
        name: DomainName,
    },
    /// A driver version, wherever it runs.
    Driver(Version),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Part { part, serial } => write!(f, "{part:?} {serial}"),
            Self::Node(node) => write!(f, "node {node}"),
            Self::Domain { level, name } => write!(f, "{level:?} {name}"),
            Self::Driver(version) => write!(f, "driver {version}"),
        }
    }
}

/// What a finding asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Response {
    /// Count it and go on: the application's fault, or noise.
    Note,
    /// Look closer and give it nothing rigid; stop nothing.
    Watch,
    /// Take the node out, repair and requalify it.
    Remove,
}

/// One thing thought to be wrong with a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// What it asks for.
    pub response: Response,
    /// The place of its rule in the catalogue: a lower one speaks first, because the vendor's own verdict leads.
    pub rank: u16,
    /// The rule that says so.
    pub rule: RuleName,
    /// The part it is about; the node as a whole where absent.
    pub device: Option<Serial>,
    /// How long running work may be waited for because of it.
    pub urgency: Urgency,
    /// What to try; the pool may say otherwise.
    pub rungs: Bounded<Rung, 8>,
}
