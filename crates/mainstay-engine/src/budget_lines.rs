//! Disruption budgets in numbers: how many nodes may be out of service, and how many are. `why` uses the same counts.

use std::collections::BTreeMap;

use mainstay_arbiter::domains::{Ledger, Tally};
use mainstay_model::{Budget, Level, Policy, PoolName};

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
