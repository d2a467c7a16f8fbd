//! Expected losses as integers: probabilities in parts per million, durations in milliseconds, costs in GPU-seconds.

use std::fmt;

use mainstay_model::{Hazard, Ppm};

use super::{Case, GPUS_MAX, ROOM_EXPECTED, Spare};

/// GPU time, in GPU-seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cost(pub u64);

impl fmt::Display for Cost {
    /// Returns the cost in GPU-hours, rounded to a tenth.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.saturating_add(180) / 360;
        write!(f, "{}.{}", tenths / 10, tenths % 10)
    }
}

const HOUR: u64 = 3_600_000;
const ONE: u128 = 1_000_000;

/// Probabilities that the job already hangs, and otherwise that the node fails during the wait. In parts per million.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    hung: u128,
    fails: u128,
}

impl Chance {
    pub(super) fn within(hazard: Hazard, wait: u64) -> Self {
        let fails = (u128::from(hazard.per_hour.0) * u128::from(wait)).div_ceil(u128::from(HOUR));
        Self { hung: u128::from(hazard.hung.min(Ppm::ONE).0), fails: fails.min(ONE) }
    }
}

/// Loss per GPU if the job already hangs, if the node fails during the wait, and if neither happens. In milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ways {
    pub(super) hung: u64,
    pub(super) fails: u64,
    pub(super) goes_on: u64,
}

impl Ways {
    /// Adds the time that the gang stops afterwards. A free node becomes available whether the gang runs or not.
    pub(super) fn standing(self, spare: Spare, wait: u64) -> Self {
        let still = |after: u64| match spare {
            Spare::There => 0,
            Spare::None => ROOM_EXPECTED.0.saturating_sub(after),
        };
        Self { hung: self.hung + still(wait), fails: self.fails + still(wait / 2), goes_on: self.goes_on + still(wait) }
    }
}

/// Expected loss, rounded up, so that a small risk is not zero.
pub(super) fn expected(case: &Case, chance: Chance, ways: Ways) -> Cost {
    let Ways { hung, fails, goes_on } = ways;
    let runs = chance.fails * u128::from(fails) + (ONE - chance.fails) * u128::from(goes_on);
    let all = chance.hung * ONE * u128::from(hung) + (ONE - chance.hung) * runs;
    let gpus = u128::from(case.gpus.clamp(1, GPUS_MAX));
    let gpu_seconds = (all * gpus).div_ceil(ONE * ONE * 1_000);
    Cost(u64::try_from(gpu_seconds).unwrap_or(u64::MAX))
}
