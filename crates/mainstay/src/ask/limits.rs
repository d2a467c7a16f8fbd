//! `mainstay budget` and `mainstay breaker`: what keeps Mainstay from doing too much at once.

use mainstay_api::http;
use mainstay_kube::View;
use mainstay_model::{BreakerState, Timestamp};
use serde::Serialize;

use crate::cluster::{Answer, How};
use crate::draw::{Align, Table, bar, duration};
use crate::output::{Form, Problem, Said};
use crate::paint;

pub(crate) const BUDGET_HELP: &str = "\
A budget per failure domain is shown for the fullest of them. Nodes that others keep work away from count as well.

Examples:
  mainstay budget
  mainstay budget -o json";

pub(crate) const BREAKER_HELP: &str = "\
A rule that takes out too many nodes of a pool within an hour is stopped, and tried on one node before it goes on. What is
out already returns as before, and people's requests and other rules are not held up.

Examples:
  mainstay breaker
  mainstay breaker -o wide

A person's request takes a node out although its rule is stopped: set `spec.request` of its GpuNode.";

/// Columns of the bar.
const BAR: usize = 10;

#[derive(Serialize)]
struct Items<T> {
    items: Vec<T>,
}

/// What bounds how many nodes are out.
pub(super) fn budget(how: &How) -> Result<Said, Problem> {
    how.way.tell(how.output, async |_, view| {
        let items: Vec<http::Budget> = paint::budgets(view.engine());
        let text = budgets(&items);
        Answer::new(&Items { items }, text)
    })
}

/// Which rules are stopped.
pub(super) fn breaker(how: &How) -> Result<Said, Problem> {
    how.way.tell(how.output, async |_, view| {
        let items: Vec<http::Breaker> = paint::breakers(view.engine());
        let text = breakers(view, &items, how.output == Form::Wide);
        Answer::new(&Items { items }, text)
    })
}

fn budgets(items: &[http::Budget]) -> String {
    if items.is_empty() {
        return "There is no budget, and none is not unlimited: nothing may be taken out.\n\
                A FleetPolicy with `budgets` allows it: kubectl explain fleetpolicy.spec.budgets\n"
            .to_owned();
    }
    let mut table = Table::new(&[
        ("POOL", Align::Left),
        ("PER", Align::Left),
        ("OUT", Align::Right),
        ("MOST", Align::Right),
        ("OF", Align::Right),
        ("", Align::Left),
        ("", Align::Left),
    ]);
    for one in items {
        let per = one.level.map_or_else(|| "pool".to_owned(), |level| format!("{level:?}"));
        let is_full = one.out >= one.most;
        table.row([
            one.pool.clone(),
            per,
            one.out.to_string(),
            one.most.to_string(),
            one.nodes.to_string(),
            bar(one.out.min(one.most).into(), one.most.into(), BAR),
            if is_full { "▲ full".to_owned() } else { String::new() },
        ]);
    }
    table.text()
}

fn breakers(view: &View, items: &[http::Breaker], wide: bool) -> String {
    if items.is_empty() {
        return "Every breaker is closed: no rule took out too many nodes at once.\n".to_owned();
    }
    let mut headers = vec![
        ("RULE", Align::Left),
        ("POOL", Align::Left),
        ("STATE", Align::Left),
        ("FOR", Align::Right),
        ("TOOK OUT", Align::Right),
        ("WAIT", Align::Right),
    ];
    if wide {
        headers.push(("TRIED ON", Align::Left));
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
            one.condemned.to_string(),
            one.waiting.to_string(),
        ];
        if wide {
            row.push(one.test.clone().unwrap_or_default());
        }
        table.row(row);
    }
    table.text()
}
