//! Disruption budgets: counts how many nodes of a failure domain are out of service for any reason, and whether one
//! more may be removed. Counts follow the nodes, so a budget recovers when a node returns.
//!
//! The limit per rack, for example, is in the pool's policy; [`Domains::room`] checks it.

use std::collections::BTreeMap;
use std::iter;

use mainstay_model::{Budget, DomainIndex, DomainName, Level, NodeLimit, Policy, PoolName};

/// Whether a node counts against budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// The node gets jobs.
    In,
    /// A dry run removed the node. It counts against other dry-run decisions only.
    OutOnPaper,
    /// An operator retired the node, and Mainstay's cordon is not on it.
    Retired,
    /// The node gets no jobs for a reason outside Mainstay: it is not reachable, or another tool or an operator
    /// cordoned it.
    OutByOthers,
    /// Mainstay removed the node, and only a technician or an operator can bring it back.
    WaitsForPart,
    /// The same for a node that was removed because it was unreachable.
    UnreachableForGood,
    /// Mainstay removed the node, or intends to.
    Out,
}

impl Presence {
    /// Returns whether Mainstay removed the node, or intends to.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        match self {
            Self::In | Self::OutOnPaper | Self::Retired | Self::OutByOthers => false,
            Self::WaitsForPart | Self::UnreachableForGood | Self::Out => true,
        }
    }

    /// Returns whether such a node holds a place of a disruption budget.
    #[must_use]
    pub fn holds_place(self, ledger: Ledger, policy: Option<&Policy>) -> bool {
        let mut tally = Tally::default();
        tally.count(self, 1);
        tally.places(ledger, policy) > 0
    }
}

/// Whether one more node may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// The node may be removed.
    Free,
    /// The node may not be removed, because this budget is used up.
    Spent(Budget),
    /// The node may not be removed, because the pool has no disruption budget.
    NoBudget,
}

/// Which count a budget is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ledger {
    /// Nodes that are actually out of service.
    Real,
    /// Nodes that are out of service, actually or in a dry run.
    Paper,
    /// Nodes that Mainstay removed; used for a node that gets no jobs anyway. Taking it over disrupts no job. But a
    /// network partition looks like many failed nodes at once, and the budget limits how many of them Mainstay acts on.
    Ours,
}

/// Number of nodes of a domain, and how many are out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All nodes of the domain.
    pub nodes: u32,
    /// Nodes that are actually out of service, for any reason.
    pub out: u32,
    /// Nodes out of service that Mainstay removed.
    pub ours: u32,
    /// Nodes out of service that only an operator or a technician can bring back. That may take weeks.
    pub parked: u32,
    /// The parked nodes among those that Mainstay removed, without those that were unreachable.
    pub ours_parked: u32,
    /// Nodes that are out of service in a dry run only.
    pub on_paper: u32,
}

/// The domains of one node: its whole pool, then its domain at each level within the pool, named or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Membership(Box<[(Option<Level>, DomainIndex)]>);

impl Membership {
    /// Returns the whole pool. A node in no pool is in no other domain.
    #[must_use]
    pub fn pool(&self) -> DomainIndex {
        self.0.first().map_or(DomainIndex::NONE, |(_, domain)| *domain)
    }

    /// Returns the domains of the node, its pool first.
    pub fn domains(&self) -> impl Iterator<Item = DomainIndex> + '_ {
        self.0.iter().map(|(_, domain)| *domain)
    }

    /// Returns the domain that a budget of this level applies to.
    #[must_use]
    pub fn at(&self, level: Option<Level>) -> Option<DomainIndex> {
        self.0.iter().find(|(of, _)| *of == level).map(|(_, domain)| *domain)
    }
}

/// Nodes of a pool without a label for a level share one unnamed domain, so that a missing label does not lift the
/// limit.
type Key = (PoolName, Option<(Level, Option<DomainName>)>);

