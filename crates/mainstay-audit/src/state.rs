//! The auditor's own state: the facts per node that the invariants need, and counts that follow the nodes. It shares no
//! code with the engine's state on purpose, because shared code would share its errors.

mod gangs;
mod node;
mod scopes;

use std::collections::BTreeMap;

use mainstay_model::{
    ActionKind, Bounded, BreakerLimits, Budget, CellFacts, DomainIndex, Epoch, Fact, Mode, NodeFacts, NodeLimit,
    NodeName, Observation, OrderId, Persisted, Policy, PoolName, RateLimit, Request, RuleName, Span, Timestamp,
};

use gangs::CheckpointRequest;
pub(crate) use gangs::Gangs;
pub(crate) use node::{Node, Record, Registration, is_out, removals};
pub(crate) use scopes::{Presence, Scopes};

/// Limit of attempts of one repair step for a rule without a plan in the policy.
const ATTEMPTS_MAX: u32 = 2;
/// The time in which these attempts count.
const ATTEMPTS_WINDOW: Span = Span::hours(24);

/// Minimum time for which everything about a node is kept after it is gone.
pub(crate) const GONE_KEPT: Span = Span::hours(24);

/// Time between two searches for nodes that are gone for good.
const SWEEP_EVERY: Span = Span::hours(1);

/// Mode, promotions and limits of a pool: the part of its policy that the invariants need.
#[derive(Debug, Clone)]
struct PoolPolicy {
    mode: Mode,
    promotions: BTreeMap<ActionKind, Mode>,
    budgets: Bounded<Budget, 8>,
    floor: Option<NodeLimit>,
    rate: Option<RateLimit>,
    breaker: BreakerLimits,
    /// When these limits replaced others. Removals before that are not judged by them.
    breaker_since: Timestamp,
    /// Limit of attempts and its window, by rule.
    attempts: BTreeMap<RuleName, (u32, Span)>,
}

/// Everything that the auditor knows about the Cell, its pools, nodes and gangs.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    cell: CellFacts,
    epoch_highest: Epoch,
    /// When the current leadership began.
    led_since: Timestamp,
    synced_as_of: Option<Timestamp>,
    pools: BTreeMap<PoolName, PoolPolicy>,
    nodes: BTreeMap<NodeName, Node>,
    places: Scopes,
    work: Gangs,
    /// When the nodes were last checked for those that are gone for good.
    swept_at: Timestamp,
    /// Recent removals of nodes that got jobs, by pool and rule.
    flagged: BTreeMap<(DomainIndex, RuleName), Vec<Timestamp>>,
}

// === impl State: asking ===

