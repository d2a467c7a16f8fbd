//! Breakers between the rules and the nodes: what happened to nodes is told to them, and whoever a rule wants out is let
//! through, waits, or goes as the test. How a breaker stands is `mainstay-remedy`'s to say.

use mainstay_health::Findings;
use mainstay_model::{
    ActionKind, Bounded, BreakerState, Finding, Mode, NodeIndex, NodeName, PoolName, Ready, RequestKind, Response,
    RuleName, Schedulable, Stage, Timestamp,
};
use mainstay_remedy::breaker::{self, Breakers, Happening, Standing};
use mainstay_remedy::life::{Breaker, First, Health};
use mainstay_remedy::permit;
use mainstay_remedy::verdict::UNREACHABLE;

use crate::Engine;
use crate::cause::{REQUEST, cause_of};
use crate::node::Node;
use crate::orders::action;
use crate::sight::Witnesses;
use crate::switch::Switch;

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
    /// Whether nobody was taken out, and it stops what would be.
    pub is_on_paper: bool,
}

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Book {
    /// Nodes that were taken out.
    Real,
    /// Nodes that would have been.
    Paper,
}

/// What a node's history told the breakers, and in which pool.
pub(crate) type Told = Option<(PoolName, Vec<(Book, RuleName, Happening)>)>;

impl Engine {
    /// Every breaker that is not closed, as of the last decision.
    #[must_use]
    pub fn breakers(&self) -> Vec<BreakerLine> {
        if !self.switches.is_on(Switch::Breaker) {
            return Vec::new();
        }
        let now = self.decided_at.unwrap_or_default();
        let lines = self.open_breakers(now).map(|(is_on_paper, (pool, rule, standing, condemned))| BreakerLine {
            pool: pool.clone(),
            rule: rule.clone(),
            state: standing.state,
            since: standing.since,
            condemned,
            waiting: self.wanted_by(pool, rule, is_on_paper),
            test: standing.test,
            is_on_paper,
        });
        lines.collect()
    }

