//! How many nodes each pool and each failure domain within it has, and how many of them are out. Kept as nodes come, go
//! and change, so that a budget is checked without a walk over the fleet. What a budget allows is not known here.

use std::collections::BTreeMap;
use std::fmt;

use mainstay_model::{DomainName, Level, NodeFacts, PoolName};

/// Whether a node counts against budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It takes work.
    TakesWork,
    /// It does not, whoever saw to that.
    Out,
}

/// What a budget is counted over: a pool, or the nodes of a pool within one failure domain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) pool: PoolName,
    /// At which level; the pool as a whole where absent.
    pub(crate) level: Option<Level>,
    /// Nodes that do not say where they are share one place without a name: unknown is not unlimited.
    pub(crate) domain: Option<DomainName>,
}

/// The pool, then the domain at each level, as ordinals: six small numbers a node instead of six names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership([u32; 1 + Level::ALL.len()]);

/// One place and its counts.
#[derive(Debug, Clone)]
pub(crate) struct Count {
    pub(crate) place: Place,
    pub(crate) nodes: u32,
    pub(crate) out: u32,
}

/// All of them. A place without nodes is forgotten, and its ordinal is given to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    ordinals: BTreeMap<Place, u32>,
    counts: Vec<Count>,
    free: Vec<u32>,
}

// === impl Membership ===

impl Membership {
    /// The ordinal of the place that a budget of this level is counted over.
    pub(crate) const fn at(&self, level: Option<Level>) -> u32 {
        match level {
            None => self.0[0],
            Some(level) => self.0[1 + level as usize],
        }
    }

    pub(crate) fn ordinals(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

// === impl Places ===

impl Places {
    /// Counts a node in, as one that takes work.
    pub(crate) fn join(&mut self, facts: &NodeFacts) -> Membership {
        let mut membership = Membership([0; 1 + Level::ALL.len()]);
        for (slot, level) in membership.0.iter_mut().zip(levels()) {
            let domain = level.and_then(|level| facts.domains.get(&level)).cloned();
            *slot = self.ordinal(Place { pool: facts.pool.clone(), level, domain });
        }
        self.each(&membership, |count| count.nodes += 1);
        membership
    }

    /// Counts a node out of the fleet.
    pub(crate) fn leave(&mut self, membership: &Membership, presence: Presence) {
        self.turn(membership, presence, Presence::TakesWork);
        self.each(membership, |count| count.nodes -= 1);
        for ordinal in membership.ordinals() {
            let count = &self.counts[ordinal as usize];
            if count.nodes == 0 && self.ordinals.remove(&count.place).is_some() {
                self.free.push(ordinal);
            }
        }
    }

    /// A node's presence changed.
    pub(crate) fn turn(&mut self, membership: &Membership, from: Presence, to: Presence) {
        match (from, to) {
            (Presence::TakesWork, Presence::Out) => self.each(membership, |count| count.out += 1),
            (Presence::Out, Presence::TakesWork) => self.each(membership, |count| count.out -= 1),
            (Presence::TakesWork, Presence::TakesWork) | (Presence::Out, Presence::Out) => {}
        }
    }

    /// Whether a node with these facts belongs where it did.
    pub(crate) fn is_still(&self, membership: &Membership, facts: &NodeFacts) -> bool {
        membership.ordinals().zip(levels()).all(|(ordinal, level)| {
            let place = &self.counts[ordinal as usize].place;
            place.pool == facts.pool && place.domain.as_ref() == level.and_then(|level| facts.domains.get(&level))
        })
    }

    pub(crate) fn count(&self, ordinal: u32) -> &Count {
        &self.counts[ordinal as usize]
    }

    pub(crate) fn pool(&self, membership: &Membership) -> &PoolName {
        &self.count(membership.at(None)).place.pool
    }

    /// Every place that has nodes, with its counts.
    #[cfg(test)]
    pub(crate) fn all(&self) -> BTreeMap<Place, (u32, u32)> {
        let count = |ordinal: &u32| (self.count(*ordinal).nodes, self.count(*ordinal).out);
        self.ordinals.iter().map(|(place, ordinal)| (place.clone(), count(ordinal))).collect()
    }

    /// How many ordinals were ever given out at once.
    #[cfg(test)]
    pub(crate) const fn slots(&self) -> usize {
        self.counts.len()
    }

    fn ordinal(&mut self, place: Place) -> u32 {
        if let Some(ordinal) = self.ordinals.get(&place) {
            return *ordinal;
        }
        let count = Count { place: place.clone(), nodes: 0, out: 0 };
        let ordinal = match self.free.pop() {
            Some(ordinal) => {
                self.counts[ordinal as usize] = count;
                ordinal
            }
            None => {
                self.counts.push(count);
                // Six places a node at most, and a cell has far fewer nodes than this could not count.
                u32::try_from(self.counts.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.ordinals.insert(place, ordinal);
        ordinal
    }

    fn each(&mut self, membership: &Membership, mut change: impl FnMut(&mut Count)) {
        for ordinal in membership.ordinals() {
            change(&mut self.counts[ordinal as usize]);
        }
    }
}

fn levels() -> impl Iterator<Item = Option<Level>> {
    std::iter::once(None).chain(Level::ALL.into_iter().map(Some))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.level, &self.domain) {
            (None, _) => write!(f, "pool {}", self.pool),
            (Some(level), Some(domain)) => write!(f, "{level:?} {domain} of pool {}", self.pool),
            (Some(level), None) => write!(f, "pool {} without a known {level:?}", self.pool),
        }
    }
}
