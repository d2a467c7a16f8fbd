//! `Cell`: one per cluster. Who leads, how far Mainstay may go, and which of its rules are under suspicion.

use kube::CustomResource;
use mainstay_model::{Bounded, BreakerState, Mode, OrderId, Person, PoolName, RuleName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS};
use crate::{Conditions, Moment};

/// How far Mainstay may go in this cluster. People write it; the fence reads it.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Cell",
    doc = "One cluster under Mainstay: the leader's epoch, the mode ceiling, and the standing of its rules.",
    status = "CellStatus",
    shortname = "mcell",
    category = "mainstay",
    validation = ("self.metadata.name == 'cell'", "there is one Cell in a cluster and it is named cell"),
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "self.spec.approvals.all(a, self.spec.approvals.exists_one(b, b.action == a.action))",
        "each action is approved once"
    ),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Epoch", type_ = "integer", json_path = ".status.epoch"),
    printcolumn(name = "Leader", type_ = "string", json_path = ".status.leader"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct CellSpec {
    /// The ceiling over every pool and action. Lowering it stops all acts within seconds.
    pub mode: Mode,
    /// Actions that a person approved while the ceiling is Propose. The fence lets a write through that names one.
    #[serde(default)]
    pub approvals: Bounded<Approval, 64>,
}

/// A person's yes to one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The id of the proposed action.
    pub action: OrderId,
    /// Who said yes.
    pub by: Person,
}

/// What the controller keeps about the cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CellStatus {
    /// The epoch of the current leader. A new leader raises it by one.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Who leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<Person>,
    /// Breakers that are not closed.
    #[serde(default)]
    pub breakers: Bounded<Breaker, 64>,
    /// How often each rule was right.
    #[serde(default)]
    pub rule_records: Bounded<RuleRecord, 256>,
    /// Findings that were judged before this moment are in the records of rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_to: Option<Moment>,
    /// How the cell stands.
    #[serde(default)]
    pub conditions: Conditions,
}

/// One rule's breaker in one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Breaker {
    /// In which pool.
    pub pool: PoolName,
    /// Of which rule.
    pub rule: RuleName,
    /// How it stands.
    pub state: BreakerState,
    /// Since when.
    pub since: Moment,
}

/// How often a rule was right: what became of its findings that could be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleRecord {
    /// Which rule.
    pub rule: RuleName,
    /// Taken out by it, and a test, a replaced part or a person showed that something was wrong.
    #[schemars(range(min = 0))]
    pub confirmed: i64,
    /// Taken out by it, and a test or a person showed that nothing was.
    #[schemars(range(min = 0))]
    pub refuted: i64,
    /// Not carried out, and the node was lost or taken out by others.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub confirmed_on_paper: i64,
    /// Not carried out, and the evidence went away by itself.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub refuted_on_paper: i64,
}
