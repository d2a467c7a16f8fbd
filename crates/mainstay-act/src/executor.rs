//! The queue of effects of one leadership: bounded, one step in flight for each node and each gang, started in the order of their
//! arrival as the rates permit. An effect that is refused for a reason that may pass returns to the queue, so that it holds up no other. One
//! that cannot start before its latest start ends as refused, with the reason.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mainstay_model::{Effect, GangId, NodeName, OrderId, Outcome, PoolName, Reason, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::backend::{Backend, Leadership, now};
use crate::barrier::{self, BarrierStep};
use crate::rates::{RateLimits, RateScope, Rates};
use crate::sequence::Attempt;
use crate::{guards, sequence};

/// Largest number of effects in the queue. Further ones are refused.
pub const QUEUE_MAX: usize = 4_096;
/// Largest number of effects in flight.
pub const IN_FLIGHT_MAX: usize = 16;
/// Time between two looks at the queue while it is not empty.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What happened to an effect that was offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// It waits for its turn.
    Queued,
    /// The same effect is in flight.
    InFlight,
    /// It is refused: the queue is full.
    Refused(Reason),
}

/// An effect that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The effect.
    pub effect: Effect,
    /// What became of it.
    pub outcome: Outcome,
}

/// Why an effect in the queue does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wait {
    Turn,
    Barrier(BarrierStep),
    SameTarget,
    Rate(RateScope),
    /// The last attempt was refused for this reason.
    Refused(Reason),
}

/// Identity of an effect: the same action on the same node and gang.
type Key = (NodeName, OrderId, Option<GangId>);

/// A node or a gang. At most one step of each is in flight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Node(NodeName),
    Gang(GangId),
}

#[derive(Debug)]
struct Queued {
    effect: Effect,
    pool: PoolName,
    wait: Wait,
    /// Earliest time of the next attempt.
    not_before: Option<Timestamp>,
    /// Whether the rates count it. Attempts at one effect count once.
    is_counted: bool,
}

/// An effect after an attempt, with its place in the order of arrival.
struct Tried {
    place: u64,
    queued: Queued,
    attempt: Attempt,
}

/// Carries out the effects of one leadership.
pub struct Executor<B, L> {
    backend: Arc<B>,
    leadership: Arc<L>,
    rates: Rates,
    /// By order of arrival.
    queue: BTreeMap<u64, Queued>,
    places: BTreeMap<Key, u64>,
    arrived: u64,
    /// The last effect that had arrived when the queue was withdrawn.
    withdrawn: u64,
    in_flight: BTreeSet<Key>,
    busy: BTreeSet<Target>,
    tasks: JoinSet<Tried>,
    ended: VecDeque<Finished>,
    barrier: watch::Receiver<BarrierStep>,
    /// The task of the barrier. It ends with the leadership.
    _passing: JoinSet<()>,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn => f.write_str("too many actions are under way"),
            Self::Barrier(step) => step.fmt(f),
            Self::SameTarget => f.write_str("another action on the same node or job is under way"),
            Self::Rate(scope) => write!(f, "the limit of {scope} is reached"),
            Self::Refused(why) => why.fmt(f),
        }
    }
}

impl<B: Backend, L: Leadership> Executor<B, L> {
    /// Starts the executor of a leadership, with its barrier. The barrier lasts at least `barrier_wait`, the length of a lease.
    #[must_use]
    pub fn start(backend: Arc<B>, leadership: Arc<L>, limits: RateLimits, barrier_wait: Duration) -> Self {
        let (step, barrier) = watch::channel(BarrierStep::Wait);
        let mut passing = JoinSet::new();
        let of_barrier = Arc::clone(&backend);
        passing.spawn(async move { barrier::pass(&*of_barrier, barrier_wait, &step).await });
        Self {
            backend,
            leadership,
            rates: Rates::new(limits),
            queue: BTreeMap::new(),
            places: BTreeMap::new(),
            arrived: 0,
            withdrawn: 0,
            in_flight: BTreeSet::new(),
            busy: BTreeSet::new(),
            tasks: JoinSet::new(),
            ended: VecDeque::new(),
            barrier,
            _passing: passing,
        }
    }

    /// What the new leader still waits for.
    #[must_use]
    pub fn barrier(&self) -> BarrierStep {
        *self.barrier.borrow()
    }

    /// Queues an effect on a node of this pool. A later effect of the same action replaces an earlier one and keeps its turn.
    pub fn offer(&mut self, effect: Effect, pool: PoolName) -> Offer {
        let key = key(&effect);
        if self.in_flight.contains(&key) {
            return Offer::InFlight;
        }
        if let Some(known) = self.places.get(&key).and_then(|place| self.queue.get_mut(place)) {
            known.effect = effect;
            return Offer::Queued;
        }
        if self.queue.len() >= QUEUE_MAX {
            return Offer::Refused(Reason::lossy("too many actions wait for their turn"));
        }
        self.arrived += 1;
        self.places.insert(key, self.arrived);
        let queued = Queued { effect, pool, wait: Wait::Turn, not_before: None, is_counted: false };
        self.queue.insert(self.arrived, queued);
        Offer::Queued
    }

