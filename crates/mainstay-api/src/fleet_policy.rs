//! `FleetPolicy`: what people allow per pool: mode, budgets, ladders, exceptions from the catalogue, how a gang is known.

use kube::CustomResource;
use mainstay_model::{ActionKind, Bounded, Code, Level, Mode, PoolName, RuleName, Rung, Source, SuiteName, Urgency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Conditions;
use crate::rules::{EPOCH_RULE, EPOCH_SAYS};

/// What is allowed in one pool.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "FleetPolicy",
    doc = "What people allow per pool: mode, disruption budgets, repair ladders, catalogue overrides.",
    status = "FleetPolicyStatus",
    shortname = "fp",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "self.spec.budgets.all(b, has(b.nodesMax) != has(b.percentMax))",
        "a budget is absolute (nodesMax) or relative (percentMax), one of the two"
    ),
    validation = (
        "self.spec.budgets.all(b, (!has(b.nodesMax) || b.nodesMax > 0) && (!has(b.percentMax) || b.percentMax > 0))",
        "budgets are positive: to stop all acts, set the mode to Observe"
    ),
    validation = (
        "self.spec.budgets.all(a, self.spec.budgets.exists_one(b, has(a.level) == has(b.level) && (!has(a.level) || a.level == b.level)))",
        "one budget a level, and one for the fleet"
    ),
    validation = (
        "self.spec.ladders.all(l, l.rungs[0] == 'Capture')",
        "a ladder begins with Capture: later rungs destroy what the vendor will ask for"
    ),
    validation = (
        "self.spec.ladders.all(a, self.spec.ladders.exists_one(b, b.rule == a.rule))",
        "one ladder a rule"
    ),
    validation = (
        "self.spec.promotions.all(a, self.spec.promotions.exists_one(b, b.action == a.action))",
        "one promotion an action kind"
    ),
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.pool"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Suite", type_ = "string", json_path = ".spec.suite"),
    printcolumn(name = "Accepted", type_ = "string", json_path = ".status.conditions[?(@.type==\"Accepted\")].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct FleetPolicySpec {
    /// The pool: the value of the pool label on its nodes.
    pub pool: PoolName,
    /// How far Mainstay may go here, under the cell's ceiling.
    #[serde(default)]
    pub mode: Mode,
    /// Action kinds that may go further, or less far, than the pool's mode.
    #[serde(default)]
    pub promotions: Bounded<Promotion, 8>,
    /// How many nodes may be out at once. Everything that takes a node out draws on the same budgets.
    #[serde(default)]
    pub budgets: Bounded<Budget, 8>,
    /// Repair ladders by rule; the catalogue's where absent.
    #[serde(default)]
    pub ladders: Bounded<Ladder, 32>,
    /// Exceptions from the fault catalogue.
    #[serde(default)]
    pub overrides: Bounded<CatalogueOverride, 64>,
    /// The suite that a node must pass before it returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteName>,
    /// How a gang is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangRecognition>,
}

/// How far one kind of act may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Promotion {
    /// Which kind.
    pub action: ActionKind,
    /// How far.
    pub mode: Mode,
}

/// How many nodes of one failure domain may be out at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Per domain of this level; over the whole pool where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// At most so many nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub nodes_max: Option<i32>,
    /// At most this share of the domain's nodes, rounded down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent_max: Option<i32>,
}

/// What is tried, in order, when a rule condemns a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ladder {
    /// For which rule.
    pub rule: RuleName,
    /// The rungs, gentlest first.
    #[schemars(length(min = 1))]
    pub rungs: Bounded<Rung, 8>,
    /// How often one rung may be tried within the window.
    #[schemars(range(min = 1, max = 16))]
    pub attempts_max: i32,
    /// The window, in seconds.
    #[schemars(range(min = 60, max = 2_592_000))]
    pub window_seconds: i32,
}

/// What one fault code means here, where it differs from the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogueOverride {
    /// Who says it.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// The rule to follow instead.
    pub rule: RuleName,
    /// How urgent it is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
}

/// How a gang is recognised: by a label, else by its topmost owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GangRecognition {
    /// The pod label whose value names the gang within its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 317))]
    pub pod_label: Option<String>,
    /// Kinds whose own owner is looked up, so that the Jobs of a JobSet are one gang. Only their metadata is read; the
    /// controller's account needs `list` and `watch` on them.
    #[serde(default)]
    pub owners: Bounded<OwnerKind, 8>,
}

/// A kind of owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerKind {
    /// Its group and version, as `batch/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,
    /// Its plural, as `jobs`.
    #[schemars(length(min = 1, max = 63))]
    pub plural: String,
}

/// What the controller makes of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetPolicyStatus {
    /// The epoch of the leader that wrote this.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Whether it is in force, and what is wrong with it if not.
    #[serde(default)]
    pub conditions: Conditions,
}
