//! Circuit breakers. A rule that removes too many nodes of a pool too fast is itself suspect. It is stopped for a while
//! and then tested on one node. The result of that test closes the breaker or extends the pause. A breaker never blocks
//! the return of a node, an operator's request or another rule.
//!
//! A breaker has no state of its own: it is computed from the histories of the nodes. After a restart the same
//! histories give the same state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mainstay_model::{
    BreakerLimits, BreakerState, NodeName, PoolName, Proposal, ProposalOutcome, RuleName, Span, Timestamp, Transition,
};

use crate::verdict::{self, Outcome};

/// Limits of the breakers of one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Number of nodes that one rule may remove within the window before it is stopped.
    pub nodes_max: u32,
    /// Times of the breaker.
    times: BreakerLimits,
}

impl Size {
    /// Returns the limits for a pool with this many nodes. Two nodes of the share are reserved: one for the test that
    /// follows, and one for the previous test if that confirmed the rule.
    #[must_use]
    pub fn of(limits: BreakerLimits, nodes: u32) -> Self {
        let nodes_max = limits.nodes_max(nodes).saturating_sub(2).max(limits.nodes_min);
        Self { nodes_max, times: limits }
    }
}

/// An event of a rule on a node. At the same time, an end is counted before a beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The removal of the node ended.
    Ended(Outcome),
    /// The rule removed the node.
    Condemned,
}

/// One event, in counting order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Happening {
    /// Time of the event.
    pub at: Timestamp,
    /// Kind of the event.
    pub event: Event,
    /// The node concerned.
    pub node: NodeName,
}

/// Returns the events of all rules in a node's history, oldest first. A removal that ended when it began does not
/// count. The first result of a finding decides; a later resolution by an operator changes the counters only.
pub fn happenings<'a>(
    history: &'a [Transition],
    node: &'a NodeName,
) -> impl Iterator<Item = (&'a RuleName, Happening)> + 'a {
    verdict::rounds(history).flat_map(move |round| {
        let ended = round.judged.first().map(|(at, outcome)| (*at, Event::Ended(*outcome)));
        let is_out = ended.is_none_or(|(at, _)| at != round.began);
        let condemned = is_out.then_some((round.began, Event::Condemned));
        let of = move |(at, event)| (round.rule, Happening { at, event, node: node.clone() });
        condemned.into_iter().chain(ended.filter(|_| is_out)).map(of)
    })
}

/// Returns the same events for dry-run decisions: the node that would have been removed, and what happened then. A node
/// that recovered by itself refutes the rule like a passed test. A node that was lost, or that others removed, confirms
/// it.
pub fn on_paper<'a>(
    proposals: &'a [Proposal],
    node: &'a NodeName,
) -> impl Iterator<Item = (&'a RuleName, Happening)> + 'a {
    proposals.iter().flat_map(move |proposal| {
        let outcome = match proposal.happened {
            ProposalOutcome::Pending => None,
            ProposalOutcome::Recovered => Some(Outcome::Refuted),
            ProposalOutcome::RemovedByOthers | ProposalOutcome::NodeLost => Some(Outcome::Confirmed),
            ProposalOutcome::Executed | ProposalOutcome::Superseded => Some(Outcome::Unclear),
        };
        let ended = proposal.happened_at.zip(outcome).map(|(at, outcome)| (at, Event::Ended(outcome)));
        let of = move |(at, event)| (&proposal.rule, Happening { at, event, node: node.clone() });
        [(proposal.decided_at, Event::Condemned)].into_iter().chain(ended).map(of)
    })
}

/// State of a breaker after its events, without regard to time.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// The rule is active; these nodes were removed by it recently.
    Closed { recent: VecDeque<Timestamp> },
    /// The rule is stopped for this time.
    Open { since: Timestamp, pause: Span },
    /// The rule is being tested on this node.
    Testing { node: NodeName, since: Timestamp, pause: Span },
}

/// State of a breaker at a point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Closed, open or half-open.
    pub state: BreakerState,
    /// Start of the state; `None` if the breaker was always closed.
    pub since: Option<Timestamp>,
    /// The node that the rule is being tested on.
    pub test: Option<NodeName>,
    /// Time at which the state changes without an event.
    pub changes_at: Option<Timestamp>,
}

