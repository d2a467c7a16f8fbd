//! What a chart shows of the last two hours: a point a minute.

use std::sync::Arc;

use mainstay_api::http::SeriesPoint;
use mainstay_model::{Span, Timestamp};

/// A point for each minute of two hours.
pub(crate) const POINTS_MAX: usize = 120;
const MINUTE: Span = Span::minutes(1);

/// Points of whole minutes, oldest first.
#[derive(Default)]
pub(crate) struct Points(Arc<[SeriesPoint]>);

impl Points {
    /// Whether one of this moment is to be kept.
    pub(crate) fn wants(&self, now: Timestamp) -> bool {
        self.0.last().is_none_or(|last| now.since(Timestamp(last.at)) >= MINUTE)
    }

    pub(crate) fn keep(&mut self, point: SeriesPoint) {
        let surplus = (self.0.len() + 1).saturating_sub(POINTS_MAX);
        self.0 = self.0.iter().skip(surplus).copied().chain([point]).collect();
    }

    pub(crate) fn series(&self) -> Arc<[SeriesPoint]> {
        self.0.clone()
    }
}
