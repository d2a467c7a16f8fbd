//! Jobs with GPUs, for metrics and the web UI only: what waits, how long it waited, how it ended and why. No decision reads it. A job is a
//! gang: its pods are grouped as the engine's are. State is kept for pods that wait or run, and dropped when a job is over.

mod counts;
mod outcome;
mod queues;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mainstay_model::{GangId, NodeName, Span, Timestamp};

use crate::node::GPU_RESOURCES;
use crate::pod::{self, Gangs, PartialPod};
use crate::watch::Key;
pub(crate) use counts::{JobCounts, JobGauges};
pub(crate) use outcome::{NodeHealth, Outcome};
use queues::Queue;

/// Largest number of pods that are followed. Further ones are left out of the metrics.
const PODS_MAX: usize = 200_000;
/// Largest number of ended pods that are remembered, so that a second list does not count them again. Kubernetes deletes
/// ended pods beyond 12,500 by default.
const ENDED_MAX: usize = 200_000;
/// Most nodes of one job that are looked at again when it is over.
const NODES_MAX: usize = 64;
/// Resource names of parts of a GPU.
const MIG_RESOURCES: &str = "nvidia.com/mig-";
/// Annotation: time of the job's last checkpoint, in RFC 3339.
const SAVED_AT: &str = "mainstay.dev/saved-at";
/// Labels of the device plugins' pods, from their charts and manifests.
const DEVICE_PLUGINS: [(&str, &str); 4] = [
    ("app.kubernetes.io/name", "nvidia-device-plugin"),
    ("app", "nvidia-device-plugin-daemonset"),
    ("name", "nvidia-device-plugin-ds"),
    ("name", "amdgpu-dp-ds"),
];

/// Whether a pod waits for a node or has one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Pending,
    On(NodeName),
    /// It left its watch, and what became of it is not known yet.
    Left,
}

/// A pod with GPUs that has not ended.
#[derive(Debug, Clone)]
struct JobPod {
    gang: GangId,
    place: Place,
    created_at: Timestamp,
    gpus: u16,
    restarts: u32,
    saved_at: Option<Timestamp>,
    /// The last node, which stays known after the pod has left it.
    node: Option<NodeName>,
}

/// A job with at least one pod that has not ended, or that ended a moment ago.
#[derive(Debug, Clone)]
struct Job {
    queue: Queue,
    pods: BTreeSet<Key>,
    /// Creation of the first pod that waits, while one does.
    waiting_since: Option<Timestamp>,
    /// Worst outcome of the pods that ended since the last start.
    worst: Option<Outcome>,
    /// Time at which a pod last got a node.
    started_at: Timestamp,
    /// Whether its owner deleted a pod since the last start.
    is_deleted: bool,
    /// Nodes of pods that failed for no reason that Kubernetes states. One of them may turn out to be faulty.
    unexplained: BTreeSet<NodeName>,
    /// Time since which no pod waits or runs.
    idle_since: Option<Timestamp>,
    restarted_at: Option<Timestamp>,
}

/// All jobs of a leadership.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// Time after the last pod until the job counts as ended: another attempt may follow, and a fault may be detected.
    settle: Span,
    pods: BTreeMap<Key, JobPod>,
    jobs: BTreeMap<GangId, Job>,
    /// Jobs to look at in the next step.
    touched: BTreeSet<GangId>,
    /// Pods that ended, by UID.
    ended: BTreeMap<Key, Box<str>>,
    /// Ended pods that were deleted, in the order of their deletion. They stay in `ended` for a while.
    deleted: VecDeque<(Timestamp, Key, Box<str>)>,
    has_listed_ended: bool,
    /// Restarts of the device plugins' pods, by pod.
    plugins: BTreeMap<Key, u32>,
    counts: JobCounts,
}

// === impl Jobs ===

impl Jobs {
    /// Continues the counts of an earlier leadership of this process.
    pub(crate) fn new(settle: Span, counts: JobCounts) -> Self {
        Self {
            settle,
            pods: BTreeMap::new(),
            jobs: BTreeMap::new(),
            touched: BTreeSet::new(),
            ended: BTreeMap::new(),
            deleted: VecDeque::new(),
            has_listed_ended: false,
            plugins: BTreeMap::new(),
            counts,
        }
    }

