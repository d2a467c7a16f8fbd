//! What only a person can end, the most pressing first, each with the command that comes next.

use std::collections::BTreeMap;

use mainstay_kube::View;
use mainstay_model::{BreakerState, Line, Mode, WaitingOn};
use serde::Serialize;

use super::cases::Case;
use super::leader::{Leader, Leads};
use crate::draw::counted;

/// So many are told; whoever has ended these asks again.
const NEEDS_MAX: usize = 16;

/// One thing.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Need {
    /// What is so.
    pub(super) what: String,
    /// What to type.
    pub(super) command: String,
}

fn need(what: impl Into<String>, command: impl Into<String>) -> Need {
    Need { what: what.into(), command: command.into() }
}

/// Everything that needs a person.
pub(super) fn needs(view: &View, leader: &Leader, open: &[Case<'_>]) -> Vec<Need> {
    if is_absent(view) {
        let install = "mainstay render | kubectl apply --server-side -f -";
        return vec![need("Mainstay is not installed: this is what nodes alone say", install)];
    }
    let mut needs = Vec::new();
    if view.cell().is_none() && !is_unread(view, "cells") {
        needs.push(need("there is no Cell, so nobody can lead", "mainstay doctor"));
    }
    match leader.leads {
        Leads::Silent => needs.push(need("the leader is silent, and nobody took over", "mainstay doctor")),
        Leads::Nobody => needs.push(need("nobody leads: nothing new is written down", "mainstay doctor")),
        Leads::Yes | Leads::Unknown => {}
    }
    if let Some(violation) = view.violations().first() {
        let says = format!("a decision breaks an invariant and is not carried out: {violation}");
        needs.push(need(says, "mainstay plan -o json"));
    }
    let stopped = view.engine().breakers().into_iter().filter(|line| line.state == BreakerState::Open);
    needs.extend(stopped.map(|line| {
        let waiting = counted(line.waiting.into(), "node waits", "nodes wait");
        need(format!("{} is stopped in pool {}, and {waiting}", line.rule, line.pool), "mainstay breaker")
    }));
    let unseen = |case: &&Case<'_>| case.acknowledged.is_none();
    let mode = view.cell().map(|cell| cell.spec.mode).unwrap_or_default();
    let shared = open.iter().filter(unseen).filter(|case| case.is_shared());
    needs.extend(shared.map(|case| of_case(view, case)));
    needs.extend(waits(view));
    // Where Mainstay acts, a fault of one node is its own business until it waits on a person.
    let single = open.iter().filter(unseen).filter(|case| !case.is_shared() && mode != Mode::Act);
    needs.extend(single.map(|case| of_case(view, case)));
    let mut others: BTreeMap<&str, u64> = BTreeMap::new();
    for who in view.nodes().keys().filter_map(|node| view.others(node)?.remediator) {
        *others.entry(who).or_default() += 1;
    }
    needs.extend(others.into_iter().filter(|_| mode > Mode::Observe).map(|(who, nodes)| {
        let on = counted(nodes, "node", "nodes");
        need(format!("{who} repairs {on} as well: two remediators fight"), "mainstay node list -o wide")
    }));
    needs.truncate(NEEDS_MAX);
    needs
}

fn of_case(view: &View, case: &Case<'_>) -> Need {
    let what = format!("{}: {}, and nobody has seen it", case.blamed(view), case.rule);
    need(what, format!("mainstay why incident {}", case.name))
}

/// Nodes that wait on a person or on a yes.
fn waits(view: &View) -> Vec<Need> {
    let mut lines: Vec<Line> = view.engine().standing().collect();
    lines.retain(|line| matches!(line.waiting_on, WaitingOn::Operator | WaitingOn::Approval));
    let told = |line: &Line| {
        let is_yes = line.waiting_on == WaitingOn::Approval;
        let says = if is_yes { "waits for a yes" } else { "waits on a person" };
        need(format!("{} {says}", line.node), format!("mainstay why node {}", line.node))
    };
    lines.iter().map(told).collect()
}

/// Whether none of our kinds is there.
pub(super) fn is_absent(view: &View) -> bool {
    let absent = view.unread().iter().filter(|unread| unread.why == mainstay_kube::UnreadWhy::NotInstalled);
    absent.count() >= OUR_KINDS
}

pub(super) fn is_unread(view: &View, kind: &str) -> bool {
    view.unread().iter().any(|unread| unread.kind == kind)
}

/// Kinds of ours that a view reads.
const OUR_KINDS: usize = 6;
