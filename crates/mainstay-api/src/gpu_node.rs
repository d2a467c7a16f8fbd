//! `GpuNode`: the state of one node, what Mainstay does about it, and what operators request for it.

use kube::CustomResource;
use mainstay_model::{
    BootId, Bounded, ClaimId, ClaimSource, Code, Need, Nonce, OrderId, ProposalOutcome, Reason, RepairStep, Repairer,
    RequestKind, Resolution, RuleName, Serial, Source, Stage, SuiteName, Urgency, UserName, WaitingOn,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS};
use crate::{Conditions, Moment};

/// What an operator requests for the node.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "GpuNode",
    doc = "State of one node: its stage, what it waits for, its history, and the orders to its agent.",
    status = "GpuNodeStatus",
    shortname = "gn",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "!has(self.spec.request) || self.spec.request.reason.size() > 0",
        "spec.request.reason must not be empty: the next engineer on call will read it"
    ),
    validation = (
        "!has(self.spec.request) || !has(self.spec.request.resolution) || self.spec.request.kind in ['Return', 'Hold']",
        "spec.request.resolution is only allowed with kind Return or Hold"
    ),
    validation = (
        "!has(self.status) || self.status.orders.all(o, has(o.step) != has(o.suite))",
        "an order must set either step or suite, not both"
    ),
    validation = (
        "!has(self.status) || self.status.arrivals.all(a, a.hours.all(c, c >= 0) && a.days.all(c, c >= 0))",
        "counts in arrivals must not be negative"
    ),
    printcolumn(name = "Stage", type_ = "string", json_path = ".status.stage"),
    printcolumn(name = "Since", type_ = "date", json_path = ".status.since"),
    printcolumn(name = "Waiting-On", type_ = "string", json_path = ".status.waitingOn"),
    printcolumn(name = "Why", type_ = "string", json_path = ".status.message"),
    printcolumn(name = "Request", type_ = "string", json_path = ".spec.request.kind"),
    printcolumn(name = "Risk-Ppm", type_ = "integer", json_path = ".status.riskPpm", priority = 1),
    printcolumn(name = "Epoch", type_ = "integer", json_path = ".status.epoch", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct GpuNodeSpec {
    /// Open request of an operator. Remove the field to withdraw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
}

/// A request of an operator for one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// What the operator requests: Hold, Quarantine, Drain, Return or Retire.
    pub kind: RequestKind,
    /// Why the operator requests it, in one sentence.
    pub reason: Reason,
    /// User name of the operator.
    pub by: UserName,
    /// Result of the operator's inspection: FaultFound or NothingFound. It overrides the rule's finding. Only with
    /// Return or Hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

/// State that the controller keeps about the node: everything that must survive a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuNodeStatus {
    /// Epoch of the leader that wrote this status.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Current stage of the node.
    pub stage: Stage,
    /// Time at which the node entered the stage.
    pub since: Moment,
    /// Why the node is not in service. Absent while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Permission to treat the node. Absent while Mainstay does not treat it. It is stored before any action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// Who repairs the node; Mainstay if absent. In a pool with a capacity floor, a node that a technician has to repair
    /// holds no place of a disruption budget.
    #[serde(default, skip_serializing_if = "Repairer::is_mainstay")]
    pub repairer: Repairer,
    /// Number of the latest removal. It is part of every action's id and never decreases.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub removals: i32,
    /// What the node waits for before its next step.
    pub waiting_on: WaitingOn,
    /// Fault and wait of the node in one sentence.
    pub message: Reason,
    /// Estimated probability of another incident within 7 days, in parts per million.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub risk_ppm: i32,
    /// Condition of the node: InService.
    #[serde(default)]
    pub conditions: Conditions,
    /// Orders to the agent that have not ended.
    #[serde(default)]
    pub orders: Bounded<Order, 4>,
    /// Repair steps that were ordered, latest last.
    #[serde(default)]
    pub attempts: Bounded<Attempt, 16>,
    /// Boot id of the node when evidence was last counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<BootId>,
    /// Evidence counts per hour and day, by source and code.
    #[serde(default)]
    pub arrivals: Bounded<Arrivals, 16>,
    /// Latest stage changes, latest last.
    #[serde(default)]
    pub history: Bounded<Transition, 16>,
    /// Latest decisions that were not executed, each with what happened next.
    #[serde(default)]
    pub proposals: Bounded<Proposal, 8>,
    /// Latest times a rule removed the node for repair, or would have in dry run. Latest last.
    #[serde(default)]
    pub incidents: Bounded<PastIncident, 8>,
}

