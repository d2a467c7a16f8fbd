//! The one keeper of disruption budgets: how many nodes of a failure domain are out, whoever took them out, and whether
//! one more may be. Counts follow the nodes, so a budget clears by itself when a node comes back.
//!
//! Where to find "how many nodes may be out per rack": the pool's policy says how many, [`Arbiter::room`] asks.

use std::collections::BTreeMap;

use mainstay_model::{Budget, DomainName, Level, Policy, PoolName};

/// Whether a node counts against budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// It takes work.
    In,
    /// It would have been taken out: it counts against other decisions on paper, and against nothing real.
    OutOnPaper,
    /// It takes no work, and others saw to that: it does not answer, somebody cordoned it, or works on it.
    OutByOthers,
    /// We took it out, or mean to.
    Out,
}

/// Whether one more node may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It may.
    Free,
    /// It may not: this budget is spent.
    Spent(Budget),
    /// It may not: the pool has no budget at all, and none is not unlimited.
    NoBudget,
}

/// Which count to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ledger {
    /// What is really out.
    Real,
    /// What is out, really or on paper.
    Paper,
    /// What we took out: asked for a node that takes no work anyway. Taking it over disrupts nobody, but a partition of the
    /// network looks like many dead nodes at once, and no more of them than the budget says are ours to act on.
    Ours,
}

/// How many nodes a domain has and how many are out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All of them.
    pub nodes: u32,
    /// Really out, whoever saw to that.
    pub out: u32,
    /// Of these, taken out by us.
    pub ours: u32,
    /// Out on paper.
    pub on_paper: u32,
}

/// The domains one node belongs to: its pool as a whole, then its domain at each level within the pool, named or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Membership(Vec<(Option<Level>, u32)>);

impl Membership {
    /// The ordinal of the pool as a whole; a node that is in none has no other either.
    #[must_use]
    pub fn pool(&self) -> u32 {
        self.0.first().map_or(u32::MAX, |(_, domain)| *domain)
    }

    /// The ordinals of the domains.
    pub fn domains(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|(_, domain)| *domain)
    }

    /// The domain that a budget of this level is kept for.
    #[must_use]
    pub fn at(&self, level: Option<Level>) -> Option<u32> {
        self.0.iter().find(|(of, _)| *of == level).map(|(_, domain)| *domain)
    }
}

/// Nodes of a pool without a label for a level share one unnamed domain there: a missing label must not mean no limit.
type Key = (PoolName, Option<(Level, Option<DomainName>)>);

/// The counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arbiter {
    ordinals: BTreeMap<Key, u32>,
    tallies: Vec<Tally>,
}

// === impl Arbiter ===

impl Arbiter {
    /// Counts a node in.
    pub fn join(&mut self, pool: &PoolName, domains: &BTreeMap<Level, DomainName>, presence: Presence) -> Membership {
        let mut all = vec![(None, self.ordinal((pool.clone(), None)))];
        for level in Level::ALL {
            all.push((Some(level), self.ordinal((pool.clone(), Some((level, domains.get(&level).cloned()))))));
        }
        let membership = Membership(all);
        self.each(&membership, |tally| {
            tally.nodes += 1;
            tally.count(presence, 1);
        });
        membership
    }

    /// Counts a node out for good.
    pub fn leave(&mut self, membership: &Membership, presence: Presence) {
        self.each(membership, |tally| {
            tally.nodes -= 1;
            tally.count(presence, -1);
        });
    }

    /// A node's presence changed.
    pub fn shift(&mut self, membership: &Membership, from: Presence, to: Presence) {
        self.each(membership, |tally| {
            tally.count(from, -1);
            tally.count(to, 1);
        });
    }

    /// Whether one more node of these domains may go out. Every budget of the pool must have room.
    #[must_use]
    pub fn room(&self, policy: Option<&Policy>, membership: &Membership, ledger: Ledger) -> Room {
        let budgets = policy.map_or(&[][..], |policy| policy.budgets.as_slice());
        if budgets.is_empty() {
            return Room::NoBudget;
        }
        for budget in budgets {
            let Some(domain) = membership.at(budget.level) else { continue };
            let tally = self.tally(domain);
            if tally.of(ledger) >= budget.most.of(tally.nodes) {
                return Room::Spent(*budget);
            }
        }
        Room::Free
    }

    /// Whether a node that is counted as ours already may be made so in earnest: others may have taken the place meanwhile.
    #[must_use]
    pub fn holds(&self, policy: Option<&Policy>, membership: &Membership, ledger: Ledger) -> bool {
        let budgets = policy.map_or(&[][..], |policy| policy.budgets.as_slice());
        let kept = |budget: &Budget| {
            membership.at(budget.level).is_none_or(|domain| {
                let tally = self.tally(domain);
                tally.of(ledger) <= budget.most.of(tally.nodes)
            })
        };
        !budgets.is_empty() && budgets.iter().all(kept)
    }

    /// How many nodes a pool has.
    #[must_use]
    pub fn nodes_of(&self, pool: &PoolName) -> u32 {
        self.ordinals.get(&(pool.clone(), None)).map_or(0, |ordinal| self.tally(*ordinal).nodes)
    }

    /// The counts of one domain.
    #[must_use]
    pub fn tally(&self, domain: u32) -> Tally {
        self.tallies.get(domain as usize).copied().unwrap_or_default()
    }

    /// Every domain that has nodes, with its counts, in a stable order: what a count from nothing must give as well.
    pub fn counts(&self) -> impl Iterator<Item = (&PoolName, Option<(Level, Option<&DomainName>)>, Tally)> {
        self.ordinals
            .iter()
            .map(|((pool, domain), ordinal)| {
                (pool, domain.as_ref().map(|(level, name)| (*level, name.as_ref())), self.tally(*ordinal))
            })
            .filter(|(_, _, tally)| tally.nodes > 0)
    }

    fn ordinal(&mut self, key: Key) -> u32 {
        let next = u32::try_from(self.tallies.len()).unwrap_or(u32::MAX);
        let ordinal = *self.ordinals.entry(key).or_insert(next);
        if ordinal == next {
            self.tallies.push(Tally::default());
        }
        ordinal
    }

    fn each(&mut self, membership: &Membership, mut change: impl FnMut(&mut Tally)) {
        for domain in membership.domains() {
            if let Some(tally) = self.tallies.get_mut(domain as usize) {
                change(tally);
            }
        }
    }
}

impl Tally {
    /// How many count.
    #[must_use]
    pub const fn of(self, ledger: Ledger) -> u32 {
        match ledger {
            Ledger::Real => self.out,
            Ledger::Paper => self.out + self.on_paper,
            Ledger::Ours => self.ours,
        }
    }

    fn count(&mut self, presence: Presence, by: i32) {
        match presence {
            Presence::In => {}
            Presence::OutOnPaper => self.on_paper = self.on_paper.saturating_add_signed(by),
            Presence::OutByOthers => self.out = self.out.saturating_add_signed(by),
            Presence::Out => {
                self.out = self.out.saturating_add_signed(by);
                self.ours = self.ours.saturating_add_signed(by);
            }
        }
    }
}

#[cfg(test)]
mod tests;
