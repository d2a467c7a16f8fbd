//! Disruption budgets in numbers: how many nodes may be out of service, and how many are. `why` uses the same counts. Also
//! the limits of a whole pool in addition to its budgets: capacity floor and rate limit.

use std::collections::BTreeMap;

use mainstay_arbiter::domains::{Ledger, Tally};
use mainstay_model::{Budget, Level, Policy, PoolName, RateLimit, Timestamp};

use crate::state::State;

/// One budget of a pool. A budget per domain shows its fullest domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetLine {
    /// The pool of the budget.
    pub pool: PoolName,
    /// Per domain of this level; over the whole pool where absent.
    pub level: Option<Level>,
    /// Maximum number of nodes out of service.
    pub most: u32,
    /// Nodes out of service, removed by Mainstay or by others. In a pool with a floor without those that only an operator or
    /// a technician can bring back.
    pub out: u32,
    /// Nodes that Mainstay would have removed. They count against the limit for other dry-run decisions only.
    pub dry_run: u32,
    /// All nodes of the domain or the pool.
    pub nodes: u32,
}

/// Capacity floor, rate limit and parked nodes of one pool that has a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolLimitsLine {
    /// The pool of the policy.
    pub pool: PoolName,
    /// All nodes of the pool.
    pub nodes: u32,
    /// Nodes that get jobs.
    pub in_service: u32,
    /// Nodes that must stay in service; none where the policy has no floor.
    pub floor: Option<u32>,
    /// Nodes out of service that only an operator or a technician can bring back. In a pool with a floor they hold no place of
    /// a budget.
    pub parked: u32,
    /// Removals that count for the rate limit now, and the limit; none where the policy has no limit.
    pub rate: Option<(u32, RateLimit)>,
}

impl PoolLimitsLine {
    /// Returns whether the floor allows no further removal.
    #[must_use]
    pub fn is_at_floor(&self) -> bool {
        self.floor.is_some_and(|floor| self.in_service <= floor)
    }

    /// Returns whether the rate limit allows no further removal now.
    #[must_use]
    pub fn is_at_rate(&self) -> bool {
        self.rate.is_some_and(|(removals, limit)| removals >= limit.grants)
    }
}

pub(crate) fn pool_limits(state: &State, now: Timestamp) -> Vec<PoolLimitsLine> {
    let arbiter = &state.counts.arbiter;
    let pools = arbiter.domains.counts().filter(|(_, domain, _)| domain.is_none());
    let tallies: BTreeMap<&PoolName, Tally> = pools.map(|(pool, _, tally)| (pool, tally)).collect();
    let line = |(pool, policy): (&PoolName, &Policy)| {
        let Tally { nodes, out, parked, .. } = tallies.get(pool).copied().unwrap_or_default();
        PoolLimitsLine {
            pool: pool.clone(),
            nodes,
            in_service: nodes.saturating_sub(out),
            floor: policy.floor.map(|floor| floor.of(nodes)),
            parked,
            rate: policy.rate.map(|limit| (arbiter.rates.recent(pool, limit, now), limit)),
        }
    };
    state.policies.iter().map(line).collect()
}

pub(crate) fn lines(state: &State) -> Vec<BudgetLine> {
    let mut fullest: BTreeMap<(&PoolName, Option<Level>), Tally> = BTreeMap::new();
    for (pool, domain, tally) in state.counts.arbiter.domains.counts() {
        let seen = fullest.entry((pool, domain.map(|(level, _)| level))).or_default();
        let places = |tally: &Tally| tally.places(Ledger::Paper, state.policies.get(pool));
        if seen.nodes == 0 || places(&tally) > places(seen) {
            *seen = tally;
        }
    }
    let of_pool = |(pool, policy): (&PoolName, &Policy)| {
        let line = |budget: &Budget| {
            let tally = fullest.get(&(pool, budget.level)).copied().unwrap_or_default();
            let most = budget.most.of(tally.nodes);
            let out = tally.places(Ledger::Real, Some(policy));
            let Tally { on_paper: dry_run, nodes, .. } = tally;
            BudgetLine { pool: pool.clone(), level: budget.level, most, out, dry_run, nodes }
        };
        policy.budgets.as_slice().iter().map(line).collect::<Vec<_>>()
    };
    state.policies.iter().flat_map(of_pool).collect()
}

#[cfg(test)]
mod tests;
