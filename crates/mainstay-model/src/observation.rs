//! Facts as adapters hand them in, with the time of arrival beside them. An observation decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    BootId, Bounded, CellRecord, Complaint, DomainName, Epoch, Evidence, GangFacts, GangId, Inventory, Level, Mode,
    NodeName, NodeUid, Nonce, OrderId, OrderOutcome, Persisted, Person, Policy, PoolName, Reason, RequestKind,
    Sequence, Timestamp, Verdict, Word,
};

/// One fact and when it arrived here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The time of arrival, by the observer's clock. Windows and deadlines use no other.
    pub at: Timestamp,
    /// What.
    pub fact: Fact,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// The cell: who leads and how far we may go.
    Cell(CellFacts),
    /// The adapter's picture of the world is complete as of this moment.
    Synced {
        /// The moment.
        as_of: Timestamp,
    },
    /// What people allow in a pool.
    Policy(Box<Policy>),
    /// A node is there, and this is what the backend says of it.
    Node {
        /// Which.
        node: NodeName,
        /// What.
        facts: Box<NodeFacts>,
    },
    /// A node is no longer registered.
    NodeGone {
        /// Which.
        node: NodeName,
    },
    /// A node's agent reported.
    Report {
        /// Of which node.
        node: NodeName,
        /// What.
        report: Box<Report>,
    },
    /// What other agents complain about on a node, all of it. Only what its pool's policy maps counts.
    Complaints {
        /// On which node.
        node: NodeName,
        /// What; empty where nobody complains any more.
        complaints: Bounded<Complaint, 16>,
    },
    /// What is on record about a node: after a restart, and as the answer to our own writes.
    Recorded {
        /// Of which node.
        node: NodeName,
        /// What.
        persisted: Box<Persisted>,
    },
    /// A person asks something of a node, or withdraws it.
    Request {
        /// Of which node.
        node: NodeName,
        /// What; none where withdrawn.
        request: Option<Request>,
    },
    /// A gang runs, and this is what is known of it.
    Gang {
        /// Which.
        gang: GangId,
        /// What.
        facts: Box<GangFacts>,
    },
    /// A gang runs no more.
    GangGone {
        /// Which.
        gang: GangId,
    },
    /// A gang was asked to save: the request is there, answered or not.
    Asked {
        /// Which gang.
        gang: GangId,
        /// Because of which node.
        node: NodeName,
        /// For which drain of it: since when the node was Draining.
        drain: Timestamp,
        /// Until when the answer is waited for.
        answer_by: Timestamp,
        /// The step it saved, once it has answered.
        saved_step: Option<u64>,
    },
    /// An act was refused by the backend. One that was taken is seen in the world, and needs no other answer.
    Refused {
        /// On which node.
        node: NodeName,
        /// Which act.
        action: OrderId,
        /// In the backend's words.
        why: Reason,
    },
}

/// The cell's ceiling, its leader and its record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CellFacts {
    /// Our leadership.
    pub epoch: Epoch,
    /// The ceiling.
    pub mode: Mode,
    /// Actions that a person approved.
    pub approvals: Bounded<OrderId, 64>,
    /// What is on record of its rules: after a restart, and as the answer to our own writes.
    #[serde(default)]
    pub record: CellRecord,
}

/// What a person asks of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What.
    pub kind: RequestKind,
    /// Why.
    pub reason: Reason,
    /// Who.
    pub by: Person,
    /// What was found on the node, where somebody looked.
    #[serde(default)]
    pub word: Option<Word>,
}

/// Whether the backend hears from the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Ready {
    /// It does, and the node says it is ready.
    Yes,
    /// It does, and the node says it is not.
    No,
    /// It does not. Unreachable is not failed.
    Unknown,
}

/// Whether the backend places new work there. What others did counts like our own acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Schedulable {
    /// It does.
    Yes,
    /// We keep it away.
    NotByUs,
    /// Somebody else keeps it away.
    NotByOthers,
}

/// Planned work on a node, which is never read as a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Planned {
    /// None.
    #[default]
    Nothing,
    /// It is coming up for the first time.
    Bootstrap,
    /// Somebody works on it.
    Maintenance,
    /// Its versions are being changed.
    Upgrade,
}

/// What the backend says of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Which registration of the node.
    pub uid: NodeUid,
    /// Its domain at each level that is known.
    pub domains: BTreeMap<Level, DomainName>,
    /// Whose policy it follows.
    pub pool: PoolName,
    /// How many GPUs it should have.
    pub gpus: u16,
    /// Whether it answers.
    pub ready: Ready,
    /// Whether it takes work.
    pub schedulable: Schedulable,
    /// Planned work.
    pub planned: Planned,
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
    /// What qualification tests showed, under which nonce.
    pub results: Bounded<(Nonce, Verdict), 32>,
}
