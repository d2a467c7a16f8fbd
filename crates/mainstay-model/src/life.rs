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
