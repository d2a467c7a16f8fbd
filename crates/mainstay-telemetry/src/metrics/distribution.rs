//! Durations counted into fixed buckets. All histograms of the catalogue share the bounds, so that an objective on one of
//! them can name its threshold without a look at the exporter.

/// Upper bounds of the buckets, in seconds: from a fast detection to a repair that takes a month.
pub const BOUNDS_SECONDS: [u32; 16] =
    [1, 5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400, 604_800, 2_592_000];

/// Durations of one label set of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Distribution {
    /// Number of durations per bucket; the last bucket has no bound.
    counts: [u64; BOUNDS_SECONDS.len() + 1],
    seconds: u64,
}

impl Distribution {
    /// Counts one duration.
    pub fn observe(&mut self, seconds: u64) {
        let bucket = BOUNDS_SECONDS.iter().position(|bound| seconds <= u64::from(*bound));
        self.counts[bucket.unwrap_or(BOUNDS_SECONDS.len())] += 1;
        self.seconds = self.seconds.saturating_add(seconds);
    }

    /// Number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all durations, in seconds.
    #[must_use]
    pub const fn seconds(&self) -> u64 {
        self.seconds
    }

    /// Buckets with their upper bound and their own count, the last one without a bound.
    pub(super) fn buckets(&self) -> [(f64, u64); BOUNDS_SECONDS.len() + 1] {
        let mut buckets = [(f64::INFINITY, 0); BOUNDS_SECONDS.len() + 1];
        for ((bucket, bound), count) in
            buckets.iter_mut().zip(BOUNDS_SECONDS.map(f64::from).into_iter().chain([f64::INFINITY])).zip(self.counts)
        {
            *bucket = (bound, count);
        }
        buckets
    }
}
