//! The last two hours, a picture for each minute, and what a chart shows of each.

use std::collections::VecDeque;
use std::sync::Arc;

use mainstay_api::http::SeriesPoint;
use mainstay_model::Timestamp;

use crate::http::snapshot::Snapshot;
use crate::render::{POINTS_MAX, Points};

/// Pictures of whole minutes, oldest first. They share what has not changed.
#[derive(Default)]
pub(super) struct History {
    pictures: VecDeque<Arc<Snapshot>>,
    points: Points,
}

impl History {
    /// Whether a picture of this moment is to be kept.
    pub(super) fn wants(&self, now: Timestamp) -> bool {
        self.points.wants(now)
    }

    pub(super) fn keep(&mut self, picture: Arc<Snapshot>) {
        if self.pictures.len() >= POINTS_MAX {
            self.pictures.pop_front();
        }
        self.points.keep(picture.point());
        self.pictures.push_back(picture);
    }

    pub(super) fn series(&self) -> Arc<[SeriesPoint]> {
        self.points.series()
    }

    /// The picture that was current at a moment; none where that is longer ago than pictures go back.
    pub(super) fn at(&self, at: Timestamp) -> Option<&Arc<Snapshot>> {
        let after = self.pictures.partition_point(|picture| picture.now <= at);
        self.pictures.get(after.checked_sub(1)?)
    }

    pub(super) fn bounds(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.pictures.front()?.now, self.pictures.back()?.now))
    }
}
