//! Folding facts into the picture. Every fact marks the nodes it touches and nothing else.

use mainstay_health as health;
use mainstay_model::{
    CellFacts, Fact, Mode, NodeFacts, NodeIndex, NodeName, Observation, Persisted, PlannedWork, Policy, Report, Stage,
    Timestamp,
};
use mainstay_remedy::arbiter::Presence;
use mainstay_remedy::drain::{Answer, Asked};
use mainstay_remedy::limits;

use crate::Engine;
use crate::node::{Heard, Node};

impl Engine {
    pub(crate) fn fold(&mut self, observation: &Observation) {
        let at = observation.at;
        match &observation.fact {
            Fact::Cell(cell) => self.fold_cell(cell, at),
            Fact::Synced { as_of } => self.fold_synced(*as_of),
            Fact::Policy(policy) => self.fold_policy(policy),
            Fact::Node { node, facts } => self.fold_node(node, facts, at),
            Fact::NodeGone { node } => self.fold_node_gone(node),
            Fact::Report { node, report } => self.fold_report(node, report, at),
            Fact::Complaints { node, complaints } => {
                let index = self.index(node, Stage::InService, at);
                if self.node(index).complaints != *complaints {
                    self.node_mut(index).complaints.clone_from(complaints);
                    self.mark(index);
                }
            }
            Fact::Recorded { node, persisted } => self.fold_recorded(node, persisted, at),
            Fact::Request { node, request } => {
                let index = self.index(node, Stage::InService, at);
                self.node_mut(index).request.clone_from(request);
                self.mark(index);
            }
            Fact::Gang { gang, facts } => self.fold_gang(gang, Some(facts)),
            Fact::GangGone { gang } => self.fold_gang(gang, None),
            Fact::Asked { gang, node, drain, answer_by, saved_step } => {
                let answer = if saved_step.is_some() { Answer::Saved } else { Answer::Pending };
                if let Some(known) = self.gangs.get_mut(gang) {
                    known.asked.insert(node.clone(), Asked { drain: *drain, answer_by: *answer_by, answer });
                }
                self.mark_name(node);
            }
            Fact::Refused { node, action, why: _ } => {
                let index = self.index(node, Stage::InService, at);
                let refused = &mut self.node_mut(index).refused;
                // What may be asked for again need not be remembered.
                refused.retain(|_, since| at.since(*since) < limits::REFUSED_RETRY);
                refused.insert(action.clone(), at);
                self.mark(index);
            }
        }
    }

    fn fold_cell(&mut self, cell: &CellFacts, at: Timestamp) {
        let mut cell = cell.clone();
        self.epoch_highest = self.epoch_highest.max(cell.epoch);
        if cell.epoch < self.epoch_highest {
            // A restored store: what was done since is unknown to it. Touch nothing until people have looked.
            cell.mode = Mode::Observe;
        }
        if cell.epoch != self.cell.epoch {
            self.cell_write.led_from = at;
        }
        let before = std::mem::replace(&mut self.cell, cell);
        // What is on record of the rules decides nothing about any node.
        let decides = |cell: &CellFacts| (cell.epoch, cell.mode, cell.approvals.clone());
        if decides(&before) != decides(&self.cell) {
            self.mark_unsettled();
        }
    }

    fn fold_synced(&mut self, as_of: Timestamp) {
        let newer = self.synced_as_of.is_none_or(|known| as_of > known);
        if newer {
            self.synced_as_of = Some(as_of);
            let stale = self.stale.iter().copied().filter(|index| self.nodes[index.get()].facts.is_some());
            self.dirty.extend(stale);
        }
    }

    fn fold_policy(&mut self, policy: &Policy) {
        if self.policies.get(&policy.pool) != Some(policy) {
            self.policies.insert(policy.pool.clone(), policy.clone());
            // A code may mean something else now, so a calm node may not be calm any more.
            let of_pool = |node: &Node| node.facts.as_ref().is_some_and(|facts| facts.pool == policy.pool);
            let pool: Vec<NodeIndex> =
                self.names.values().copied().filter(|index| of_pool(self.node(*index))).collect();
            self.dirty.extend(pool);
        }
    }

