//! How fast effects may start: token buckets for the cell, for each pool, for each namespace, and one for a whole leadership. They
//! limit what a defect of the engine or a forged report can do before an operator looks. Budgets of the arbiter are the real limit;
//! these are far above what they allow.

use std::collections::BTreeMap;
use std::fmt;

use mainstay_model::{Namespace, PoolName, Timestamp};

/// A minute and a day, in milliseconds.
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
/// Largest number of pools and of namespaces that are remembered. A bucket that is full again is forgotten.
const BUCKETS_MAX: usize = 4_096;

/// Largest numbers of effects that may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// In the whole cell, in a minute.
    pub cell: u32,
    /// In one pool, in a minute.
    pub pool: u32,
    /// On jobs of one namespace, in a minute.
    pub namespace: u32,
    /// In one leadership, in a day.
    pub leadership: u32,
}

/// What a rate limit applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RateScope {
    /// The whole cell.
    Cell,
    /// One pool.
    Pool(PoolName),
    /// The jobs of one namespace.
    Namespace(Namespace),
    /// This leadership.
    Leadership,
}

/// All buckets.
#[derive(Debug)]
pub(crate) struct Rates {
    limits: RateLimits,
    buckets: BTreeMap<RateScope, Bucket>,
}

/// Thousandths of a token, and when they were counted.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    milli: u64,
    at: Timestamp,
}

// === impl RateLimits ===

impl Default for RateLimits {
    fn default() -> Self {
        // A leaf of 64 nodes drains within two minutes. 2,000 a day are more than a fleet of 100,000 nodes needs: published rates
        // give about 600 faults a day at that size, with three steps each, and most of them wait for a budget.
        Self { cell: 60, pool: 40, namespace: 60, leadership: 2_000 }
    }
}

impl RateLimits {
    /// Most tokens, and the time in which an empty bucket fills.
    const fn of(&self, scope: &RateScope) -> (u32, u64) {
        match scope {
            RateScope::Cell => (self.cell, MINUTE),
            RateScope::Pool(_) => (self.pool, MINUTE),
            RateScope::Namespace(_) => (self.namespace, MINUTE),
            RateScope::Leadership => (self.leadership, DAY),
        }
    }
}

// === impl RateScope ===

impl fmt::Display for RateScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell => f.write_str("actions a minute in the cell"),
            Self::Pool(pool) => write!(f, "actions a minute in pool {pool}"),
            Self::Namespace(namespace) => write!(f, "actions a minute in namespace {namespace}"),
            Self::Leadership => f.write_str("actions a day in one leadership"),
        }
    }
}

// === impl Rates ===

impl Rates {
    pub(crate) const fn new(limits: RateLimits) -> Self {
        Self { limits, buckets: BTreeMap::new() }
    }

    /// Takes one token from each bucket, or none from any and returns the scope that is at its limit.
    pub(crate) fn take(&mut self, scopes: &[RateScope], now: Timestamp) -> Result<(), RateScope> {
        if let Some(scope) = scopes.iter().find(|scope| self.tokens(scope, now) < 1_000) {
            return Err(scope.clone());
        }
        for scope in scopes {
            let milli = self.tokens(scope, now) - 1_000;
            self.buckets.insert(scope.clone(), Bucket { milli, at: now });
        }
        if self.buckets.len() > BUCKETS_MAX {
            let limits = self.limits;
            self.buckets.retain(|scope, bucket| filled(&limits, scope, *bucket, now) < full(&limits, scope));
        }
        Ok(())
    }

    fn tokens(&self, scope: &RateScope, now: Timestamp) -> u64 {
        let bucket = self.buckets.get(scope);
        bucket.map_or_else(|| full(&self.limits, scope), |bucket| filled(&self.limits, scope, *bucket, now))
    }
}

fn full(limits: &RateLimits, scope: &RateScope) -> u64 {
    u64::from(limits.of(scope).0) * 1_000
}

fn filled(limits: &RateLimits, scope: &RateScope, bucket: Bucket, now: Timestamp) -> u64 {
    let (most, within) = limits.of(scope);
    let gained = now.since(bucket.at).0.min(within) * u64::from(most) * 1_000 / within;
    (bucket.milli + gained).min(full(limits, scope))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits() -> RateLimits {
        RateLimits { cell: 4, pool: 3, namespace: 2, leadership: 5 }
    }

    fn pool(name: &str) -> RateScope {
        RateScope::Pool(PoolName::parse(name).unwrap())
    }

    #[test]
    fn a_full_scope_is_named_and_takes_nothing_from_the_others() {
        let mut rates = Rates::new(limits());
        for _ in 0..3 {
            rates.take(&[RateScope::Cell, pool("a")], Timestamp(0)).unwrap();
        }
        assert_eq!(rates.take(&[RateScope::Cell, pool("a")], Timestamp(0)), Err(pool("a")));
        assert_eq!(rates.take(&[RateScope::Cell, pool("b")], Timestamp(0)), Ok(()));
        assert_eq!(rates.take(&[RateScope::Cell, pool("c")], Timestamp(0)), Err(RateScope::Cell));
        // A quarter of a minute gives one token of four.
        assert_eq!(rates.take(&[RateScope::Cell, pool("c")], Timestamp(15_000)), Ok(()));
        assert_eq!(rates.take(&[RateScope::Cell, pool("c")], Timestamp(15_000)), Err(RateScope::Cell));
    }

    #[test]
    fn a_leadership_has_a_limit_a_day() {
        let mut rates = Rates::new(limits());
        let mut started = 0;
        for minute in 0..(24 * 60) {
            started +=
                u32::from(rates.take(&[RateScope::Cell, RateScope::Leadership], Timestamp(minute * 60_000)).is_ok());
        }
        // Five at once, and five more while the bucket fills during the day.
        assert!((9..=10).contains(&started), "{started}");
    }

    proptest! {
        #[test]
        fn no_minute_has_more_than_twice_the_limit(pauses in proptest::collection::vec(0_i64..20_000, 1..200)) {
            let mut rates = Rates::new(limits());
            let (mut now, mut taken) = (0, Vec::new());
            for pause in pauses {
                now += pause;
                if rates.take(&[RateScope::Cell], Timestamp(now)).is_ok() {
                    taken.push(now);
                }
            }
            for from in &taken {
                let within = taken.iter().filter(|at| (*from..*from + 60_000).contains(*at)).count();
                prop_assert!(within <= 8, "{within} in a minute");
            }
        }
    }
}
