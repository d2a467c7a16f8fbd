//! The last two hours, a snapshot for each minute, and what a chart shows of each.

use std::collections::VecDeque;
use std::sync::Arc;

use mainstay_api::http::SeriesPoint;
use mainstay_model::Timestamp;
use mainstay_web::render::{POINTS_MAX, Points};
use mainstay_web::snapshot::Snapshot;

/// Pictures of whole minutes, oldest first. They share what has not changed.
#[derive(Default)]
pub(super) struct History {
    snapshots: VecDeque<Arc<Snapshot>>,
    points: Points,
}

impl History {
    /// Whether a snapshot of this moment is to be kept.
    pub(super) fn wants(&self, now: Timestamp) -> bool {
        self.points.wants(now)
    }

    pub(super) fn keep(&mut self, snapshot: Arc<Snapshot>) {
        if self.snapshots.len() >= POINTS_MAX {
            self.snapshots.pop_front();
        }
        self.points.keep(snapshot.point());
        self.snapshots.push_back(snapshot);
    }

    pub(super) fn series(&self) -> Arc<[SeriesPoint]> {
        self.points.series()
    }

    /// The snapshot that was current at a moment; none where that is longer ago than snapshots go back.
    pub(super) fn at(&self, at: Timestamp) -> Option<&Arc<Snapshot>> {
        let after = self.snapshots.partition_point(|snapshot| snapshot.now <= at);
        self.snapshots.get(after.checked_sub(1)?)
    }

    pub(super) fn bounds(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.snapshots.front()?.now, self.snapshots.back()?.now))
    }
}