impl Standing {
    /// The state of a closed breaker without events.
    const CLOSED: Self = Self { state: BreakerState::Closed, since: None, test: None, changes_at: None };

    /// Returns whether the rule may remove one more node.
    #[must_use]
    pub const fn lets_through(&self) -> bool {
        match self.state {
            BreakerState::Closed => true,
            BreakerState::Open => false,
            BreakerState::HalfOpen => self.test.is_none(),
        }
    }
}

/// The events of one rule in one pool, and the resulting state of its breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Log {
    happenings: BTreeSet<Happening>,
    size: Size,
    state: State,
}

/// The breakers of all rules in all pools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breakers(BTreeMap<(PoolName, RuleName), Log>);

// === impl Breakers ===

impl Breakers {
    /// Adds an event of a rule in a pool of this size; returns whether the state of its breaker changed.
    pub fn note(&mut self, pool: &PoolName, rule: &RuleName, happening: &Happening, size: Size) -> bool {
        let log = self.0.entry((pool.clone(), rule.clone())).or_insert_with(|| Log::new(size));
        let before = log.state.clone();
        let is_last = log.happenings.last().is_none_or(|last| last < happening);
        log.happenings.insert(happening.clone());
        if is_last {
            log.state.fold(happening, log.size);
        } else {
            log.state = log.folded();
        }
        log.state.differs(&before)
    }

    /// Removes an event that is no longer in a node's history, because it is too old or the node is gone. Returns like
    /// [`Breakers::note`].
    pub fn forget(&mut self, pool: &PoolName, rule: &RuleName, happening: &Happening) -> bool {
        let key = (pool.clone(), rule.clone());
        let Some(log) = self.0.get_mut(&key) else { return false };
        let before = log.state.clone();
        log.happenings.remove(happening);
        log.state = log.folded();
        let differs = log.state.differs(&before);
        if log.happenings.is_empty() {
            self.0.remove(&key);
        }
        differs
    }

    /// Updates the limits after the size of a pool or its policy changed; returns the rules whose breaker changed its
    /// state.
    pub fn resize(&mut self, pool: &PoolName, size: Size) -> Vec<RuleName> {
        let mut changed = Vec::new();
        for ((_, rule), log) in self.0.iter_mut().filter(|((of, _), _)| of == pool) {
            let before = std::mem::replace(&mut log.state, State::closed());
            log.size = size;
            log.state = log.folded();
            if log.state.differs(&before) {
                changed.push(rule.clone());
            }
        }
        changed
    }

    /// Returns the state of a rule's breaker.
    #[must_use]
    pub fn standing(&self, pool: &PoolName, rule: &RuleName, now: Timestamp) -> Standing {
        // A lookup by a borrowed pair would need its own type, and few nodes need the lookup.
        self.0.get(&(pool.clone(), rule.clone())).map_or(Standing::CLOSED, |log| log.at(now))
    }

    /// Returns every breaker that is not closed, its state, and the number of nodes that its rule removed recently.
    pub fn open(&self, now: Timestamp) -> impl Iterator<Item = (&PoolName, &RuleName, Standing, u32)> {
        self.0.iter().filter_map(move |((pool, rule), log)| {
            let standing = Some(log.at(now)).filter(|standing| standing.state != BreakerState::Closed)?;
            let lately = log.happenings.iter().rev().take_while(|one| now.since(one.at) < log.size.times.window);
            let condemned = lately.filter(|one| one.event == Event::Condemned).count();
            Some((pool, rule, standing, u32::try_from(condemned).unwrap_or(u32::MAX)))
        })
    }
}

// === impl Log ===

impl Log {
    const fn new(size: Size) -> Self {
        Self { happenings: BTreeSet::new(), size, state: State::closed() }
    }

    fn at(&self, now: Timestamp) -> Standing {
        self.state.at(now, &self.size.times)
    }

