//! Time series of the last two hours, one point per minute.

use std::sync::Arc;

use mainstay_api::http::SeriesPoint;
use mainstay_model::{Span, Timestamp};

/// Number of points: one per minute of two hours.
pub const POINTS_MAX: usize = 120;
const MINUTE: Span = Span::minutes(1);

/// Points of the time series, the oldest first.
#[derive(Default)]
pub struct Points(Arc<[SeriesPoint]>);

impl Points {
    /// Whether a point of this moment is due.
    #[must_use]
    pub fn wants(&self, now: Timestamp) -> bool {
        self.0.last().is_none_or(|last| now.since(Timestamp(last.at)) >= MINUTE)
    }

    /// Appends a point, and drops the oldest when the series is full.
    pub fn keep(&mut self, point: SeriesPoint) {
        let surplus = (self.0.len() + 1).saturating_sub(POINTS_MAX);
        self.0 = self.0.iter().skip(surplus).copied().chain([point]).collect();
    }

    /// The points so far.
    #[must_use]
    pub fn series(&self) -> Arc<[SeriesPoint]> {
        self.0.clone()
    }
}
