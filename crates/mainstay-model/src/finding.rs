//! Findings: what is wrong, and with which part. `mainstay-health` decides which evidence leads to which finding.

use serde::{Deserialize, Serialize};

use crate::{Bounded, DomainName, Level, NodeName, Part, RepairStep, RuleName, Serial, Urgency, Version};

/// The suspected cause of a finding or an incident.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// One part, identified by its serial, in any slot.
    Part {
        /// Kind of the part.
        part: Part,
        /// Serial of the part.
        serial: Serial,
    },
    /// One machine as a whole.
    Node(NodeName),
    /// A shared failure domain, for example one leaf switch instead of its eighteen affected nodes.
    Domain {
        /// Topology level of the domain.
        level: Level,
        /// Name of the domain.
        name: DomainName,
    },
    /// A driver version, on every node that runs it.
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

/// The response that a finding asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Response {
    /// Count it and do nothing else: an application fault, or noise.
    Note,
    /// Show it to operators and place no rigid gang on the node; stop no job.
    Watch,
    /// Remove the node from service, repair it and requalify it.
    Remove,
}

/// One suspected fault of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// The response that the finding asks for.
    pub response: Response,
    /// Position of the rule in the catalogue. Lower ranks come first, because the driver's own recommendation leads.
    pub rank: u16,
    /// The rule that led to the finding.
    pub rule: RuleName,
    /// Serial of the affected part; the whole node if absent.
    pub device: Option<Serial>,
    /// Time that running jobs get before they are stopped.
    pub urgency: Urgency,
    /// Steps of the repair plan; the pool's policy may override them.
    pub rungs: Bounded<RepairStep, 8>,
}
