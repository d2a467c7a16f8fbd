//! Builds the parts of a snapshot that the demo and a cluster share: nodes, incidents, budgets, circuit breakers and what
//! needs an operator. Only parts that may have changed are built again, because most nodes of a large fleet are healthy.

pub(crate) mod changes;
pub(crate) mod incident;
pub(crate) mod needs;
mod node;
mod points;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_api::http;
use mainstay_engine::{BreakerLine, BudgetLine, Engine};
use mainstay_model::{NodeName, NodeSummary};

use crate::http::snapshot::{NodeSnapshot, Snapshot};
use node::Fingerprint;

pub(crate) use node::NodeInput;
pub(crate) use points::{POINTS_MAX, Points};

/// Builds the nodes of a snapshot and reuses unchanged nodes of the previous snapshot.
#[derive(Default)]
pub(crate) struct NodeRenderer {
    marks: Vec<Fingerprint>,
    /// Places of nodes that were not calm in the last picture.
    unhealthy: BTreeSet<usize>,
}

impl NodeRenderer {
    /// All nodes in the order of the hall, which is that of the last picture. An open incident is asked for by node.
    pub(crate) fn render<'a>(
        &mut self,
        engine: &Engine,
        sights: impl Iterator<Item = NodeInput<'a>>,
        last: Option<&Snapshot>,
        incident: impl Fn(&NodeName) -> Option<String>,
    ) -> Vec<Arc<NodeSnapshot>> {
        let lines: BTreeMap<NodeName, NodeSummary> = engine.standing().map(|line| (line.node.clone(), line)).collect();
        let mut restless = BTreeSet::new();
        let mut nodes = Vec::with_capacity(self.marks.len());
        for (place, sight) in sights.enumerate() {
            let line = lines.get(sight.name);
            let mark = Fingerprint::of(&sight);
            let known = last.and_then(|last| last.nodes.get(place));
            let calm = line.is_none() && !self.unhealthy.contains(&place);
            let same = self.marks.get(place) == Some(&mark);
            nodes.push(match known {
                Some(known) if calm && same => known.clone(),
                Some(_) | None => {
                    let drawn = node::node(engine, &sight, line, incident(sight.name));
                    known.filter(|known| ***known == drawn).cloned().unwrap_or_else(|| Arc::new(drawn))
                }
            });
            if line.is_some() {
                restless.insert(place);
            }
            match self.marks.get_mut(place) {
                Some(known) => *known = mark,
                None => self.marks.push(mark),
            }
        }
        self.unhealthy = restless;
        nodes
    }
}

/// How many nodes may be out, and how many are.
pub(crate) fn budgets(engine: &Engine) -> Vec<http::Budget> {
    let budget = |BudgetLine { pool, level, most, out, dry_run, nodes }| http::Budget {
        pool: pool.to_string(),
        level,
        max: most,
        out,
        dry_run,
        nodes,
    };
    engine.budgets().into_iter().map(budget).collect()
}

/// Breakers that are not closed.
pub(crate) fn breakers(engine: &Engine) -> Vec<http::Breaker> {
    let breaker = |line: BreakerLine| http::Breaker {
        pool: line.pool.to_string(),
        rule: line.rule.to_string(),
        state: line.state,
        since: line.since.unwrap_or_default().0,
        flagged: line.condemned,
        waiting: line.waiting,
        test: line.test.as_ref().map(ToString::to_string),
    };
    engine.breakers().into_iter().map(breaker).collect()
}
