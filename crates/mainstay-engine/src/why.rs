//! Explains the state of a node: what was found, what it waits for, until when, what happens next and what the operator
//! must do. The types are here, the sentences in `why/text.rs`. Nothing is decided here.

pub(crate) mod evidence;
mod text;
mod waits;

use mainstay_arbiter::domains::Ledger;
use mainstay_health::SharedCause;
use mainstay_model::{
    ActionKind, Bounded, DomainName, GangId, Level, Mode, NodeName, OrderId, PlannedWork, PoolName, Ready, RepairStep,
    Request, RuleName, Serial, Span, Stage, SuiteName, Timestamp, UnrecognisedLine, WaitingOn,
};
use mainstay_remedy::life::Machine;

use crate::breakers::BreakerLine;
use crate::fault::{self, Fault};
use crate::index::Index;
use crate::plan::stage_ends_at;
use crate::state::State;
use crate::{incidents, view};

pub use text::{NO_ACTION, source as source_word};

/// Pieces of evidence in one explanation; more of them repeat the same.
pub const EVIDENCE_MAX: usize = 3;
/// Names in one list; the rest is a number.
pub const NAMES_MAX: usize = 3;

/// The explanation of a node's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// The node that is explained.
    pub node: NodeName,
    /// The time of the last decision.
    pub as_of: Timestamp,
    /// The stage of the node.
    pub stage: Stage,
    /// The time of the last stage change.
    pub since: Timestamp,
    /// The rule behind it, and the part that it is about.
    pub rule: Option<(RuleName, Option<Serial>)>,
    /// Part and fault in words; none where no rule is behind it.
    pub fault: Option<Fault>,
    /// The evidence behind the rule.
    pub evidence: Bounded<Evidence, EVIDENCE_MAX>,
    /// Error lines that no parser knows, by template.
    pub unrecognised: Bounded<UnrecognisedLine, 8>,
    /// What the node waits for.
    pub wait: Wait,
    /// When the wait ends at the latest; none where time alone does not end it.
    pub until: Option<Timestamp>,
    /// When a longer stay in the stage needs an operator; none where that is past or has no limit.
    pub stuck_at: Option<Timestamp>,
}

/// One piece of evidence against a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// An error that its agent counted.
    Counted(mainstay_health::RuleEvidence),
    /// The driver lists fewer GPUs than the node is registered with.
    Gpus {
        /// GPUs that the driver lists.
        listed: u16,
        /// GPUs that the node is registered with.
        of: u16,
    },
    /// The backend does not see the node, or sees it as not ready.
    Backend(Ready),
    /// The last report of its agent.
    Agent {
        /// The time of the report; none where it never reported.
        heard_at: Option<Timestamp>,
    },
    /// A request of an operator.
    Asked(Request),
}

/// The first few names of a list, and its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Few<T> {
    /// The first names.
    pub names: Bounded<T, NAMES_MAX>,
    /// The number of all items.
    pub all: u32,
}

/// How far the tests of a node are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestProgress {
    /// They run, or have to be ordered.
    Running,
    /// The agent did not run them.
    NotRun,
    /// A fault appeared since they began, so they cannot pass.
    NewFault,
}

/// What a node waits for, with the details of each wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// The node does not wait.
    Nothing,
    /// The approval of an operator.
    Approval {
        /// The id of the action.
        action: OrderId,
        /// The kind of the action.
        kind: ActionKind,
        /// The setting that requires the approval.
        cap: Cap,
    },
    /// A circuit breaker; none where it has just closed.
    Breaker(Option<Box<BreakerLine>>),
    /// Room in a disruption budget.
    Budget(Spent),
    /// More nodes in service than the pool's floor.
    CapacityFloor {
        /// Minimum number of nodes in service.
        floor: u32,
        /// Nodes in service now.
        in_service: u32,
    },
    /// The end of a freeze.
    Freeze,
    /// Fewer recent removals than the pool's rate limit.
    RateLimit {
        /// Maximum number of removals.
        removals: u32,
        /// The time in which they count.
        per: Span,
    },
    /// The start of a maintenance window.
    Window,
    /// Gangs that still have time to save a checkpoint.
    Checkpoint {
        /// The gangs.
        gangs: Few<GangId>,
    },
    /// A shared cause; none where it has just cleared.
    SharedCause(Option<Box<SharedCause>>),
    /// Gangs that must leave the node.
    Drain {
        /// The gangs.
        gangs: Few<GangId>,
        /// Whether the machine answers.
        machine: Machine,
    },
    /// A newer view of the cluster.
    WatchSync(Unseen),
    /// Leadership of the cell.
    Leadership,
    /// A higher mode of the cell or pool.
    Mode {
        /// The id under which the dry run is recorded.
        action: OrderId,
        /// The kind of the action.
        kind: ActionKind,
        /// The setting that forbids it.
        cap: Cap,
    },
    /// The outcome of an order to the agent.
    Order {
        /// The order and its repair step; none where it could not be given yet.
        order: Option<(OrderId, RepairStep)>,
        /// What follows the order.
        after: After,
    },
    /// An action of an operator.
    Operator(Call),
    /// The results of a qualification suite.
    Qualification {
        /// The order and its suite; none where it could not be given yet.
        order: Option<(OrderId, SuiteName)>,
        /// How far its tests are.
        progress: TestProgress,
    },
    /// A report under the current registration.
    Report,
    /// A second, independent signal.
    SecondSignal(Doubt),
}

