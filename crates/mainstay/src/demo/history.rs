//! The last two hours, a picture for each minute.

use std::collections::VecDeque;
use std::sync::Arc;

use mainstay_model::{Span, Timestamp};

use crate::http::picture::Picture;

/// A picture for each minute of two hours. Pictures share what has not changed.
const PICTURES_MAX: usize = 120;
const MINUTE: Span = Span::minutes(1);

/// Pictures of whole minutes, oldest first.
#[derive(Default)]
pub(super) struct History(VecDeque<Arc<Picture>>);

impl History {
    /// Whether a picture of this moment is to be kept.
    pub(super) fn wants(&self, now: Timestamp) -> bool {
        self.0.back().is_none_or(|last| now.since(last.now) >= MINUTE)
    }

    pub(super) fn keep(&mut self, picture: Arc<Picture>) {
        if self.0.len() >= PICTURES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(picture);
    }

    /// The picture that was current at a moment; none where that is longer ago than pictures go back.
    pub(super) fn at(&self, at: Timestamp) -> Option<&Arc<Picture>> {
        let after = self.0.partition_point(|picture| picture.now <= at);
        self.0.get(after.checked_sub(1)?)
    }

    pub(super) fn bounds(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.0.front()?.now, self.0.back()?.now))
    }
}
