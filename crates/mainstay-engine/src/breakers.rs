//! Breakers between the rules and the nodes: what happened to nodes is told to them, and whoever a rule wants out is let
//! through, waits, or goes as the test. How a breaker stands is `mainstay-remedy`'s to say.

use mainstay_health::Findings;
use mainstay_model::{
    ActionKind, Bounded, BreakerState, Finding, NodeName, PoolName, Ready, RequestKind, Response, RuleName,
    Schedulable, Stage, Timestamp,
};
use mainstay_remedy::breaker::{self, Happening};
use mainstay_remedy::life::{Breaker, First, Health};
use mainstay_remedy::verdict::UNREACHABLE;

use crate::cause::{REQUEST, cause_of, rule_name};
use crate::node::Node;
use crate::orders::action;
use crate::sight::Witnesses;
use crate::switch::Switch;
use crate::{Engine, Ordinal};

/// How one breaker stands that is not closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerLine {
    /// In which pool.
    pub pool: PoolName,
    /// Of which rule.
    pub rule: RuleName,
    /// How it stands.
    pub state: BreakerState,
    /// Since when.
    pub since: Option<Timestamp>,
    /// How many nodes the rule took out within the window.
    pub condemned: u32,
    /// How many it wants out.
    pub waiting: u32,
    /// The node that it is being tried on.
    pub test: Option<NodeName>,
}

/// What a node's history told the breakers, and in which pool.
pub(crate) type Told = Option<(PoolName, Vec<(RuleName, Happening)>)>;

impl Engine {
    /// Every breaker that is not closed, as of the last decision.
    #[must_use]
    pub fn breakers(&self) -> Vec<BreakerLine> {
        if !self.switches.is_on(Switch::Breaker) {
            return Vec::new();
        }
        let now = self.decided_at.unwrap_or_default();
        let lines = self.breakers.open(now).map(|(pool, rule, standing, condemned)| BreakerLine {
            pool: pool.clone(),
            rule: rule.clone(),
            state: standing.state,
            since: standing.since,
            condemned,
            waiting: self.wanted_by(pool, rule),
            test: standing.test,
        });
        lines.collect()
    }

    fn wanted_by(&self, pool: &PoolName, rule: &RuleName) -> u32 {
        let waiting = self.wanted.get(&(pool.clone(), rule.clone()));
        waiting.map_or(0, |nodes| u32::try_from(nodes.len()).unwrap_or(u32::MAX))
    }

    /// The rule that wants a node out of service by itself; none where nobody does, or a person does.
    pub(crate) fn accuser(&self, node: &Node, health: Health, findings: &Findings, now: Timestamp) -> Option<RuleName> {
        let takes_work = matches!(node.persisted.stage, Stage::InService | Stage::Suspect);
        let asked = self.request(node).is_some_and(RequestKind::takes_out);
        let by_itself = takes_work && !asked && health == Health::Condemned && self.switches.is_on(Switch::Breaker);
        by_itself.then(|| cause_of(node, findings, self.witnesses(node, now) == Witnesses::Both).rule)
    }

    /// What is found on a node without what a stopped rule is about, where something else condemns it as well: a mad sensor
    /// must not keep a broken node in service. What else is said of the same part may be the same mad voice.
    pub(crate) fn unstopped(&self, node: &Node, findings: &Findings, now: Timestamp) -> Option<Findings> {
        let facts = node.facts.as_deref().filter(|_| self.switches.is_on(Switch::Breaker))?;
        let goes = |rule: &RuleName| self.breakers.standing(&facts.pool, rule, now).lets_through();
        let condemns = |finding: &&Finding| finding.response == Response::Remove;
        let list = findings.list.as_slice();
        let stopped: Vec<&Finding> = list.iter().filter(condemns).filter(|finding| !goes(&finding.rule)).collect();
        if stopped.is_empty() {
            return None;
        }
        let is_apart = |finding: &&Finding| stopped.iter().all(|one| one.device != finding.device);
        let kept: Vec<Finding> = list.iter().filter(is_apart).cloned().collect();
        let is_lost = self.witnesses(node, now) == Witnesses::Both && goes(&rule_name(UNREACHABLE));
        let is_condemned = is_lost || kept.iter().any(|finding| condemns(&finding));
        is_condemned.then(|| Findings { list: Bounded::try_from(kept).unwrap_or_default(), ..findings.clone() })
    }

    /// Whether the rule that wants a node out may take it out.
    pub(crate) fn breaker(&self, node: &Node, accuser: Option<&RuleName>, now: Timestamp) -> Breaker {
        let (Some(rule), Some(facts)) = (accuser, node.facts.as_deref()) else { return Breaker::Closed };
        let approved = || self.cell.approvals.as_slice().contains(&action(node, ActionKind::Cordon));
        // What we keep work away from already is better off repaired than waiting.
        let is_out = facts.schedulable == Schedulable::NotByUs;
        if self.breakers.standing(&facts.pool, rule, now).lets_through() || is_out || approved() {
            Breaker::Closed
        } else {
            Breaker::Open
        }
    }

