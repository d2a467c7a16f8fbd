//! `Slo`: a service level objective, from which recording and alert rules are generated. The controller keeps its error
//! budget in the status.

use kube::CustomResource;
use mainstay_model::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{EPOCH_RULE, EPOCH_SAYS};
use crate::{ConditionStatus, Conditions, Moment};

/// A service level objective and its owner.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Slo",
    doc = "A service level objective: the share of events that must be good, how events are counted, and who owns it.",
    status = "SloStatus",
    shortname = "slo",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "self.metadata.name.matches('^[a-z0-9-]{1,63}$')",
        "the name must have at most 63 lower-case letters, digits and hyphens: it is part of alert labels"
    ),
    validation = (
        "(self.spec.indicator.type == 'Query') == has(self.spec.indicator.query)",
        "indicator.query must be set for type Query, and for no other type"
    ),
    validation = (
        "(self.spec.indicator.type in ['QueueWait', 'DetectionTime', 'ReturnTime', 'Latency']) == has(self.spec.indicator.boundSeconds)",
        "indicator.boundSeconds must be set for QueueWait, DetectionTime, ReturnTime and Latency, and for no other type"
    ),
    validation = (
        "(self.spec.indicator.type == 'Latency') == has(self.spec.indicator.metric)",
        "indicator.metric must be set for type Latency, and for no other type"
    ),
    validation = (
        "self.spec.indicator.type != 'Query' || self.spec.indicator.matchers.size() == 0",
        "indicator.matchers must be empty for type Query: write the labels in the queries"
    ),
    validation = (
        "!has(self.spec.indicator.query) || (self.spec.indicator.query.good.contains('[$window]') && self.spec.indicator.query.total.contains('[$window]'))",
        "both queries must contain [$window], which each rule replaces by its own window"
    ),
    printcolumn(name = "Objective-Ppm", type_ = "integer", json_path = ".spec.objectivePpm"),
    printcolumn(name = "Window-Days", type_ = "integer", json_path = ".spec.windowDays"),
    printcolumn(name = "Indicator", type_ = "string", json_path = ".spec.indicator.type"),
    printcolumn(name = "Budget-Left-Ppm", type_ = "integer", json_path = ".status.budgetLeftPpm"),
    printcolumn(name = "Measured", type_ = "string", json_path = ".status.conditions[?(@.type==\"Measured\")].status"),
    printcolumn(name = "Severity", type_ = "string", json_path = ".spec.severity"),
    printcolumn(name = "Owner", type_ = "string", json_path = ".spec.owner"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct SloSpec {
    /// Share of events that must be good, in parts per million: 999000 is 99.9 %.
    #[schemars(range(min = 500_000, max = 999_990))]
    pub objective_ppm: i32,
    /// Length of the rolling window of the error budget, in days.
    #[schemars(range(min = 7, max = 90))]
    pub window_days: i32,
    /// How good and all events are counted.
    pub indicator: SloIndicator,
    /// Expected events a day; for GpuAvailability, the expected number of GPUs. Without it an objective that counts events never
    /// pages, because no minimum of bad events can be computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub expected_volume: Option<i64>,
    /// Team that receives the alerts, as their label owner.
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[ -~]+$"))]
    pub owner: String,
    /// Most urgent alert that the objective may raise.
    pub severity: SloSeverity,
    /// Address of the runbook, as the annotation runbook_url of every alert.
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[ -~]+$"))]
    pub runbook_url: String,
}

/// How good and all events are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SloIndicator {
    /// Indicator of the catalogue, or Query for PromQL.
    #[serde(rename = "type")]
    pub kind: SloIndicatorType,
    /// PromQL of type Query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<SloQuery>,
    /// Longest good time in seconds, as the histogram spells its label le.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), regex(pattern = "^[0-9]+([.][0-9]+)?$"))]
    pub bound_seconds: Option<String>,
    /// Histogram of type Latency, without the suffix _bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[a-zA-Z_:][a-zA-Z0-9_:]*$"))]
    pub metric: Option<String>,
    /// Labels that the series of the catalogue must have.
    #[serde(default)]
    pub matchers: Bounded<SloMatcher, 8>,
}

/// Indicators of the catalogue, and PromQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SloIndicatorType {
    /// Share of jobs that did not fail for an infrastructure cause.
    JobSuccess,
    /// Share of jobs that started within the bound.
    QueueWait,
    /// Share of GPUs in service.
    GpuAvailability,
    /// Share of faults detected within the bound.
    DetectionTime,
    /// Share of removed nodes that returned within the bound.
    ReturnTime,
    /// Share of a service's requests answered within the bound.
    Latency,
    /// Good and all events by PromQL.
    Query,
}

