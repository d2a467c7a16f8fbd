//! Counts everything that is kept incrementally from zero, and compares. For tests and the simulator: in production a
//! difference would be a defect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_arbiter::domains::Domains;
use mainstay_health::Attribution;
use mainstay_model::{DomainIndex, GangId, NodeIndex, PlaceIndex, PoolName, RuleName, Stage, Timestamp, WaitingOn};
use mainstay_remedy::breaker::Breakers;

use crate::breakers::{self, Counted};
use crate::index::Index;
use crate::shared_cause::groups_of;
use crate::state::State;
use crate::state::gangs::Gang;
use crate::state::node::Node;
use crate::{decide, plan, verdicts};

pub(crate) fn recount(state: &State, index: &Index, decided_at: Option<Timestamp>) -> Result<(), String> {
    recount_table(state)?;
    recount_domains(state)?;
    recount_gangs(state)?;
    recount_spares(state)?;
    recount_waits(state, index)?;
    recount_breakers(state, index)?;
    recount_shared(state)?;
    alike("outcomes of findings", &state.counts.verdicts, &verdicts::recount(state))?;
    evaluate_idle(state, index, decided_at)
}

/// Compares the table of nodes with its names and its free places.
fn recount_table(state: &State) -> Result<(), String> {
    let names: BTreeMap<_, _> = state.known().map(|(id, node)| (node.name.clone(), id)).collect();
    alike("names of nodes", &state.names, &names)?;
    alike("places in the table of nodes", &(state.names.len() + state.free.len()), &state.nodes.len())
}

fn recount_domains(state: &State) -> Result<(), String> {
    let mut fresh = Domains::default();
    for (_, node) in state.known() {
        if let Some(facts) = &node.facts {
            fresh.join(&facts.pool, &facts.domains, node.presence);
        }
    }
    if state.counts.arbiter.domains.counts().eq(fresh.counts()) {
        Ok(())
    } else {
        Err("the budgets' counts differ".to_owned())
    }
}

fn recount_gangs(state: &State) -> Result<(), String> {
    let mut on: BTreeMap<NodeIndex, BTreeSet<&Arc<GangId>>> = BTreeMap::new();
    for (gang, Gang { nodes, .. }) in &state.gangs.list {
        for id in nodes {
            on.entry(*id).or_default().insert(gang);
        }
    }
    for (id, node) in state.known() {
        let gangs = on.remove(&id).unwrap_or_default();
        if !gangs.iter().copied().eq(&node.gangs) {
            return Err(format!("{}: gangs {:?} are kept, {gangs:?} are there", node.name, node.gangs));
        }
    }
    Ok(())
}

fn recount_spares(state: &State) -> Result<(), String> {
    let mut spares: BTreeMap<DomainIndex, u32> = BTreeMap::new();
    for (_, node) in state.known().filter(|(_, node)| node.can_be_spare()) {
        *spares.entry(node.membership.pool()).or_default() += 1;
    }
    let kept = state.counts.spares.iter().filter(|(_, count)| **count > 0);
    if kept.eq(&spares) { Ok(()) } else { Err("the spares differ".to_owned()) }
}

