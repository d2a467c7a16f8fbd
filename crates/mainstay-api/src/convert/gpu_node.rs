//! Converts a `GpuNode` to the state that must survive a restart, and back. Restoring it gives the same next decision, so
//! the round trip loses nothing. Fields that are only shown to users are added.

use mainstay_model as model;
use mainstay_model::{Epoch, Persisted, Ppm, Reason, Task, WaitingOn};

use super::{ConversionError, all, count, each, small, wire32, wire64};
use crate::{
    Arrivals, Attempt, Cause, Conditions, GpuNodeStatus, Grant, Moment, Order, PastIncident, Proposal, Request,
    Transition,
};

/// Fields of a GpuNode's status that users read and the controller does not restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayFields {
    /// Epoch of the leader that writes it.
    pub epoch: Epoch,
    /// What the node waits for.
    pub waiting_on: WaitingOn,
    /// Fault and wait of the node in one sentence.
    pub message: Reason,
    /// Estimated probability of another incident.
    pub risk: Ppm,
    /// Conditions of the node.
    pub conditions: Conditions,
}

impl GpuNodeStatus {
    /// The status that holds this state and shows these fields.
    #[must_use]
    pub fn of(persisted: &Persisted, told: DisplayFields) -> Self {
        Self {
            epoch: wire64(told.epoch.0),
            stage: persisted.stage,
            since: persisted.since.into(),
            cause: persisted.cause.as_ref().map(|cause| Cause {
                rule: cause.rule.clone(),
                urgency: cause.urgency,
                device: cause.device.clone(),
                steps: cause.rungs.clone(),
            }),
            grant: persisted.grant.as_ref().map(|grant| Grant {
                claim: grant.claim.clone(),
                by: grant.by,
                needs: grant.needs,
                granted_at: grant.at.into(),
                epoch: wire64(grant.epoch.0),
            }),
            repairer: persisted.repairer,
            removals: wire32(persisted.round),
            waiting_on: told.waiting_on,
            message: told.message,
            risk_ppm: wire32(told.risk.0.min(Ppm::ONE.0)),
            conditions: told.conditions,
            orders: all(&persisted.orders, order),
            attempts: all(&persisted.attempts, |attempt| Attempt {
                rule: attempt.rule.clone(),
                step: attempt.rung,
                device: attempt.device.clone(),
                ordered_at: attempt.ordered_at.into(),
            }),
            boot_id: persisted.boot_id.clone(),
            arrivals: all(&persisted.arrivals, |arrivals| Arrivals {
                source: arrivals.source,
                code: arrivals.code.clone(),
                device: arrivals.device.clone(),
                counted: wire64(arrivals.counted),
                before_tests: wire64(arrivals.before_tests),
                newest_hour: arrivals.newest_hour.into(),
                hours: all(&arrivals.hours, |count| wire32(*count)),
                days: all(&arrivals.days, |count| wire32(*count)),
            }),
            history: all(&persisted.history, |transition| Transition {
                to: transition.to,
                at: transition.at.into(),
                rule: transition.rule.clone(),
                resolution: transition.word,
            }),
            proposals: all(&persisted.proposals, |proposal| Proposal {
                action: proposal.action.clone(),
                rule: proposal.rule.clone(),
                decided_at: proposal.decided_at.into(),
                outcome: proposal.happened,
                outcome_at: proposal.happened_at.map(Moment::from),
            }),
            incidents: all(&persisted.incidents, |incident| PastIncident {
                serial: incident.serial.clone(),
                rule: incident.rule.clone(),
                at: incident.at.into(),
            }),
        }
    }
}

impl TryFrom<&GpuNodeStatus> for Persisted {
    type Error = ConversionError;

