//! `FleetPolicy`: what operators allow per pool: mode, budgets, repair plans, catalogue exceptions, gang recognition.

use kube::CustomResource;
use mainstay_model::{
    ActionKind, Bounded, Code, DrainRule, Level, Mode, PoolName, RepairStep, RuleName, Source, SuiteName, Urgency,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Conditions;
use crate::rules::{EPOCH_RULE, EPOCH_SAYS};

/// What operators allow in one pool.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "FleetPolicy",
    doc = "What operators allow per pool: mode, disruption budgets, repair plans, catalogue overrides.",
    status = "FleetPolicyStatus",
    shortname = "fp",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "self.spec.budgets.all(b, has(b.nodesMax) != has(b.percentMax))",
        "a budget must set either nodesMax or percentMax, not both"
    ),
    validation = (
        "self.spec.budgets.all(b, (!has(b.nodesMax) || b.nodesMax > 0) && (!has(b.percentMax) || b.percentMax > 0))",
        "budgets must be positive: to stop all actions, set the mode to Observe"
    ),
    validation = (
        "self.spec.budgets.all(a, self.spec.budgets.exists_one(b, has(a.level) == has(b.level) && (!has(a.level) || a.level == b.level)))",
        "budgets must not name a level twice, nor the whole pool twice"
    ),
    validation = (
        "!has(self.spec.capacityFloor) || has(self.spec.capacityFloor.nodesMin) != has(self.spec.capacityFloor.percentMin)",
        "capacityFloor must set either nodesMin or percentMin, not both"
    ),
    validation = (
        "!has(self.spec.circuitBreaker) || !has(self.spec.circuitBreaker.pauseSecondsMin) || !has(self.spec.circuitBreaker.pauseSecondsMax) || self.spec.circuitBreaker.pauseSecondsMin <= self.spec.circuitBreaker.pauseSecondsMax",
        "circuitBreaker.pauseSecondsMin must not exceed pauseSecondsMax"
    ),
    validation = (
        "!has(self.spec.deadlines) || !has(self.spec.deadlines.answerSecondsMin) || ((!has(self.spec.deadlines.answerMinutesSeconds) || self.spec.deadlines.answerSecondsMin <= self.spec.deadlines.answerMinutesSeconds) && (!has(self.spec.deadlines.answerNextCheckpointSeconds) || self.spec.deadlines.answerSecondsMin <= self.spec.deadlines.answerNextCheckpointSeconds))",
        "deadlines.answerSecondsMin must not exceed answerMinutesSeconds or answerNextCheckpointSeconds"
    ),
    validation = (
        "self.spec.repairPlans.all(l, l.steps[0] == 'Capture')",
        "a repair plan must begin with Capture: later steps destroy logs that the vendor asks for"
    ),
    validation = (
        "self.spec.repairPlans.all(a, self.spec.repairPlans.exists_one(b, b.rule == a.rule))",
        "repairPlans must not name a rule twice"
    ),
    validation = (
        "self.spec.promotions.all(a, self.spec.promotions.exists_one(b, b.action == a.action))",
        "promotions must not name an action twice"
    ),
    validation = (
        "self.spec.overrides.all(o, o.source != 'Unrecognised' || o.rule in ['site-line-noted', 'site-line-watched', 'site-line-removed'])",
        "an override of an unrecognised line must use the rule site-line-noted, site-line-watched or site-line-removed"
    ),
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.pool"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Suite", type_ = "string", json_path = ".spec.suite"),
    printcolumn(name = "Accepted", type_ = "string", json_path = ".status.conditions[?(@.type==\"Accepted\")].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct FleetPolicySpec {
    /// Pool that the policy applies to: the value of the label mainstay.dev/pool on its nodes.
    pub pool: PoolName,
    /// Highest mode in this pool. The Cell's mode limits it further.
    #[serde(default)]
    pub mode: Mode,
    /// Kinds of action with a mode of their own, higher or lower than the pool's.
    #[serde(default)]
    pub promotions: Bounded<Promotion, 8>,
    /// Disruption budgets: how many nodes may be out of service at once. Every removal counts against the same budgets.
    /// Without a budget no node may be removed.
    #[serde(default)]
    pub budgets: Bounded<Budget, 8>,
    /// Capacity floor: how many nodes must stay in service, whatever the budgets allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_floor: Option<CapacityFloor>,
    /// How many nodes Mainstay may remove within a time, whatever the budgets allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// Times of the week in which planned disruptions may start. No version starts planned disruptions yet. Faults and
    /// requests do not wait for windows.
    #[serde(default)]
    pub windows: Bounded<MaintenanceWindow, 8>,
    /// How the time to stop a gang is chosen when its node has to be drained.
    #[serde(default)]
    pub drain_rule: DrainRule,
    /// Circuit breakers: how many nodes one rule may remove before it is stopped and tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker: Option<CircuitBreaker>,
    /// What faults may still cause to running jobs. The drain cost model uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hazards: Option<Hazards>,
    /// Time limits of drains, repairs, tests and stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// Repair plans by rule. The fault catalogue's plan applies where a rule has none here.
    #[serde(default)]
    pub repair_plans: Bounded<RepairPlan, 32>,
    /// Exceptions from the fault catalogue for this pool.
    #[serde(default)]
    pub overrides: Bounded<CatalogueOverride, 64>,
    /// Qualification suite that a node must pass before it returns to service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteName>,
    /// How Mainstay recognises which pods form a gang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangRecognition>,
}