impl State {
    pub(crate) fn node(&self, name: &NodeName) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// Returns the number of known nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) const fn cell(&self) -> &CellFacts {
        &self.cell
    }

    pub(crate) const fn synced_as_of(&self) -> Option<Timestamp> {
        self.synced_as_of
    }

    /// Returns when the current leadership began: an earlier leader acted before that.
    pub(crate) const fn led_since(&self) -> Timestamp {
        self.led_since
    }

    pub(crate) const fn places(&self) -> &Scopes {
        &self.places
    }

    pub(crate) const fn work(&self) -> &Gangs {
        &self.work
    }

    /// Returns the mode of the Cell. A Cell that is older than one already seen was restored from a backup and lacks
    /// later changes. It is therefore in mode Observe until an operator reviews it.
    pub(crate) fn ceiling(&self) -> Mode {
        if self.cell.epoch < self.epoch_highest { Mode::Observe } else { self.cell.mode }
    }

    /// Returns the mode for one kind of action on this node.
    pub(crate) fn mode(&self, node: &Node, kind: ActionKind) -> Mode {
        let pool = self.allowed(node);
        let pool = pool.map_or(Mode::Observe, |pool| pool.promotions.get(&kind).copied().unwrap_or(pool.mode));
        pool.min(self.ceiling())
    }

    /// Returns the budgets that apply to this node.
    pub(crate) fn budgets(&self, node: &Node) -> &[Budget] {
        self.allowed(node).map_or(&[], |pool| pool.budgets.as_slice())
    }

    /// Returns the capacity floor of the node's pool.
    pub(crate) fn floor(&self, node: &Node) -> Option<NodeLimit> {
        self.allowed(node)?.floor
    }

    /// Returns the rate limit of the node's pool.
    pub(crate) fn rate(&self, node: &Node) -> Option<RateLimit> {
        self.allowed(node)?.rate
    }

    /// Returns the limit of attempts for steps of a rule's repair plan.
    pub(crate) fn attempts(&self, node: &Node, rule: &RuleName) -> (u32, Span) {
        let plan = self.allowed(node).and_then(|pool| pool.attempts.get(rule).copied());
        plan.unwrap_or((ATTEMPTS_MAX, ATTEMPTS_WINDOW))
    }

    /// Returns the stored removals of all nodes of a pool.
    pub(crate) fn removals(&self, pool: DomainIndex) -> impl Iterator<Item = Timestamp> + '_ {
        let in_pool = move |node: &&Node| {
            node.registration().is_some_and(|registration| registration.membership.at(None) == pool)
        };
        let records = self.nodes.values().filter(in_pool).filter_map(Node::record);
        records.flat_map(|record| record.removals().iter().copied())
    }

    /// Returns the limits of the circuit breakers of the node's pool.
    pub(crate) fn breaker(&self, node: &Node) -> BreakerLimits {
        self.allowed(node).map(|pool| pool.breaker).unwrap_or_default()
    }

    /// Returns how many nodes of this node's pool that got jobs a rule removed within the window of its breaker, under the
    /// current limits.
    pub(crate) fn flagged(&self, node: &Node, pool: DomainIndex, rule: &RuleName, now: Timestamp) -> u32 {
        let times = self.flagged.get(&(pool, rule.clone())).map_or(&[][..], Vec::as_slice);
        let (window, since) = (self.breaker(node).window, self.allowed(node).map(|pool| pool.breaker_since));
        let counts = |at: &&Timestamp| now.since(**at) < window && since.is_none_or(|since| **at >= since);
        u32::try_from(times.iter().filter(counts).count()).unwrap_or(u32::MAX)
    }

    fn allowed(&self, node: &Node) -> Option<&PoolPolicy> {
        let registration = node.registration()?;
        self.pools.get(self.places.pool(&registration.membership))
    }
}

// === impl State: folding ===

impl State {
    pub(crate) fn fold(&mut self, observation: &Observation) {
        let at = observation.at;
        self.forget_gone(at);
        match &observation.fact {
            Fact::Cell(cell) => {
                self.epoch_highest = self.epoch_highest.max(cell.epoch);
                if cell.epoch != self.cell.epoch {
                    self.led_since = at;
                }
                self.cell = cell.clone();
            }
            Fact::Synced { as_of } => self.synced_as_of = self.synced_as_of.max(Some(*as_of)),
            Fact::Policy(policy) => self.fold_policy(policy, at),
            Fact::Node { node, facts } => self.fold_node(node, facts, at),
            Fact::NodeGone { node } => self.fold_node_gone(node, at),
            Fact::Report { node, report } => self.entry(node, at).fold_report(report),
            Fact::Recorded { node, persisted } => self.fold_recorded(node, persisted, at),
            Fact::RecordGone { node } => self.fold_record_gone(node),
            Fact::Request { node, request } => self.fold_request(node, request.as_ref(), at),
            Fact::Gang { gang, facts } => self.work.fold_gang(gang, facts, at),
            Fact::GangGone { gang } => self.work.fold_gang_gone(gang),
            Fact::Asked { gang, node, drain, answer_by, saved_step } => {
                let ask = CheckpointRequest { drain: *drain, answer_by: *answer_by, is_answered: saved_step.is_some() };
                self.work.fold_asked(gang, node, ask);
            }
            // No invariant uses findings, and a rejected action changed nothing.
            Fact::Complaints { .. } | Fact::Outcome { .. } | Fact::Freezes(_) => {}
        }
    }

    fn fold_policy(&mut self, policy: &Policy, at: Timestamp) {
        let breaker_since = match self.pools.get(&policy.pool) {
            Some(before) if before.breaker != policy.breaker => at,
            Some(before) => before.breaker_since,
            None => Timestamp::default(),
        };
        let attempts = policy.ladders.iter().map(|(rule, plan)| (rule.clone(), (plan.attempts_max, plan.window)));
        let allowed = PoolPolicy {
            mode: policy.mode,
            promotions: policy.promotions.clone(),
            budgets: policy.budgets.clone(),
            floor: policy.floor,
            rate: policy.rate,
            breaker: policy.breaker,
            breaker_since,
            attempts: attempts.collect(),
        };
        self.pools.insert(policy.pool.clone(), allowed);
    }

