//! `mainstay budget` and `mainstay breaker`: the limits on how many nodes Mainstay removes at once.

use mainstay_api::http;
use mainstay_engine::{PoolLimitsLine, level_name};
use mainstay_kube::View;
use mainstay_model::{BreakerState, Timestamp};
use mainstay_text::{Align, Table, bar, duration};
use mainstay_web::render;
use serde::Serialize;

use crate::kubeconfig::{QueryArgs, QueryOutput};
use crate::output::{CommandOutput, Problem, TableFormat};

pub(crate) const BUDGET_HELP: &str = "\
For a budget per failure domain, the fullest domain is shown. OUT counts nodes that Mainstay or others removed from
service. DRY RUN counts nodes that Mainstay would have removed; they count against the limit for dry-run decisions.

A second table lists pools with a capacity floor, a rate limit or parked nodes. PARKED nodes wait for a technician or are
retired. In a pool with a floor they hold no place of a budget, so OUT does not count them.

Examples:
  mainstay budget
  mainstay budget -o json";

pub(crate) const BREAKER_HELP: &str = "\
A rule that flags too many nodes of a pool within an hour is stopped, and tested on one node before it continues. Nodes
that are out of service return as usual. Operator requests and other rules are not affected.

Examples:
  mainstay breaker
  mainstay breaker -o wide

To remove a node although its rule is stopped, set `spec.request` of its GpuNode.";

/// Width of the bar.
const BAR: usize = 10;

#[derive(Serialize)]
struct Items<T> {
    items: Vec<T>,
}

/// JSON output of `mainstay budget`.
#[derive(Serialize)]
struct BudgetReport {
    items: Vec<http::Budget>,
    pools: Vec<PoolLimits>,
}

/// Limits of a whole pool in addition to its budgets.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolLimits {
    pool: String,
    nodes: u32,
    in_service: u32,
    /// Nodes that must stay in service; null without a capacity floor.
    floor: Option<u32>,
    /// Nodes that wait for a technician or are retired.
    parked: u32,
    /// Null without a rate limit.
    rate_limit: Option<RateUse>,
}

/// A rate limit and how much of it is used.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct RateUse {
    removals: u32,
    removals_max: u32,
    per_seconds: u64,
}

impl PoolLimits {
    fn of(line: &PoolLimitsLine) -> Self {
        let rate_limit = line.rate.map(|(removals, limit)| RateUse {
            removals,
            removals_max: limit.grants,
            per_seconds: limit.per.0 / 1_000,
        });
        let PoolLimitsLine { nodes, in_service, floor, parked, .. } = *line;
        Self { pool: line.pool.to_string(), nodes, in_service, floor, parked, rate_limit }
    }
}

/// Shows the budgets.
pub(super) fn budget(how: &QueryArgs) -> Result<CommandOutput, Problem> {
    how.cluster.query(how.output, async |_, view| {
        let items: Vec<http::Budget> = render::budgets(view.engine());
        let lines = view.engine().pool_limits();
        let text = budgets(&items) + &pool_limits(&lines);
        let pools = lines.iter().map(PoolLimits::of).collect();
        QueryOutput::new(&BudgetReport { items, pools }, text)
    })
}

/// Shows the circuit breakers.
pub(super) fn breaker(how: &QueryArgs) -> Result<CommandOutput, Problem> {
    how.cluster.query(how.output, async |_, view| {
        let items: Vec<http::Breaker> = render::breakers(view.engine());
        let text = breakers(view, &items, how.output == TableFormat::Wide);
        QueryOutput::new(&Items { items }, text)
    })
}

fn budgets(items: &[http::Budget]) -> String {
    if items.is_empty() {
        return "No FleetPolicy has a disruption budget, so no node may be removed from service.\n\
                To add one: kubectl explain fleetpolicy.spec.budgets\n"
            .to_owned();
    }
    let mut table = Table::new(&[
        ("POOL", Align::Left),
        ("PER", Align::Left),
        ("OUT", Align::Right),
        ("DRY RUN", Align::Right),
        ("LIMIT", Align::Right),
        ("NODES", Align::Right),
        ("", Align::Left),
        ("", Align::Left),
    ]);
    for one in items {
        let per = one.level.map_or("pool", level_name).to_owned();
        let used = one.out + one.dry_run;
        table.row([
            one.pool.clone(),
            per,
            one.out.to_string(),
            one.dry_run.to_string(),
            one.max.to_string(),
            one.nodes.to_string(),
            bar(used.min(one.max).into(), one.max.into(), BAR),
            if used >= one.max { "▲ used up".to_owned() } else { String::new() },
        ]);
    }
    table.text()
}

/// A table of the pools that have a floor, a rate limit or parked nodes; nothing where no pool has.
fn pool_limits(lines: &[PoolLimitsLine]) -> String {
    let shown: Vec<&PoolLimitsLine> =
        lines.iter().filter(|line| line.floor.is_some() || line.rate.is_some() || line.parked > 0).collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("POOL", Align::Left),
        ("NODES", Align::Right),
        ("IN SERVICE", Align::Right),
        ("FLOOR", Align::Right),
        ("PARKED", Align::Right),
        ("REMOVALS", Align::Left),
        ("", Align::Left),
    ]);
    for line in shown {
        let removals = line.rate.map(|(removals, limit)| {
            format!("{removals} of {} within {}", limit.grants, duration(limit.per.0 / 1_000))
        });
        table.row([
            line.pool.to_string(),
            line.nodes.to_string(),
            line.in_service.to_string(),
            line.floor.map_or_else(|| "none".to_owned(), |floor| floor.to_string()),
            line.parked.to_string(),
            removals.unwrap_or_else(|| "no limit".to_owned()),
            reached(line).map_or_else(String::new, |limit| format!("▲ {limit} reached")),
        ]);
    }
    format!("\n{}", table.text())
}

/// The limit of a pool that allows no further removal now.
pub(super) fn reached(line: &PoolLimitsLine) -> Option<&'static str> {
    match (line.is_at_floor(), line.is_at_rate()) {
        (true, _) => Some("floor"),
        (false, true) => Some("rate limit"),
        (false, false) => None,
    }
}

fn breakers(view: &View, items: &[http::Breaker], wide: bool) -> String {
    if items.is_empty() {
        return "All circuit breakers are closed: no rule flagged too many nodes at once.\n".to_owned();
    }
    let mut headers = vec![
        ("RULE", Align::Left),
        ("POOL", Align::Left),
        ("STATE", Align::Left),
        ("FOR", Align::Right),
        ("FLAGGED", Align::Right),
        ("WAITING", Align::Right),
    ];
    if wide {
        headers.push(("TESTED ON", Align::Left));
    }
    let mut table = Table::new(&headers);
    for one in items {
        let state = match one.state {
            BreakerState::Open => "▲ Open",
            BreakerState::HalfOpen => "◐ HalfOpen",
            BreakerState::Closed => "● Closed",
        };
        let mut row = vec![
            one.rule.clone(),
            one.pool.clone(),
            state.to_owned(),
            duration(view.now().since(Timestamp(one.since)).0 / 1_000),
            one.flagged.to_string(),
            one.waiting.to_string(),
        ];
        if wide {
            row.push(one.test.clone().unwrap_or_default());
        }
        table.row(row);
    }
    table.text()
}

#[cfg(test)]
mod tests;