    fn fold_node(&mut self, name: &NodeName, facts: &NodeFacts, at: Timestamp) {
        let stage = if facts.planned == PlannedWork::Bootstrap { Stage::Bootstrapping } else { Stage::InService };
        let index = self.index(name, stage, at);
        if self.node(index).facts.as_deref() == Some(facts) {
            return;
        }
        let old = self.node(index).facts.as_ref();
        let moved = old.is_none_or(|old| old.pool != facts.pool || old.domains != facts.domains);
        if moved {
            self.wait_for_room(index, false);
            self.wait_for_approval(index, false);
            self.unwant(index);
        }
        let told = self.told(index);
        let left = self.node(index).facts.as_ref().filter(|_| moved).map(|old| old.pool.clone());
        if moved {
            self.spare(index, false);
        }
        let node = &mut self.nodes[index.get()];
        if moved {
            if node.facts.is_some() {
                self.arbiter.leave(&node.membership, node.presence);
            }
            node.presence = Presence::In;
            node.membership = self.arbiter.join(&facts.pool, &facts.domains, Presence::In);
        }
        node.facts = Some(Box::new(facts.clone()));
        node.refused.clear();
        if let Some(pool) = left {
            self.resized(&pool, self.arbiter.nodes_of(&pool) + 1);
        }
        if moved {
            self.resized(&facts.pool, self.arbiter.nodes_of(&facts.pool) - 1);
            self.tell(index, told);
            self.settle_places(index);
        }
        self.mark(index);
        self.settle_presence(index);
    }

    fn fold_node_gone(&mut self, name: &NodeName) {
        let Some(index) = self.names.get(name).copied() else { return };
        self.wait_for_room(index, false);
        self.wait_for_approval(index, false);
        self.unwant(index);
        let told = self.told(index);
        self.spare(index, false);
        let node = &mut self.nodes[index.get()];
        if let Some(facts) = node.facts.take() {
            let (membership, presence) = (std::mem::take(&mut node.membership), node.presence);
            node.presence = Presence::In;
            self.arbiter.leave(&membership, presence);
            self.wake_waiters(&membership);
            self.tell(index, told);
            self.resized(&facts.pool, self.arbiter.nodes_of(&facts.pool) + 1);
            self.settle_places(index);
        }
        self.mark(index);
    }

    fn fold_report(&mut self, name: &NodeName, report: &Report, at: Timestamp) {
        let index = self.index(name, Stage::InService, at);
        let node = self.node_mut(index);
        let replayed = node.heard.as_ref().is_some_and(|heard| {
            heard.uid == report.uid && heard.boot_id == report.boot_id && heard.sequence >= report.sequence
        });
        if replayed {
            return;
        }
        health::stamp(&mut node.persisted, report, at);
        let driver = node.heard.as_ref().map(|heard| &heard.inventory.driver);
        let has_new_driver = driver != Some(&report.inventory.driver);
        // Parts are named again in every report and hardly ever others.
        let inventory = match node.heard.take() {
            Some(heard) if heard.inventory == report.inventory => heard.inventory,
            Some(_) | None => report.inventory.clone(),
        };
        node.heard = Some(Box::new(Heard {
            uid: report.uid.clone(),
            boot_id: report.boot_id.clone(),
            sequence: report.sequence,
            at,
            inventory,
            evidence: report.evidence.as_slice().to_vec(),
            outcomes: report.outcomes.as_slice().to_vec(),
            results: report.results.as_slice().to_vec(),
            unrecognised: report.unrecognised.clone(),
        }));
        if has_new_driver {
            self.settle_places(index);
        }
        self.mark(index);
    }

    fn fold_recorded(&mut self, name: &NodeName, persisted: &Persisted, at: Timestamp) {
        let index = self.index(name, persisted.stage, at);
        let told = self.told(index);
        let node = self.node_mut(index);
        // What we see before our own first write is what an earlier leader knew.
        if !node.has_written {
            node.persisted = persisted.clone();
        }
        let before = node.recorded.as_ref().map(|known| (known.stage, known.since, &known.orders));
        if before != Some((persisted.stage, persisted.since, &persisted.orders)) {
            node.recorded_at = at;
        }
        let before = node.recorded.replace(Box::new(persisted.clone()));
        self.settle_verdicts(index, before.as_deref());
        self.tell(index, told);
        self.mark(index);
        self.settle_presence(index);
    }

    fn index(&mut self, name: &NodeName, stage: Stage, at: Timestamp) -> NodeIndex {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let index = NodeIndex::next(self.nodes.len());
        let mut node = Node::new(name.clone(), stage, at);
        node.gangs = self.take_early_gangs(name, index);
        self.names.insert(name.clone(), index);
        self.nodes.push(node);
        index
    }

    pub(crate) fn mark(&mut self, index: NodeIndex) {
        self.dirty.insert(index);
    }

    fn mark_name(&mut self, name: &NodeName) {
        if let Some(index) = self.names.get(name) {
            self.dirty.insert(*index);
        }
    }

    /// Whoever is not calm may go on differently when the cell changes: one that is back in service, too, as long as
    /// nobody who leads has written that down.
    fn mark_unsettled(&mut self) {
        let unsettled = |node: &Node| node.facts.is_some() && !node.is_calm;
        let unsettled: Vec<NodeIndex> = self.names.values().copied().filter(|at| unsettled(self.node(*at))).collect();
        self.dirty.extend(unsettled);
    }
}