    /// Counts so far. They only grow.
    pub(crate) const fn counts(&self) -> &JobCounts {
        &self.counts
    }

    /// A pod waits for a node.
    pub(crate) fn pending(&mut self, pod: &PartialPod, gangs: &Gangs, now: Timestamp) {
        self.put(pod, Place::Pending, gangs, now);
    }

    /// A pod has a node and has not ended.
    pub(crate) fn running(&mut self, pod: &PartialPod, gangs: &Gangs, now: Timestamp) {
        if pod::belongs_to_its_node(&pod.metadata) {
            return self.plugin(pod);
        }
        let Some(node) = pod.spec.node_name.as_deref().and_then(|name| NodeName::parse(name).ok()) else { return };
        self.put(pod, Place::On(node), gangs, now);
    }

    /// A pod is no longer among those without a node.
    pub(crate) fn left_pending(&mut self, key: &Key) {
        self.left(key, |place| *place == Place::Pending);
    }

    /// A pod is no longer among those that run.
    pub(crate) fn left_running(&mut self, key: &Key) {
        self.plugins.remove(key);
        self.left(key, |place| matches!(place, Place::On(_)));
    }

    /// A pod ended. Pods of the first list ended before this leadership.
    pub(crate) fn ended(&mut self, pod: &PartialPod, gangs: &Gangs, health: impl Fn(&NodeName) -> NodeHealth) {
        let (Some(key), Some(uid)) = (pod::key_of(&pod.metadata), pod.metadata.uid.as_deref()) else { return };
        if self.ended.get(&key).is_some_and(|known| **known == *uid) {
            return;
        }
        if self.ended.len() < ENDED_MAX {
            self.ended.insert(key.clone(), uid.into());
        }
        if !self.has_listed_ended || gpus(pod).is_none() {
            return;
        }
        let Some(gang) = gangs.gang_of(pod) else { return };
        let node = pod.spec.node_name.as_deref().and_then(|name| NodeName::parse(name).ok());
        let at_node = node.as_ref().map_or(NodeHealth::NotKnownFaulty, &health);
        let outcome = outcome::outcome(pod, at_node);
        self.remove(&key);
        let queue = self.counts.queues.of(pod);
        let job = self.jobs.entry(gang.clone()).or_insert_with(|| Job::new(queue));
        job.worst = job.worst.max(outcome);
        job.is_deleted |= outcome.is_none();
        if matches!(outcome, Some(Outcome::User) | None) && job.unexplained.len() < NODES_MAX {
            job.unexplained.extend(node);
        }
        self.touched.insert(gang);
    }

    /// The first list of ended pods is complete.
    pub(crate) const fn listed_ended(&mut self) {
        self.has_listed_ended = true;
    }

    /// An ended pod was deleted. It is remembered a little longer: another watch may be late, and report that it runs.
    pub(crate) fn left_ended(&mut self, key: Key, now: Timestamp) {
        if let Some(uid) = self.ended.get(&key).filter(|_| self.deleted.len() < ENDED_MAX) {
            self.deleted.push_back((now, key, uid.clone()));
        } else {
            self.ended.remove(&key);
        }
    }

    fn forget_deleted(&mut self, now: Timestamp) {
        while let Some((_, key, uid)) = self.deleted.pop_front_if(|(at, ..)| now.since(*at) >= self.settle) {
            if self.ended.get(&key) == Some(&uid) {
                self.ended.remove(&key);
            }
        }
    }

    /// Counts waits and ends that are known by now.
    pub(crate) fn step(&mut self, now: Timestamp, health: impl Fn(&NodeName) -> NodeHealth) {
        self.forget_deleted(now);
        for gang in std::mem::take(&mut self.touched) {
            if self.step_job(&gang, now, &health) {
                self.touched.insert(gang);
            }
        }
    }

