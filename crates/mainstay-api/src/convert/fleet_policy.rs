//! Converts a `FleetPolicy` to the model's policy. Gang recognition is not part of it: the pod reader uses it.

use std::collections::BTreeMap;

use mainstay_model as model;
use mainstay_model::{NodeLimit, Policy, Ppm, RepairStep, Span};

use super::{ConversionError, each, small};
use crate::{Budget, FleetPolicySpec, RepairPlan};

/// Largest number of nodes in a cluster.
const NODES_MAX: i64 = 100_000;
const PERCENT_MAX: i64 = 100;
const PPM_A_PERCENT: u32 = 10_000;
const ATTEMPTS_MAX: i64 = 16;
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

fn budget(budget: &Budget) -> Result<model::Budget, ConversionError> {
    let refused = |found| ConversionError::Choice { field: "budgets", found, choices: "nodesMax and percentMax" };
    let most = match (budget.nodes_max, budget.percent_max) {
        (Some(nodes), None) => NodeLimit::Nodes(small("budgets.nodesMax", nodes.into(), NODES_MAX)?),
        (None, Some(percent)) => {
            let percent: u32 = small("budgets.percentMax", percent.into(), PERCENT_MAX)?;
            NodeLimit::Share(Ppm(percent * PPM_A_PERCENT))
        }
        (Some(_), Some(_)) => return Err(refused("both")),
        (None, None) => return Err(refused("neither")),
    };
    Ok(model::Budget { level: budget.level, most })
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
