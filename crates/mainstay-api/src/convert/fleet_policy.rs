//! Converts a `FleetPolicy` to the model's policy. Gang recognition is not part of it: the pod reader uses it.

use std::collections::BTreeMap;

use mainstay_model as model;
use mainstay_model::{NodeLimit, Policy, Ppm, RepairStep, Span};

use super::{ConversionError, each, small};
use crate::{
    Budget, CapacityFloor, CircuitBreaker, Deadlines, FleetPolicySpec, Hazard, Hazards, MaintenanceWindow, RateLimit,
    RepairPlan,
};

/// Largest number of nodes in a cluster.
const NODES_MAX: i64 = 100_000;
const PERCENT_MAX: i64 = 100;
const PPM_A_PERCENT: u32 = 10_000;
const ATTEMPTS_MAX: i64 = 16;
const DAY_SECONDS: i64 = 86_400;
const DAY_MINUTES: i64 = 1_440;
const WEEK_SECONDS: i64 = 604_800;
const PPM_MAX: i64 = 1_000_000;
/// Longest window, in seconds: thirty days.
const WINDOW_SECONDS_MAX: i64 = 2_592_000;

impl TryFrom<&FleetPolicySpec> for Policy {
    type Error = ConversionError;

    fn try_from(spec: &FleetPolicySpec) -> Result<Self, ConversionError> {
        let mut promotions = BTreeMap::new();
        for promotion in spec.promotions.as_slice() {
            if promotions.insert(promotion.action, promotion.mode).is_some() {
                return Err(ConversionError::Twice { field: "promotions", name: format!("{:?}", promotion.action) });
            }
        }
        let mut ladders = BTreeMap::new();
        for one in spec.repair_plans.as_slice() {
            if ladders.insert(one.rule.clone(), ladder(one)?).is_some() {
                return Err(ConversionError::Twice { field: "repairPlans", name: one.rule.to_string() });
            }
        }
        for (at, one) in spec.budgets.as_slice().iter().enumerate() {
            if spec.budgets.as_slice().iter().take(at).any(|before| before.level == one.level) {
                let name = one.level.map_or("the pool".to_owned(), |level| format!("{level:?}"));
                return Err(ConversionError::Twice { field: "budgets", name });
            }
        }
        Ok(Self {
            pool: spec.pool.clone(),
            mode: spec.mode,
            promotions,
            budgets: each("budgets", &spec.budgets, budget)?,
            floor: spec.capacity_floor.as_ref().map(floor).transpose()?,
            rate: spec.rate_limit.as_ref().map(rate).transpose()?,
            windows: each("windows", &spec.windows, window)?,
            drain_rule: spec.drain_rule,
            breaker: breaker(&spec.circuit_breaker.clone().unwrap_or_default())?,
            hazards: hazards(&spec.hazards.clone().unwrap_or_default())?,
            deadlines: deadlines(&spec.deadlines.clone().unwrap_or_default())?,
            ladders,
            overrides: each("overrides", &spec.overrides, |one| {
                Ok(model::Override {
                    source: one.source,
                    code: one.code.clone(),
                    rule: one.rule.clone(),
                    urgency: one.urgency,
                })
            })?,
            suite: spec.suite.clone(),
        })
    }
}

fn floor(floor: &CapacityFloor) -> Result<NodeLimit, ConversionError> {
    limit("capacityFloor", "nodesMin and percentMin", floor.nodes_min, floor.percent_min)
}

fn rate(rate: &RateLimit) -> Result<model::RateLimit, ConversionError> {
    Ok(model::RateLimit {
        grants: small("rateLimit.removalsMax", rate.removals_max.into(), NODES_MAX)?,
        per: Span::seconds(small("rateLimit.perSeconds", rate.per_seconds.into(), DAY_SECONDS)?),
    })
}

fn window(window: &MaintenanceWindow) -> Result<model::WeeklyWindow, ConversionError> {
    let day = window.day as u16;
    let start: u16 = small("windows.startMinute", window.start_minute.into(), DAY_MINUTES - 1)?;
    let minutes = small("windows.minutes", window.minutes.into(), 7 * DAY_MINUTES)?;
    Ok(model::WeeklyWindow { start_minute: day * 1_440 + start, length: Span::minutes(minutes) })
}

fn breaker(breaker: &CircuitBreaker) -> Result<model::BreakerLimits, ConversionError> {
    let default = model::BreakerLimits::default();
    let (nodes_min, share) = (breaker.nodes_min, breaker.share_ppm);
    const PAUSE: [&str; 2] = ["circuitBreaker.pauseSecondsMin", "circuitBreaker.pauseSecondsMax"];
    let pause_min = seconds(PAUSE[0], breaker.pause_seconds_min, default.pause_min)?;
    let pause_max = seconds(PAUSE[1], breaker.pause_seconds_max, default.pause_max)?;
    in_order(PAUSE, breaker.pause_seconds_min, breaker.pause_seconds_max)?;
    Ok(model::BreakerLimits {
        nodes_min: nodes_min
            .map_or(Ok(default.nodes_min), |nodes| small("circuitBreaker.nodesMin", nodes.into(), NODES_MAX))?,
        share: share.map_or(Ok(default.share), |share| ppm("circuitBreaker.sharePpm", share))?,
        window: seconds("circuitBreaker.windowSeconds", breaker.window_seconds, default.window)?,
        // A default yields to the limit that is set.
        pause_min: if breaker.pause_seconds_min.is_none() { pause_min.min(pause_max) } else { pause_min },
        pause_max: if breaker.pause_seconds_max.is_none() { pause_max.max(pause_min) } else { pause_max },
        test_within: seconds("circuitBreaker.testSecondsMax", breaker.test_seconds_max, default.test_within)?,
    })
}

