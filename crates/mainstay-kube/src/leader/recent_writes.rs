//! Writes to GpuNodes that do not show in the world yet. The engine asks for a write again at each evaluation until it sees the
//! result. Written again, it would cost a call, a second line in the audit log and a second try to create an Event.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;

use mainstay_api::GpuNodeStatus;
use mainstay_model::{NodeName, WaitingOn};
use tokio::time::Instant;

/// A write that does not show within this time is made again when the engine asks for it: it may have failed.
const SHOWS_WITHIN: Duration = Duration::from_secs(10);
/// Number of entries above which old ones are removed.
const ENTRIES_MIN: usize = 1_024;

/// The last write to one node.
#[derive(Debug)]
struct RecentWrite {
    /// Of the whole status. None if only the wait was written.
    digest: Option<u64>,
    waiting_on: WaitingOn,
    at: Instant,
}

/// The last write to each node, while it does not show.
#[derive(Debug, Default)]
pub(super) struct RecentWrites {
    by_node: BTreeMap<NodeName, RecentWrite>,
    removed_at: usize,
}

impl RecentWrites {
    /// Remembers that this status is written. Returns whether the same status is on its way already.
    pub(super) fn repeats(&mut self, node: &NodeName, status: &GpuNodeStatus) -> bool {
        let digest = digest(status);
        if self.fresh(node).is_some_and(|recent| recent.digest == digest && digest.is_some()) {
            return true;
        }
        self.keep(node, RecentWrite { digest, waiting_on: status.waiting_on, at: Instant::now() });
        false
    }

    /// Remembers that this wait is written. Returns whether it is on its way already, alone or in a status.
    pub(super) fn repeats_wait(&mut self, node: &NodeName, waiting_on: WaitingOn) -> bool {
        if self.fresh(node).is_some_and(|recent| recent.waiting_on == waiting_on) {
            return true;
        }
        self.keep(node, RecentWrite { digest: None, waiting_on, at: Instant::now() });
        false
    }

    /// Forgets nodes whose GpuNode arrived: the write shows, or another client wrote or deleted the object.
    pub(super) fn arrived(&mut self, nodes: Vec<NodeName>) {
        for node in nodes {
            self.by_node.remove(&node);
        }
    }

    fn fresh(&self, node: &NodeName) -> Option<&RecentWrite> {
        self.by_node.get(node).filter(|recent| recent.at.elapsed() < SHOWS_WITHIN)
    }

    fn keep(&mut self, node: &NodeName, recent: RecentWrite) {
        self.by_node.insert(node.clone(), recent);
        // Removing old entries whenever their number has doubled costs little per write.
        if self.by_node.len() >= ENTRIES_MIN.max(self.removed_at * 2) {
            self.by_node.retain(|_, recent| recent.at.elapsed() < SHOWS_WITHIN);
            self.removed_at = self.by_node.len();
        }
    }
}

fn digest(status: &GpuNodeStatus) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(status).ok()?);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use mainstay_api::{Conditions, DisplayFields};
    use mainstay_model::{Epoch, Persisted, Ppm, Reason, Stage, Timestamp};

    use super::*;

    fn status(stage: Stage, waiting_on: WaitingOn) -> GpuNodeStatus {
        let (message, conditions) = (Reason::lossy(""), Conditions::default());
        let told = DisplayFields { epoch: Epoch(1), waiting_on, message, risk: Ppm(0), conditions };
        GpuNodeStatus::of(&Persisted::new(stage, Timestamp(0)), told)
    }

    #[test]
    fn the_same_status_is_written_once_until_it_shows() {
        let mut recent = RecentWrites::default();
        let node = NodeName::parse("n1").unwrap();
        let suspect = status(Stage::Suspect, WaitingOn::Mode);
        assert!(!recent.repeats(&node, &suspect));
        assert!(recent.repeats(&node, &suspect));
        assert!(recent.repeats_wait(&node, WaitingOn::Mode), "the status holds the wait");
        assert!(!recent.repeats(&node, &status(Stage::InService, WaitingOn::Nothing)));
        assert!(!recent.repeats(&node, &suspect));
        // It was deleted, or another client wrote it.
        recent.arrived(vec![node.clone()]);
        assert!(!recent.repeats(&node, &suspect));
    }

    #[test]
    fn a_wait_is_written_once_and_a_status_after_it_again() {
        let mut recent = RecentWrites::default();
        let node = NodeName::parse("n1").unwrap();
        let suspect = status(Stage::Suspect, WaitingOn::Mode);
        recent.repeats(&node, &suspect);
        assert!(!recent.repeats_wait(&node, WaitingOn::Budget));
        assert!(recent.repeats_wait(&node, WaitingOn::Budget));
        assert!(!recent.repeats(&node, &suspect), "the wait replaced a part of it");
    }
}
