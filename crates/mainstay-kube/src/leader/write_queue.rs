//! Queue of writes: the latest for each object, one in flight per object, a bounded number in total. Many changes of
//! one node become few writes.

mod waiting;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::write::{FailureLog, Outcome, Target, Write, Writer};
use waiting::WaitingWrites;

/// Largest number of writes in flight. The API server takes as many from one client without queueing.
const AT_ONCE: usize = 16;

/// Writes that wait for their turn, and writes in flight.
pub(super) struct WriteQueue {
    pen: Writer,
    waiting: WaitingWrites,
    writing: BTreeSet<Target>,
    tasks: JoinSet<(Target, Outcome)>,
    failures: FailureLog,
}

impl WriteQueue {
    pub(super) fn new(pen: Writer) -> Self {
        let (waiting, writing, tasks) = (WaitingWrites::default(), BTreeSet::new(), JoinSet::new());
        Self { pen, waiting, writing, tasks, failures: FailureLog::default() }
    }

    /// Queues a write. A later write to the same object replaces an earlier one.
    pub(super) fn push(&mut self, write: Write) {
        let dropped = self.waiting.push(write);
        self.pen.dropped(dropped);
    }

    /// Whether a write to this object is queued or in flight.
    pub(super) fn is_on_the_way(&self, target: &Target) -> bool {
        self.waiting.contains(target) || self.writing.contains(target)
    }

    /// Starts as many writes as may be in flight: one at a time to each object, and an Event after the object that it
    /// regards, because the Event names that object's UID.
    pub(super) fn pump(&mut self) {
        while self.writing.len() < AT_ONCE {
            let writing = &self.writing;
            let next = self.waiting.take(|waiting, target, write| {
                let regarded = match write {
                    Write::Event(note) => Some(note.regarding.target()),
                    Write::Record { .. } | Write::Wait { .. } | Write::Incident { .. } | Write::Forget { .. } => None,
                    Write::Cell { .. } | Write::Judged { .. } | Write::Orphan { .. } | Write::Slo { .. } => None,
                    Write::ForgetNode { .. } | Write::CellTime => None,
                };
                let is_busy = |object: &Target| writing.contains(object) || waiting.contains(object);
                !writing.contains(target) && !regarded.as_ref().is_some_and(is_busy)
            });
            let Some((target, write)) = next else { return };
            let pen = self.pen.clone();
            self.writing.insert(target.clone());
            self.tasks.spawn(async move { (target, pen.write(&write).await) });
        }
    }

    /// Waits for the next write to end, and logs it if it failed. Never returns while none is in flight.
    pub(super) async fn done(&mut self) -> Target {
        loop {
            match self.tasks.join_next().await {
                Some(Ok((target, outcome))) => {
                    self.failures.report(&target, &outcome);
                    return target;
                }
                // A write that panicked is a defect of ours: the process dies, and the lease fails over.
                Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Finishes the queued writes within a time limit, drops those that have not begun by then, and waits for those in
    /// flight. Afterwards no earlier write can overtake a later one.
    pub(super) async fn drain(&mut self, within: Duration) {
        let until = Instant::now() + within;
        self.pump();
        while !self.waiting.is_empty() || !self.writing.is_empty() {
            let Ok(done) = timeout_at(until, self.done()).await else { break };
            self.finished(&done);
        }
        let dropped = self.waiting.clear();
        self.pen.dropped(dropped);
        while !self.writing.is_empty() {
            let done = self.done().await;
            self.finished(&done);
        }
    }

    /// Marks an object as free for its next write.
    pub(super) fn finished(&mut self, target: &Target) {
        self.writing.remove(target);
        self.pump();
    }
}
