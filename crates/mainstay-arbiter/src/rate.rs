//! Rate limits: how many grants a pool got lately. The counts follow the histories of the nodes, so a restart changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{NodeName, PoolName, RateLimit, Timestamp};

/// The recent grants of all pools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rates(BTreeMap<PoolName, BTreeSet<(Timestamp, NodeName)>>);

impl Rates {
    /// Adds a grant that a node's history contains.
    pub fn note(&mut self, pool: &PoolName, at: Timestamp, node: &NodeName) {
        self.0.entry(pool.clone()).or_default().insert((at, node.clone()));
    }

    /// Removes a grant that no history contains any more.
    pub fn forget(&mut self, pool: &PoolName, at: Timestamp, node: &NodeName) {
        if let Some(grants) = self.0.get_mut(pool) {
            grants.remove(&(at, node.clone()));
            if grants.is_empty() {
                self.0.remove(pool);
            }
        }
    }

    /// Returns the number of grants in a pool that count for the limit now.
    #[must_use]
    pub fn recent(&self, pool: &PoolName, limit: RateLimit, now: Timestamp) -> u32 {
        let grants = self.0.get(pool).into_iter().flatten().rev();
        u32::try_from(grants.take_while(|(at, _)| now.since(*at) < limit.per).count()).unwrap_or(u32::MAX)
    }

    /// Returns when the limit allows one more grant; `None` if it does now.
    #[must_use]
    pub fn waits_until(&self, pool: &PoolName, limit: RateLimit, now: Timestamp) -> Option<Timestamp> {
        let grants = self.0.get(pool).into_iter().flatten().rev();
        let mut recent = grants.take_while(|(at, _)| now.since(*at) < limit.per).map(|(at, _)| *at);
        match usize::try_from(limit.grants).unwrap_or(usize::MAX).checked_sub(1) {
            // The grant that must leave the window first.
            Some(before) => recent.nth(before).map(|at| at + limit.per),
            // A limit of zero never allows a grant; look again after its window.
            None => Some(now + limit.per),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_model::Span;

    use super::*;

    fn at(minutes: u32) -> Timestamp {
        Timestamp(0) + Span::minutes(minutes)
    }

    #[test]
    fn a_grant_counts_until_its_window_is_over() {
        let (pool, node) = (PoolName::parse("h100").unwrap(), NodeName::parse("n1").unwrap());
        let two_an_hour = RateLimit { grants: 2, per: Span::hours(1) };
        let mut rates = Rates::default();
        assert_eq!(rates.waits_until(&pool, two_an_hour, at(0)), None);
        rates.note(&pool, at(0), &node);
        assert_eq!(rates.waits_until(&pool, two_an_hour, at(10)), None);
        rates.note(&pool, at(10), &node);
        assert_eq!(rates.waits_until(&pool, two_an_hour, at(20)), Some(at(60)));
        assert_eq!(rates.waits_until(&pool, two_an_hour, at(60)), None);
        rates.forget(&pool, at(10), &node);
        assert_eq!(rates.waits_until(&pool, two_an_hour, at(20)), None);
        let other = PoolName::parse("b200").unwrap();
        assert_eq!(rates.waits_until(&other, two_an_hour, at(20)), None);
    }

    #[test]
    fn a_limit_of_zero_allows_nothing() {
        let pool = PoolName::parse("h100").unwrap();
        let none = RateLimit { grants: 0, per: Span::hours(1) };
        assert_eq!(Rates::default().waits_until(&pool, none, at(0)), Some(at(60)));
    }
}
