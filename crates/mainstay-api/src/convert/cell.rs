//! Converts a `Cell` to the engine's facts and counters, and the counters back.

use std::collections::BTreeSet;

use mainstay_model as model;
use mainstay_model::{Bounded, CellFacts, CellRecord, Epoch, Timestamp, UserName};

use super::{ConversionError, all, count, each, wire64};
use crate::{Breaker, Cell, CellStatus, Conditions, Moment, RuleCounters};

impl Cell {
    /// Returns the engine's facts of a Cell that arrived at this time. Approvals that have expired by then are left out.
    /// A Cell without a status was never led: its epoch is 0.
    ///
    /// # Errors
    /// [`ConversionError`] if the status holds a value that the engine cannot represent.
    pub fn facts(&self, arrived_at: Timestamp) -> Result<CellFacts, ConversionError> {
        let (status, now) = (self.status.as_ref(), Moment::from(arrived_at));
        let valid = self.spec.approvals.as_slice().iter().filter(|approval| approval.expires_at > now);
        Ok(CellFacts {
            epoch: Epoch(count("epoch", status.map_or(0, |status| status.epoch))?),
            mode: self.spec.mode,
            approvals: Bounded::within(valid.map(|approval| approval.action.clone())),
            record: status.map(CellRecord::try_from).transpose()?.unwrap_or_default(),
        })
    }
}

impl TryFrom<&CellStatus> for CellRecord {
    type Error = ConversionError;

    fn try_from(status: &CellStatus) -> Result<Self, ConversionError> {
        let mut rules = BTreeSet::new();
        let mut named = status.rule_counters.as_slice().iter().map(|record| &record.rule);
        if let Some(twice) = named.find(|rule| !rules.insert(*rule)) {
            return Err(ConversionError::Twice { field: "ruleCounters", name: twice.to_string() });
        }
        Ok(Self {
            breakers: all(&status.breakers, |breaker| model::Breaker {
                pool: breaker.pool.clone(),
                rule: breaker.rule.clone(),
                state: breaker.state,
                since: breaker.since.into(),
            }),
            rules: each("ruleCounters", &status.rule_counters, |record| {
                Ok(model::RuleRecord {
                    rule: record.rule.clone(),
                    confirmed: count("ruleCounters.confirmed", record.confirmed)?,
                    refuted: count("ruleCounters.refuted", record.refuted)?,
                    confirmed_on_paper: count("ruleCounters.confirmedDryRun", record.confirmed_dry_run)?,
                    refuted_on_paper: count("ruleCounters.refutedDryRun", record.refuted_dry_run)?,
                })
            })?,
            counted_to: status.counted_to.map(Timestamp::from).unwrap_or_default(),
        })
    }
}

impl CellStatus {
    /// The status of a Cell with this leader and these counters, without the leader's time.
    #[must_use]
    pub fn of(epoch: Epoch, leader: Option<UserName>, record: &CellRecord, conditions: Conditions) -> Self {
        Self {
            epoch: wire64(epoch.0),
            leader,
            as_of: None,
            breakers: all(&record.breakers, |breaker| Breaker {
                pool: breaker.pool.clone(),
                rule: breaker.rule.clone(),
                state: breaker.state,
                since: breaker.since.into(),
            }),
            rule_counters: all(&record.rules, |record| RuleCounters {
                rule: record.rule.clone(),
                confirmed: wire64(record.confirmed),
                refuted: wire64(record.refuted),
                confirmed_dry_run: wire64(record.confirmed_on_paper),
                refuted_dry_run: wire64(record.refuted_on_paper),
            }),
            counted_to: (record.counted_to != Timestamp::default()).then(|| record.counted_to.into()),
            conditions,
        }
    }
}
