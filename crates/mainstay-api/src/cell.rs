//! `Cell`: one per cluster. It holds the leader's epoch, the mode that operators allow, and the counters of each rule.

use kube::CustomResource;
use mainstay_model::{
    ActionKind, Bounded, BreakerState, ClaimId, Mode, NodeName, OrderId, PoolName, RuleName, UserName,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS};
use crate::{Conditions, Moment};

/// The mode that operators allow in this cluster, and their approvals. Operators write it; the admission policies read
/// it.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Cell",
    doc = "One cluster under Mainstay: the leader's epoch, the highest mode allowed, and the counters of its rules.",
    status = "CellStatus",
    shortname = "mcell",
    category = "mainstay",
    validation = ("self.metadata.name == 'cell'", "a cluster has one Cell, and its name is cell"),
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "self.spec.approvals.all(a, self.spec.approvals.exists_one(b, b.action == a.action))",
        "approvals must not name an action twice"
    ),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Epoch", type_ = "integer", json_path = ".status.epoch"),
    printcolumn(name = "Leader", type_ = "string", json_path = ".status.leader"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct CellSpec {
    /// Highest mode for every pool and every kind of action. Lowering it to Observe is the kill switch. Without the
    /// permission to act, the condition ModeHonoured is False with Propose and Act, and decisions are recorded as dry runs.
    pub mode: Mode,
    /// Actions that an operator approved, for mode Propose. The admission policies accept a write that carries out
    /// exactly such an action, until the approval expires.
    #[serde(default)]
    pub approvals: Bounded<Approval, 64>,
}

/// An operator's approval of one action on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Id of the proposed action that is approved.
    pub action: OrderId,
    /// Kind of the approved action: Cordon, Drain, RestartService, ResetGpu, Reboot, PowerCycle or Return.
    pub verb: ActionKind,
    /// Node that the action may change.
    pub node: NodeName,
    /// Id of the claim that the action belongs to. Another claim on the same node needs another approval.
    pub plan: ClaimId,
    /// Time at which the approval ends. The admission policies compare it with `status.asOf`.
    pub expires_at: Moment,
    /// User name of the operator who approved it.
    pub by: UserName,
}

/// State that the controller keeps about the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CellStatus {
    /// Epoch of the current leader. Each new leader raises it by one.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Identity of the controller that leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<UserName>,
    /// Time by the leader's clock, which the leader raises while it leads. The admission policies compare it with the
    /// expiry of approvals, because they have no clock. Without it, no approval is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Moment>,
    /// Circuit breakers that are not closed.
    #[serde(default)]
    pub breakers: Bounded<Breaker, 64>,
    /// Confirmed and refuted findings of each rule.
    #[serde(default)]
    pub rule_counters: Bounded<RuleCounters, 512>,
    /// Findings judged before this time are included in the rule counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_to: Option<Moment>,
    /// Conditions of the Cell: Alone, Current and ModeHonoured.
    #[serde(default)]
    pub conditions: Conditions,
}

/// State of one rule's circuit breaker in one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Breaker {
    /// Pool that the circuit breaker applies to.
    pub pool: PoolName,
    /// Rule that the circuit breaker stops.
    pub rule: RuleName,
    /// State of the circuit breaker.
    pub state: BreakerState,
    /// Time at which the circuit breaker entered this state.
    pub since: Moment,
}

/// Counters of one rule: findings that were later confirmed or refuted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleCounters {
    /// Rule that the counters belong to.
    pub rule: RuleName,
    /// Findings of this rule that led to removal and were then confirmed by a test, a replaced part or an operator.
    #[schemars(range(min = 0))]
    pub confirmed: i64,
    /// Findings of this rule that led to removal and were then refuted by a test or an operator.
    #[schemars(range(min = 0))]
    pub refuted: i64,
    /// Dry-run findings of this rule after which the node was lost or removed by another tool.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub confirmed_dry_run: i64,
    /// Dry-run findings of this rule whose evidence cleared by itself.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub refuted_dry_run: i64,
}
