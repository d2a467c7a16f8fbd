//! The last two hours, a picture for each minute, and what a chart shows of each.

use std::collections::VecDeque;
use std::sync::Arc;

use mainstay_api::http::SeriesPoint;
use mainstay_model::{Span, Timestamp};

use crate::http::picture::Picture;

/// A picture for each minute of two hours. Pictures share what has not changed.
const PICTURES_MAX: usize = 120;
const MINUTE: Span = Span::minutes(1);

/// Pictures of whole minutes, oldest first.
#[derive(Default)]
pub(super) struct History {
    pictures: VecDeque<Arc<Picture>>,
    series: Arc<[SeriesPoint]>,
}

impl History {
    /// Whether a picture of this moment is to be kept.
    pub(super) fn wants(&self, now: Timestamp) -> bool {
        self.pictures.back().is_none_or(|last| now.since(last.now) >= MINUTE)
    }

    pub(super) fn keep(&mut self, picture: Arc<Picture>) {
        if self.pictures.len() >= PICTURES_MAX {
            self.pictures.pop_front();
        }
        let surplus = (self.series.len() + 1).saturating_sub(PICTURES_MAX);
        self.series = self.series.iter().skip(surplus).copied().chain([picture.point()]).collect();
        self.pictures.push_back(picture);
    }

    pub(super) fn series(&self) -> Arc<[SeriesPoint]> {
        self.series.clone()
    }

    /// The picture that was current at a moment; none where that is longer ago than pictures go back.
    pub(super) fn at(&self, at: Timestamp) -> Option<&Arc<Picture>> {
        let after = self.pictures.partition_point(|picture| picture.now <= at);
        self.pictures.get(after.checked_sub(1)?)
    }

    pub(super) fn bounds(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.pictures.front()?.now, self.pictures.back()?.now))
    }
}
