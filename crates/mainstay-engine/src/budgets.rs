//! Budgets in numbers: how many nodes may be out of service, and how many are. The counts are the arbiter's, which
//! `why` uses as well.

use std::collections::BTreeMap;

use mainstay_model::{Budget, Level, Policy, PoolName};
use mainstay_remedy::arbiter::{Ledger, Tally};

use crate::Engine;

/// One budget of a pool. Of one per domain the fullest domain is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetLine {
    /// Of which pool.
    pub pool: PoolName,
    /// Per domain of this level; over the whole pool where absent.
    pub level: Option<Level>,
    /// How many nodes may be out.
    pub most: u32,
    /// Nodes out of service, removed by Mainstay or by others.
    pub out: u32,
    /// Nodes that Mainstay would have removed. They count against the limit for other dry-run decisions only.
    pub dry_run: u32,
    /// Of how many.
    pub nodes: u32,
}

impl Engine {
    /// Every budget, by pool.
    #[must_use]
    pub fn budgets(&self) -> Vec<BudgetLine> {
        let mut fullest: BTreeMap<(&PoolName, Option<Level>), Tally> = BTreeMap::new();
        for (pool, domain, tally) in self.arbiter.counts() {
            let seen = fullest.entry((pool, domain.map(|(level, _)| level))).or_default();
            if seen.nodes == 0 || tally.of(Ledger::Paper) > seen.of(Ledger::Paper) {
                *seen = tally;
            }
        }
        let of_pool = |(pool, policy): (&PoolName, &Policy)| {
            let line = |budget: &Budget| {
                let tally = fullest.get(&(pool, budget.level)).copied().unwrap_or_default();
                let most = budget.most.of(tally.nodes);
                let Tally { out, on_paper: dry_run, nodes, .. } = tally;
                BudgetLine { pool: pool.clone(), level: budget.level, most, out, dry_run, nodes }
            };
            policy.budgets.as_slice().iter().map(line).collect::<Vec<_>>()
        };
        self.policies.iter().flat_map(of_pool).collect()
    }
}
