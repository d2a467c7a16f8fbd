//! Events for streams: only what changed since the last snapshot that they received.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_api::http::STREAM_NODES_MAX;

use crate::published::Hub;
use crate::snapshot::Snapshot;

/// Shortest interval between events with changes of the map.
const MAP_EVERY: Duration = Duration::from_secs(1);
/// Shortest interval between `reload` events, which make clients read everything again.
const RELOAD_EVERY: Duration = Duration::from_secs(5);

/// The snapshot that streams received last, to send them only the difference.
pub struct Changes {
    sent: Arc<Snapshot>,
    sent_map: (Instant, Arc<Snapshot>),
    reloaded_at: Option<Instant>,
}

/// When the next snapshot follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NextSnapshot {
    /// The next snapshot follows within seconds.
    Soon,
    /// Unknown, because the demo is paused.
    Unknown,
}

impl Changes {
    /// Creates it for streams that start with a snapshot.
    #[must_use]
    pub fn since(snapshot: Arc<Snapshot>) -> Self {
        Self { sent_map: (Instant::now(), snapshot.clone()), sent: snapshot, reloaded_at: None }
    }

    /// Skips to a snapshot that streams read in full by themselves.
    pub fn skip_to(&mut self, snapshot: Arc<Snapshot>) {
        self.sent = snapshot;
    }

    /// Sends streams the changes since the last snapshot that they received.
    pub fn publish(&mut self, hub: &Hub, latest: &Arc<Snapshot>, next: NextSnapshot) {
        if latest.is_placed_otherwise(&self.sent_map.1) {
            if self.reloaded_at.is_none_or(|at| at.elapsed() >= RELOAD_EVERY) {
                self.reloaded_at = Some(Instant::now());
                self.sent = latest.clone();
                self.sent_map = (Instant::now(), latest.clone());
                hub.broadcast("reload", &serde_json::json!({}));
            }
            return;
        }
        let before = std::mem::replace(&mut self.sent, latest.clone());
        let lines = latest.changed_since(&before).filter(|(_, new, old)| new.line != old.line);
        let lines: Vec<_> = lines.map(|(_, new, _)| &new.line).take(STREAM_NODES_MAX + 1).collect();
        match lines.len() {
            0 => {}
            1..=STREAM_NODES_MAX => hub.broadcast("nodes", &lines),
            _ => hub.broadcast("reload", &serde_json::json!({})),
        }
        let is_known = |one: &&Arc<_>| before.incidents.iter().any(|other| Arc::ptr_eq(one, other));
        let changed: Vec<_> =
            latest.incidents.iter().filter(|one| !is_known(one)).map(|detail| &detail.incident).collect();
        if !changed.is_empty() {
            hub.broadcast("incidents", &changed);
        }
        if self.sent_map.0.elapsed() >= MAP_EVERY || next == NextSnapshot::Unknown {
            let (_, before) = std::mem::replace(&mut self.sent_map, (Instant::now(), latest.clone()));
            let changes = latest.map_changes(&before);
            if !changes.changed.is_empty() {
                hub.broadcast("map", &changes);
            }
        }
    }
}