/// Why the node is not in service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// Rule that flagged the node, or `request` for an operator's request.
    pub rule: RuleName,
    /// How long running work may delay the removal.
    pub urgency: Urgency,
    /// Serial number of the faulty part. Absent: the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// Repair steps to try, in order.
    #[serde(default)]
    pub steps: Bounded<RepairStep, 8>,
}

/// Permission to treat the node: which claim was granted, to whom and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Id of the claim that was granted.
    pub claim: ClaimId,
    /// Who made the claim: Fault, Request, Window, Rollout or Preemption.
    pub by: ClaimSource,
    /// What the claim needs: Avoid, Cordon, Stop or Exclusive.
    pub needs: Need,
    /// Time of the grant.
    pub granted_at: Moment,
    /// Epoch of the leader that granted it.
    #[schemars(range(min = 0))]
    pub epoch: i64,
}

/// A decision that was recorded as a dry run, or that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// Id of the action, as an operator approves it.
    pub action: OrderId,
    /// Rule that led to the decision.
    pub rule: RuleName,
    /// Time of the decision.
    pub decided_at: Moment,
    /// What happened to the node after the decision.
    pub outcome: ProposalOutcome,
    /// Time of that outcome. Absent while the outcome is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_at: Option<Moment>,
}

/// One order to the node's agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Unique id of the order.
    pub id: OrderId,
    /// Epoch of the leader that gave the order.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Boot id that the order is for. The agent rejects the order after a reboot.
    pub boot_id: BootId,
    /// Random value that the results of the order must carry.
    pub nonce: Nonce,
    /// Repair step to execute. Absent if the order runs a suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<RepairStep>,
    /// Qualification suite to run. Absent if the order is a repair step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteName>,
    /// Serial number of the part to repair. Absent: the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// Time after which the agent must not start the order.
    pub start_by: Moment,
    /// Time after which the controller no longer waits for the order.
    pub done_by: Moment,
}

/// One attempt of one repair step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Rule whose repair plan the step belongs to.
    pub rule: RuleName,
    /// Repair step that was ordered.
    pub step: RepairStep,
    /// Serial number of the part. Absent: the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// Time at which the step was ordered.
    pub ordered_at: Moment,
}

/// Counts of one kind of evidence over time, by the controller's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arrivals {
    /// Source that reported the evidence.
    pub source: Source,
    /// Fault code as the source reports it.
    pub code: Code,
    /// Serial number of the part. Absent: the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// Part of the agent's count since boot that the buckets already include.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub counted: i64,
    /// `counted` when the node entered its last qualification. What arrived since counts against the tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0))]
    pub before_tests: i64,
    /// Hour of the newest bucket, in whole hours since the Unix epoch.
    #[schemars(range(min = 0))]
    pub newest_hour: i64,
    /// Counts of the last 24 hours, newest first, without trailing zeros.
    #[serde(default)]
    pub hours: Bounded<i32, 24>,
    /// Counts of the last 7 days, newest first, without trailing zeros.
    #[serde(default)]
    pub days: Bounded<i32, 7>,
}

/// One time a rule removed the node for repair, or would have in dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastIncident {
    /// Serial number of the faulty part, or of the board for the whole node. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<Serial>,
    /// Rule that flagged the node.
    pub rule: RuleName,
    /// Time of the removal, or of the dry-run decision.
    pub at: Moment,
}

/// One change of stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// Stage that the node entered.
    pub to: Stage,
    /// Time of the stage change.
    pub at: Moment,
    /// Rule that led to the change.
    pub rule: RuleName,
    /// Result known by then: an operator's resolution, or FaultFound for a replaced part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

/// Whether a count is left out of the stored status.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &i64) -> bool {
    *count == 0
}
