//! Faults that come back after a repair. LANL's shares of failures that another one follows on the same node are met by
//! the clustering of fresh faults and by relapses together, so relapses are only what the fresh ones leave open.

use mainstay_model::Span;

use super::multiplier::expected;
use super::{FleetShape, Hardware};
use crate::FailureModel;
use crate::model::Parameter;
use crate::rng::{RandomStream, span_seconds};

/// Within how many days each share was measured.
const WITHIN_DAYS: [f64; 3] = [1.0, 7.0, 30.0];

/// Steps of the sum over the nodes' multipliers, and where it ends, in means: the Gamma has nothing left there.
const STEPS: u32 = 400;
const MEANS: f64 = 8.0;

/// How often and how soon a repaired fault comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Relapses {
    /// The share that has come back within each of the days above; it never falls.
    shares: [f64; 3],
}

impl Relapses {
    /// What the model leaves to relapses: (F - P) / (1 - P) of each measured share F, where P is what fresh faults
    /// explain, nothing where they explain it all, and never less than after fewer days.
    pub(crate) fn new(model: &FailureModel, shape: &FleetShape) -> Self {
        let measured = [Parameter::Relapse1Day, Parameter::Relapse7Days, Parameter::Relapse30Days];
        let hardware = Hardware::of(model, shape);
        let mut least = 0.0_f64;
        let mut shares = [0.0; 3];
        for ((share, measured), days) in shares.iter_mut().zip(measured).zip(WITHIN_DAYS) {
            let fresh = followed_by_fresh(model, &hardware, days);
            least = least.max((model.get(measured) - fresh) / (1.0 - fresh).max(f64::EPSILON));
            *share = least;
        }
        Self { shares }
    }

    /// When a fault that was repaired now comes back; evenly within each of the intervals.
    pub(crate) fn after(&self, chance: &mut RandomStream) -> Option<Span> {
        let drawn = chance.unit();
        let part = chance.unit();
        let (mut share_before, mut days_before) = (0.0, 0.0);
        for (share, days) in self.shares.into_iter().zip(WITHIN_DAYS) {
            if (share_before..share).contains(&drawn) {
                return Some(span_seconds((days_before + part * (days - days_before)) * 86_400.0));
            }
            (share_before, days_before) = (share, days);
        }
        None
    }
}

/// Which share of fresh faults another fresh one of the same node follows within these days. A fault is the likelier on a
/// node the more often it fails, so nodes count by their multiplier; an average node alone would explain too little.
fn followed_by_fresh(model: &FailureModel, hardware: &Hardware, days: f64) -> f64 {
    let shape = model.get(Parameter::NodeMultiplierShape);
    let (lemons, times) = (model.get(Parameter::LemonShare), model.get(Parameter::LemonMultiplier));
    let rate = hardware.rate / (1.0 + model.get(Parameter::BurstShare)) / expected(model);
    if rate <= 0.0 {
        return 0.0;
    }
    let step = MEANS * (shape + 1.0) / shape / f64::from(STEPS);
    let (mut followed, mut all) = (0.0, 0.0);
    for place in 0..STEPS {
        let multiplier = (f64::from(place) + 0.5) * step;
        // The density of the Gamma times the multiplier, up to a constant that cancels.
        let weight = libm::exp(shape * (libm::log(multiplier) - multiplier));
        for (weight, multiplier) in
            [(weight * (1.0 - lemons), multiplier), (weight * lemons * times, multiplier * times)]
        {
            let scale = hardware.scale_days(rate * multiplier);
            followed += weight * (1.0 - libm::exp(-libm::pow(days / scale, hardware.weibull_shape)));
            all += weight;
        }
    }
    followed / all
}
