//! Facts as adapters hand them in, with the time of arrival beside them. An observation decides nothing.

use serde::{Deserialize, Serialize};

use crate::{
    BootId, Bounded, EffectOutcome, Evidence, Inventory, Location, Mode, NodeName, NodeUid, OrderId, OrderOutcome,
    Persisted, Person, PoolName, Reason, RequestKind, Sequence, Timestamp,
};

/// Whether the backend hears from the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ready {
    /// It does, and the node says it is ready.
    Yes,
    /// It does, and the node says it is not.
    No,
    /// It does not. Unreachable is not failed.
    Unknown,
}

/// Whether the backend places new work there. What others did counts like our own acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Schedulable {
    /// It does.
    Yes,
    /// We keep it away.
    NotByUs,
    /// Somebody else keeps it away.
    NotByOthers,
}

/// What the backend says of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Which registration of the node.
    pub uid: NodeUid,
    /// Where it stands.
    pub location: Location,
    /// Whose policy it follows.
    pub pool: PoolName,
    /// Whether it answers.
    pub ready: Ready,
    /// Whether it takes work.
    pub schedulable: Schedulable,
}

/// What a node's agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The registration the agent's token is bound to.
    pub uid: NodeUid,
    /// This boot.
    pub boot_id: BootId,
    /// The report's place within the boot.
    pub sequence: Sequence,
    /// What the node is made of.
    pub inventory: Inventory,
    /// What was seen.
    pub evidence: Bounded<Evidence, 48>,
    /// How orders ended.
    pub outcomes: Bounded<(OrderId, OrderOutcome), 8>,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Observation {
    /// A node is there, and this is what the backend says of it.
    Node(NodeFacts),
    /// A node is no longer registered.
    NodeGone(NodeName),
    /// A node's agent reported.
    Report {
        /// Of which node.
        node: NodeName,
        /// What.
        report: Report,
    },
    /// What an earlier leader left behind for a node.
    Restored {
        /// Of which node.
        node: NodeName,
        /// What it knew.
        persisted: Persisted,
    },
    /// A person asks something of a node, or withdraws it.
    Request {
        /// Of which node.
        node: NodeName,
        /// What, why and by whom; none where withdrawn.
        request: Option<(RequestKind, Reason, Person)>,
    },
    /// The cell's ceiling changed.
    CellMode(Mode),
    /// An effect came to an end.
    Effect(EffectOutcome),
    /// Time passed and nothing else happened.
    Tick(Timestamp),
}
