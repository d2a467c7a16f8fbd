//! Stages of a node, operator requests, and modes. `mainstay-remedy` decides how a node moves from one stage to the
//! next.

use serde::{Deserialize, Serialize};

/// Stage of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Stage {
    /// New node: drivers and agents are starting. Not a fault.
    Bootstrapping,
    /// The node accepts work.
    InService,
    /// A rule has a finding about the node. Nothing is stopped.
    Suspect,
    /// Cordoned: no new work. Running work continues until the drain.
    Quarantined,
    /// Running work is asked to save and to leave.
    Draining,
    /// A repair step is being executed.
    Repairing,
    /// Under test. No new work until the tests pass.
    Qualifying,
    /// Out of service for planned work. Not a fault.
    Maintenance,
    /// Out of service for a version change. Not a fault.
    Upgrading,
    /// Left as it is, at an operator's request.
    Held,
    /// Removed permanently, under this serial number.
    Retired,
}

impl Stage {
    /// All stages, in the order of a node's life.
    pub const ALL: [Self; 11] = [
        Self::Bootstrapping,
        Self::InService,
        Self::Suspect,
        Self::Quarantined,
        Self::Draining,
        Self::Repairing,
        Self::Qualifying,
        Self::Maintenance,
        Self::Upgrading,
        Self::Held,
        Self::Retired,
    ];
}

/// What an operator can request for a node (`GpuNode.spec.request`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RequestKind {
    /// Leave the node exactly as it is until the request is withdrawn.
    Hold,
    /// Schedule no new work on the node.
    Quarantine,
    /// Move the work away, after a checkpoint.
    Drain,
    /// Qualify the node and return it to service.
    Return,
    /// Drain the node and remove it permanently.
    Retire,
}

impl RequestKind {
    /// Whether it asks for the node to take no more work.
    #[must_use]
    pub const fn takes_out(self) -> bool {
        match self {
            Self::Quarantine | Self::Drain | Self::Retire => true,
            Self::Hold | Self::Return => false,
        }
    }
}

/// Result of an operator's inspection, or of a ticket. It overrides the rule's finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Word {
    /// The node had a fault.
    FaultFound,
    /// The node had no fault.
    NothingFound,
}

/// What Mainstay may do with its decisions. Each mode includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mode {
    /// Dry run: decisions are recorded, no node or job is changed.
    #[default]
    Observe,
    /// Only actions that an operator approved are executed.
    Propose,
    /// Actions are executed within the disruption budgets.
    Act,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_is_listed_once() {
        assert!(Stage::ALL.is_sorted_by(|a, b| a < b));
        // The enum is dense and starts at zero, so the last discriminant tells how many there are.
        assert_eq!(Stage::Retired as usize + 1, Stage::ALL.len());
    }
}
