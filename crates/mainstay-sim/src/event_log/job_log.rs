//! The life of one job: when it ran and where, what it saved, what stopped it and what that cost.

use std::collections::VecDeque;

use mainstay_model::Timestamp;

use crate::Cause;

/// What is kept of each kind; the latest tell the story.
const ATTEMPTS_MAX: usize = 16;
const CHECKPOINTS_MAX: usize = 8;
const INTERRUPTIONS_MAX: usize = 16;

/// Nodes that are named as new in an attempt: a spare or two, not a gang.
const JOINED_MAX: usize = 4;

/// How one attempt of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The job was done.
    Finished,
    /// It could not go on.
    Failed(Cause),
    /// We stopped it although it could have gone on.
    Drained(Cause),
}

/// One time that a job ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// When it began.
    pub started_at: Timestamp,
    /// When and how it ended; none while it goes on.
    pub ended: Option<(Timestamp, AttemptEnd)>,
    /// On how many nodes.
    pub nodes: u32,
    /// Nodes by number that the attempt before did not have, at most four.
    pub joined: Vec<u32>,
    /// GPU time that its end cost, starting again included.
    pub lost_gpu_seconds: u64,
}

/// A save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// When.
    pub at: Timestamp,
    /// At which step.
    pub step: u64,
    /// Whether we had asked for it.
    pub asked: bool,
}

/// A time that a job was stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    /// When.
    pub at: Timestamp,
    /// How.
    pub ended: AttemptEnd,
    /// The node that it was stopped because of, by number, where one is known.
    pub node: Option<u32>,
    /// The step that it starts again from.
    pub step: u64,
    /// How long it had hung before.
    pub hung_seconds: u64,
    /// GPU time lost: saving because we asked, what is done again, hanging, starting again.
    pub lost_gpu_seconds: u64,
    /// GPU time that would have been lost as well had we not asked first.
    pub saved_gpu_seconds: u64,
}

/// The life of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobLog {
    attempts: VecDeque<Attempt>,
    checkpoints: VecDeque<Checkpoint>,
    interruptions: VecDeque<Interruption>,
    /// How often it began.
    pub attempts_total: u32,
    /// GPU time it lost in all.
    pub lost_gpu_seconds: u64,
    /// GPU time that asking first kept for it.
    pub saved_gpu_seconds: u64,
    nodes_before: Vec<u32>,
    /// What saving because we asked has cost since it last began.
    saving_gpu_seconds: u64,
}

impl JobLog {
    /// The latest times that it ran, oldest first.
    pub fn attempts(&self) -> impl DoubleEndedIterator<Item = &Attempt> {
        self.attempts.iter()
    }

    /// The latest saves up to the end of the last attempt but those of its own in the running one, oldest first.
    pub fn checkpoints(&self) -> impl DoubleEndedIterator<Item = &Checkpoint> {
        self.checkpoints.iter()
    }

    /// The latest times that it was stopped, oldest first.
    pub fn interruptions(&self) -> impl DoubleEndedIterator<Item = &Interruption> {
        self.interruptions.iter()
    }

    /// It begins on these nodes; starting again costs so much.
    pub(crate) fn begins(&mut self, at: Timestamp, nodes: &[u32], again_gpu_seconds: u64) {
        let joined = nodes.iter().filter(|node| self.nodes_before.binary_search(node).is_err()).copied();
        let joined = joined.take(if self.nodes_before.is_empty() { 0 } else { JOINED_MAX }).collect();
        if let Some(interruption) = self.interruptions.back_mut() {
            interruption.lost_gpu_seconds += again_gpu_seconds;
        }
        if let Some(before) = self.attempts.back_mut() {
            before.lost_gpu_seconds += again_gpu_seconds;
        }
        self.lost_gpu_seconds += again_gpu_seconds;
        self.nodes_before = nodes.to_vec();
        self.nodes_before.sort_unstable();
        self.attempts_total += 1;
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let attempt = Attempt { started_at: at, ended: None, nodes: count, joined, lost_gpu_seconds: 0 };
        push(&mut self.attempts, attempt, ATTEMPTS_MAX);
    }

    /// It has saved.
    pub(crate) fn saves(&mut self, at: Timestamp, step: u64, asked: bool) {
        if self.checkpoints.back().is_none_or(|last| last.step < step) {
            push(&mut self.checkpoints, Checkpoint { at, step, asked }, CHECKPOINTS_MAX);
        }
    }

    /// Saving because we asked has cost something.
    pub(crate) fn pays_for_saving(&mut self, gpu_seconds: u64) {
        self.saving_gpu_seconds += gpu_seconds;
        self.lost_gpu_seconds += gpu_seconds;
    }

    /// It has lost time and goes on.
    pub(crate) fn loses(&mut self, gpu_seconds: u64) {
        self.lost_gpu_seconds += gpu_seconds;
    }

    /// It is stopped; what the saves before cost is part of it.
    pub(crate) fn stops(&mut self, mut interruption: Interruption) {
        self.lost_gpu_seconds += interruption.lost_gpu_seconds;
        self.saved_gpu_seconds += interruption.saved_gpu_seconds;
        interruption.lost_gpu_seconds += std::mem::take(&mut self.saving_gpu_seconds);
        self.ends(interruption.at, interruption.ended, interruption.lost_gpu_seconds);
        push(&mut self.interruptions, interruption, INTERRUPTIONS_MAX);
    }

    /// It is done.
    pub(crate) fn finishes(&mut self, at: Timestamp) {
        self.ends(at, AttemptEnd::Finished, 0);
        self.nodes_before.clear();
    }

    fn ends(&mut self, at: Timestamp, ended: AttemptEnd, lost_gpu_seconds: u64) {
        if let Some(attempt) = self.attempts.back_mut() {
            attempt.ended = Some((at, ended));
            attempt.lost_gpu_seconds += lost_gpu_seconds;
        }
    }
}

fn push<T>(ring: &mut VecDeque<T>, entry: T, most: usize) {
    if ring.len() >= most {
        ring.pop_front();
    }
    ring.push_back(entry);
}
