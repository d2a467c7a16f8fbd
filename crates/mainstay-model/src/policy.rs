//! What people allow in a pool: how far we may go, how many nodes may be out, what is tried, what a code means here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bounded, Code, Level, Mode, PoolName, Ppm, RepairStep, RuleName, Source, Span, SuiteName, Urgency};

/// A kind of act that is promoted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ActionKind {
    /// Keep new work away.
    Cordon,
    /// Move work away.
    Drain,
    /// Restart a service on the node.
    RestartService,
    /// Reset a GPU.
    ResetGpu,
    /// Reboot.
    Reboot,
    /// Cycle the power.
    PowerCycle,
    /// Give a node back to its users.
    Return,
}

/// How many nodes of one failure domain may be out at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Budget {
    /// Per domain of this level; over the whole pool where absent.
    pub level: Option<Level>,
    /// How many.
    pub most: NodeLimit,
}

/// Largest number of nodes out of service, as a count or a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeLimit {
    /// So many.
    Nodes(u32),
    /// This share of the domain's nodes, rounded down.
    Share(Ppm),
}

impl NodeLimit {
    /// How many of `total` nodes that is.
    #[must_use]
    pub fn of(self, total: u32) -> u32 {
        match self {
            Self::Nodes(nodes) => nodes,
            Self::Share(share) => u32::try_from(share.of(u64::from(total))).unwrap_or(u32::MAX),
        }
    }
}

/// Repair steps in the order they are tried, with a limit of attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairPlan {
    /// The rungs, gentlest first; Capture leads.
    pub rungs: Bounded<RepairStep, 8>,
    /// How often one rung may be tried within the window.
    pub attempts_max: u32,
    /// The window.
    pub window: Span,
}

/// What one fault code means in this pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// Who says it.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// The rule to follow instead.
    pub rule: RuleName,
    /// How urgent it is here; as the rule says where absent.
    pub urgency: Option<Urgency>,
}

/// What is allowed in one pool. A pool without one is in mode Observe, and every budget is zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Which pool.
    pub pool: PoolName,
    /// How far we may go, under the cell's ceiling.
    pub mode: Mode,
    /// Kinds of acts that may go further, or less far.
    pub promotions: BTreeMap<ActionKind, Mode>,
    /// How many nodes may be out.
    pub budgets: Bounded<Budget, 8>,
    /// Ladders of this pool, by rule.
    pub ladders: BTreeMap<RuleName, RepairPlan>,
    /// Exceptions from the catalogue.
    pub overrides: Bounded<Override, 64>,
    /// The suite that a node must pass before it returns.
    pub suite: Option<SuiteName>,
}
