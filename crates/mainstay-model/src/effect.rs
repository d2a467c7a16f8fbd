//! Effects that adapters execute: one step of a granted claim, addressed to a target. Each effect is idempotent, and carries
//! the state that it expects, its deadlines and its cause.

use serde::{Deserialize, Serialize};

use crate::{
    ActionKind, Attempt, CellRecord, ClaimId, Epoch, GangId, NodeName, NodeUid, Order, OrderId, Persisted, Reason,
    RepairStep, RequestKind, RuleName, Schedulable, Stage, Task, Timestamp, Urgency, WaitingOn,
};

/// One change to a node, a gang or Mainstay's own status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Store the status that must survive a restart: the stage, its grant, and the open orders. It adds no order.
    Store(Box<Persisted>),
    /// Add an order to the stored status, where its executor finds it.
    Order(Box<NewOrder>),
    /// Cordon the node with Mainstay's quarantine taint, so that it gets no new jobs.
    Cordon,
    /// Remove Mainstay's quarantine taint, so that the node gets new jobs again.
    Uncordon,
    /// Add Mainstay's avoid taint, so that new jobs prefer other nodes.
    Avoid,
    /// Remove Mainstay's avoid taint.
    EndAvoid,
    /// Turn the machine's power off.
    PowerOff,
    /// Release the pods of a machine that is off, so that their jobs can run elsewhere.
    ReleasePods,
    /// Request a checkpoint from a gang.
    AskCheckpoint {
        /// The gang that gets the request.
        gang: GangId,
        /// The drain that the request belongs to, as the time at which the node entered Draining.
        drain: Timestamp,
        /// Urgency of the drain.
        urgency: Urgency,
        /// Deadline for the answer.
        answer_by: Timestamp,
    },
    /// Stop a gang's pods on the node.
    Stop {
        /// The gang that is stopped.
        gang: GangId,
    },
}

/// An order that is not stored yet, with the attempt that it counts as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOrder {
    /// The order.
    pub order: Order,
    /// The attempt of a repair step. `None` for a qualification.
    pub attempt: Option<Attempt>,
}

/// Who carries out an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Executor {
    /// The agent of the node.
    Node,
    /// The cluster: Kubernetes or Slurm.
    Backend,
    /// The management controller of the machine.
    Bmc,
    /// A technician.
    Technician,
}

/// Whether an effect is a dry run, proposed or executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Execution {
    /// Dry run: the effect is recorded and compared with what then happens.
    DryRun,
    /// The effect waits until an operator approves its action.
    Proposed,
    /// The effect is executed now.
    Ordered,
}

/// Whether one action may be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// The action may be executed.
    Granted,
    /// The action needs an operator's approval first.
    NeedsApproval,
    /// The action may not be executed; it is recorded as a dry run.
    OnPaper,
}

impl Permit {
    /// Returns whether an effect under this permit is executed, proposed or a dry run.
    #[must_use]
    pub const fn standing(self) -> Execution {
        match self {
            Self::Granted => Execution::Ordered,
            Self::NeedsApproval => Execution::Proposed,
            Self::OnPaper => Execution::DryRun,
        }
    }

    /// Returns what a node without the permit waits for.
    #[must_use]
    pub const fn waiting_on(self) -> WaitingOn {
        match self {
            Self::Granted => WaitingOn::Nothing,
            Self::NeedsApproval => WaitingOn::Approval,
            Self::OnPaper => WaitingOn::Mode,
        }
    }
}

/// The state that the node must still have when the effect is executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precondition {
    /// Registration that the node must have.
    pub uid: NodeUid,
    /// Stored stage that the node must have.
    pub recorded: Stage,
    /// Whether the node gets new jobs, as it must still be for every action except a stored status.
    pub schedulable: Schedulable,
    /// Whether the node runs no job. An order is not given if it was empty and no longer is.
    pub is_empty: bool,
    /// The operator's request about the node. An operator who changes it is obeyed before the change has been decided upon.
    pub request: Option<RequestKind>,
}

/// One step of a claim, addressed to a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Id of the action. Operators approve actions, and incidents list them.
    pub id: OrderId,
    /// The granted claim. `None` only for a stored status, which disrupts nothing.
    pub claim: Option<ClaimId>,
    /// The node that the effect concerns.
    pub node: NodeName,
    /// The change to make.
    pub step: Step,
    /// Who makes the change.
    pub executor: Executor,
    /// Which attempt of the step in this removal it is, from 1.
    pub attempt: u32,
    /// Whether the effect is executed, proposed or a dry run.
    pub execution: Execution,
    /// The state that the node must still have.
    pub expected: Precondition,
    /// Latest start of the execution.
    pub start_by: Timestamp,
    /// Latest end of the execution. After it the engine no longer waits for the result.
    pub done_by: Timestamp,
    /// Epoch of the leader that ordered the effect.
    pub epoch: Epoch,
    /// The rule that led to the effect.
    pub rule: RuleName,
}