fn hazards(hazards: &Hazards) -> Result<model::Hazards, ConversionError> {
    let default = model::Hazards::default();
    let of = |hazard: &Option<Hazard>, default: model::Hazard| match hazard {
        None => Ok(default),
        Some(hazard) => Ok(model::Hazard {
            hung: ppm("hazards.hungPpm", hazard.hung_ppm)?,
            per_hour: ppm("hazards.failsPerHourPpm", hazard.fails_per_hour_ppm)?,
        }),
    };
    Ok(model::Hazards {
        minutes: of(&hazards.minutes, default.minutes)?,
        next_checkpoint: of(&hazards.next_checkpoint, default.next_checkpoint)?,
    })
}

fn deadlines(told: &Deadlines) -> Result<model::Deadlines, ConversionError> {
    let default = model::Deadlines::default();
    let of = |told: Option<i32>, default: Span| seconds("deadlines", told, default);
    const SHORTEST: &str = "deadlines.answerSecondsMin";
    let (min, minutes, next) =
        (told.answer_seconds_min, told.answer_minutes_seconds, told.answer_next_checkpoint_seconds);
    in_order([SHORTEST, "deadlines.answerMinutesSeconds"], min, minutes)?;
    in_order([SHORTEST, "deadlines.answerNextCheckpointSeconds"], min, next)?;
    Ok(model::Deadlines {
        answer_minutes: of(told.answer_minutes_seconds, default.answer_minutes)?,
        answer_next_checkpoint: of(told.answer_next_checkpoint_seconds, default.answer_next_checkpoint)?,
        answer_min: of(told.answer_seconds_min, default.answer_min)?,
        capture: of(told.capture_seconds, default.capture)?,
        reset: of(told.reset_seconds, default.reset)?,
        reboot: of(told.reboot_seconds, default.reboot)?,
        suite: of(told.suite_seconds, default.suite)?,
        bootstrapping: of(told.bootstrapping_seconds, default.bootstrapping)?,
        quarantined: of(told.quarantined_seconds, default.quarantined)?,
        draining: of(told.draining_seconds, default.draining)?,
        repairing: of(told.repairing_seconds, default.repairing)?,
        qualifying: of(told.qualifying_seconds, default.qualifying)?,
        planned_work: of(told.planned_work_seconds, default.planned_work)?,
    })
}

/// Checks a lower and an upper limit where both are set.
fn in_order([field, field_max]: [&'static str; 2], min: Option<i32>, max: Option<i32>) -> Result<(), ConversionError> {
    match (min, max) {
        (Some(min), Some(max)) if min > max => {
            Err(ConversionError::Exceeds { field, value: min.into(), field_max, value_max: max.into() })
        }
        _ => Ok(()),
    }
}

fn seconds(field: &'static str, value: Option<i32>, default: Span) -> Result<Span, ConversionError> {
    value.map_or(Ok(default), |value| Ok(Span::seconds(small(field, value.into(), WEEK_SECONDS)?)))
}

fn ppm(field: &'static str, value: i32) -> Result<Ppm, ConversionError> {
    Ok(Ppm(small(field, value.into(), PPM_MAX)?))
}

fn budget(budget: &Budget) -> Result<model::Budget, ConversionError> {
    let most = limit("budgets", "nodesMax and percentMax", budget.nodes_max, budget.percent_max)?;
    Ok(model::Budget { level: budget.level, most })
}

/// A number of nodes or a share of them: exactly one of the two.
fn limit(
    field: &'static str,
    choices: &'static str,
    nodes: Option<i32>,
    percent: Option<i32>,
) -> Result<NodeLimit, ConversionError> {
    match (nodes, percent) {
        (Some(nodes), None) => Ok(NodeLimit::Nodes(small(field, nodes.into(), NODES_MAX)?)),
        (None, Some(percent)) => {
            let percent: u32 = small(field, percent.into(), PERCENT_MAX)?;
            Ok(NodeLimit::Share(Ppm(percent * PPM_A_PERCENT)))
        }
        (Some(_), Some(_)) => Err(ConversionError::Choice { field, found: "both", choices }),
        (None, None) => Err(ConversionError::Choice { field, found: "neither", choices }),
    }
}

fn ladder(ladder: &RepairPlan) -> Result<model::RepairPlan, ConversionError> {
    if ladder.steps.as_slice().first() != Some(&RepairStep::Capture) {
        // Later steps destroy what the vendor will ask for.
        return Err(ConversionError::Choice {
            field: "repairPlans.steps",
            found: "another first step",
            choices: "Capture",
        });
    }
    Ok(model::RepairPlan {
        rungs: ladder.steps.clone(),
        attempts_max: small("repairPlans.attemptsMax", ladder.attempts_max.into(), ATTEMPTS_MAX)?,
        window: Span::seconds(small("repairPlans.windowSeconds", ladder.window_seconds.into(), WINDOW_SECONDS_MAX)?),
    })
}
