//! Number of nodes of each pool and failure domain, and how many are out of service. The counts follow the nodes, so
//! that checking a budget needs no scan of the fleet. The policy defines the budget.

use std::collections::BTreeMap;
use std::fmt;

use mainstay_model::{DomainIndex, DomainName, Level, NodeFacts, PoolName};

/// Whether a node counts against budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The node gets jobs.
    TakesWork,
    /// The node gets no jobs, and only an operator or a technician can bring it back.
    Parked,
    /// The node gets no jobs, for any other reason.
    Out,
}

/// What a budget is counted over: a pool, or one failure domain of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scope {
    pub(crate) pool: PoolName,
    /// Topology level; the whole pool if absent.
    pub(crate) level: Option<Level>,
    /// Nodes without a label share one place without a name, so that a missing label does not lift the limit.
    pub(crate) domain: Option<DomainName>,
}

/// The pool, then the domain at each level, as positions: six small numbers per node instead of six names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership([DomainIndex; 1 + Level::ALL.len()]);

/// One place and its counts.
#[derive(Debug, Clone)]
pub(crate) struct Count {
    pub(crate) place: Scope,
    pub(crate) nodes: u32,
    /// Nodes that get no jobs.
    pub(crate) out: u32,
    /// Those of them that only an operator or a technician can bring back.
    pub(crate) parked: u32,
}

/// Node counts of every scope; the position of a scope without nodes is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scopes {
    indexes: BTreeMap<Scope, DomainIndex>,
    counts: Vec<Count>,
    free: Vec<DomainIndex>,
}

// === impl Membership ===

impl Membership {
    /// Returns the place that a budget of this level is counted over.
    pub(crate) const fn at(&self, level: Option<Level>) -> DomainIndex {
        match level {
            None => self.0[0],
            Some(level) => self.0[1 + level as usize],
        }
    }

    pub(crate) fn indexes(&self) -> impl Iterator<Item = DomainIndex> + '_ {
        self.0.iter().copied()
    }
}

// === impl Scopes ===

impl Scopes {
    /// Adds a node that gets jobs.
    pub(crate) fn join(&mut self, facts: &NodeFacts) -> Membership {
        let mut membership = Membership([DomainIndex::NONE; 1 + Level::ALL.len()]);
        for (slot, level) in membership.0.iter_mut().zip(levels()) {
            let domain = level.and_then(|level| facts.domains.get(&level)).cloned();
            *slot = self.index(Scope { pool: facts.pool.clone(), level, domain });
        }
        self.each(&membership, |count| count.nodes += 1);
        membership
    }

    /// Removes a node from the counts.
    pub(crate) fn leave(&mut self, membership: &Membership, presence: Presence) {
        self.turn(membership, presence, Presence::TakesWork);
        self.each(membership, |count| count.nodes -= 1);
        for index in membership.indexes() {
            let count = &self.counts[index.get()];
            if count.nodes == 0 && self.indexes.remove(&count.place).is_some() {
                self.free.push(index);
            }
        }
    }

    /// Updates the counts when a node's presence changes.
    pub(crate) fn turn(&mut self, membership: &Membership, from: Presence, to: Presence) {
        if from == to {
            return;
        }
        self.each(membership, |count| {
            match from {
                Presence::TakesWork => {}
                Presence::Parked => (count.out, count.parked) = (count.out - 1, count.parked - 1),
                Presence::Out => count.out -= 1,
            }
            match to {
                Presence::TakesWork => {}
                Presence::Parked => (count.out, count.parked) = (count.out + 1, count.parked + 1),
                Presence::Out => count.out += 1,
            }
        });
    }

    /// Returns whether a node with these facts belongs to the same places as before.
    pub(crate) fn is_still(&self, membership: &Membership, facts: &NodeFacts) -> bool {
        membership.indexes().zip(levels()).all(|(index, level)| {
            let place = &self.counts[index.get()].place;
            place.pool == facts.pool && place.domain.as_ref() == level.and_then(|level| facts.domains.get(&level))
        })
    }

    pub(crate) fn count(&self, index: DomainIndex) -> &Count {
        &self.counts[index.get()]
    }

    pub(crate) fn pool(&self, membership: &Membership) -> &PoolName {
        &self.count(membership.at(None)).place.pool
    }

    /// Returns every place that has nodes, with its counts.
    #[cfg(test)]
    pub(crate) fn all(&self) -> BTreeMap<Scope, (u32, u32)> {
        let count = |index: &DomainIndex| (self.count(*index).nodes, self.count(*index).out);
        self.indexes.iter().map(|(place, index)| (place.clone(), count(index))).collect()
    }

    /// Returns the maximum number of positions in use at the same time.
    #[cfg(test)]
    pub(crate) const fn slots(&self) -> usize {
        self.counts.len()
    }

    fn index(&mut self, place: Scope) -> DomainIndex {
        if let Some(index) = self.indexes.get(&place) {
            return *index;
        }
        let count = Count { place: place.clone(), nodes: 0, out: 0, parked: 0 };
        let index = match self.free.pop() {
            Some(index) => {
                self.counts[index.get()] = count;
                index
            }
            None => {
                let next = DomainIndex::next(self.counts.len());
                self.counts.push(count);
                next
            }
        };
        self.indexes.insert(place, index);
        index
    }

    fn each(&mut self, membership: &Membership, mut change: impl FnMut(&mut Count)) {
        for index in membership.indexes() {
            change(&mut self.counts[index.get()]);
        }
    }
}

fn levels() -> impl Iterator<Item = Option<Level>> {
    std::iter::once(None).chain(Level::ALL.into_iter().map(Some))
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.level, &self.domain) {
            (None, _) => write!(f, "pool {}", self.pool),
            (Some(level), Some(domain)) => write!(f, "{level:?} {domain} of pool {}", self.pool),
            (Some(level), None) => write!(f, "pool {} without a known {level:?}", self.pool),
        }
    }
}