    fn try_from(status: &GpuNodeStatus) -> Result<Self, ConversionError> {
        Ok(Self {
            stage: status.stage,
            since: status.since.into(),
            cause: status.cause.as_ref().map(|cause| {
                let (rule, device, rungs) = (cause.rule.clone(), cause.device.clone(), cause.steps.clone());
                Box::new(model::Cause { rule, urgency: cause.urgency, device, rungs })
            }),
            grant: status.grant.as_ref().map(grant).transpose()?.map(Box::new),
            repairer: status.repairer,
            round: small("removals", status.removals.into(), i32::MAX.into())?,
            boot_id: status.boot_id.clone(),
            arrivals: each("arrivals", &status.arrivals, arrivals)?,
            attempts: each("attempts", &status.attempts, |attempt| {
                Ok(model::Attempt {
                    rule: attempt.rule.clone(),
                    rung: attempt.step,
                    device: attempt.device.clone(),
                    ordered_at: attempt.ordered_at.into(),
                })
            })?,
            orders: each("orders", &status.orders, model::Order::try_from)?,
            history: each("history", &status.history, |transition| {
                Ok(model::Transition {
                    to: transition.to,
                    at: transition.at.into(),
                    rule: transition.rule.clone(),
                    word: transition.resolution,
                })
            })?,
            proposals: each("proposals", &status.proposals, |proposal| {
                Ok(model::Proposal {
                    action: proposal.action.clone(),
                    rule: proposal.rule.clone(),
                    decided_at: proposal.decided_at.into(),
                    happened: proposal.outcome,
                    happened_at: proposal.outcome_at.map(Into::into),
                })
            })?,
            incidents: each("incidents", &status.incidents, |incident| {
                Ok(model::PastIncident {
                    serial: incident.serial.clone(),
                    rule: incident.rule.clone(),
                    at: incident.at.into(),
                })
            })?,
        })
    }
}

fn grant(grant: &Grant) -> Result<model::Grant, ConversionError> {
    Ok(model::Grant {
        claim: grant.claim.clone(),
        by: grant.by,
        needs: grant.needs,
        at: grant.granted_at.into(),
        epoch: Epoch(count("grant.epoch", grant.epoch)?),
    })
}

impl TryFrom<&Order> for model::Order {
    type Error = ConversionError;

    fn try_from(order: &Order) -> Result<Self, ConversionError> {
        let refused = |found| ConversionError::Choice { field: "orders", found, choices: "step and suite" };
        let task = match (order.step, &order.suite) {
            (Some(rung), None) => Task::Rung(rung),
            (None, Some(suite)) => Task::Suite(suite.clone()),
            (Some(_), Some(_)) => return Err(refused("both")),
            (None, None) => return Err(refused("neither")),
        };
        Ok(Self {
            id: order.id.clone(),
            epoch: Epoch(count("orders.epoch", order.epoch)?),
            boot_id: order.boot_id.clone(),
            nonce: order.nonce.clone(),
            task,
            device: order.device.clone(),
            start_by: order.start_by.into(),
            done_by: order.done_by.into(),
        })
    }
}

impl From<&Request> for model::Request {
    fn from(request: &Request) -> Self {
        let (kind, word) = (request.kind, request.resolution);
        Self { kind, reason: request.reason.clone(), by: request.by.clone(), word }
    }
}

fn order(order: &model::Order) -> Order {
    let (rung, suite) = match &order.task {
        Task::Rung(rung) => (Some(*rung), None),
        Task::Suite(suite) => (None, Some(suite.clone())),
    };
    Order {
        id: order.id.clone(),
        epoch: wire64(order.epoch.0),
        boot_id: order.boot_id.clone(),
        nonce: order.nonce.clone(),
        step: rung,
        suite,
        device: order.device.clone(),
        start_by: order.start_by.into(),
        done_by: order.done_by.into(),
    }
}

fn arrivals(arrivals: &Arrivals) -> Result<model::Arrivals, ConversionError> {
    let bucket = |value: &i32| small("arrivals.hours or days", (*value).into(), i32::MAX.into());
    Ok(model::Arrivals {
        source: arrivals.source,
        code: arrivals.code.clone(),
        device: arrivals.device.clone(),
        counted: count("arrivals.counted", arrivals.counted)?,
        before_tests: count("arrivals.beforeTests", arrivals.before_tests)?,
        newest_hour: small("arrivals.newestHour", arrivals.newest_hour, u32::MAX.into())?,
        hours: each("arrivals.hours", &arrivals.hours, bucket)?,
        days: each("arrivals.days", &arrivals.days, bucket)?,
    })
}
