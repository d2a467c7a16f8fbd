//! `mainstay budget` and `mainstay breaker`: the limits on how many nodes Mainstay removes at once.

use mainstay_api::http;
use mainstay_engine::level_name;
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

/// Shows the budgets.
pub(super) fn budget(how: &QueryArgs) -> Result<CommandOutput, Problem> {
    how.cluster.query(how.output, async |_, view| {
        let items: Vec<http::Budget> = render::budgets(view.engine());
        let text = budgets(&items);
        QueryOutput::new(&Items { items }, text)
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
