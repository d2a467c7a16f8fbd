//! One pass over what changed: first those who may give room back, then those who want out, each group in an order that
//! does not depend on who was heard first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mainstay_health::Findings;
use mainstay_model::{Action, Decision, Effect, NodeIndex, NodeName, PlannedWork, Schedulable, Stage, Timestamp};
use mainstay_remedy::arbiter::{Membership, Presence};
use mainstay_remedy::life::Budget;
use mainstay_remedy::permit::Permit;

use crate::Engine;
use crate::switch::Switch;

/// A pass can make others dirty: room was freed, or a breaker changed. They go out and open it at most, which makes those
/// dirty who wait for it and go nowhere: this many rounds always settle it.
const ROUNDS_MAX: u32 = 6;

impl Engine {
    pub(crate) fn run(&mut self, now: Timestamp) -> Decision {
        let mut turns: Vec<NodeIndex> = Vec::new();
        let mut wanted: BTreeMap<NodeIndex, Vec<Effect>> = BTreeMap::new();
        let mut evaluated = 0;
        for _ in 0..ROUNDS_MAX {
            self.ring(now);
            self.dirty.extend(self.outrun());
            let dirty = std::mem::take(&mut self.dirty);
            if dirty.is_empty() {
                break;
            }
            let mut order: Vec<NodeIndex> = dirty.into_iter().collect();
            order.sort_unstable_by(|a, b| self.turn(*a).cmp(&self.turn(*b)));
            let looked: Vec<Findings> = order.iter().map(|index| self.look(*index, now)).collect();
            for (index, findings) in order.into_iter().zip(looked) {
                // Whatever marked it since the round began is seen now.
                self.dirty.remove(&index);
                let effects = self.evaluate(index, findings, now);
                evaluated += 1;
                match wanted.entry(index) {
                    Entry::Vacant(entry) => {
                        turns.push(index);
                        entry.insert(effects);
                    }
                    Entry::Occupied(mut entry) => supersede(entry.get_mut(), effects),
                }
            }
        }
        self.decided_at = Some(now);
        self.evaluated += evaluated;
        // Of a node that is not registered nobody can say how it stands.
        let known = turns.iter().map(|index| self.node(*index)).filter(|node| node.facts.is_some());
        let report = known.map(|node| self.line(node)).collect();
        let effects = turns.iter().filter_map(|index| wanted.remove(index)).flatten().collect();
        let cell = self.cell_record(now);
        Decision { effects, report, cell, wake_at: self.wake_at(), evaluated }
    }

    /// Marks whoever asked to be woken by now.
    fn ring(&mut self, now: Timestamp) {
        while let Some((at, index)) = self.timers.first().copied() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            self.node_mut(index).wake_at = None;
            self.dirty.insert(index);
        }
    }

    /// Nodes that wait for an approval and whose room others took meanwhile. They wait for room now: an operator who
    /// approved them would see nothing happen.
    fn outrun(&self) -> Vec<NodeIndex> {
        let has_lost = |index: &NodeIndex| self.budget(self.node(*index), Permit::NeedsApproval) == Budget::Spent;
        self.approvable.iter().copied().filter(has_lost).collect()
    }

    /// Whose turn it is: those already out first, because they may come back; then by urgency, by how long they have been
    /// waiting, and by name.
    fn turn(&self, index: NodeIndex) -> (bool, Reverse<u8>, Timestamp, &NodeName) {
        let node = self.node(index);
        let wants_out = matches!(node.persisted.stage, Stage::InService | Stage::Suspect);
        (wants_out, Reverse(self.pressure(node)), node.persisted.since, &node.name)
    }

    pub(crate) fn wake(&mut self, index: NodeIndex, at: Option<Timestamp>) {
        let before = self.node(index).wake_at;
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, index));
        }
        if let Some(at) = at {
            self.timers.insert((at, index));
        }
        self.node_mut(index).wake_at = at;
    }

    /// Brings the budgets in line with where the node is now.
    pub(crate) fn settle_presence(&mut self, index: NodeIndex) {
        let others_count = self.switches.is_on(Switch::OthersCount);
        let paper_counts = self.switches.is_on(Switch::PaperBudget);
        let node = &mut self.nodes[index.get()];
        let Some(facts) = node.facts.as_ref() else { return };
        // A place is given back when the record says so, not when we merely mean it.
        let recorded = node.recorded.as_ref().map(|recorded| recorded.stage);
        let stages = [Some(node.persisted.stage), recorded];
        let stages = || stages.into_iter().flatten();
        let ours = stages().any(is_ours) || facts.schedulable == Schedulable::NotByUs;
        let by_others = node.is_out_anyway() || node.planned() != PlannedWork::Nothing;
        let others = stages().any(is_others) || (by_others && others_count);
        let presence = match (ours, others, paper_counts && node.open_proposal().is_some()) {
            (true, _, _) => Presence::Out,
            (false, true, _) => Presence::OutByOthers,
            (false, false, true) => Presence::OutOnPaper,
            (false, false, false) => Presence::In,
        };
        if presence != node.presence {
            let before = std::mem::replace(&mut node.presence, presence);
            let membership = node.membership.clone();
            self.arbiter.shift(&membership, before, presence);
            if presence < before {
                self.wake_waiters(&membership);
            }
        }
        self.settle_spare(index);
    }

    /// Room was freed: whoever waits for it is looked at again.
    pub(crate) fn wake_waiters(&mut self, membership: &Membership) {
        for domain in membership.domains() {
            if let Some(waiting) = self.waiting.get(&domain) {
                self.dirty.extend(waiting.iter().copied());
            }
        }
    }

    pub(crate) fn wait_for_approval(&mut self, index: NodeIndex, waits: bool) {
        if waits {
            self.approvable.insert(index);
        } else {
            self.approvable.remove(&index);
        }
    }

    pub(crate) fn wait_for_room(&mut self, index: NodeIndex, waits: bool) {
        let node = &mut self.nodes[index.get()];
        if node.waits_for_room == waits {
            return;
        }
        node.waits_for_room = waits;
        for domain in node.membership.domains() {
            if waits {
                self.waiting.entry(domain).or_default().insert(index);
            } else if let Some(waiting) = self.waiting.get_mut(&domain) {
                waiting.remove(&index);
            }
        }
    }
}

/// A node that was looked at again with more room: what it wants now stands, and so does a record that was due before.
fn supersede(before: &mut Vec<Effect>, after: Vec<Effect>) {
    let is_record = |effect: &Effect| matches!(effect.act, Action::Record(_));
    let has_record = after.iter().any(is_record);
    before.retain(|effect| is_record(effect) && !has_record);
    before.extend(after);
}

/// Whether a node in this stage is out because of us.
const fn is_ours(stage: Stage) -> bool {
    match stage {
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => true,
        Stage::Maintenance | Stage::Upgrading | Stage::Retired | Stage::Bootstrapping => false,
        Stage::InService | Stage::Suspect | Stage::Held => false,
    }
}

/// Whether a node in this stage is out because of others.
const fn is_others(stage: Stage) -> bool {
    match stage {
        Stage::Maintenance | Stage::Upgrading | Stage::Retired | Stage::Bootstrapping => true,
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => false,
        Stage::InService | Stage::Suspect | Stage::Held => false,
    }
}