/// Mode of one kind of action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Promotion {
    /// Kind of action that has its own mode.
    pub action: ActionKind,
    /// Highest mode for this kind of action.
    pub mode: Mode,
}

/// Disruption budget: nodes of one failure domain, or of the pool, that may be out of service at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Topology level that the budget applies to, per domain. Absent: the whole pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Largest number of nodes out of service at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub nodes_max: Option<i32>,
    /// Largest share of the domain's nodes out of service at once, in percent, rounded down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent_max: Option<i32>,
}

/// Nodes of the pool that must stay in service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityFloor {
    /// Smallest number of nodes in service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub nodes_min: Option<i32>,
    /// Smallest share of the pool's nodes in service, in percent, rounded down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent_min: Option<i32>,
}

/// Largest number of removals within a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// Largest number of nodes that Mainstay removes within the time.
    #[schemars(range(min = 1, max = 100_000))]
    pub removals_max: i32,
    /// Length of the time, in seconds.
    #[schemars(range(min = 60, max = 86_400))]
    pub per_seconds: i32,
}

/// A time of the week in which planned disruptions may start, in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceWindow {
    /// Day of the week on which the window opens.
    pub day: Weekday,
    /// Time at which the window opens, in minutes after midnight, UTC.
    #[schemars(range(min = 0, max = 1_439))]
    pub start_minute: i32,
    /// Length of the window, in minutes.
    #[schemars(range(min = 1, max = 10_080))]
    pub minutes: i32,
}

/// Size and times of the circuit breakers of the pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CircuitBreaker {
    /// Number of nodes that one rule may always remove within the window. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub nodes_min: Option<i32>,
    /// Share of the pool that one rule may remove within the window, in parts per million. Default: 5000, which is 0.5 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub share_ppm: Option<i32>,
    /// Time in which removals by one rule are counted together, in seconds. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub window_seconds: Option<i32>,
    /// First pause of a rule that was stopped, in seconds. Default: 1800, or pauseSecondsMax if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub pause_seconds_min: Option<i32>,
    /// Longest pause, in seconds. Default: 14400, or pauseSecondsMin if that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub pause_seconds_max: Option<i32>,
    /// Time limit of a test, in seconds. After that, another node may be the test. Default: 21600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub test_seconds_max: Option<i32>,
}

