//! Queue of writes: the latest for each object, one in flight per object, a bounded number in total. Many changes of
//! one node become few writes.

use std::collections::{BTreeMap, BTreeSet};

use tokio::task::JoinSet;

use crate::write::{Outcome, Target, Write, Writer};

/// Largest number of writes in flight. The API server takes as many from one client without queueing.
const AT_ONCE: usize = 16;
/// Largest number of Events in the queue. Further ones are dropped.
const EVENTS_MAX: usize = 1_000;

/// Writes that wait for their turn, and writes in flight.
pub(super) struct WriteQueue {
    pen: Writer,
    waiting: BTreeMap<Target, Write>,
    /// Number of Events in the queue.
    events: usize,
    writing: BTreeSet<Target>,
    tasks: JoinSet<(Target, Outcome)>,
}

impl WriteQueue {
    pub(super) fn new(pen: Writer) -> Self {
        Self { pen, waiting: BTreeMap::new(), events: 0, writing: BTreeSet::new(), tasks: JoinSet::new() }
    }

    /// Queues a write. A later write to the same object replaces an earlier one.
    pub(super) fn push(&mut self, write: Write) {
        let target = write.target();
        let is_new_event = is_event(&target) && !self.waiting.contains_key(&target);
        if is_new_event && self.events >= EVENTS_MAX {
            return;
        }
        self.events += usize::from(is_new_event);
        match (self.waiting.get_mut(&target), write) {
            // A record holds the wait as well, and more.
            (Some(Write::Record { status, .. }), Write::Wait { waiting_on, message, .. }) => {
                status.waiting_on = waiting_on;
                status.message = message;
            }
            // Two who write the cell write different fields of it.
            (Some(Write::Cell { record, conditions }), Write::Cell { record: newer, conditions: newer_conditions }) => {
                *record = newer.or_else(|| record.take());
                if !newer_conditions.is_empty() {
                    *conditions = newer_conditions;
                }
            }
            (_, write) => drop(self.waiting.insert(target, write)),
        }
    }

    /// Whether a write to this object is queued or in flight.
    pub(super) fn is_on_the_way(&self, target: &Target) -> bool {
        self.waiting.contains_key(target) || self.writing.contains(target)
    }

    /// Starts as many writes as may be in flight.
    pub(super) fn pump(&mut self) {
        while self.writing.len() < AT_ONCE {
            let free = self.waiting.iter().find(|(target, write)| self.is_free(target, write));
            let free = free.map(|(target, _)| target.clone());
            let Some((target, write)) = free.and_then(|target| self.waiting.remove_entry(&target)) else { return };
            self.events -= usize::from(is_event(&target));
            let pen = self.pen.clone();
            self.writing.insert(target.clone());
            self.tasks.spawn(async move { (target, pen.write(&write).await) });
        }
    }

    /// Whether a write may begin: one at a time to each object, and an Event after the object that it regards, because the
    /// Event names that object's UID.
    fn is_free(&self, target: &Target, write: &Write) -> bool {
        let waits_for = match write {
            Write::Event(note) => Some(note.regarding.target()),
            Write::Record { .. } | Write::Wait { .. } | Write::Incident { .. } | Write::Forget { .. } => None,
            Write::Cell { .. } | Write::Judged { .. } | Write::Orphan { .. } | Write::Slo { .. } => None,
            Write::ForgetNode { .. } | Write::CellTime => None,
        };
        !self.writing.contains(target) && waits_for.is_none_or(|object| !self.is_on_the_way(&object))
    }

    /// Waits for the next write to end. Never returns while none is in flight.
    pub(super) async fn done(&mut self) -> Target {
        loop {
            match self.tasks.join_next().await {
                Some(Ok((target, _))) => return target,
                // A write that panicked is a defect of ours: the process dies, and the lease fails over.
                Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Marks an object as free for its next write.
    pub(super) fn finished(&mut self, target: &Target) {
        self.writing.remove(target);
        self.pump();
    }
}

fn is_event(target: &Target) -> bool {
    match target {
        Target::Event(_) => true,
        Target::Cell | Target::Node(_) | Target::Incident(_) | Target::Written(..) => false,
        Target::Report(_) | Target::Slo(_) => false,
    }
}