    /// Whether the job has to be looked at again without news of it.
    fn step_job(&mut self, gang: &GangId, now: Timestamp, health: &impl Fn(&NodeName) -> NodeHealth) -> bool {
        let Some(job) = self.jobs.get_mut(gang) else { return false };
        let (mut waiting, mut running) = (None, false);
        for pod in job.pods.iter().filter_map(|key| self.pods.get(key)) {
            match &pod.place {
                Place::Pending => {
                    waiting = Some(waiting.map_or(pod.created_at, |at: Timestamp| at.min(pod.created_at)));
                }
                Place::On(_) => running = true,
                Place::Left => {}
            }
        }
        match (waiting, job.waiting_since) {
            (Some(since), None) => job.waiting_since = Some(since),
            // A short job may have ended already.
            (None, Some(since)) if running || job.started_at > since => {
                job.waiting_since = None;
                self.counts.waited(job.queue, job.started_at.since(since));
            }
            (Some(_) | None, _) => {}
        }
        if waiting.is_some() || running {
            job.idle_since = None;
            return false;
        }
        let idle_since = *job.idle_since.get_or_insert(now);
        if now.since(idle_since) < self.settle {
            return true;
        }
        let faulty = |node: &NodeName| health(node) == NodeHealth::Faulty;
        let nodes = job.pods.iter().filter_map(|key| self.pods.get(key)?.node.as_ref());
        // A pod that is gone without an end was deleted by force, or together with its node.
        let is_deleted = job.is_deleted || nodes.clone().next().is_some();
        let is_faulty = nodes.chain(&job.unexplained).any(faulty);
        let outcome = match job.worst.or(is_deleted.then_some(Outcome::User)) {
            Some(Outcome::User) if is_faulty => Some(Outcome::Infrastructure),
            outcome => outcome,
        };
        if let Some(outcome) = outcome {
            self.counts.ended(job.queue, outcome);
        }
        if let Some(job) = self.jobs.remove(gang) {
            job.pods.iter().for_each(|key| drop(self.pods.remove(key)));
        }
        false
    }

    /// Gauges of now. It takes time proportional to the number of pods.
    pub(crate) fn gauges(&self, now: Timestamp) -> JobGauges {
        let mut gauges = JobGauges::default();
        for (queue, pod) in self.pods.values().filter_map(|pod| Some((self.jobs.get(&pod.gang)?.queue, pod))) {
            match &pod.place {
                Place::Pending => gauges.waits(queue, pod.gpus, now.since(pod.created_at)),
                Place::On(node) => gauges.runs(node, pod.gpus),
                Place::Left => {}
            }
        }
        for job in self.jobs.values() {
            let mut pods = job.pods.iter().filter_map(|key| self.pods.get(key));
            if pods.any(|pod| pod.place == Place::Pending) {
                gauges.job_waits(job.queue);
            }
            let saved = job.pods.iter().filter_map(|key| self.pods.get(key)?.saved_at).max();
            if let Some(saved_at) = saved {
                gauges.saved(job.queue, now.since(saved_at));
            }
        }
        gauges
    }

    fn put(&mut self, pod: &PartialPod, place: Place, gangs: &Gangs, now: Timestamp) {
        let (Some(key), Some(gpus)) = (pod::key_of(&pod.metadata), gpus(pod)) else { return };
        // Each watch is on time by itself: a pod may have ended before another watch reports that it waits or runs.
        if self.ended.get(&key).is_some_and(|uid| Some(&**uid) == pod.metadata.uid.as_deref()) {
            return;
        }
        let Some(gang) = gangs.gang_of(pod) else { return };
        let restarts = restarts(pod);
        if let Some(known) = self.pods.get_mut(&key).filter(|known| known.gang == gang) {
            // The watch of pods without a node may be behind.
            if place == Place::Pending && matches!(known.place, Place::On(_)) {
                return;
            }
            let more = restarts.saturating_sub(known.restarts);
            if let Place::On(node) = &place {
                known.node = Some(node.clone());
            }
            (known.place, known.restarts, known.saved_at) = (place, restarts, saved_at(pod, now));
            let queue = self.jobs.get(&gang).map(|job| job.queue);
            if let Some(queue) = queue.filter(|_| more > 0) {
                self.counts.restarted(queue, u64::from(more));
            }
        } else if self.pods.len() < PODS_MAX {
            self.remove(&key);
            let created = pod.metadata.creation_timestamp.as_ref();
            let created_at = created.map_or(now, |time| Timestamp(time.0.as_millisecond()).min(now));
            let node = if let Place::On(node) = &place { Some(node.clone()) } else { None };
            let saved_at = saved_at(pod, now);
            self.begin(pod, &gang, &key, now);
            self.pods
                .insert(key.clone(), JobPod { gang: gang.clone(), place, created_at, gpus, restarts, saved_at, node });
        }
        let known = self.pods.get(&key).map(|pod| (pod.created_at, matches!(pod.place, Place::On(_))));
        match (self.jobs.get_mut(&gang), known) {
            (Some(job), Some((_, true))) => job.started_at = now,
            // Now, because the pod may get a node before the next step.
            (Some(job), Some((created_at, false))) => {
                job.waiting_since = Some(job.waiting_since.map_or(created_at, |since| since.min(created_at)));
            }
            (Some(_) | None, _) => {}
        }
        self.touched.insert(gang);
    }