    /// Computes the state after all events. After a long enough time without events nothing of the earlier ones is
    /// left, so the computation starts there.
    fn folded(&self) -> State {
        let BreakerLimits { pause_max, test_within, window, .. } = self.size.times;
        let quiet = pause_max.0 + test_within.0 + window.0;
        let mut begin = None;
        for one in self.happenings.iter().rev() {
            if begin.is_some_and(|later: &Happening| later.at.since(one.at).0 > quiet) {
                break;
            }
            begin = Some(one);
        }
        let mut state = State::closed();
        for happening in begin.into_iter().flat_map(|begin| self.happenings.range(begin..)) {
            state.fold(happening, self.size);
        }
        state
    }
}

// === impl State ===

impl State {
    const fn closed() -> Self {
        Self::Closed { recent: VecDeque::new() }
    }

    fn fold(&mut self, Happening { at, event, node }: &Happening, size: Size) {
        let times = size.times;
        if self.lapses_at(&times).is_some_and(|lapses_at| *at >= lapses_at) {
            *self = Self::closed();
        }
        if let Self::Closed { recent } = self {
            while recent.front().is_some_and(|first| at.since(*first) >= times.window) {
                recent.pop_front();
            }
        }
        let next = match (&mut *self, event) {
            (Self::Closed { recent }, Event::Condemned) => {
                recent.push_back(*at);
                let full = u32::try_from(recent.len()).is_ok_and(|count| count >= size.nodes_max);
                full.then_some(Self::Open { since: *at, pause: times.pause_min })
            }
            (Self::Open { pause, .. }, Event::Condemned) => {
                Some(Self::Testing { node: node.clone(), since: *at, pause: *pause })
            }
            // A second node is not a test, unless the first has taken too long.
            (Self::Testing { since, pause, .. }, Event::Condemned) => (at.since(*since) >= times.test_within)
                .then(|| Self::Testing { node: node.clone(), since: *at, pause: *pause }),
            (Self::Testing { node: test, pause, .. }, Event::Ended(outcome)) if test == node => Some(match outcome {
                Outcome::Confirmed => Self::closed(),
                Outcome::Refuted => Self::Open { since: *at, pause: Span(pause.0 * 2).min(times.pause_max) },
                Outcome::Unclear => Self::Open { since: *at, pause: *pause },
            }),
            (Self::Closed { .. } | Self::Open { .. } | Self::Testing { .. }, Event::Ended(_)) => None,
        };
        if let Some(next) = next {
            *self = next;
        }
    }

    /// Returns from when on one node may be removed as a test, if no test is running.
    fn ready_at(&self, times: &BreakerLimits) -> Option<Timestamp> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { since, pause } => Some(*since + *pause),
            Self::Testing { since, .. } => Some(*since + times.test_within),
        }
    }

    /// Returns when the breaker closes by itself: a test was possible for a whole window and none came.
    fn lapses_at(&self, times: &BreakerLimits) -> Option<Timestamp> {
        self.ready_at(times).map(|at| at + times.window)
    }

    fn at(&self, now: Timestamp, times: &BreakerLimits) -> Standing {
        let (Some(ready_at), Some(lapses_at)) = (self.ready_at(times), self.lapses_at(times)) else {
            return Standing::CLOSED;
        };
        let (since, waiting, test) = match self {
            Self::Closed { .. } => return Standing::CLOSED,
            Self::Open { since, .. } => (*since, BreakerState::Open, None),
            Self::Testing { node, since, .. } => (*since, BreakerState::HalfOpen, Some(node.clone())),
        };
        if now < ready_at {
            Standing { state: waiting, since: Some(since), test, changes_at: Some(ready_at) }
        } else if now < lapses_at {
            Standing { state: BreakerState::HalfOpen, since: Some(ready_at), test: None, changes_at: Some(lapses_at) }
        } else {
            Standing { since: Some(lapses_at), ..Standing::CLOSED }
        }
    }

    /// Returns whether the two states let different nodes through. One more counted node in a closed breaker makes no
    /// difference.
    fn differs(&self, other: &Self) -> bool {
        self != other && !matches!((self, other), (Self::Closed { .. }, Self::Closed { .. }))
    }
}

#[cfg(test)]
mod tests;
