//! Node lifecycle: stages, operator requests and modes. `mainstay-remedy` decides when a node moves from one stage to
//! the next.

use serde::{Deserialize, Serialize};

/// Lifecycle stage of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Stage {
    /// New node: drivers and agents are still starting, which is not a fault.
    Bootstrapping,
    /// In service: the node gets jobs.
    InService,
    /// Evidence was reported. The node gets no new rigid gang, and no job is stopped.
    Suspect,
    /// The node gets no new jobs. Running jobs continue until the drain.
    Quarantined,
    /// Jobs on the node are asked to save and to leave.
    Draining,
    /// A step of the repair plan is running.
    Repairing,
    /// The node is under test and gets no jobs until it passes.
    Qualifying,
    /// Out of service for planned maintenance, which is not a fault.
    Maintenance,
    /// Software versions are changing in a rollout, which is not a fault.
    Upgrading,
    /// An operator holds the node unchanged.
    Held,
    /// Permanently removed under this serial.
    Retired,
}

impl Stage {
    /// All stages, in lifecycle order.
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

    /// Returns whether Mainstay removed the node and treats it.
    #[must_use]
    pub const fn is_treated(self) -> bool {
        match self {
            Self::Quarantined | Self::Draining | Self::Repairing | Self::Qualifying => true,
            Self::Bootstrapping | Self::InService | Self::Suspect | Self::Maintenance => false,
            Self::Upgrading | Self::Held | Self::Retired => false,
        }
    }

    /// Returns whether the node gets jobs.
    #[must_use]
    pub const fn gets_jobs(self) -> bool {
        match self {
            Self::InService | Self::Suspect => true,
            Self::Bootstrapping | Self::Quarantined | Self::Draining | Self::Repairing | Self::Qualifying => false,
            Self::Maintenance | Self::Upgrading | Self::Held | Self::Retired => false,
        }
    }
}

/// A request that an operator can make for a node (`GpuNode.spec.request`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RequestKind {
    /// Leave the node exactly as it is until the request is withdrawn.
    Hold,
    /// Cordon the node, so that it gets no new jobs.
    Quarantine,
    /// Move jobs away from the node, saving first.
    Drain,
    /// Qualify the node and return it to service.
    Return,
    /// Move jobs away from the node, saving first, and remove it permanently.
    Retire,
}

impl RequestKind {
    /// Returns whether the request removes the node from service.
    #[must_use]
    pub const fn takes_out(self) -> bool {
        match self {
            Self::Quarantine | Self::Drain | Self::Retire => true,
            Self::Hold | Self::Return => false,
        }
    }
}

/// What an operator or a ticket found on a node that was removed. It decides how the finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Resolution {
    /// The node had a fault.
    FaultFound,
    /// The node had no fault.
    NothingFound,
}

/// How far Mainstay may go. Modes are ordered: each one includes what the previous ones allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mode {
    /// Dry run: change nothing, and record what would have been done and what happened.
    #[default]
    Observe,
    /// Execute only actions that an operator approved by id.
    Propose,
    /// Execute actions within the budgets.
    Act,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_is_listed_once() {
        assert!(Stage::ALL.is_sorted_by(|a, b| a < b));
        // The enum is dense and starts at zero, so the last discriminant gives their number.
        assert_eq!(Stage::Retired as usize + 1, Stage::ALL.len());
    }
}
