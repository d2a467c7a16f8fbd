//! The life of a node: its stages, what people may ask for, and how far Mainstay may go. Who moves a node from one stage
//! to the next is `mainstay-remedy`'s to say.

use serde::{Deserialize, Serialize};

/// Where a node is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Stage {
    /// New here: drivers and agents are still coming up, which is not a fault.
    Bootstrapping,
    /// Takes work.
    InService,
    /// Something was said about it; no new rigid gang, nothing stopped.
    Suspect,
    /// Takes no new work; what runs goes on until it is drained.
    Quarantined,
    /// Its work is being asked to save and to leave.
    Draining,
    /// A rung of its ladder is being carried out.
    Repairing,
    /// Under test; meets no tenant until a clean verdict.
    Qualifying,
    /// Out for planned work, which is not a fault.
    Maintenance,
    /// Changing versions in a rollout, which is not a fault.
    Upgrading,
    /// Kept as it is by a person.
    Held,
    /// Gone for good under this serial.
    Retired,
}

impl Stage {
    /// All of them, in the order of a life.
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

/// What a person may ask of a node (`GpuNode.spec.request`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RequestKind {
    /// Leave it exactly as it is until the request is withdrawn.
    Hold,
    /// Give it no new work.
    Quarantine,
    /// Move its work away, saving first.
    Drain,
    /// Qualify it and give it work again.
    Return,
    /// Move its work away, saving first, and never give it any again.
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

/// What a person or a ticket says was found on a node that was taken out. It has the last word on the finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Word {
    /// Something was wrong with it.
    FaultFound,
    /// Nothing was.
    NothingFound,
}

/// How far Mainstay may go. Ordered: each mode includes what the ones before it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mode {
    /// Touch nothing; record what would have been done beside what happened.
    #[default]
    Observe,
    /// Act only on what a person approved by name.
    Propose,
    /// Act within budgets.
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