    /// Every breaker that is not closed, and whether it stands on paper: only where the pool does, and where none stands
    /// in earnest.
    pub(crate) fn open_breakers(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (bool, (&PoolName, &RuleName, Standing, u32))> {
        let real = self.breakers.open(now).map(|open| (false, open));
        let paper = self.paper_breakers.open(now).filter(move |(pool, rule, _, _)| {
            self.is_on_paper(pool) && self.breakers.standing(pool, rule, now).state == BreakerState::Closed
        });
        real.chain(paper.map(|open| (true, open)))
    }

    /// Whether what would be taken out of a pool stands on paper.
    fn is_on_paper(&self, pool: &PoolName) -> bool {
        let mode = permit::mode(&self.cell, self.policies.get(pool), ActionKind::Cordon);
        self.switches.is_on(Switch::PaperBreaker) && mode == Mode::Observe
    }

    /// Whether a rule may take one more node of a pool out, or write one more down where that is all it may.
    fn lets_through(&self, pool: &PoolName, rule: &RuleName, now: Timestamp) -> bool {
        let goes = |book: &Breakers| book.standing(pool, rule, now).lets_through();
        goes(&self.breakers) && (!self.is_on_paper(pool) || goes(&self.paper_breakers))
    }

    const fn book(&mut self, book: Book) -> &mut Breakers {
        match book {
            Book::Real => &mut self.breakers,
            Book::Paper => &mut self.paper_breakers,
        }
    }

    /// How many nodes a rule wants out; on paper, without those that are out there.
    fn wanted_by(&self, pool: &PoolName, rule: &RuleName, is_on_paper: bool) -> u32 {
        let wanted = self.wanted.get(&(pool.clone(), rule.clone())).into_iter().flatten();
        let waiting = wanted.filter(|index| !is_on_paper || self.node(**index).open_proposal().is_none());
        u32::try_from(waiting.count()).unwrap_or(u32::MAX)
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
        let goes = |rule: &RuleName| self.lets_through(&facts.pool, rule, now);
        let condemns = |finding: &&Finding| finding.response == Response::Remove;
        let list = findings.list.as_slice();
        let stopped: Vec<&Finding> = list.iter().filter(condemns).filter(|finding| !goes(&finding.rule)).collect();
        if stopped.is_empty() {
            return None;
        }
        let is_apart = |finding: &&Finding| stopped.iter().all(|one| one.device != finding.device);
        let kept: Vec<Finding> = list.iter().filter(is_apart).cloned().collect();
        let is_lost = self.witnesses(node, now) == Witnesses::Both && goes(&UNREACHABLE.get());
        let is_condemned = is_lost || kept.iter().any(|finding| condemns(&finding));
        is_condemned.then(|| Findings { list: Bounded::try_from(kept).unwrap_or_default(), ..findings.clone() })
    }

    /// Whether the rule that wants a node out may take it out.
    pub(crate) fn breaker(&self, node: &Node, accuser: Option<&RuleName>, now: Timestamp) -> Breaker {
        let (Some(rule), Some(facts)) = (accuser, node.facts.as_deref()) else { return Breaker::Closed };
        let approved = || self.cell.approvals.as_slice().contains(&action(node, ActionKind::Cordon));
        // What we keep work away from already is better off repaired than waiting; what is written down already stays.
        let is_out = facts.schedulable == Schedulable::NotByUs
            || self.is_on_paper(&facts.pool) && node.open_proposal().is_some_and(|proposal| proposal.rule == *rule);
        if self.lets_through(&facts.pool, rule, now) || is_out || approved() { Breaker::Closed } else { Breaker::Open }
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
    pub(crate) fn want(&mut self, index: NodeIndex, rule: Option<RuleName>, now: Timestamp) -> Option<Timestamp> {
        let pool = self.node(index).facts.as_ref().map(|facts| facts.pool.clone());
        let key = pool.zip(rule);
        let changes_at = key.as_ref().and_then(|(pool, rule)| {
            let changes = |book: &Breakers| book.standing(pool, rule, now).changes_at;
            [changes(&self.breakers), changes(&self.paper_breakers)].into_iter().flatten().min()
        });
        if self.node(index).wanted_by.as_deref() != key.as_ref() {
            self.unwant(index);
            if let Some(key) = &key {
                self.wanted.entry(key.clone()).or_default().insert(index);
            }
            self.node_mut(index).wanted_by = key.map(Box::new);
        }
        changes_at
    }

    pub(crate) fn unwant(&mut self, index: NodeIndex) {
        let Some(key) = self.node_mut(index).wanted_by.take() else { return };
        if let Some(nodes) = self.wanted.get_mut(&key) {
            nodes.remove(&index);
            if nodes.is_empty() {
                self.wanted.remove(&key);
            }
        }
    }

    /// What the node's history says now; nothing of one that is not registered. Asked before anything of it changes, and
    /// handed back afterwards.
    pub(crate) fn told(&self, index: NodeIndex) -> Told {
        let node = self.node(index);
        let pool = node.facts.as_ref()?.pool.clone();
        let happenings = breaker::happenings(node.persisted.history.as_slice(), &node.name);
        let on_paper = breaker::on_paper(node.persisted.proposals.as_slice(), &node.name);
        let all = happenings.map(|told| (Book::Real, told)).chain(on_paper.map(|told| (Book::Paper, told)));
        // A person is no rule.
        let by_rules = all.filter(|(_, (rule, _))| **rule != REQUEST);
        Some((pool, by_rules.map(|(book, (rule, one))| (book, rule.clone(), one)).collect()))
    }

    /// Tells the breakers what has changed in the node's history since.
    pub(crate) fn tell(&mut self, index: NodeIndex, before: Told) {
        let after = self.told(index);
        if before == after {
            return;
        }
        let parts = |told: Told| told.map_or((None, Vec::new()), |(pool, happenings)| (Some(pool), happenings));
        let ((old_pool, old), (new_pool, new)) = (parts(before), parts(after));
        let moved = old_pool != new_pool;
        let mut changed = Vec::new();
        for (pool, told) in old.iter().filter_map(|told| Some((old_pool.as_ref()?, told))) {
            let (book, rule, one) = told;
            let limit = breaker::limit(self.arbiter.nodes_of(pool));
            if (moved || !new.contains(told)) && self.book(*book).forget(pool, rule, one, limit) {
                changed.push((pool.clone(), rule.clone()));
            }
        }
        for (pool, told) in new.iter().filter_map(|told| Some((new_pool.as_ref()?, told))) {
            let (book, rule, one) = told;
            let limit = breaker::limit(self.arbiter.nodes_of(pool));
            if (moved || !old.contains(told)) && self.book(*book).note(pool, rule, one.clone(), limit) {
                changed.push((pool.clone(), rule.clone()));
            }
        }
        changed.iter().for_each(|key| self.mark_wanted(key));
    }

    /// A node joined or left a pool.
    pub(crate) fn resized(&mut self, pool: &PoolName, nodes_before: u32) {
        let limit = breaker::limit(self.arbiter.nodes_of(pool));
        if limit != breaker::limit(nodes_before) {
            for book in [Book::Real, Book::Paper] {
                for rule in self.book(book).resize(pool, limit) {
                    self.mark_wanted(&(pool.clone(), rule));
                }
            }
        }
    }

    fn mark_wanted(&mut self, key: &(PoolName, RuleName)) {
        if let Some(nodes) = self.wanted.get(key) {
            self.dirty.extend(nodes.iter().copied());
        }
    }
}
