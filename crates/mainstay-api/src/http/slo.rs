//! Service level objectives and their error budgets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SloBudgetState, SloConsumer, SloSeverity};

/// A service level objective and its error budget, as the controller last read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slo {
    /// Name of the objective.
    pub name: String,
    /// What must be good, as a sentence without the objective: "of GPUs are in service".
    pub good_events: String,
    /// Share of events that must be good, in parts per million.
    pub objective_ppm: i32,
    /// Length of the window in days.
    pub window_days: i32,
    /// Team that receives the alerts.
    pub owner: String,
    /// Most urgent alert that the objective may raise.
    pub severity: SloSeverity,
    /// Address of the runbook.
    pub runbook_url: String,
    /// Time of the data. Null until data was read.
    pub observed_at: Option<i64>,
    /// Share of the error budget that is left, in parts per million. Negative if more was consumed, null if not known.
    pub budget_left_ppm: Option<i64>,
    /// Whether the budget is spent. Null if it is not known.
    pub budget_state: Option<SloBudgetState>,
    /// Burn rate of the last hour, in thousandths. Null without events.
    pub burn_rate_milli: Option<i64>,
    /// Bad events in the window, in thousandths.
    pub bad_events_milli: i64,
    /// Bad events that the objective allows in the window, in thousandths.
    pub allowed_bad_events_milli: i64,
    /// Hours of the window without data.
    pub hours_missing: i32,
    /// Budget left at the end of each day of the window, in parts per million, oldest first, at most 90.
    pub burn_down_ppm: Vec<i64>,
    /// Incidents during which the budget was consumed, largest share first, at most 17.
    pub consumers: Vec<SloConsumer>,
    /// Why the data could not be read. Null if it could.
    pub problem: Option<String>,
}

impl From<&crate::Slo> for Slo {
    fn from(slo: &crate::Slo) -> Self {
        let (spec, status) = (&slo.spec, slo.status.clone().unwrap_or_default());
        Self {
            name: slo.metadata.name.clone().unwrap_or_default(),
            good_events: spec.indicator.good_events(),
            objective_ppm: spec.objective_ppm,
            window_days: spec.window_days,
            owner: spec.owner.clone(),
            severity: spec.severity,
            runbook_url: spec.runbook_url.clone(),
            observed_at: status.observed_at.map(|at| at.0.as_millisecond()),
            budget_left_ppm: status.budget_left_ppm,
            budget_state: status.error_budget.as_ref().map(|fact| fact.state),
            burn_rate_milli: status.burn_rate_milli,
            bad_events_milli: status.bad_events_milli,
            allowed_bad_events_milli: status.allowed_bad_events_milli,
            hours_missing: status.hours_missing,
            burn_down_ppm: status.burn_down_ppm.as_slice().to_vec(),
            consumers: status.consumers.as_slice().to_vec(),
            problem: slo.problem().map(ToOwned::to_owned),
        }
    }
}
