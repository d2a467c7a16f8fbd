//! Shared data types of Mainstay: ids, serials, units, time, topology, evidence, stages, effects and stored status.
//!
//! Everything here is plain, bounded data. This crate makes no decisions, reads no clock and does no I/O. Every text
//! from a node, a tenant or a file is parsed into a bounded type first. Domain crates (`mainstay-health`,
//! `mainstay-remedy`, …) depend on this crate and not on each other.
//!
//! Start with [`Stage`] and [`WaitingOn`] (node lifecycle), then [`Evidence`] (what a node reports) and [`Persisted`]
//! (what must survive a restart).

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod bounded;
mod cell;
mod claim;
mod effect;
mod evidence;
mod finding;
mod gang;
mod id;
mod index;
mod inventory;
mod lifecycle;
mod number_format;
mod observation;
mod persisted;
mod policy;
mod pool_limits;
mod repair;
mod time;
mod topology;
mod unit;
mod unrecognised;
mod waiting;

pub use bounded::{Bounded, Literal, TextError, TooMany};
pub use cell::{Breaker, BreakerState, CellRecord, RuleRecord};
pub use claim::{Claim, ClaimSource, ClaimTarget, Freeze, Grant, Need};
pub use effect::{
    Decision, Effect, Execution, Executor, FORGOTTEN_MAX, NewOrder, NodeSummary, Outcome, Permit, Precondition, Step,
};
pub use evidence::{Code, Detail, Evidence, EvidenceKey, ExternalCondition, Source};
pub use finding::{Finding, Response, Subject};
pub use gang::{Checkpoints, Contract, GangFacts, GangId};
pub use id::{
    BootId, ClaimId, DomainName, GangName, GpuUuid, Namespace, NodeName, NodeUid, Nonce, OrderId, PoolName, Product,
    Reason, RuleName, SoftwareName, SuiteName, TestName, UserName, Version, short_digest,
};
pub use index::{DomainIndex, NodeIndex, PlaceIndex};
pub use inventory::{Gpu, GpusUnavailable, Inventory, Nic, Part, PciAddress, Serial};
pub use lifecycle::{Mode, RequestKind, Resolution, Stage};
pub use number_format::{counted, format_milli, thousands};
pub use observation::{
    CellFacts, Fact, NodeFacts, Observation, PlannedWork, Power, Ready, Report, Request, Schedulable,
};
pub use persisted::{
    ATTEMPTS_KEPT, Arrivals, Attempt, Cause, Order, PastIncident, Persisted, Proposal, ProposalOutcome, Repairer, Task,
    Transition,
};
pub use policy::{ActionKind, Budget, NodeLimit, Override, Policy, RateLimit, RepairPlan, WeeklyWindow};
pub use pool_limits::{BreakerLimits, Deadlines, DrainRule, Hazard, Hazards};
pub use repair::{OrderOutcome, RepairStep, Urgency, Verdict};
pub use time::{Span, Timestamp};
pub use topology::Level;
pub use unit::{Epoch, Ppm, Sequence};
pub use unrecognised::{Component, Template, UnrecognisedLine};
pub use waiting::WaitingOn;