fn recount_waits(state: &State, index: &Index) -> Result<(), String> {
    let timers = index.wake_at.iter().map(|(id, at)| (*at, *id)).collect();
    alike("timers", &index.timers, &timers)?;
    let nodes =
        |is_in: fn(&Node) -> bool| state.known().filter(move |(_, node)| is_in(node)).map(|(id, _)| id).collect();
    alike("nodes that wait for a newer view", &index.stale, &nodes(|node| node.waiting_on == WaitingOn::WatchSync))?;
    alike("nodes that are being drained", &index.emptying, &nodes(Node::is_emptying))?;
    let mut budget: BTreeMap<DomainIndex, BTreeSet<NodeIndex>> = BTreeMap::new();
    for id in &index.waits_for_budget {
        for domain in state.node(*id).membership.domains() {
            budget.entry(domain).or_default().insert(*id);
        }
    }
    let kept = index.budget.iter().filter(|(_, nodes)| !nodes.is_empty());
    if !kept.eq(&budget) {
        return Err("the nodes that wait for a budget differ".to_owned());
    }
    let missing = state.known().find(|(id, node)| match (node.waiting_on, node.status.stage) {
        _ if node.facts.is_none() || index.changed.contains(id) => false,
        (WaitingOn::Budget, _) => !index.waits_for_budget.contains(id),
        (WaitingOn::Approval, Stage::Suspect) => !index.approval.contains(id),
        (_, _) => false,
    });
    missing.map_or(Ok(()), |(_, node)| Err(format!("{} waits and nothing wakes it", node.name)))
}

fn recount_breakers(state: &State, index: &Index) -> Result<(), String> {
    let (mut removed, mut dry_run) = (Breakers::default(), Breakers::default());
    let mut flagged: BTreeMap<(PoolName, RuleName), BTreeSet<NodeIndex>> = BTreeMap::new();
    let mut also_flagged = flagged.clone();
    for (id, node) in state.known() {
        if let Some((pool, events)) = breakers::events(state, id) {
            let size = breakers::size(state, &pool);
            for (counted, rule, event) in events {
                match counted {
                    Counted::Removed => removed.note(&pool, &rule, &event, size),
                    Counted::DryRun => dry_run.note(&pool, &rule, &event, size),
                };
            }
        }
        if let Some(key) = node.flagged_by.as_deref() {
            flagged.entry(key.clone()).or_default().insert(id);
        }
        for key in &node.also_flagged_by {
            also_flagged.entry(key.clone()).or_default().insert(id);
        }
    }
    alike("breakers", &state.counts.breakers, &removed)?;
    alike("dry-run breakers", &state.counts.dry_run_breakers, &dry_run)?;
    alike("nodes that a rule flags", &index.flagged, &flagged)?;
    alike("nodes that a rule flags too", &index.also_flagged, &also_flagged)
}

fn recount_shared(state: &State) -> Result<(), String> {
    let mut shared = Attribution::default();
    let joined: Vec<(NodeIndex, Box<[PlaceIndex]>, &Node)> = state
        .known()
        .filter(|(_, node)| node.facts.is_some())
        .map(|(id, node)| (id, shared.join(groups_of(node)).0, node))
        .collect();
    for (id, places, node) in &joined {
        for fault in &node.faults {
            shared.turn(*id, places, None, Some(fault));
        }
    }
    alike("shared causes", &state.counts.shared.blamed(), &shared.blamed())
}

/// An idle node is not evaluated when a job starts or ends. An evaluation must not change it.
fn evaluate_idle(state: &State, index: &Index, decided_at: Option<Timestamp>) -> Result<(), String> {
    let Some(now) = decided_at else { return Ok(()) };
    let (mut state_again, mut index_again) = (state.clone(), index.clone());
    for (id, node) in state.known().filter(|(id, node)| node.is_idle && !index.changed.contains(id)) {
        let findings = decide::look(&mut state_again, &mut index_again, id, now);
        let effects = plan::evaluate(&mut state_again, &mut index_again, id, findings, now);
        let again = state_again.node(id);
        let is_same = again.summary() == node.summary()
            && index_again.wake_at.get(&id) == index.wake_at.get(&id)
            && again.status == node.status
            && again.presence == node.presence;
        if !effects.is_empty() || !is_same {
            return Err(format!("{}: marked as idle, but its evaluation gives a different result", node.name));
        }
    }
    Ok(())
}

fn alike<T: PartialEq>(what: &str, kept: &T, fresh: &T) -> Result<(), String> {
    if kept == fresh { Ok(()) } else { Err(format!("the {what} differ")) }
}

#[cfg(test)]
mod tests;
