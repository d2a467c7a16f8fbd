//! Everything that is kept incrementally, made anew from nothing and compared. For tests and for the simulator: in
//! production a difference would be a defect of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_health::Attribution;
use mainstay_model::{DomainIndex, GangId, NodeIndex, PlaceIndex, PoolName, RuleName, WaitingOn};
use mainstay_remedy::arbiter::Arbiter;
use mainstay_remedy::breaker::{self, Breakers};

use crate::Engine;
use crate::breakers::Book;
use crate::node::Node;

impl Engine {
    /// Counts everything that is kept incrementally from nothing, and says where the two differ. Costs as much as the
    /// fleet is large.
    ///
    /// # Errors
    /// What differs.
    pub fn recount(&self) -> Result<(), String> {
        self.recount_budgets()?;
        self.recount_work()?;
        let timers = self.each().filter_map(|(index, node)| Some((node.wake_at?, index))).collect();
        alike("timers", &self.timers, &timers)?;
        let stale = self.each().filter(|(_, node)| node.waiting_on == WaitingOn::WatchSync);
        alike("nodes that wait on a fresh view", &self.stale, &stale.map(|(index, _)| index).collect())?;
        let emptying = self.each().filter(|(_, node)| node.is_emptying()).map(|(index, _)| index);
        alike("nodes that are being emptied", &self.emptying, &emptying.collect())?;
        self.recount_spares()?;
        self.recount_waiting()?;
        self.recount_breakers()?;
        self.recount_blame()?;
        alike("judged findings", &self.verdicts, &self.verdicts_anew())?;
        self.look_again()
    }

    fn each(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        (0..).map(NodeIndex::next).zip(&self.nodes)
    }

    fn recount_budgets(&self) -> Result<(), String> {
        let mut fresh = Arbiter::default();
        for node in &self.nodes {
            if let Some(facts) = &node.facts {
                fresh.join(&facts.pool, &facts.domains, node.presence);
            }
        }
        if self.arbiter.counts().eq(fresh.counts()) { Ok(()) } else { Err("the budgets' counts differ".to_owned()) }
    }

    fn recount_work(&self) -> Result<(), String> {
        let mut on: BTreeMap<NodeIndex, BTreeSet<&Arc<GangId>>> = BTreeMap::new();
        for (id, gang) in &self.gangs {
            for index in &gang.nodes {
                on.entry(*index).or_default().insert(id);
            }
        }
        for (index, node) in self.each() {
            let gangs = on.remove(&index).unwrap_or_default();
            if !gangs.iter().copied().eq(&node.gangs) {
                return Err(format!("{}: gangs {:?} are kept, {gangs:?} are there", node.name, node.gangs));
            }
        }
        Ok(())
    }

    fn recount_spares(&self) -> Result<(), String> {
        let mut spares: BTreeMap<DomainIndex, u32> = BTreeMap::new();
        for (_, node) in self.each().filter(|(_, node)| node.takes_more()) {
            *spares.entry(node.membership.pool()).or_default() += 1;
        }
        let kept = self.spares.iter().filter(|(_, count)| **count > 0);
        if kept.eq(&spares) { Ok(()) } else { Err("the spares differ".to_owned()) }
    }

    fn recount_waiting(&self) -> Result<(), String> {
        let mut waiting: BTreeMap<DomainIndex, BTreeSet<NodeIndex>> = BTreeMap::new();
        for (index, node) in self.each().filter(|(_, node)| node.waits_for_room) {
            for domain in node.membership.domains() {
                waiting.entry(domain).or_default().insert(index);
            }
        }
        let kept = self.waiting.iter().filter(|(_, nodes)| !nodes.is_empty());
        if kept.eq(&waiting) { Ok(()) } else { Err("those who wait for room differ".to_owned()) }
    }

    fn recount_breakers(&self) -> Result<(), String> {
        let (mut breakers, mut paper) = (Breakers::default(), Breakers::default());
        let mut wanted: BTreeMap<(PoolName, RuleName), BTreeSet<NodeIndex>> = BTreeMap::new();
        for (index, node) in self.each() {
            if let Some((pool, happenings)) = self.told(index) {
                let limit = breaker::limit(self.arbiter.nodes_of(&pool));
                for (book, rule, one) in happenings {
                    match book {
                        Book::Real => breakers.note(&pool, &rule, one, limit),
                        Book::Paper => paper.note(&pool, &rule, one, limit),
                    };
                }
            }
            if let Some(key) = node.wanted_by.as_deref() {
                wanted.entry(key.clone()).or_default().insert(index);
            }
        }
        alike("breakers", &self.breakers, &breakers)?;
        alike("dry-run breakers", &self.paper_breakers, &paper)?;
        alike("nodes that a rule wants out", &self.wanted, &wanted)
    }

    fn recount_blame(&self) -> Result<(), String> {
        let mut blame = Attribution::default();
        let joined: Vec<(NodeIndex, Box<[PlaceIndex]>, &Node)> = self
            .each()
            .filter(|(_, node)| node.facts.is_some())
            .map(|(index, node)| (index, blame.join(self.places_of(node)).0, node))
            .collect();
        for (index, places, node) in &joined {
            for show in &node.shows {
                blame.turn(*index, places, None, Some(show));
            }
        }
        alike("suspected causes", &self.blame.blamed(), &blame.blamed())
    }

    /// A calm node is not looked at when work comes or goes; looking must give what is known already.
    fn look_again(&self) -> Result<(), String> {
        let Some(now) = self.decided_at else { return Ok(()) };
        let mut again = self.clone();
        for (index, node) in self.each().filter(|(index, node)| node.is_calm && !self.dirty.contains(index)) {
            let effects = {
                let findings = again.look(index, now);
                again.evaluate(index, findings, now)
            };
            let looked_at = again.node(index);
            let same = looked_at.line() == node.line()
                && looked_at.wake_at == node.wake_at
                && looked_at.persisted == node.persisted
                && looked_at.presence == node.presence;
            if !effects.is_empty() || !same {
                return Err(format!("{}: marked as idle, but its evaluation gives a different result", node.name));
            }
        }
        Ok(())
    }
}

fn alike<T: PartialEq>(what: &str, kept: &T, fresh: &T) -> Result<(), String> {
    if kept == fresh { Ok(()) } else { Err(format!("the {what} differ")) }
}

#[cfg(test)]
mod tests;