/// PromQL that counts events within `$window`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SloQuery {
    /// Number of good events, with the range [$window].
    #[schemars(length(min = 1, max = 2048), regex(pattern = "^[ -~]+$"))]
    pub good: String,
    /// Number of all events, with the range [$window].
    #[schemars(length(min = 1, max = 2048), regex(pattern = "^[ -~]+$"))]
    pub total: String,
}

/// A label and the value that it must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SloMatcher {
    /// Name of the label.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-zA-Z_][a-zA-Z0-9_]*$"))]
    pub label: String,
    /// Value of the label.
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[ -~]+$"))]
    pub value: String,
}

/// The most urgent alert of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SloSeverity {
    /// The alerts can wait for working hours.
    Ticket,
    /// The alerts may wake the on-call engineer.
    Page,
}

/// Error budget of the objective, as the controller last read it from Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SloStatus {
    /// Epoch of the leader that wrote this status.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Time of the data behind the fields below. Absent until data was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Moment>,
    /// Share of the error budget that is left, in parts per million. Negative if more was consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1_000_000_000, max = 1_000_000))]
    pub budget_left_ppm: Option<i64>,
    /// Burn rate of the last hour, in thousandths: at 1000 the budget lasts exactly one window. Absent without events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub burn_rate_milli: Option<i64>,
    /// All events in the window, in thousandths.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub total_events_milli: i64,
    /// Bad events in the window, in thousandths.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub bad_events_milli: i64,
    /// Bad events that the objective allows in a whole window, in thousandths.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub allowed_bad_events_milli: i64,
    /// Hours of the window without data. They count neither as good nor as bad.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2160))]
    pub hours_missing: i32,
    /// Budget left at the end of each day of the window, in parts per million, oldest first.
    #[serde(default)]
    pub burn_down_ppm: Bounded<i64, 90>,
    /// Incidents during which the budget was consumed, largest share first. The last may be without incident.
    #[serde(default)]
    pub consumers: Bounded<SloConsumer, 17>,
    /// Whether the error budget is spent, with an expiry. Missing data neither sets nor clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_budget: Option<SloBudgetFact>,
    /// Condition Measured: whether the data could be read, and why not.
    #[serde(default)]
    pub conditions: Conditions,
}

/// Part of the bad events that happened during one incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SloConsumer {
    /// Name of the Incident. Absent for bad events outside every named incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub incident: Option<String>,
    /// Number of bad events, in thousandths.
    #[schemars(range(min = 0))]
    pub bad_events_milli: i64,
    /// Share of all bad events, in parts per million.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub share_ppm: i32,
}

/// The fact that the error budget is spent or left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SloBudgetFact {
    /// What the data showed.
    pub state: SloBudgetState,
    /// Time of that data.
    pub observed_at: Moment,
    /// Time from which nothing is known, if no data renews the fact.
    pub expires_at: Moment,
}

/// State of an error budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SloBudgetState {
    /// Nothing of the budget is left.
    Spent,
    /// Some of the budget is left.
    Left,
}

/// What is wrong with an objective that no controller has read.
const NOT_READ: &str = "No controller has read it yet. It needs `mainstay serve --prometheus URL`.";

impl Slo {
    /// Why the error budget could not be read. None if it could.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        let Some(status) = &self.status else { return Some(NOT_READ) };
        let failed = status.conditions.0.iter().find(|one| one.status == ConditionStatus::False);
        failed.map(|one| one.message.as_str())
    }
}

impl SloStatus {
    /// Whether the error budget is known to be spent.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.error_budget.as_ref().is_some_and(|fact| fact.state == SloBudgetState::Spent)
    }
}

impl SloIndicator {
    /// What counts as good, to be read after a share: "99 % of GPUs are in service".
    #[must_use]
    pub fn good_events(&self) -> String {
        let bound = self.bound_seconds.as_deref().unwrap_or_default();
        match self.kind {
            SloIndicatorType::JobSuccess => "of jobs do not fail for an infrastructure cause".to_owned(),
            SloIndicatorType::QueueWait => format!("of jobs start within {bound} s"),
            SloIndicatorType::GpuAvailability => "of GPUs are in service".to_owned(),
            SloIndicatorType::DetectionTime => format!("of faults are detected within {bound} s"),
            SloIndicatorType::ReturnTime => format!("of removed nodes return within {bound} s"),
            SloIndicatorType::Latency => format!("of requests are answered within {bound} s"),
            SloIndicatorType::Query => "of events are good, by the queries of the objective".to_owned(),
        }
    }
}
