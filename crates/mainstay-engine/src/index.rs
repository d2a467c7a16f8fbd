//! Which nodes the next decision evaluates: nodes that changed, nodes whose time has come, and nodes that wait for
//! something that other nodes give back. A node in none of these sets costs nothing.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_arbiter::domains::Membership;
use mainstay_model::{DomainIndex, NodeIndex, PoolName, RuleName, Timestamp};

/// The sets of nodes that a change wakes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// Nodes that changed since their last evaluation.
    pub(crate) changed: BTreeSet<NodeIndex>,
    /// When each node has to be evaluated again.
    pub(crate) timers: BTreeSet<(Timestamp, NodeIndex)>,
    /// The same by node.
    pub(crate) wake_at: BTreeMap<NodeIndex, Timestamp>,
    /// Nodes that wait for a budget, by failure domain.
    pub(crate) budget: BTreeMap<DomainIndex, BTreeSet<NodeIndex>>,
    /// The same nodes, without their domains.
    pub(crate) waits_for_budget: BTreeSet<NodeIndex>,
    /// Nodes whose budget has room and that wait for an approval.
    pub(crate) approval: BTreeSet<NodeIndex>,
    /// Nodes that jobs still have to leave: a spare node changes the best time to stop the jobs.
    pub(crate) emptying: BTreeSet<NodeIndex>,
    /// Nodes that Mainstay removed and that do not have its cordon. A node that leaves may use up their budget.
    pub(crate) uncordoned: BTreeSet<NodeIndex>,
    /// Nodes that wait for a newer view.
    pub(crate) stale: BTreeSet<NodeIndex>,
    /// Nodes that a rule flags for removal, by pool and rule.
    pub(crate) flagged: BTreeMap<(PoolName, RuleName), BTreeSet<NodeIndex>>,
    /// Nodes on which a rule found a fault and that something else removes or removed. A stopped rule does not decide how
    /// a node is repaired, so its breaker concerns them too.
    pub(crate) also_flagged: BTreeMap<(PoolName, RuleName), BTreeSet<NodeIndex>>,
}

impl Index {
    pub(crate) fn mark(&mut self, id: NodeIndex) {
        self.changed.insert(id);
    }

    /// Marks every node whose time has come.
    pub(crate) fn ring(&mut self, now: Timestamp) {
        while let Some((at, id)) = self.timers.first().copied() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            self.wake_at.remove(&id);
            self.changed.insert(id);
        }
    }

    /// Sets the time of the next evaluation of a node.
    pub(crate) fn wake(&mut self, id: NodeIndex, at: Option<Timestamp>) {
        let before = match at {
            Some(at) => self.wake_at.insert(id, at),
            None => self.wake_at.remove(&id),
        };
        if before != at {
            if let Some(before) = before {
                self.timers.remove(&(before, id));
            }
            self.timers.extend(at.map(|at| (at, id)));
        }
    }

    /// Marks the nodes among these, which are sorted, that jobs still have to leave.
    pub(crate) fn mark_emptying(&mut self, nodes: &[NodeIndex]) {
        let emptying = self.emptying.iter().copied().filter(|id| nodes.binary_search(id).is_ok());
        self.changed.extend(emptying);
    }

    /// Marks every node that waits for a budget of these domains.
    pub(crate) fn budget_freed(&mut self, membership: &Membership) {
        for domain in membership.domains() {
            if let Some(waiting) = self.budget.get(&domain) {
                self.changed.extend(waiting.iter().copied());
            }
        }
    }

    pub(crate) fn wait_for_budget(&mut self, id: NodeIndex, membership: &Membership, waits: bool) {
        let changed = if waits { self.waits_for_budget.insert(id) } else { self.waits_for_budget.remove(&id) };
        if !changed {
            return;
        }
        for domain in membership.domains() {
            if waits {
                self.budget.entry(domain).or_default().insert(id);
            } else if let Some(waiting) = self.budget.get_mut(&domain) {
                waiting.remove(&id);
            }
        }
    }

    /// Marks every node that the breaker of a rule concerns.
    pub(crate) fn mark_flagged(&mut self, key: &(PoolName, RuleName)) {
        let nodes = [&self.flagged, &self.also_flagged].into_iter().filter_map(|by_rule| by_rule.get(key));
        self.changed.extend(nodes.flatten().copied());
    }
}

/// Removes a node from the set of a rule.
pub(crate) fn unflag(
    by_rule: &mut BTreeMap<(PoolName, RuleName), BTreeSet<NodeIndex>>,
    id: NodeIndex,
    key: &(PoolName, RuleName),
) {
    if let Some(nodes) = by_rule.get_mut(key) {
        nodes.remove(&id);
        if nodes.is_empty() {
            by_rule.remove(key);
        }
    }
}

/// Adds a node to a set or removes it.
pub(crate) fn keep(set: &mut BTreeSet<NodeIndex>, id: NodeIndex, is_in: bool) {
    if is_in {
        set.insert(id);
    } else {
        set.remove(&id);
    }
}