/// What faults that leave jobs some time may still cause, by urgency.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hazards {
    /// Faults with the urgency Minutes. Default: 500000 hung, 200000 per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<Hazard>,
    /// Faults with the urgency NextCheckpoint. Default: 10000 hung, 5000 per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_checkpoint: Option<Hazard>,
}

/// What a fault may still cause to jobs that have not stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hazard {
    /// Probability that the job already hangs without noticing, in parts per million.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub hung_ppm: i32,
    /// Probability that the node fails permanently within an hour, in parts per million.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub fails_per_hour_ppm: i32,
}

/// Time limits of the pool, in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deadlines {
    /// Longest wait for a requested checkpoint if the fault leaves minutes. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 604_800))]
    pub answer_minutes_seconds: Option<i32>,
    /// Longest wait for a requested checkpoint if the fault leaves time until the next one. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 604_800))]
    pub answer_next_checkpoint_seconds: Option<i32>,
    /// Shortest wait for a requested checkpoint, also late in a drain. The longest wait limits it. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 604_800))]
    pub answer_seconds_min: Option<i32>,
    /// Capture of logs and of the vendor's report. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub capture_seconds: Option<i32>,
    /// Restart of a service, or reset of a GPU. Default: 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub reset_seconds: Option<i32>,
    /// Reboot or power cycle of the machine. Default: 1800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub reboot_seconds: Option<i32>,
    /// Qualification suite. Default: 7200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub suite_seconds: Option<i32>,
    /// Stage Bootstrapping, before an operator has to look. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub bootstrapping_seconds: Option<i32>,
    /// Stage Quarantined, before an operator has to look. Default: 900.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub quarantined_seconds: Option<i32>,
    /// Stage Draining, before an operator has to look. Default: 7200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub draining_seconds: Option<i32>,
    /// Stage Repairing, before an operator has to look. Default: 14400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub repairing_seconds: Option<i32>,
    /// Stage Qualifying, before an operator has to look. Default: 14400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub qualifying_seconds: Option<i32>,
    /// Stages Maintenance and Upgrading, before an operator has to look. Default: 86400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 604_800))]
    pub planned_work_seconds: Option<i32>,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Weekday {
    /// Monday.
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}

/// Repair plan: the steps to try, in order, on a node that a rule flags for removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairPlan {
    /// Rule that the repair plan belongs to.
    pub rule: RuleName,
    /// Repair steps, least disruptive first.
    #[schemars(length(min = 1))]
    pub steps: Bounded<RepairStep, 8>,
    /// Largest number of attempts of one step within the window.
    #[schemars(range(min = 1, max = 16))]
    pub attempts_max: i32,
    /// Length of the window for attempts, in seconds.
    #[schemars(range(min = 60, max = 2_592_000))]
    pub window_seconds: i32,
}

/// Meaning of one fault code in this pool, where it differs from the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogueOverride {
    /// Source that reports the fault code.
    pub source: Source,
    /// Fault code as the source reports it.
    pub code: Code,
    /// Rule to apply instead of the catalogue's rule.
    pub rule: RuleName,
    /// Urgency to use instead of the rule's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
}

/// How pods are grouped into a gang: by a label, otherwise by their topmost owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GangRecognition {
    /// Key of the pod label whose value names the gang within its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 317))]
    pub pod_label: Option<String>,
    /// Kinds whose own owner is looked up, so that the Jobs of a JobSet form one gang. Only metadata is read. The
    /// controller's service account needs `list` and `watch` on these kinds.
    #[serde(default)]
    pub owners: Bounded<OwnerKind, 8>,
}

/// A kind of object that can own pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerKind {
    /// API group and version of the kind, for example `batch/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,
    /// Plural name of the kind, for example `jobs`.
    #[schemars(length(min = 1, max = 63))]
    pub plural: String,
}

/// State that the controller computed for the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetPolicyStatus {
    /// Epoch of the leader that wrote this status.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Condition Accepted: whether the policy is in effect, and why not.
    #[serde(default)]
    pub conditions: Conditions,
}
