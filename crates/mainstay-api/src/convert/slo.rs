//! Converts a `Slo` to the definition that `mainstay-account` computes with, and an account of its budget to the status.

use mainstay_account::budget::{Account, BudgetFact, BudgetState, Share};
use mainstay_account::catalogue::Indicator;
use mainstay_account::slo::{Definition, Severity, Sli, Slo as Objective};
use mainstay_model::{Bounded, Ppm};

use super::{ConversionError, count, small};
use crate::{Slo, SloBudgetFact, SloBudgetState, SloConsumer, SloIndicator, SloIndicatorType, SloSeverity, SloStatus};

impl TryFrom<&Slo> for Objective {
    type Error = ConversionError;

    fn try_from(slo: &Slo) -> Result<Self, ConversionError> {
        let spec = &slo.spec;
        let definition = Definition {
            name: slo.metadata.name.clone().unwrap_or_default(),
            objective: Ppm(small("objectivePpm", spec.objective_ppm.into(), 1_000_000)?),
            window_days: small("windowDays", spec.window_days.into(), 366)?,
            sli: indicator(&spec.indicator)?,
            volume: spec.expected_volume.map(|volume| count("expectedVolume", volume)).transpose()?,
            owner: spec.owner.clone(),
            severity: match spec.severity {
                SloSeverity::Ticket => Severity::Ticket,
                SloSeverity::Page => Severity::Page,
            },
            runbook_url: spec.runbook_url.clone(),
        };
        Objective::new(definition).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            ConversionError::Objective(errors.join("; "))
        })
    }
}

impl SloStatus {
    /// Replaces the numbers by those of an account. Epoch, conditions and the budget's fact stay.
    #[must_use]
    pub fn with_account(self, account: &Account) -> Self {
        Self {
            observed_at: Some(account.observed_at.into()),
            budget_left_ppm: Some(account.left_ppm),
            burn_rate_milli: account.burn_milli.map(capped),
            total_events_milli: capped(account.total_milli),
            bad_events_milli: capped(account.bad_milli),
            allowed_bad_events_milli: capped(account.allowed_micro / 1_000),
            hours_missing: i32::try_from(account.hours_missing).unwrap_or(i32::MAX),
            burn_down_ppm: Bounded::try_from(account.burn_down.clone()).unwrap_or_default(),
            consumers: Bounded::try_from(account.shares.iter().map(consumer).collect::<Vec<_>>()).unwrap_or_default(),
            ..self
        }
    }
}

fn consumer(share: &Share) -> SloConsumer {
    SloConsumer {
        incident: share.incident.clone(),
        bad_events_milli: capped(share.bad_milli),
        share_ppm: i32::try_from(share.share.0).unwrap_or(i32::MAX),
    }
}

fn capped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl From<BudgetFact> for SloBudgetFact {
    fn from(fact: BudgetFact) -> Self {
        Self {
            state: match fact.state {
                BudgetState::Spent => SloBudgetState::Spent,
                BudgetState::Left => SloBudgetState::Left,
            },
            observed_at: fact.observed_at.into(),
            expires_at: fact.expires_at.into(),
        }
    }
}

impl From<&SloBudgetFact> for BudgetFact {
    fn from(fact: &SloBudgetFact) -> Self {
        Self {
            state: match fact.state {
                SloBudgetState::Spent => BudgetState::Spent,
                SloBudgetState::Left => BudgetState::Left,
            },
            observed_at: fact.observed_at.into(),
            expires_at: fact.expires_at.into(),
        }
    }
}

fn indicator(from: &SloIndicator) -> Result<Sli, ConversionError> {
    let missing = |choices| ConversionError::Choice { field: "indicator", found: "a field missing", choices };
    let bound_seconds = || from.bound_seconds.clone().ok_or(missing("a type without a bound, or boundSeconds"));
    let indicator = match from.kind {
        SloIndicatorType::Query => {
            let query = from.query.as_ref().ok_or(missing("another type, or query"))?;
            return Ok(Sli::Events { good: query.good.clone(), total: query.total.clone() });
        }
        SloIndicatorType::JobSuccess => Indicator::JobSuccess,
        SloIndicatorType::QueueWait => Indicator::QueueWait { bound_seconds: bound_seconds()? },
        SloIndicatorType::GpuAvailability => Indicator::GpuAvailability,
        SloIndicatorType::DetectionTime => Indicator::DetectionTime { bound_seconds: bound_seconds()? },
        SloIndicatorType::ReturnTime => Indicator::ReturnTime { bound_seconds: bound_seconds()? },
        SloIndicatorType::Latency => {
            let metric = from.metric.clone().ok_or(missing("another type, or metric"))?;
            Indicator::Latency { metric, bound_seconds: bound_seconds()? }
        }
    };
    let matchers = from.matchers.as_slice().iter().map(|one| (one.label.clone(), one.value.clone())).collect();
    Ok(Sli::Catalogue { indicator, matchers })
}