/// What follows an order to an agent; operator action where no step is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The same order: the agent did not run this one.
    Again,
    /// The next step in any case: this one does not repair the fault.
    Rung(Option<RepairStep>),
    /// A test if the step succeeded, and the next step if it failed.
    Test {
        /// The next step.
        otherwise: Option<RepairStep>,
    },
}

/// The setting that does not allow an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cap {
    /// The mode of the cell.
    Cell(Mode),
    /// The mode of the pool.
    Pool(PoolName, Mode),
    /// The pool's mode for this kind of action.
    Kind(PoolName, Mode),
    /// The pool has no policy.
    NoPolicy,
    /// The Cell is older than one already seen: a store was restored.
    Restored,
}

/// A disruption budget without room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spent {
    /// The pool has no budget.
    NoBudget,
    /// The budget is used up.
    Full {
        /// Per domain of this level; over the pool where absent.
        level: Option<Level>,
        /// The failure domain; none where its label is missing.
        domain: Option<DomainName>,
        /// The limit of the budget.
        most: u32,
        /// The nodes that use it.
        held_by: Few<NodeName>,
        /// Which nodes count.
        counted: Ledger,
    },
}

/// A write that is not visible yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// The whole view is too old.
    View {
        /// The time of the last complete view; none where there never was one.
        as_of: Option<Timestamp>,
    },
    /// The status that the controller wrote.
    Record,
    /// The cordon of the node.
    Cordon,
    /// The uncordon of the node.
    Uncordon,
}

/// What the operator must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Withdraw or change the request.
    Withdraw(Request),
    /// Replace a part: every other step was tried.
    Replace {
        /// Steps that were tried within a day.
        tried: Bounded<RepairStep, 8>,
    },
    /// End the planned work.
    Finish(PlannedWork),
    /// Check the tests that failed after a return request.
    Failed(Request),
    /// Turn off a machine that does not answer, or bring it back.
    Unreachable {
        /// Gangs whose pods are still on the node.
        gangs: Few<GangId>,
    },
    /// Check a node that is past the limit of its stage.
    Stuck {
        /// The limit of the stage.
        within: Span,
        /// Gangs that still run on the node.
        gangs: Few<GangId>,
    },
}

/// Why one signal is not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// The backend does not see the node, but its agent reported lately, or a job on it made progress.
    Agent {
        /// The time of its last report.
        heard_at: Option<Timestamp>,
        /// When a job on the node made progress, if that is later.
        progressed_at: Option<Timestamp>,
        /// The shared cause that applies if its agent does not report either.
        blamed: Option<Box<SharedCause>>,
    },
    /// The rule alone does not remove a node from service.
    Watched,
}

// === impl Wait ===

impl Wait {
    /// The reason without its details.
    #[must_use]
    pub const fn on(&self) -> WaitingOn {
        match self {
            Self::Nothing => WaitingOn::Nothing,
            Self::Approval { .. } => WaitingOn::Approval,
            Self::Breaker(_) => WaitingOn::Breaker,
            Self::Budget(_) => WaitingOn::Budget,
            Self::CapacityFloor { .. } => WaitingOn::CapacityFloor,
            Self::Freeze => WaitingOn::Freeze,
            Self::RateLimit { .. } => WaitingOn::RateLimit,
            Self::Window => WaitingOn::Window,
            Self::Checkpoint { .. } => WaitingOn::Checkpoint,
            Self::SharedCause(_) => WaitingOn::SharedCause,
            Self::Drain { .. } => WaitingOn::Drain,
            Self::WatchSync(_) => WaitingOn::WatchSync,
            Self::Leadership => WaitingOn::Leadership,
            Self::Mode { .. } => WaitingOn::Mode,
            Self::Order { .. } => WaitingOn::Order,
            Self::Operator(_) => WaitingOn::Operator,
            Self::Qualification { .. } => WaitingOn::Qualification,
            Self::Report => WaitingOn::Report,
            Self::SecondSignal(_) => WaitingOn::SecondSignal,
        }
    }
}

// === impl Few ===

impl<T> Few<T> {
    fn of(all: impl IntoIterator<Item = T>) -> Self {
        let mut all = all.into_iter();
        let names: Vec<T> = all.by_ref().take(NAMES_MAX).collect();
        let count = names.len().saturating_add(all.count());
        Self { names: Bounded::within(names), all: u32::try_from(count).unwrap_or(u32::MAX) }
    }
}

pub(crate) fn why(state: &State, index: &Index, name: &NodeName, as_of: Timestamp) -> Option<Why> {
    let node = state.named(name).filter(|node| node.facts.is_some())?;
    let findings = view::findings(state, node, as_of);
    let rule = evidence::rule_behind(node, &findings);
    let fault = rule.as_ref().map(|(rule, device)| {
        let subject = incidents::subject(node, device.as_ref());
        fault::fault(state, &subject, rule, std::slice::from_ref(&node.name), as_of)
    });
    let (wait, until) = waits::wait(state, index, node, &findings, as_of);
    Some(Why {
        node: node.name.clone(),
        as_of,
        stage: node.status.stage,
        since: node.status.since,
        evidence: evidence::evidence(state, node, rule.as_ref(), as_of),
        rule,
        fault,
        unrecognised: node.report.as_deref().map(|report| report.unrecognised.clone()).unwrap_or_default(),
        wait,
        until,
        stuck_at: stage_ends_at(state, node).filter(|at| *at > as_of),
    })
}