/// The counts of all domains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Domains {
    indexes: BTreeMap<Key, DomainIndex>,
    tallies: Vec<Tally>,
    /// The domain of each place.
    keys: Vec<Key>,
    /// Places of domains that lost their last node. New domains get them.
    free: Vec<DomainIndex>,
}

// === impl Domains ===

impl Domains {
    /// Adds a node to the counts.
    pub fn join(&mut self, pool: &PoolName, domains: &BTreeMap<Level, DomainName>, presence: Presence) -> Membership {
        let at = |level: Option<Level>| level.map(|level| (level, domains.get(&level).cloned()));
        let levels = iter::once(None).chain(Level::ALL.map(Some));
        let membership = Membership(levels.map(|level| (level, self.index((pool.clone(), at(level))))).collect());
        self.each(&membership, |tally| {
            tally.nodes += 1;
            tally.count(presence, 1);
        });
        membership
    }

    /// Removes a node from the counts. The place of a domain without nodes is used again.
    pub fn leave(&mut self, membership: &Membership, presence: Presence) {
        self.each(membership, |tally| {
            tally.nodes -= 1;
            tally.count(presence, -1);
        });
        for index in membership.domains().filter(|index| self.tallies.get(index.get()).is_some_and(Tally::is_empty)) {
            if self.indexes.remove(&self.keys[index.get()]).is_some() {
                self.free.push(index);
            }
        }
    }

    /// Updates the counts when a node's presence changes.
    pub fn shift(&mut self, membership: &Membership, from: Presence, to: Presence) {
        self.each(membership, |tally| {
            tally.count(from, -1);
            tally.count(to, 1);
        });
    }

    /// Returns whether one more node of these domains may be removed. Every budget of the pool must have room.
    #[must_use]
    pub fn room(&self, policy: Option<&Policy>, membership: &Membership, ledger: Ledger) -> Room {
        let budgets = policy.map_or(&[][..], |policy| policy.budgets.as_slice());
        if budgets.is_empty() {
            return Room::NoBudget;
        }
        for budget in budgets {
            let Some(domain) = membership.at(budget.level) else { continue };
            let tally = self.tally(domain);
            if tally.places(ledger, policy) >= budget.most.of(tally.nodes) {
                return Room::Spent(*budget);
            }
        }
        Room::Free
    }

    /// Returns whether a node that is already counted may actually be removed: other nodes may have used the budget
    /// meanwhile, or left the pool at its floor.
    #[must_use]
    pub fn holds(&self, policy: Option<&Policy>, membership: &Membership, ledger: Ledger) -> bool {
        let budgets = policy.map_or(&[][..], |policy| policy.budgets.as_slice());
        let kept = |budget: &Budget| {
            membership.at(budget.level).is_none_or(|domain| {
                let tally = self.tally(domain);
                tally.places(ledger, policy) <= budget.most.of(tally.nodes)
            })
        };
        let pool = self.tally(membership.pool());
        let in_service = pool.nodes.saturating_sub(pool.of(ledger));
        let keeps_floor = match (policy.and_then(|policy| policy.floor), ledger) {
            (None, _) | (Some(_), Ledger::Ours) => true,
            (Some(floor), Ledger::Real | Ledger::Paper) => in_service >= floor.of(pool.nodes),
        };
        !budgets.is_empty() && budgets.iter().all(kept) && keeps_floor
    }

    /// Returns whether the pool keeps its floor of nodes in service if one more node of these domains is removed. A node
    /// that gets no jobs anyway lowers nothing. Otherwise no unreachable node could be repaired in a pool below its floor.
    #[must_use]
    pub fn keeps_floor(&self, floor: NodeLimit, membership: &Membership, ledger: Ledger) -> bool {
        let tally = self.tally(membership.pool());
        match ledger {
            Ledger::Ours => true,
            Ledger::Real | Ledger::Paper => tally.nodes.saturating_sub(tally.of(ledger)) > floor.of(tally.nodes),
        }
    }