    fn fold_node(&mut self, name: &NodeName, facts: &NodeFacts, at: Timestamp) {
        // Does not use `entry`, because the counts change together with the node.
        let node = self.nodes.entry(name.clone()).or_insert_with(|| Node::unregistered(at));
        let before = node.presence();
        let (membership, before) = match node.registration().map(|registration| registration.membership) {
            Some(membership) if self.places.is_still(&membership, facts) => (membership, before),
            moved => {
                if let Some(membership) = moved {
                    self.places.leave(&membership, before);
                }
                (self.places.join(facts), Presence::TakesWork)
            }
        };
        node.fold_facts(facts, membership);
        self.places.turn(&membership, before, node.presence());
    }

    fn fold_node_gone(&mut self, name: &NodeName, at: Timestamp) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        let before = node.presence();
        if let Some(registration) = node.unregister(at) {
            self.places.leave(&registration.membership, before);
        }
    }

    /// Drops nodes that are gone for a day and of which nothing is stored. The nodes are checked once an hour.
    fn forget_gone(&mut self, now: Timestamp) {
        if now.since(self.swept_at) >= SWEEP_EVERY {
            self.swept_at = now;
            let is_kept = |gone_at: Timestamp| now.since(gone_at) < GONE_KEPT;
            self.nodes.retain(|_, node| !node.is_forgettable() || node.gone_at().is_none_or(is_kept));
        }
    }

    /// The stored status of a node was deleted. A registered node is then in service, as a new one is.
    fn fold_record_gone(&mut self, name: &NodeName) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        let before = node.presence();
        node.fold_record_gone();
        let after = node.presence();
        if let Some(membership) = node.registration().map(|registration| registration.membership) {
            self.places.turn(&membership, before, after);
        }
    }

    fn fold_recorded(&mut self, name: &NodeName, persisted: &Persisted, at: Timestamp) {
        self.note_flagged(name, persisted);
        let node = self.entry(name, at);
        let before = node.presence();
        node.fold_record(persisted, at);
        let after = node.presence();
        if let Some(membership) = node.registration().map(|registration| registration.membership) {
            self.places.turn(&membership, before, after);
        }
    }

    /// Notes the removal of a node that got jobs, if this status stores a new one. What an earlier leader stored is not
    /// known in full, so the first status of a node is not counted.
    fn note_flagged(&mut self, name: &NodeName, persisted: &Persisted) {
        let Some(node) = self.nodes.get(name).filter(|node| node.takes_work() && node.record().is_some()) else {
            return;
        };
        let Some((rule, at)) = node.record().and_then(|record| record.new_removal(persisted)) else { return };
        if self.is_approved(name, persisted) {
            return;
        }
        let Some(pool) = node.registration().map(|registration| registration.membership.at(None)) else { return };
        let window = self.breaker(node).window;
        let times = self.flagged.entry((pool, rule.clone())).or_default();
        times.retain(|earlier| at.since(*earlier) < window);
        times.push(at);
    }

    /// Returns whether an operator approved the removal of a node.
    pub(crate) fn is_approved(&self, name: &NodeName, persisted: &Persisted) -> bool {
        let action = OrderId::of("cordon", name, persisted.round);
        self.cell.approvals.as_slice().contains(&action)
    }

    fn fold_request(&mut self, name: &NodeName, request: Option<&Request>, at: Timestamp) {
        match request {
            Some(request) => self.entry(name, at).fold_request(Some(request.kind)),
            None => {
                if let Some(node) = self.nodes.get_mut(name) {
                    node.fold_request(None);
                }
            }
        }
    }

    /// Returns the node, and adds it if it is new. It is gone until it is registered.
    fn entry(&mut self, name: &NodeName, at: Timestamp) -> &mut Node {
        self.nodes.entry(name.clone()).or_insert_with(|| Node::unregistered(at))
    }
}

#[cfg(test)]
mod tests;