    /// Adds a new pod to its job. A new pod after a failure is another attempt of the job.
    fn begin(&mut self, pod: &PartialPod, gang: &GangId, key: &Key, now: Timestamp) {
        let queue = self.counts.queues.of(pod);
        let job = self.jobs.entry(gang.clone()).or_insert_with(|| Job::new(queue));
        job.pods.insert(key.clone());
        job.is_deleted = false;
        if job.worst.is_some_and(|worst| worst != Outcome::Success) {
            (job.worst, job.unexplained) = (None, BTreeSet::new());
            // The pods of one attempt fail and come back one after the other.
            if job.restarted_at.is_none_or(|at| now.since(at) >= self.settle) {
                job.restarted_at = Some(now);
                self.counts.restarted(queue, 1);
            }
        }
    }

    fn left(&mut self, key: &Key, was: impl Fn(&Place) -> bool) {
        if let Some(pod) = self.pods.get_mut(key).filter(|pod| was(&pod.place)) {
            pod.place = Place::Left;
            self.touched.insert(pod.gang.clone());
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(pod) = self.pods.remove(key)
            && let Some(job) = self.jobs.get_mut(&pod.gang)
        {
            job.pods.remove(key);
            self.touched.insert(pod.gang);
        }
    }

    /// Counts restarts of a device plugin on its node. What restarted before the first event is not counted.
    fn plugin(&mut self, pod: &PartialPod) {
        let labels = pod.metadata.labels.as_ref();
        let is = |(key, value): &(&str, &str)| labels.and_then(|all| all.get(*key)).is_some_and(|is| is == value);
        let (Some(key), Some(node)) = (pod::key_of(&pod.metadata), pod.spec.node_name.as_deref()) else { return };
        if !DEVICE_PLUGINS.iter().any(is) || self.plugins.len() >= PODS_MAX && !self.plugins.contains_key(&key) {
            return;
        }
        let restarts = restarts(pod);
        let before = self.plugins.insert(key, restarts).unwrap_or(restarts);
        if restarts > before {
            self.counts.plugin_restarted(node, u64::from(restarts - before));
        }
    }
}

// === impl Job ===

impl Job {
    const fn new(queue: Queue) -> Self {
        Self {
            queue,
            pods: BTreeSet::new(),
            waiting_since: None,
            worst: None,
            started_at: Timestamp(0),
            is_deleted: false,
            unexplained: BTreeSet::new(),
            idle_since: None,
            restarted_at: None,
        }
    }
}

/// Number of whole GPUs that a pod requests. None if it requests neither a GPU nor a part of one.
fn gpus(pod: &PartialPod) -> Option<u16> {
    let limits = || pod.spec.containers.iter().flat_map(|container| &container.resources.limits);
    let whole = limits().filter(|(name, _)| GPU_RESOURCES.contains(&name.as_str()));
    let whole = whole.filter_map(|(_, count)| count.parse::<u16>().ok()).fold(0_u16, u16::saturating_add);
    let parts = limits().any(|(name, count)| name.starts_with(MIG_RESOURCES) && count != "0");
    (whole > 0 || parts).then_some(whole)
}

fn restarts(pod: &PartialPod) -> u32 {
    pod.status.container_statuses.iter().map(|one| one.restart_count).fold(0, u32::saturating_add)
}

/// Time of the last checkpoint that the pod's annotation names. A time in the future counts as now.
fn saved_at(pod: &PartialPod, now: Timestamp) -> Option<Timestamp> {
    let text = pod.metadata.annotations.as_ref()?.get(SAVED_AT)?;
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp(at.as_millisecond()).min(now))
}