    /// What comes first for a node that is being emptied. One that does not answer cannot be tested.
    pub(crate) fn first(&self, node: &Node, now: Timestamp) -> First {
        let answers = node.ready() == Ready::Yes;
        let draining = node.persisted.stage == Stage::Draining && self.switches.is_on(Switch::Breaker);
        let Some(facts) = node.facts.as_deref().filter(|_| answers && draining) else { return First::Repair };
        let history = node.persisted.history.as_slice();
        let Some(taken_out) = history.iter().rev().find(|transition| transition.to == Stage::Quarantined) else {
            return First::Repair;
        };
        let test = self.breakers.standing(&facts.pool, &taken_out.rule, now).test;
        if test.as_ref() == Some(&node.name) { First::Test } else { First::Repair }
    }

    /// Keeps who is wanted out, so that they are looked at again when the breaker changes; answers when time changes it.
    pub(crate) fn want(&mut self, ordinal: Ordinal, rule: Option<RuleName>, now: Timestamp) -> Option<Timestamp> {
        let pool = self.node(ordinal).facts.as_ref().map(|facts| facts.pool.clone());
        let key = pool.zip(rule);
        let changes_at = key.as_ref().and_then(|(pool, rule)| self.breakers.standing(pool, rule, now).changes_at);
        if self.node(ordinal).wanted_by.as_deref() != key.as_ref() {
            self.unwant(ordinal);
            if let Some(key) = &key {
                self.wanted.entry(key.clone()).or_default().insert(ordinal);
            }
            self.node_mut(ordinal).wanted_by = key.map(Box::new);
        }
        changes_at
    }

    pub(crate) fn unwant(&mut self, ordinal: Ordinal) {
        let Some(key) = self.node_mut(ordinal).wanted_by.take() else { return };
        if let Some(nodes) = self.wanted.get_mut(&key) {
            nodes.remove(&ordinal);
            if nodes.is_empty() {
                self.wanted.remove(&key);
            }
        }
    }

    /// What the node's history says now; nothing of one that is not registered. Asked before anything of it changes, and
    /// handed back afterwards.
    pub(crate) fn told(&self, ordinal: Ordinal) -> Told {
        let node = self.node(ordinal);
        let pool = node.facts.as_ref()?.pool.clone();
        let happenings = breaker::happenings(node.persisted.history.as_slice(), &node.name);
        // A person is no rule.
        let by_rules = happenings.filter(|(rule, _)| rule.as_str() != REQUEST);
        Some((pool, by_rules.map(|(rule, one)| (rule.clone(), one)).collect()))
    }

    /// Tells the breakers what has changed in the node's history since.
    pub(crate) fn tell(&mut self, ordinal: Ordinal, before: Told) {
        let after = self.told(ordinal);
        if before == after {
            return;
        }
        let parts = |told: Told| told.map_or((None, Vec::new()), |(pool, happenings)| (Some(pool), happenings));
        let ((old_pool, old), (new_pool, new)) = (parts(before), parts(after));
        let moved = old_pool != new_pool;
        let mut changed = Vec::new();
        for (pool, (rule, one)) in old.iter().filter_map(|told| Some((old_pool.as_ref()?, told))) {
            if (moved || !new.contains(&(rule.clone(), one.clone())))
                && self.breakers.forget(pool, rule, one, breaker::limit(self.arbiter.nodes_of(pool)))
            {
                changed.push((pool.clone(), rule.clone()));
            }
        }
        for (pool, (rule, one)) in new.iter().filter_map(|told| Some((new_pool.as_ref()?, told))) {
            if (moved || !old.contains(&(rule.clone(), one.clone())))
                && self.breakers.note(pool, rule, one.clone(), breaker::limit(self.arbiter.nodes_of(pool)))
            {
                changed.push((pool.clone(), rule.clone()));
            }
        }
        changed.iter().for_each(|key| self.mark_wanted(key));
    }

    /// A node joined or left a pool.
    pub(crate) fn resized(&mut self, pool: &PoolName, nodes_before: u32) {
        let limit = breaker::limit(self.arbiter.nodes_of(pool));
        if limit != breaker::limit(nodes_before) {
            for rule in self.breakers.resize(pool, limit) {
                self.mark_wanted(&(pool.clone(), rule));
            }
        }
    }

    fn mark_wanted(&mut self, key: &(PoolName, RuleName)) {
        if let Some(nodes) = self.wanted.get(key) {
            self.dirty.extend(nodes.iter().copied());
        }
    }
}
