//! Breakers: a rule that takes out too many nodes of a pool too fast is itself under suspicion. It is stopped for a while,
//! then tried on one node, and goes on or waits longer by what the test of that node shows. A breaker keeps nobody from
//! returning, no person from asking, and no other rule from acting.
//!
//! Nothing is kept here that the nodes do not keep: what happened around a rule is read off their histories, and how its
//! breaker stands is a fold over that. A restart reads the same histories and stands the same.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mainstay_model::{
    BreakerState, Happened, NodeName, PoolName, Ppm, Proposal, RuleName, Span, Timestamp, Transition,
};

use crate::verdict::{self, Outcome};

/// What is counted together: nodes taken out by one rule within this time.
pub const WINDOW: Span = Span::hours(1);
/// So many may always go: a small pool has its bad hour, too.
pub const NODES_MIN: u32 = 3;
/// And so many of a large pool within the window. The number is ours: half a percent an hour empties no fleet overnight.
pub const SHARE: Ppm = Ppm(5_000);
/// How long a rule is stopped at first: long enough for a person to look, short enough for a real fault to wait.
pub const PAUSE_MIN: Span = Span::minutes(30);
/// How long at most, however often the test showed that nothing was wrong.
pub const PAUSE_MAX: Span = Span::hours(4);
/// How long a test is waited for: its drain, its suite, and some patience. Then another node may be the test.
pub const TEST_WITHIN: Span = Span::hours(6);

/// How many nodes of a pool one rule may take out within the window before it is stopped. Of the share two are kept: for
/// the test that follows, and for the one before, where that showed that the rule was right.
#[must_use]
pub fn limit(nodes: u32) -> u32 {
    let share = u32::try_from(SHARE.of(u64::from(nodes))).unwrap_or(u32::MAX);
    share.saturating_sub(2).max(NODES_MIN)
}

/// What happened to a node because of a rule. At one moment, what ended is counted before what it let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Its being out ended.
    Ended(Outcome),
    /// It was taken out.
    Condemned,
}

/// One event, in the order in which they are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Happening {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// To which node.
    pub node: NodeName,
}

/// What a node's history says of the rules that took it out, oldest first. What ended at the moment it began took nobody
/// out. The first that shows how a finding ended is the answer; what a person says later is for the counts.
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

/// The same for decisions that stand on paper: who would have been taken out, and what then came of it. A node that
/// recovered with nobody doing anything speaks against the rule as a passed test does; one that was lost, or that others
/// took out, speaks for it.
pub fn on_paper<'a>(
    proposals: &'a [Proposal],
    node: &'a NodeName,
) -> impl Iterator<Item = (&'a RuleName, Happening)> + 'a {
    proposals.iter().flat_map(move |proposal| {
        let outcome = match proposal.happened {
            Happened::Nothing => None,
            Happened::Recovered => Some(Outcome::Refuted),
            Happened::OthersActed | Happened::NodeLost => Some(Outcome::Confirmed),
            Happened::CarriedOut => Some(Outcome::Unclear),
        };
        let ended = proposal.happened_at.zip(outcome).map(|(at, outcome)| (at, Event::Ended(outcome)));
        let of = move |(at, event)| (&proposal.rule, Happening { at, event, node: node.clone() });
        [(proposal.decided_at, Event::Condemned)].into_iter().chain(ended).map(of)
    })
}

/// How a breaker stands after what happened, before time is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// The rule acts; these were taken out by it lately.
    Closed { recent: VecDeque<Timestamp> },
    /// It is stopped for so long.
    Open { since: Timestamp, pause: Span },
    /// It is being tried on this node.
    Testing { node: NodeName, since: Timestamp, pause: Span },
}

/// How a breaker stands at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The word for it.
    pub state: BreakerState,
    /// Since when; none where it never was anything but closed.
    pub since: Option<Timestamp>,
    /// The node that the rule is being tried on.
    pub test: Option<NodeName>,
    /// When time alone changes it.
    pub changes_at: Option<Timestamp>,
}

impl Standing {
    /// A rule that nothing speaks against.
    const CLOSED: Self = Self { state: BreakerState::Closed, since: None, test: None, changes_at: None };

    /// Whether the rule may take one more node out.
    #[must_use]
    pub const fn lets_through(&self) -> bool {
        match self.state {
            BreakerState::Closed => true,
            BreakerState::Open => false,
            BreakerState::HalfOpen => self.test.is_none(),
        }
    }
}

/// What happened around one rule in one pool, and how its breaker stands after it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Log {
    happenings: BTreeSet<Happening>,
    state: State,
}

/// The breakers of all rules in all pools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breakers(BTreeMap<(PoolName, RuleName), Log>);

// === impl Breakers ===

impl Breakers {
    /// Something happened around a rule; answers whether its breaker stands otherwise now. `limit` is how many nodes of
    /// the pool the rule may take out.
    pub fn note(&mut self, pool: &PoolName, rule: &RuleName, happening: Happening, limit: u32) -> bool {
        let log = self.0.entry((pool.clone(), rule.clone())).or_insert_with(Log::new);
        let before = log.state.clone();
        let is_last = log.happenings.last().is_none_or(|last| *last < happening);
        if is_last {
            log.state.fold(&happening, limit);
            log.happenings.insert(happening);
        } else {
            log.happenings.insert(happening);
            log.state = log.folded(limit);
        }
        log.state.differs(&before)
    }

