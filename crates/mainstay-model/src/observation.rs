//! Observations: facts from adapters with their time of arrival. An observation makes no decision.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    BootId, Bounded, CellRecord, DomainName, Epoch, Evidence, ExternalCondition, Freeze, GangFacts, GangId, Inventory,
    Level, Mode, NodeName, NodeUid, Nonce, OrderId, OrderOutcome, Outcome, Persisted, Policy, PoolName, Reason,
    RequestKind, Resolution, Sequence, Timestamp, UnrecognisedLine, UserName, Verdict,
};

/// One fact with its time of arrival.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Time of arrival, by the observer's clock. All windows and deadlines use this clock only.
    pub at: Timestamp,
    /// The fact that arrived.
    pub fact: Fact,
}

/// One fact about the cell, a node or a gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// The Cell: leader epoch, mode and approvals.
    Cell(CellFacts),
    /// The adapter's view is complete as of this time.
    Synced {
        /// Time up to which the view is complete.
        as_of: Timestamp,
    },
    /// The policy of a pool.
    Policy(Box<Policy>),
    /// All freezes of the cell; empty if there are none any more.
    Freezes(Bounded<Freeze, 16>),
    /// A node is registered, with the facts that the backend has about it.
    Node {
        /// Name of the node.
        node: NodeName,
        /// Facts from the backend.
        facts: Box<NodeFacts>,
    },
    /// A node is no longer registered.
    NodeGone {
        /// Name of the node.
        node: NodeName,
    },
    /// A report from a node's agent.
    Report {
        /// Name of the node.
        node: NodeName,
        /// The agent's report.
        report: Box<Report>,
    },
    /// All conditions that other agents report on a node. Only those that the pool's policy maps are used.
    Complaints {
        /// Name of the node.
        node: NodeName,
        /// The conditions; empty if there are none any more.
        complaints: Bounded<ExternalCondition, 16>,
    },
    /// The stored status of a node, after a restart and after each of the controller's own writes.
    Recorded {
        /// Name of the node.
        node: NodeName,
        /// The stored status.
        persisted: Box<Persisted>,
    },
    /// The stored status of a node was deleted.
    RecordGone {
        /// Name of the node.
        node: NodeName,
    },
    /// An operator makes or withdraws a request for a node.
    Request {
        /// Name of the node.
        node: NodeName,
        /// The request; `None` if withdrawn.
        request: Option<Request>,
    },
    /// A gang is running, with the known facts about it.
    Gang {
        /// Identity of the gang.
        gang: GangId,
        /// Known facts about the gang.
        facts: Box<GangFacts>,
    },
    /// A gang is no longer running.
    GangGone {
        /// Identity of the gang.
        gang: GangId,
    },
    /// A checkpoint request exists for a gang, answered or not.
    Asked {
        /// Identity of the gang.
        gang: GangId,
        /// The node whose drain caused the request.
        node: NodeName,
        /// The drain that the request belongs to, as the time at which the node entered Draining.
        drain: Timestamp,
        /// Deadline for the answer.
        answer_by: Timestamp,
        /// The step that the gang saved, once it has answered.
        saved_step: Option<u64>,
    },
    /// What became of an effect. It may delay or explain a step; only observed state advances a stage.
    Outcome {
        /// Name of the node.
        node: NodeName,
        /// Id of the effect's action.
        effect: OrderId,
        /// The gang that the effect concerned, if it concerned one.
        #[serde(default)]
        gang: Option<GangId>,
        /// What became of it.
        outcome: Outcome,
    },
}

/// Leader, mode, approvals and stored rule counters of the Cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CellFacts {
    /// Epoch of the current leader.
    pub epoch: Epoch,
    /// Mode of the Cell, the upper limit for all pools.
    pub mode: Mode,
    /// Actions that an operator approved.
    pub approvals: Bounded<OrderId, 64>,
    /// Stored breakers and rule counters, after a restart and after each of the controller's own writes.
    #[serde(default)]
    pub record: CellRecord,
}

/// An operator's request for a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Kind of the request.
    pub kind: RequestKind,
    /// Reason for the request.
    pub reason: Reason,
    /// User who made the request.
    pub by: UserName,
    /// Resolution: what was found on the node, if an operator inspected it.
    #[serde(default)]
    pub word: Option<Resolution>,
}

/// Whether the backend receives heartbeats from the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Ready {
    /// The node reports that it is ready.
    Yes,
    /// The node reports that it is not ready.
    No,
    /// The backend receives no heartbeat. Unreachable does not mean failed.
    Unknown,
}

/// Whether the backend places new jobs on the node. A cordon by others counts like one by Mainstay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Schedulable {
    /// The node gets new jobs.
    Yes,
    /// Mainstay cordoned the node.
    NotByUs,
    /// Another tool or an operator cordoned the node.
    NotByOthers,
}

/// Bootstrap, maintenance or upgrade of a node, which never counts as a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum PlannedWork {
    /// No work is planned.
    #[default]
    Nothing,
    /// The node starts for the first time.
    Bootstrap,
    /// The node is under maintenance.
    Maintenance,
    /// Software versions on the node are changing.
    Upgrade,
}

/// Power state of a machine. Its BMC reports it, on a path that does not use the API server or the machine's own network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Power {
    /// No BMC reports it, so nothing but the machine itself can change it.
    #[default]
    Unknown,
    /// The machine is on.
    On,
    /// The machine is off.
    Off,
}

/// Facts that the backend has about a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Identity of the node's registration.
    pub uid: NodeUid,
    /// Failure domain of the node at each known level.
    pub domains: BTreeMap<Level, DomainName>,
    /// Pool whose policy applies to the node.
    pub pool: PoolName,
    /// Number of GPUs that the node should have.
    pub gpus: u16,
    /// Whether the node is ready and reachable.
    pub ready: Ready,
    /// Whether the node gets new jobs.
    pub schedulable: Schedulable,
    /// Planned work on the node.
    pub planned: PlannedWork,
    /// Whether Mainstay's avoid taint is on the node.
    #[serde(default)]
    pub avoided: bool,
    /// Power state of the machine.
    #[serde(default)]
    pub power: Power,
}

/// The report of a node's agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Registration that the agent's token is bound to.
    pub uid: NodeUid,
    /// Identity of the current boot.
    pub boot_id: BootId,
    /// Sequence number of the report within the boot.
    pub sequence: Sequence,
    /// Hardware inventory of the node.
    pub inventory: Inventory,
    /// Evidence that the agent collected.
    pub evidence: Bounded<Evidence, 48>,
    /// Outcomes of orders to the agent, by nonce.
    pub outcomes: Bounded<(Nonce, OrderOutcome), 8>,
    /// Results of qualification tests with their nonce.
    pub results: Bounded<(Nonce, Verdict), 32>,
    /// Error lines of the last day that no parser knows, by template.
    #[serde(default)]
    pub unrecognised: Bounded<UnrecognisedLine, 8>,
}
