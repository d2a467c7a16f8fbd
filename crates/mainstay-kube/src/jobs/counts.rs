//! Numbers about jobs as the metrics export them: counts since the process started, and gauges of now.

use std::collections::BTreeMap;

use mainstay_model::{NodeName, Span};
use mainstay_telemetry::metrics::{Distribution, Samples, catalogue};

use super::outcome::Outcome;
use super::queues::{OTHER, Queue, Queues};

/// Counts since the process started.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobCounts {
    pub(super) queues: Queues,
    ended: BTreeMap<(Queue, Outcome), u64>,
    waits: BTreeMap<Queue, Distribution>,
    restarts: BTreeMap<Queue, u64>,
    /// Restarts of device plugins, by node.
    plugins: BTreeMap<Box<str>, u64>,
}

/// Gauges of one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobGauges {
    pending: BTreeMap<Queue, Pending>,
    checkpoint_age: BTreeMap<Queue, Span>,
    /// GPUs that running pods request, by node.
    pub(crate) used: BTreeMap<NodeName, u16>,
}

/// Pods of one queue that wait for a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Jobs with at least one pod that waits.
    pub(crate) jobs: u64,
    pub(crate) pods: u64,
    pub(crate) gpus: u64,
    pub(crate) longest: Span,
}

// === impl JobCounts ===

impl JobCounts {
    pub(super) fn ended(&mut self, queue: Queue, outcome: Outcome) {
        *self.ended.entry((queue, outcome)).or_default() += 1;
    }

    pub(super) fn waited(&mut self, queue: Queue, wait: Span) {
        self.waits.entry(queue).or_default().observe(wait.0 / 1_000);
    }

    pub(super) fn restarted(&mut self, queue: Queue, times: u64) {
        *self.restarts.entry(queue).or_default() += times;
    }

    pub(super) fn plugin_restarted(&mut self, node: &str, times: u64) {
        let is_full = self.plugins.len() >= catalogue::NODES_NAMED && !self.plugins.contains_key(node);
        *self.plugins.entry(if is_full { OTHER } else { node }.into()).or_default() += times;
    }

    /// Adds the series. A queue has all of them from its first pod on, so that a first failure or wait is an increase from
    /// zero.
    pub(crate) fn export(&self, samples: &mut Samples) {
        let shared =
            self.waits.keys().chain(self.ended.keys().map(|(queue, _)| queue)).find(|one| **one == Queue::default());
        for queue in shared.copied().into_iter().chain(self.queues.named_ones()) {
            for outcome in Outcome::ALL {
                let count = self.ended.get(&(queue, outcome)).copied().unwrap_or(0);
                samples.count(catalogue::JOBS, [self.queues.name(queue), outcome.word()], count);
            }
            let restarts = self.restarts.get(&queue).copied().unwrap_or(0);
            samples.count(catalogue::JOB_RESTARTS, [self.queues.name(queue)], restarts);
            let waits = self.waits.get(&queue).copied().unwrap_or_default();
            samples.observe(catalogue::JOB_WAIT, [self.queues.name(queue)], waits);
        }
        for (node, restarts) in &self.plugins {
            samples.count(catalogue::DEVICE_PLUGIN_RESTARTS, [node], *restarts);
        }
    }
}

// === impl JobGauges ===

impl JobGauges {
    pub(super) fn waits(&mut self, queue: Queue, gpus: u16, wait: Span) {
        let pending = self.pending.entry(queue).or_default();
        pending.pods += 1;
        pending.gpus += u64::from(gpus);
        pending.longest = pending.longest.max(wait);
    }

    pub(super) fn job_waits(&mut self, queue: Queue) {
        self.pending.entry(queue).or_default().jobs += 1;
    }

    /// What waits, by name of the queue. The names are in the counts.
    pub(crate) fn pending<'a>(&'a self, counts: &'a JobCounts) -> impl Iterator<Item = (&'a str, Pending)> {
        self.pending.iter().map(|(queue, pending)| (counts.queues.name(*queue), *pending))
    }

    pub(super) fn runs(&mut self, node: &NodeName, gpus: u16) {
        match self.used.get_mut(node) {
            Some(used) => *used = used.saturating_add(gpus),
            None => drop(self.used.insert(node.clone(), gpus)),
        }
    }

    pub(super) fn saved(&mut self, queue: Queue, age: Span) {
        let oldest = self.checkpoint_age.entry(queue).or_default();
        *oldest = (*oldest).max(age);
    }

    /// Adds the series, with the names of the queues in the counts. A known queue without waiting pods has zeros, so that a rule
    /// or an autoscaler does not wait for its series.
    pub(crate) fn export(&self, counts: &JobCounts, samples: &mut Samples) {
        let shared = self.pending.keys().find(|queue| **queue == Queue::default()).copied();
        for queue in shared.into_iter().chain(counts.queues.named_ones()) {
            let (name, pending) = ([counts.queues.name(queue)], self.pending.get(&queue).copied().unwrap_or_default());
            samples.set(catalogue::PENDING_PODS, name, pending.pods);
            samples.set(catalogue::PENDING_GPUS, name, pending.gpus);
            samples.set(catalogue::PENDING_SECONDS_MAX, name, pending.longest.0 / 1_000);
        }
        for (queue, age) in &self.checkpoint_age {
            samples.set(catalogue::CHECKPOINT_AGE_MAX, [counts.queues.name(*queue)], age.0 / 1_000);
        }
    }
}

#[cfg(test)]
impl JobCounts {
    /// A value of every count.
    pub(crate) fn one_of_each() -> Self {
        let mut counts = Self::default();
        counts.waited(Queue::default(), Span(1_000));
        counts.plugin_restarted("n1", 1);
        counts
    }
}

#[cfg(test)]
impl JobGauges {
    /// A value of every gauge.
    pub(crate) fn one_of_each() -> Self {
        let mut gauges = Self::default();
        gauges.waits(Queue::default(), 8, Span(1_000));
        gauges.saved(Queue::default(), Span(1_000));
        gauges
    }
}
