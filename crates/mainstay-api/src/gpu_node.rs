//! `GpuNode`: what Mainstay thinks of a node, what it is doing about it, and what people ask of it.

use kube::CustomResource;
use mainstay_model::{
    BootId, Bounded, Code, Happened, Nonce, OrderId, Person, Reason, RequestKind, RuleName, Rung, Serial, Source,
    Stage, SuiteName, Urgency, WaitingOn, Word,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS};
use crate::{Conditions, Moment};

/// What people ask of the node.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "GpuNode",
    doc = "One node's life: its stage, what it waits on, its history, and the orders to its agent.",
    status = "GpuNodeStatus",
    shortname = "gn",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "!has(self.spec.request) || self.spec.request.reason.size() > 0",
        "a request says why: the next engineer on call will read it"
    ),
    validation = (
        "!has(self.spec.request) || !has(self.spec.request.word) || self.spec.request.kind in ['Return', 'Hold']",
        "what was found is said with Return or Hold"
    ),
    validation = (
        "!has(self.status) || self.status.orders.all(o, has(o.rung) != has(o.suite))",
        "an order carries out a rung or runs a suite, one of the two"
    ),
    validation = (
        "!has(self.status) || self.status.arrivals.all(a, a.hours.all(c, c >= 0) && a.days.all(c, c >= 0))",
        "arrivals are counts and never negative"
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
    /// What a person asks of the node; withdrawn by removing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// What is asked.
    pub kind: RequestKind,
    /// Why.
    pub reason: Reason,
    /// By whom.
    pub by: Person,
    /// What was found on the node, where somebody looked: it has the last word on the finding. With Return or Hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
}

/// What the controller keeps about the node: everything that must survive a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuNodeStatus {
    /// The epoch of the leader that wrote this.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Where the node is in its life.
    pub stage: Stage,
    /// Since when.
    pub since: Moment,
    /// Why it is not simply in service; absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// How often it was taken out: part of every action's id.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub round: i32,
    /// What it waits on.
    pub waiting_on: WaitingOn,
    /// The same in a sentence.
    pub message: Reason,
    /// The estimated chance of another incident within the next 7 days, in parts per million.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub risk_ppm: i32,
    /// How the node stands.
    #[serde(default)]
    pub conditions: Conditions,
    /// Orders to the agent that have not ended.
    #[serde(default)]
    pub orders: Bounded<Order, 4>,
    /// Rungs that were tried, latest last.
    #[serde(default)]
    pub attempts: Bounded<Attempt, 16>,
    /// The boot that arrivals were counted in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<BootId>,
    /// When evidence arrived, in buckets.
    #[serde(default)]
    pub arrivals: Bounded<Arrivals, 16>,
    /// The latest changes of stage, latest last.
    #[serde(default)]
    pub history: Bounded<Transition, 16>,
    /// The latest decisions that were not carried out, beside what then happened.
    #[serde(default)]
    pub proposals: Bounded<Proposal, 8>,
    /// The latest times that a rule took the node out and it went into repair, latest last.
    #[serde(default)]
    pub incidents: Bounded<PastIncident, 8>,
}

/// Why a node was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The rule, or `request` where a person asked.
    pub rule: RuleName,
    /// How long running work may be waited for.
    pub urgency: Urgency,
    /// The serial of the part; the node as a whole where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// What to try.
    #[serde(default)]
    pub rungs: Bounded<Rung, 8>,
}

/// A decision that stood on paper or waited for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// The action; what a person approves.
    pub action: OrderId,
    /// The rule behind it.
    pub rule: RuleName,
    /// When it was decided.
    pub decided_at: Moment,
    /// What then happened.
    pub happened: Happened,
    /// When; absent where nothing did yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<Moment>,
}

/// One order to the node's agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// The epoch of the leader that gave it.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// For which boot; an agent of another boot refuses it.
    pub boot_id: BootId,
    /// What a qualification's result must carry back.
    pub nonce: Nonce,
    /// The rung to carry out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
    /// The suite to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteName>,
    /// The serial of the part it is about; the node where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// After which it must not be started.
    pub expires_at: Moment,
}

/// One try of one rung.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Of which rule's ladder.
    pub rule: RuleName,
    /// Which rung.
    pub rung: Rung,
    /// On which part; the node where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// When it was ordered.
    pub ordered_at: Moment,
}

/// When evidence of one kind arrived, by the controller's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arrivals {
    /// Who said it.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// The serial of the part; the node where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// How much of the agent's cumulative count of this boot is in the buckets already.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub counted: i64,
    /// The hour of the newest bucket, in whole hours since the Unix epoch.
    #[schemars(range(min = 0))]
    pub newest_hour: i64,
    /// Counts of the last 24 hours, newest first, without trailing zeros.
    #[serde(default)]
    pub hours: Bounded<i32, 24>,
    /// Counts of the last 7 days, newest first, without trailing zeros.
    #[serde(default)]
    pub days: Bounded<i32, 7>,
}

/// A time that a rule took the node out and it went into repair, or would have taken it out where nothing may be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastIncident {
    /// The serial of the part it was about: the board's where it was the node as a whole, absent where nobody knew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<Serial>,
    /// The rule.
    pub rule: RuleName,
    /// When the node was taken out.
    pub at: Moment,
}

/// One change of stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// Into which stage.
    pub to: Stage,
    /// When.
    pub at: Moment,
    /// By which rule.
    pub rule: RuleName,
    /// What was said by then of what had been found: by a person, or by a part that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
}
