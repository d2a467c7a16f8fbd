//! The interval of a mean by resampling, in whole numbers: no distribution is assumed, because losses have long tails.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::Estimate;

/// How many samples are drawn.
pub(super) const RESAMPLES: usize = 10_000;
/// Chance has to be the same for the same runs; which it is does not matter.
const SEED: u64 = 0x6d61_696e_7374_6179;

/// What is cut off at each end, in parts per million, by the number of values. Plain percentiles (25,000) are too
/// narrow for few values; these are Φ(−t·√(n/(n−1))) with Student's t at 97.5 % and n−1 degrees of freedom, after
/// T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015), section 3.
const CUT_PPM: [(usize, usize); 14] = [
    (200, 24_026),
    (100, 23_064),
    (75, 22_430),
    (50, 21_179),
    (40, 20_258),
    (30, 18_754),
    (25, 17_582),
    (20, 15_881),
    (16, 13_856),
    (12, 10_757),
    (10, 8_551),
    (8, 5_738),
    (7, 4_109),
    (6, 2_432),
];

/// The mean of `values` and its interval. Below six values the interval is all that resampling can reach.
pub(super) fn estimate(values: &[i64]) -> Estimate {
    let Ok(count) = u32::try_from(values.len()) else { return Estimate::default() };
    if count == 0 {
        return Estimate::default();
    }
    let mut chance = ChaCha8Rng::seed_from_u64(SEED);
    let mut sums: Vec<i128> = (0..RESAMPLES)
        .map(|_| {
            let drawn = (0..count).filter_map(|_| {
                // The upper half of a product is an even draw, to one part in 2³² / count.
                let place = (u64::from(chance.next_u32()) * u64::from(count)) >> 32;
                values.get(usize::try_from(place).ok()?)
            });
            drawn.copied().map(i128::from).sum()
        })
        .collect();
    sums.sort_unstable();
    let cut = cut(values.len()).min(RESAMPLES - 1);
    let mean = |sum: i128| rounded(sum, i128::from(count));
    let at = |place: usize| sums.get(place).copied().map_or(0, mean);
    Estimate {
        mean_milli: mean(values.iter().copied().map(i128::from).sum()),
        low_milli: at(cut),
        high_milli: at(RESAMPLES - 1 - cut),
    }
}

/// How many of the resamples lie below the interval, and as many above it.
pub(super) fn cut(count: usize) -> usize {
    let ppm = CUT_PPM.iter().find(|(from, _)| count >= *from).map_or(0, |(_, ppm)| *ppm);
    RESAMPLES * ppm / 1_000_000
}

/// Half is rounded away from zero, so that two sides swapped give the same figures with another sign.
fn rounded(sum: i128, count: i128) -> i64 {
    let half = if sum < 0 { -count / 2 } else { count / 2 };
    i64::try_from((sum + half) / count).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}