// === impl Step ===

impl Step {
    /// Returns the order; none for the other steps.
    #[must_use]
    pub const fn order(&self) -> Option<&NewOrder> {
        match self {
            Self::Order(new) => Some(new),
            Self::Store(_) | Self::Cordon | Self::Uncordon | Self::AskCheckpoint { .. } | Self::Stop { .. } => None,
            Self::Avoid | Self::EndAvoid | Self::PowerOff | Self::ReleasePods => None,
        }
    }

    /// Returns the gang that the step concerns; none for the other steps.
    #[must_use]
    pub const fn gang(&self) -> Option<&GangId> {
        match self {
            Self::AskCheckpoint { gang, .. } | Self::Stop { gang } => Some(gang),
            Self::Store(_) | Self::Order(_) | Self::Cordon | Self::Uncordon | Self::Avoid | Self::EndAvoid => None,
            Self::PowerOff | Self::ReleasePods => None,
        }
    }

    /// Returns the kind of action that an operator approves for the step; none for a stored status, which needs no approval.
    #[must_use]
    pub const fn kind(&self) -> Option<ActionKind> {
        Some(match self {
            Self::Store(_) => return None,
            Self::Cordon | Self::Avoid => ActionKind::Cordon,
            Self::AskCheckpoint { .. } | Self::Stop { .. } | Self::ReleasePods => ActionKind::Drain,
            Self::PowerOff => ActionKind::PowerCycle,
            Self::Uncordon | Self::EndAvoid => ActionKind::Return,
            Self::Order(new) => match new.order.task {
                Task::Rung(RepairStep::Capture | RepairStep::Replace) => ActionKind::Drain,
                Task::Rung(RepairStep::RestartService) => ActionKind::RestartService,
                Task::Rung(RepairStep::ResetGpu) => ActionKind::ResetGpu,
                Task::Rung(RepairStep::Reboot) => ActionKind::Reboot,
                Task::Rung(RepairStep::PowerCycle) => ActionKind::PowerCycle,
                Task::Suite(_) => ActionKind::Return,
            },
        })
    }

    /// Returns who carries out the step.
    #[must_use]
    pub const fn executor(&self) -> Executor {
        match self {
            Self::Store(_) | Self::Cordon | Self::Uncordon | Self::AskCheckpoint { .. } | Self::Stop { .. } => {
                Executor::Backend
            }
            Self::Avoid | Self::EndAvoid | Self::ReleasePods => Executor::Backend,
            Self::PowerOff => Executor::Bmc,
            Self::Order(new) => match new.order.task {
                Task::Rung(RepairStep::PowerCycle) => Executor::Bmc,
                Task::Rung(RepairStep::Replace) => Executor::Technician,
                Task::Rung(
                    RepairStep::Capture | RepairStep::RestartService | RepairStep::ResetGpu | RepairStep::Reboot,
                )
                | Task::Suite(_) => Executor::Node,
            },
        }
    }
}

/// What became of an effect, as its executor knows it. It may delay or explain a step. Stages advance on observed state
/// only, so losing an outcome changes nothing in the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The change was made, or was there already.
    Applied,
    /// The target is no longer in the expected state; nothing was changed.
    Conflict,
    /// The backend rejected the change, for this reason.
    Refused(Reason),
    /// The change has begun and takes time.
    Started,
    /// The answer was lost: the change may have been made. The target is read again.
    Unknown,
}

/// Stage, wait and cause of one node, for the report of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// The node that the line describes.
    pub node: NodeName,
    /// Lifecycle stage of the node.
    pub stage: Stage,
    /// The reason why the node waits.
    pub waiting_on: WaitingOn,
    /// The rule behind the state, if there is one.
    pub cause: Option<RuleName>,
    /// The state of the node as a sentence.
    pub message: Reason,
}

/// Maximum number of stored statuses that one decision deletes, so that a large scale-down does not flood the API server.
pub const FORGOTTEN_MAX: usize = 128;

/// The output of the engine: effects, a report and the time of the next decision.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Decision {
    /// Effects for the adapters, in order.
    pub effects: Vec<Effect>,
    /// State of every node that needs or needed attention. A node without a line is in service and waits for nothing.
    pub report: Vec<NodeSummary>,
    /// New rule counters for the status of the Cell. `None` if they are stored already or were written recently.
    #[serde(default)]
    pub cell: Option<CellRecord>,
    /// Nodes whose stored status is to be deleted: they are gone, and nothing of them is needed any more. At most
    /// [`FORGOTTEN_MAX`] nodes.
    #[serde(default)]
    pub forgotten: Vec<NodeName>,
    /// Latest time for the next decision.
    pub wake_at: Option<Timestamp>,
    /// Number of nodes that the engine evaluated.
    pub evaluated: u64,
}
