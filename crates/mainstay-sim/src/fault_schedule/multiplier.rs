//! Nodes differ: how much more often than the average one of them fails. Parts are not followed; a repaired lemon stays
//! one, as in the records these figures are from.

use crate::FailureModel;
use crate::model::Parameter;
use crate::rng::{Purpose, stream};

/// Whether a node is one of the few that fail again and again.
#[must_use]
pub fn is_lemon(model: &FailureModel, seed: u64, node: u32) -> bool {
    stream(seed, Purpose::Lemon, u64::from(node)).happens(model.get(Parameter::LemonShare))
}

/// How much more often than the average a node fails: a Gamma of mean 1, times more for a lemon, over what both come to
/// on average, so that the rate of the fleet stays the published one.
#[must_use]
pub fn multiplier(model: &FailureModel, seed: u64, node: u32) -> f64 {
    let shape = model.get(Parameter::NodeMultiplierShape);
    let drawn = stream(seed, Purpose::Multiplier, u64::from(node)).gamma(shape, 1.0 / shape);
    let lemon = if is_lemon(model, seed, node) { model.get(Parameter::LemonMultiplier) } else { 1.0 };
    drawn * lemon / expected(model)
}

/// What the multiplier would be on average, left alone.
pub(super) fn expected(model: &FailureModel) -> f64 {
    1.0 + model.get(Parameter::LemonShare) * (model.get(Parameter::LemonMultiplier) - 1.0)
}
