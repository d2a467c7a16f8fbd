//! The Poisson distribution in integers: the number of events in a window if events are independent. No logarithm and no
//! exponential is needed, because probabilities are ratios of weights that start at the most probable count.

use mainstay_model::Ppm;

/// A mean or a rate in millionths of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroEvents(pub u64);

/// Larger means are treated as this one: 100,000 events have no low counts.
const MEAN_MAX: u64 = 100_000 * MILLION;
const MILLION: u64 = 1_000_000;

/// Weight of the most probable count. Counts below one part in 2^60 of it have weight zero.
const PEAK: u128 = 1 << 60;

/// Weights of the counts from `first` on.
#[derive(Debug, Clone)]
pub struct Poisson {
    mean: u64,
    first: u64,
    weights: Vec<u128>,
    total: u128,
}

impl Poisson {
    /// Computes the distribution of a count with this mean.
    #[must_use]
    pub fn new(mean: MicroEvents) -> Self {
        let mean = mean.0.min(MEAN_MAX);
        let mode = mean / MILLION;
        let micro = u128::from(mean);
        let mut below = Vec::new();
        let mut weight = PEAK;
        for count in (1..=mode).rev() {
            // The mean is at least one event here, because the mode is.
            weight = weight * u128::from(count) * u128::from(MILLION) / micro.max(1);
            if weight == 0 {
                break;
            }
            below.push(weight);
        }
        let first = mode - u64::try_from(below.len()).unwrap_or(mode);
        let mut weights: Vec<u128> = below.into_iter().rev().collect();
        weights.push(PEAK);
        weight = PEAK;
        for count in mode + 1.. {
            weight = weight * micro / (u128::from(count) * u128::from(MILLION));
            if weight == 0 {
                break;
            }
            weights.push(weight);
        }
        let total = weights.iter().sum();
        Self { mean, first, weights, total }
    }

    /// Probability of at least `count` events.
    #[must_use]
    pub fn at_least(&self, count: u64) -> Ppm {
        let skipped = usize::try_from(count.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let tail: u128 = self.weights.iter().skip(skipped).sum();
        Ppm(u32::try_from(tail * u128::from(MILLION) / self.total).unwrap_or(Ppm::ONE.0))
    }

    /// Smallest count that is exceeded with at most the probability `above`.
    #[must_use]
    pub fn upper(&self, above: Ppm) -> u64 {
        let most = self.total * u128::from(above.0) / u128::from(MILLION);
        let mut tail = 0;
        let mut count = self.first + u64::try_from(self.weights.len()).unwrap_or(u64::MAX);
        for weight in self.weights.iter().rev() {
            tail += weight;
            if tail > most {
                break;
            }
            count -= 1;
        }
        count.saturating_sub(1)
    }

    /// Smallest count, at least 2, that the number of events in a sliding window reaches at most `allowed` times while
    /// `windows` windows pass. A sliding count reaches `k` when an event arrives that finds `k - 1` others in the
    /// window, so it happens `windows * mean * P(k - 1)` times on average.
    #[must_use]
    pub fn rarely_reached(&self, windows: u64, allowed: MicroEvents) -> u64 {
        let arrivals = u128::from(self.mean) * u128::from(windows);
        // Counts below the mode are reached on the way up and down; the search starts above it.
        let mut count = (self.mean / MILLION + 1).max(2);
        loop {
            let others = usize::try_from((count - 1).saturating_sub(self.first)).unwrap_or(usize::MAX);
            let weight = self.weights.get(others).copied().unwrap_or(0);
            if arrivals.saturating_mul(weight) / self.total <= u128::from(allowed.0) {
                return count;
            }
            count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_published_tables() {
        // P(N >= 3) for a mean of 2 is 0.323324; P(N >= 20) for a mean of 10 is 0.003454.
        assert_eq!(Poisson::new(MicroEvents(2_000_000)).at_least(3), Ppm(323_323));
        assert_eq!(Poisson::new(MicroEvents(10_000_000)).at_least(20), Ppm(3_454));
        assert_eq!(Poisson::new(MicroEvents(0)).at_least(0), Ppm::ONE);
        assert_eq!(Poisson::new(MicroEvents(0)).at_least(1), Ppm(0));
    }

    #[test]
    fn a_thousand_events_stay_within_four_deviations() {
        let thousand = Poisson::new(MicroEvents(1_000_000_000));
        assert!((1_090..1_110).contains(&thousand.upper(Ppm(1_000))), "{}", thousand.upper(Ppm(1_000)));
        assert!(thousand.at_least(1_130) < Ppm(100));
    }

    #[test]
    fn a_bad_job_in_twenty_five_hours_rarely_comes_as_three_in_one_hour() {
        // 0.04 bad jobs an hour: two in one hour happen 1.1 times a month, three 0.022 times.
        let hour = Poisson::new(MicroEvents(40_000));
        assert_eq!(hour.rarely_reached(720, MicroEvents(66_666)), 3);
        assert_eq!(hour.rarely_reached(720, MicroEvents(2_000_000)), 2);
    }
}