    /// Drops the effects that have not started. The engine decides again, after the cluster was read again.
    pub fn withdraw(&mut self) {
        self.queue.clear();
        self.places.clear();
        self.withdrawn = self.arrived;
    }

    /// Starts what may start now, and ends what is too late.
    pub fn pump(&mut self) {
        let (now, barrier) = (now(), self.barrier());
        let places: Vec<u64> = self.queue.keys().copied().collect();
        for place in places {
            let Some(queued) = self.queue.get(&place) else { continue };
            if queued.not_before.is_some_and(|at| now < at && now < queued.effect.start_by) {
                continue;
            }
            let next = if now >= queued.effect.start_by { None } else { Some(self.wait(queued, barrier)) };
            match next {
                None => self.too_late(place),
                Some(Wait::Turn) => self.begin(place, now),
                Some(wait) => self.note(place, wait),
            }
        }
    }

    /// Returns the next effect that ended. Never returns while there is none.
    pub async fn next(&mut self) -> Finished {
        loop {
            if let Some(finished) = self.ended.pop_front() {
                return finished;
            }
            tokio::select! {
                joined = self.tasks.join_next(), if !self.tasks.is_empty() => match joined {
                    Some(Ok(tried)) => self.tried(tried),
                    // A defect of this program: the process dies, and the lease fails over.
                    Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Some(Err(_)) | None => continue,
                },
                () = sleep(LOOK_EVERY), if !self.queue.is_empty() => {}
                else => std::future::pending().await,
            }
            self.pump();
        }
    }

    /// Why an effect cannot start now, or `Turn` if it can as far as targets and barrier are concerned.
    fn wait(&self, queued: &Queued, barrier: BarrierStep) -> Wait {
        if barrier != BarrierStep::Passed {
            return Wait::Barrier(barrier);
        }
        let is_busy = targets(&queued.effect).iter().any(|target| self.busy.contains(target));
        if is_busy { Wait::SameTarget } else { Wait::Turn }
    }

    fn begin(&mut self, place: u64, now: Timestamp) {
        let Some(queued) = self.queue.get(&place) else { return };
        if self.tasks.len() >= IN_FLIGHT_MAX {
            return self.note(place, Wait::Turn);
        }
        let is_counted = queued.is_counted || !guards::disturbs(&queued.effect.step);
        if !is_counted && let Err(scope) = self.rates.take(&scopes(queued), now) {
            return self.note(place, Wait::Rate(scope));
        }
        let Some(queued) = self.remove(place) else { return };
        let queued = Queued { is_counted: true, ..queued };
        self.in_flight.insert(key(&queued.effect));
        self.busy.extend(targets(&queued.effect));
        let (backend, leadership) = (Arc::clone(&self.backend), Arc::clone(&self.leadership));
        self.tasks.spawn(async move {
            let attempt = sequence::attempt(&*backend, &*leadership, &queued.effect).await;
            Tried { place, queued, attempt }
        });
    }

    fn too_late(&mut self, place: u64) {
        if let Some(Queued { effect, wait, .. }) = self.remove(place) {
            let outcome = Outcome::Refused(Reason::lossy(&wait.to_string()));
            self.ended.push_back(Finished { effect, outcome });
        }
    }

    fn note(&mut self, place: u64, wait: Wait) {
        if let Some(queued) = self.queue.get_mut(&place) {
            queued.wait = wait;
        }
    }

    fn remove(&mut self, place: u64) -> Option<Queued> {
        let queued = self.queue.remove(&place)?;
        self.places.remove(&key(&queued.effect));
        Some(queued)
    }

    fn tried(&mut self, tried: Tried) {
        let Tried { place, queued, attempt } = tried;
        let (key, start_by) = (key(&queued.effect), queued.effect.start_by);
        self.in_flight.remove(&key);
        for target in targets(&queued.effect) {
            self.busy.remove(&target);
        }
        let (pause, why) = match attempt {
            Attempt::Ended(outcome) => {
                return self.ended.push_back(Finished { effect: queued.effect, outcome });
            }
            Attempt::Again(pause, why) => (pause, why),
        };
        let not_before = Timestamp(now().0.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)));
        if not_before >= start_by {
            self.ended.push_back(Finished { effect: queued.effect, outcome: Outcome::Refused(why) });
        } else if place > self.withdrawn {
            self.places.insert(key, place);
            self.queue.insert(place, Queued { wait: Wait::Refused(why), not_before: Some(not_before), ..queued });
        }
    }
}

fn key(effect: &Effect) -> Key {
    (effect.node.clone(), effect.id.clone(), effect.step.gang().cloned())
}

fn targets(effect: &Effect) -> Vec<Target> {
    let gang = effect.step.gang().cloned().map(Target::Gang);
    [Some(Target::Node(effect.node.clone())), gang].into_iter().flatten().collect()
}

fn scopes(queued: &Queued) -> Vec<RateScope> {
    let namespace = queued.effect.step.gang().map(|gang| RateScope::Namespace(gang.namespace.clone()));
    let always = [RateScope::Cell, RateScope::Pool(queued.pool.clone()), RateScope::Leadership];
    always.into_iter().chain(namespace).collect()
}

#[cfg(test)]
mod tests;
