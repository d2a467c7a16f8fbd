//! Builds the parts of a snapshot that the demo and a cluster share: nodes, incidents, budgets, circuit breakers and what
//! needs an operator. Only parts that may have changed are built again, because most nodes of a large fleet are healthy.

pub mod capacity;
pub mod changes;
pub mod incident;
pub mod needs;
mod node;
mod points;
pub mod postmortem;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_api::http;
use mainstay_engine::{BreakerLine, BudgetLine, Engine};
use mainstay_model::{NodeName, NodeSummary};

use crate::snapshot::{NodeSnapshot, Snapshot};
use node::Fingerprint;

pub use node::NodeInput;
pub use points::{POINTS_MAX, Points};

/// Builds the nodes of a snapshot and reuses unchanged nodes of the previous snapshot.
#[derive(Default)]
pub struct NodeRenderer {
    marks: Vec<Fingerprint>,
    /// Positions of nodes that were not healthy in the last snapshot.
    unhealthy: BTreeSet<usize>,
}

impl NodeRenderer {
    /// Builds all nodes, in the order of the last snapshot. `incident` returns the open incident of a node.
    pub fn render<'a>(
        &mut self,
        engine: &Engine,
        inputs: impl Iterator<Item = NodeInput<'a>>,
        last: Option<&Snapshot>,
        incident: impl Fn(&NodeName) -> Option<String>,
    ) -> Vec<Arc<NodeSnapshot>> {
        let lines: BTreeMap<NodeName, NodeSummary> = engine.standing().map(|line| (line.node.clone(), line)).collect();
        let mut unhealthy = BTreeSet::new();
        let mut nodes = Vec::with_capacity(self.marks.len());
        for (place, input) in inputs.enumerate() {
            let line = lines.get(input.name);
            let mark = Fingerprint::of(&input);
            let known = last.and_then(|last| last.nodes.get(place));
            let is_healthy = line.is_none() && !self.unhealthy.contains(&place);
            let same = self.marks.get(place) == Some(&mark);
            nodes.push(match known {
                Some(known) if is_healthy && same => known.clone(),
                Some(_) | None => {
                    let built = node::node(engine, &input, line, incident(input.name));
                    known.filter(|known| ***known == built).cloned().unwrap_or_else(|| Arc::new(built))
                }
            });
            if line.is_some() {
                unhealthy.insert(place);
            }
            match self.marks.get_mut(place) {
                Some(known) => *known = mark,
                None => self.marks.push(mark),
            }
        }
        self.unhealthy = unhealthy;
        nodes
    }
}

/// Disruption budgets and the number of nodes that use them.
#[must_use]
pub fn budgets(engine: &Engine) -> Vec<http::Budget> {
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

/// Circuit breakers that are not closed.
#[must_use]
pub fn breakers(engine: &Engine) -> Vec<http::Breaker> {
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
