//! Claims and grants: a claim asks to disrupt a node or a gang, and a grant is the arbiter's permission. Claims are derived
//! from the state at every decision and never stored. A grant is stored in the node's status before any effect.

use serde::{Deserialize, Serialize};

use crate::{ClaimId, Epoch, GangId, NodeName, Timestamp, Urgency};

/// Who makes a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ClaimSource {
    /// A rule found a fault on the node.
    Fault,
    /// An operator requested it.
    Request,
    /// Planned work: a maintenance window, or the tests after it.
    Window,
    /// A rollout changes software versions.
    Rollout,
    /// A job with a higher priority needs the node.
    Preemption,
}

/// What a claim needs, least disruptive first. Each need includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Need {
    /// The scheduler prefers other nodes. Running jobs continue.
    Avoid,
    /// The node gets no new jobs. Running jobs continue.
    Cordon,
    /// Jobs leave the node.
    Stop,
    /// The node runs no jobs and accepts orders.
    Exclusive,
}

/// What a claim disrupts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClaimTarget {
    /// One node with all its gangs.
    Node(NodeName),
    /// One gang on all its nodes.
    Gang(GangId),
}

/// A request to disrupt a node or a gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Id of the claim; the same facts give the same id.
    pub id: ClaimId,
    /// Who makes the claim.
    pub by: ClaimSource,
    /// What the claim needs.
    pub needs: Need,
    /// What the claim disrupts.
    pub target: ClaimTarget,
    /// Time that running jobs get.
    pub urgency: Urgency,
    /// Earliest start of the disruption.
    pub start_after: Timestamp,
    /// Latest start of the disruption, if there is one. After it the claim is void.
    pub deadline: Option<Timestamp>,
}

/// The arbiter's permission for one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The claim that was granted.
    pub claim: ClaimId,
    /// Who made the claim.
    pub by: ClaimSource,
    /// What may be done.
    pub needs: Need,
    /// Time of the grant.
    pub at: Timestamp,
    /// Epoch of the leader that granted it.
    pub epoch: Epoch,
}

/// Stops new grants for some sources until a time, for example because an error budget is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeze {
    /// The sources whose claims wait.
    pub sources: std::collections::BTreeSet<ClaimSource>,
    /// End of the freeze.
    pub until: Timestamp,
}

// === impl ClaimSource ===

impl ClaimSource {
    /// All sources.
    pub const ALL: [Self; 5] = [Self::Fault, Self::Request, Self::Window, Self::Rollout, Self::Preemption];

    /// The prefix of a claim's id.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Request => "request",
            Self::Window => "window",
            Self::Rollout => "rollout",
            Self::Preemption => "preemption",
        }
    }
}