    /// Returns the number of nodes of a pool.
    #[must_use]
    pub fn nodes_of(&self, pool: &PoolName) -> u32 {
        self.indexes.get(&(pool.clone(), None)).map_or(0, |index| self.tally(*index).nodes)
    }

    /// Returns the counts of one domain.
    #[must_use]
    pub fn tally(&self, domain: DomainIndex) -> Tally {
        self.tallies.get(domain.get()).copied().unwrap_or_default()
    }

    /// Returns every domain that has nodes with its counts, in a stable order. A recount from zero must give the same.
    pub fn counts(&self) -> impl Iterator<Item = (&PoolName, Option<(Level, Option<&DomainName>)>, Tally)> {
        self.indexes
            .iter()
            .map(|((pool, domain), index)| {
                (pool, domain.as_ref().map(|(level, name)| (*level, name.as_ref())), self.tally(*index))
            })
            .filter(|(_, _, tally)| tally.nodes > 0)
    }

    /// Returns the number of places for domains, free ones included.
    #[must_use]
    pub const fn places(&self) -> usize {
        self.keys.len()
    }

    fn index(&mut self, key: Key) -> DomainIndex {
        if let Some(index) = self.indexes.get(&key) {
            return *index;
        }
        let index = self.free.pop().unwrap_or_else(|| DomainIndex::next(self.tallies.len()));
        if index.get() == self.tallies.len() {
            self.tallies.push(Tally::default());
            self.keys.push(key.clone());
        } else {
            self.keys[index.get()] = key.clone();
        }
        self.indexes.insert(key, index);
        index
    }

    fn each(&mut self, membership: &Membership, mut change: impl FnMut(&mut Tally)) {
        for domain in membership.domains() {
            if let Some(tally) = self.tallies.get_mut(domain.get()) {
                change(tally);
            }
        }
    }
}

impl Tally {
    const fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// Returns the number of nodes that count for a ledger.
    #[must_use]
    pub const fn of(self, ledger: Ledger) -> u32 {
        match ledger {
            Ledger::Real => self.out,
            Ledger::Paper => self.out + self.on_paper,
            Ledger::Ours => self.ours,
        }
    }

    /// Returns the number of places of a disruption budget that are in use. Where the pool has a floor, a parked node holds
    /// no place: the floor limits how much capacity may be missing, and the budget how many nodes are treated at once. In
    /// the ledger of nodes that get no jobs anyway, no floor applies, so parked nodes that were unreachable hold their
    /// places: otherwise a partition could remove one node after another.
    #[must_use]
    pub fn places(self, ledger: Ledger, policy: Option<&Policy>) -> u32 {
        let is_floored = policy.is_some_and(|policy| policy.floor.is_some());
        match ledger {
            Ledger::Real | Ledger::Paper if is_floored => self.of(ledger).saturating_sub(self.parked),
            Ledger::Ours if is_floored => self.ours.saturating_sub(self.ours_parked),
            Ledger::Real | Ledger::Paper | Ledger::Ours => self.of(ledger),
        }
    }

    fn count(&mut self, presence: Presence, by: i32) {
        let (out, ours, parked, ours_parked, on_paper) = match presence {
            Presence::In => (0, 0, 0, 0, 0),
            Presence::OutOnPaper => (0, 0, 0, 0, by),
            Presence::Retired => (by, 0, by, 0, 0),
            Presence::OutByOthers => (by, 0, 0, 0, 0),
            Presence::WaitsForPart => (by, by, by, by, 0),
            Presence::UnreachableForGood => (by, by, by, 0, 0),
            Presence::Out => (by, by, 0, 0, 0),
        };
        self.out = self.out.saturating_add_signed(out);
        self.ours = self.ours.saturating_add_signed(ours);
        self.parked = self.parked.saturating_add_signed(parked);
        self.ours_parked = self.ours_parked.saturating_add_signed(ours_parked);
        self.on_paper = self.on_paper.saturating_add_signed(on_paper);
    }
}

#[cfg(test)]
mod tests;
