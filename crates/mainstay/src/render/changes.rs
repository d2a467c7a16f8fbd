//! Events for streams: only what changed since the last snapshot that they received.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_api::http::STREAM_NODES_MAX;

use crate::http::published::Hub;
use crate::http::snapshot::Snapshot;

/// What has changed on the map, at most once a second.
const MAP_EVERY: Duration = Duration::from_secs(1);
/// When places change, clients read everything again, at most at this interval.
const RELOAD_EVERY: Duration = Duration::from_secs(5);

/// What streams know.
pub(crate) struct Changes {
    sent: Arc<Snapshot>,
    sent_map: (Instant, Arc<Snapshot>),
    reloaded_at: Option<Instant>,
}

/// When the next snapshot follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextSnapshot {
    /// Soon.
    Soon,
    /// Unknown, because the demo is paused.
    Unknown,
}

impl Changes {
    pub(crate) fn since(picture: Arc<Snapshot>) -> Self {
        Self { sent_map: (Instant::now(), picture.clone()), sent: picture, reloaded_at: None }
    }

    /// Streams read everything of this picture by themselves.
    pub(crate) fn skip_to(&mut self, picture: Arc<Snapshot>) {
        self.sent = picture;
    }

    /// Sends streams what has changed.
    pub(crate) fn publish(&mut self, board: &Hub, latest: &Arc<Snapshot>, next: NextSnapshot) {
        if latest.is_placed_otherwise(&self.sent_map.1) {
            if self.reloaded_at.is_none_or(|at| at.elapsed() >= RELOAD_EVERY) {
                self.reloaded_at = Some(Instant::now());
                self.sent = latest.clone();
                self.sent_map = (Instant::now(), latest.clone());
                board.broadcast("reload", &serde_json::json!({}));
            }
            return;
        }
        let told = std::mem::replace(&mut self.sent, latest.clone());
        let lines = latest.changed_since(&told).filter(|(_, new, old)| new.line != old.line);
        let lines: Vec<_> = lines.map(|(_, new, _)| &new.line).take(STREAM_NODES_MAX + 1).collect();
        match lines.len() {
            0 => {}
            1..=STREAM_NODES_MAX => board.broadcast("nodes", &lines),
            _ => board.broadcast("reload", &serde_json::json!({})),
        }
        let is_told = |one: &&Arc<_>| told.incidents.iter().any(|other| Arc::ptr_eq(one, other));
        let changed: Vec<_> =
            latest.incidents.iter().filter(|one| !is_told(one)).map(|detail| &detail.incident).collect();
        if !changed.is_empty() {
            board.broadcast("incidents", &changed);
        }
        if self.sent_map.0.elapsed() >= MAP_EVERY || next == NextSnapshot::Unknown {
            let (_, before) = std::mem::replace(&mut self.sent_map, (Instant::now(), latest.clone()));
            let changes = latest.map_changes(&before);
            if !changes.changed.is_empty() {
                board.broadcast("map", &changes);
            }
        }
    }
}
