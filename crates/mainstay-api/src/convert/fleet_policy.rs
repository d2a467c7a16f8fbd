//! Converts a `FleetPolicy` to the model's policy. Gang recognition is not part of it: the pod reader uses it.

use std::collections::BTreeMap;

use mainstay_model as model;
use mainstay_model::{NodeLimit, Policy, Ppm, RepairStep, Span};

use super::{ConversionError, each, small};
use crate::{Budget, CapacityFloor, FleetPolicySpec, MaintenanceWindow, RateLimit, RepairPlan};

/// Largest number of nodes in a cluster.
const NODES_MAX: i64 = 100_000;
const PERCENT_MAX: i64 = 100;
const PPM_A_PERCENT: u32 = 10_000;
const ATTEMPTS_MAX: i64 = 16;
const DAY_SECONDS: i64 = 86_400;
const DAY_MINUTES: i64 = 1_440;
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