    /// A node's history no longer tells of it: too long ago, or the node is gone. Answers as [`Breakers::note`] does.
    pub fn forget(&mut self, pool: &PoolName, rule: &RuleName, happening: &Happening, limit: u32) -> bool {
        let key = (pool.clone(), rule.clone());
        let Some(log) = self.0.get_mut(&key) else { return false };
        let before = log.state.clone();
        log.happenings.remove(happening);
        log.state = log.folded(limit);
        let differs = log.state.differs(&before);
        if log.happenings.is_empty() {
            self.0.remove(&key);
        }
        differs
    }

    /// The pool's size changed, and the limit with it; answers which rules' breakers stand otherwise now.
    pub fn resize(&mut self, pool: &PoolName, limit: u32) -> Vec<RuleName> {
        let mut changed = Vec::new();
        for ((_, rule), log) in self.0.iter_mut().filter(|((of, _), _)| of == pool) {
            let before = std::mem::replace(&mut log.state, State::closed());
            log.state = log.folded(limit);
            if log.state.differs(&before) {
                changed.push(rule.clone());
            }
        }
        changed
    }

    /// How a rule's breaker stands.
    #[must_use]
    pub fn standing(&self, pool: &PoolName, rule: &RuleName, now: Timestamp) -> Standing {
        // A look-up by a borrowed pair would need a type of its own; few nodes ask.
        self.0.get(&(pool.clone(), rule.clone())).map_or(Standing::CLOSED, |log| log.state.at(now))
    }

    /// Every breaker that is not closed, how it stands, and how many nodes its rule took out lately.
    pub fn open(&self, now: Timestamp) -> impl Iterator<Item = (&PoolName, &RuleName, Standing, u32)> {
        self.0.iter().filter_map(move |((pool, rule), log)| {
            let standing = Some(log.state.at(now)).filter(|standing| standing.state != BreakerState::Closed)?;
            let lately = log.happenings.iter().rev().take_while(|one| now.since(one.at) < WINDOW);
            let condemned = lately.filter(|one| one.event == Event::Condemned).count();
            Some((pool, rule, standing, u32::try_from(condemned).unwrap_or(u32::MAX)))
        })
    }
}

// === impl Log ===

impl Log {
    const fn new() -> Self {
        Self { happenings: BTreeSet::new(), state: State::closed() }
    }

    /// The state after everything that happened. After a long enough quiet nothing is left of what came before, so the
    /// fold begins there.
    fn folded(&self, limit: u32) -> State {
        let quiet = PAUSE_MAX.0 + TEST_WITHIN.0 + WINDOW.0;
        let mut begin = None;
        for one in self.happenings.iter().rev() {
            if begin.is_some_and(|later: &Happening| later.at.since(one.at).0 > quiet) {
                break;
            }
            begin = Some(one);
        }
        let mut state = State::closed();
        for happening in begin.into_iter().flat_map(|begin| self.happenings.range(begin..)) {
            state.fold(happening, limit);
        }
        state
    }
}

// === impl State ===

impl State {
    const fn closed() -> Self {
        Self::Closed { recent: VecDeque::new() }
    }

    fn fold(&mut self, Happening { at, event, node }: &Happening, limit: u32) {
        if self.lapses_at().is_some_and(|lapses_at| *at >= lapses_at) {
            *self = Self::closed();
        }
        if let Self::Closed { recent } = self {
            while recent.front().is_some_and(|first| at.since(*first) >= WINDOW) {
                recent.pop_front();
            }
        }
        let next = match (&mut *self, event) {
            (Self::Closed { recent }, Event::Condemned) => {
                recent.push_back(*at);
                let full = u32::try_from(recent.len()).is_ok_and(|count| count >= limit);
                full.then_some(Self::Open { since: *at, pause: PAUSE_MIN })
            }
            (Self::Open { pause, .. }, Event::Condemned) => {
                Some(Self::Testing { node: node.clone(), since: *at, pause: *pause })
            }
            // A second one is no test, unless the first has taken too long.
            (Self::Testing { since, pause, .. }, Event::Condemned) => (at.since(*since) >= TEST_WITHIN)
                .then(|| Self::Testing { node: node.clone(), since: *at, pause: *pause }),
            (Self::Testing { node: test, pause, .. }, Event::Ended(outcome)) if test == node => Some(match outcome {
                Outcome::Confirmed => Self::closed(),
                Outcome::Refuted => Self::Open { since: *at, pause: Span(pause.0 * 2).min(PAUSE_MAX) },
                Outcome::Unclear => Self::Open { since: *at, pause: *pause },
            }),
            (Self::Closed { .. } | Self::Open { .. } | Self::Testing { .. }, Event::Ended(_)) => None,
        };
        if let Some(next) = next {
            *self = next;
        }
    }

    /// From when on one node may go through as a test, where none is being tested.
    fn ready_at(&self) -> Option<Timestamp> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { since, pause } => Some(*since + *pause),
            Self::Testing { since, .. } => Some(*since + TEST_WITHIN),
        }
    }

    /// When it closes by itself: one could have gone for a whole window, and none came.
    fn lapses_at(&self) -> Option<Timestamp> {
        self.ready_at().map(|at| at + WINDOW)
    }

    fn at(&self, now: Timestamp) -> Standing {
        let (Some(ready_at), Some(lapses_at)) = (self.ready_at(), self.lapses_at()) else { return Standing::CLOSED };
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

    /// Whether anybody is let through otherwise. That one more was counted while it is closed is no difference.
    fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Closed { .. }, Self::Closed { .. }) => false,
            (Self::Closed { .. } | Self::Open { .. } | Self::Testing { .. }, _) => self != other,
        }
    }
}

#[cfg(test)]
mod tests;
