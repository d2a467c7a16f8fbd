//! Checkpoint requests, with the jobs' answers.

use kube::ResourceExt as _;
use mainstay_api::CheckpointRequest;
use mainstay_model::{Fact, GangId, Namespace, Timestamp};

use super::{Kind, World};
use crate::tolerant::Tolerant;
use crate::watch::WatchEvent;

impl World {
    /// Handles a request. One that is deleted stays known: the job may have read it.
    pub(super) fn checkpoint(&mut self, told: WatchEvent<Tolerant<CheckpointRequest>>, now: Timestamp) {
        let seen = match told {
            WatchEvent::Is(seen) => seen,
            WatchEvent::Listed => return self.list(Kind::Checkpoint),
            WatchEvent::Gone(_) | WatchEvent::Bookmark => return,
        };
        let namespace = Namespace::parse(&seen.namespace().unwrap_or_default());
        let (Ok(namespace), Ok(request)) = (namespace, seen.object) else { return self.is_unfit(Kind::Checkpoint) };
        let spec = request.spec;
        // A request for a whole gang, or of a version without the time of the drain, belongs to no drain of a node.
        let (Some(node), Some(drain)) = (spec.node, spec.draining_since) else { return };
        let gang = GangId { namespace, name: spec.gang };
        let saved_step = request.status.and_then(|status| u64::try_from(status.step_saved).ok());
        let answer_by = spec.acknowledge_by.into();
        self.tell(now, Fact::Asked { gang, node, drain: drain.into(), answer_by, saved_step });
    }
}
