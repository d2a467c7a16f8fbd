//! Orders to a node's agent: which rung or suite comes next, how the last one ended, and what they are called.

use mainstay_model::{
    ActionKind, Attempt, Bounded, Literal, NodeIndex, Nonce, Order, OrderId, OrderOutcome, RepairStep, Schedulable,
    Stage, SuiteName, Task, Timestamp, Verdict,
};
use mainstay_remedy::ladder::{self, Caps, Climb};
use mainstay_remedy::life::{Repair, Trial};
use mainstay_remedy::limits;
use mainstay_remedy::permit::{self, Permit};

use crate::Engine;
use crate::cause::rungs_of;
use crate::node::Node;
use crate::switch::Switch;

/// The suite of a pool whose policy names none.
const STANDARD_SUITE: Literal<SuiteName> = SuiteName::literal("standard");

impl Engine {
    pub(crate) fn climb(&self, node: &Node, now: Timestamp) -> Climb {
        let Some(cause) = &node.persisted.cause else { return Climb::Exhausted };
        let policy = self.policy(node);
        let ladder = policy.and_then(|policy| policy.ladders.get(&cause.rule));
        let rungs = rungs_of(cause, policy);
        let mut caps = ladder
            .map_or_else(Caps::default, |ladder| Caps { attempts_max: ladder.attempts_max, window: ladder.window });
        if !self.switches.is_on(Switch::AttemptCap) {
            caps.attempts_max = u32::MAX;
        }
        ladder::climb(rungs, node.persisted.attempts.as_slice(), caps, node.round_at(), now)
    }

    pub(crate) fn repair(&self, node: &Node, now: Timestamp) -> Repair {
        match rung_order(node) {
            Some((order, _)) if outcome(node, &order.id) == Some(OrderOutcome::Done) => Repair::Done,
            Some(_) => Repair::Ordered,
            None => match self.climb(node, now) {
                Climb::Try(_) => Repair::Due,
                Climb::Exhausted => Repair::Exhausted,
            },
        }
    }

    pub(crate) fn trial(&self, node: &Node, now: Timestamp) -> Trial {
        if !self.switches.is_on(Switch::Requalify) {
            return Trial::Passed;
        }
        let Some(order) = suite_order(node) else { return Trial::Running };
        let heard = node.heard.as_deref();
        let results = heard.map(|heard| heard.results.iter().filter(|(nonce, _)| *nonce == order.nonce));
        let (mut any, mut all_passed) = (false, true);
        for (_, verdict) in results.into_iter().flatten() {
            any = true;
            all_passed &= *verdict == Verdict::Passed;
        }
        match (any, all_passed) {
            (true, true) => Trial::Passed,
            (true, false) => Trial::Failed,
            (false, _) if now >= order.expires_at => Trial::Failed,
            (false, _) => Trial::Running,
        }
    }

    /// Takes orders away that have ended without mending anything, so that the next rung can be tried, and a suite that
    /// can prove nothing any more, so that it is ordered anew.
    pub(crate) fn end_orders(&mut self, index: NodeIndex, now: Timestamp) {
        let expires = self.switches.is_on(Switch::OrderExpiry);
        let gentlest = self.gentlest(self.node(index));
        let node = self.node_mut(index);
        if let Some(void) = suite_order(node).filter(|order| is_void(node, order)).map(|order| order.nonce.clone()) {
            node.persisted.orders.retain(|order| order.nonce != void);
        }
        let Some((order, rung)) = rung_order(node) else { return };
        let ended = match outcome(node, &order.id) {
            // What is gentler than the ladder begins was ordered before the cause was raised.
            Some(OrderOutcome::Done) => rung == RepairStep::Capture || gentlest.is_some_and(|gentlest| rung < gentlest),
            Some(OrderOutcome::Failed | OrderOutcome::Refused | OrderOutcome::Expired) => true,
            None => expires && now >= order.expires_at,
        };
        if ended {
            let id = order.id.clone();
            node.persisted.orders.retain(|order| order.id != id);
        }
    }

    /// The first rung of the node's ladder that mends something.
    pub(crate) fn gentlest(&self, node: &Node) -> Option<RepairStep> {
        let cause = node.persisted.cause.as_ref()?;
        rungs_of(cause, self.policy(node)).iter().copied().find(|rung| *rung != RepairStep::Capture)
    }

    /// Takes back orders that nobody has seen yet and that would not be given any more: the record with them was lost or
    /// held back, and meanwhile the mode was lowered, somebody works there again, or the machine was booted.
    pub(crate) fn take_back_orders(&mut self, index: NodeIndex) {
        let node = self.node(index);
        let seen = node.recorded.as_ref().map_or(&[][..], |recorded| recorded.orders.as_slice());
        let stands = |order: &&Order| seen.contains(order) || self.would_give(node, order);
        let orders = node.persisted.orders.as_slice();
        let kept: Vec<Order> = orders.iter().filter(stands).cloned().collect();
        if kept.len() == orders.len() {
            return;
        }
        // What was not ordered was not tried either.
        let tried = node.recorded.as_ref().map(|recorded| recorded.attempts.clone()).unwrap_or_default();
        let node = self.node_mut(index);
        node.persisted.orders = Bounded::try_from(kept).unwrap_or_default();
        node.persisted.attempts = tried;
    }

    fn would_give(&self, node: &Node, order: &Order) -> bool {
        let kind = match &order.task {
            Task::Rung(rung) => permit::kind_of(*rung),
            Task::Suite(_) => ActionKind::Return,
        };
        self.permit(node, kind) == Permit::Granted
            && node.gangs.is_empty()
            && order.epoch == self.cell.epoch
            && node.heard.as_ref().is_some_and(|heard| heard.boot_id == order.boot_id)
    }

    /// Writes the order that the stage needs, where it may be given.
    pub(crate) fn write_orders(&mut self, index: NodeIndex, now: Timestamp) {
        let node = self.node(index);
        if !matches!(node.persisted.stage, Stage::Repairing | Stage::Qualifying) {
            // Said before the permit is looked for, which costs a name.
            return;
        }
        let granted = self.permit_of_stage(node, now) == Permit::Granted;
        // Nothing is ordered of a machine on which somebody still works.
        let may_order = granted && node.gangs.is_empty();
        let Some(boot_id) = node.heard.as_ref().map(|heard| heard.boot_id.clone()).filter(|_| may_order) else {
            return;
        };
        let (epoch, policy) = (self.cell.epoch, self.policy(node));
        let device = node.persisted.cause.as_ref().and_then(|cause| cause.device.clone());
        let (id, task, expires_at) = match node.persisted.stage {
            Stage::Repairing if rung_order(node).is_none() => match self.climb(node, now) {
                Climb::Try(rung) => {
                    (action(node, permit::kind_of(rung)), Task::Rung(rung), now + limits::rung_within(rung))
                }
                Climb::Exhausted => return,
            },
            // What still takes work, because our cordon was lifted, would be proven in vain.
            Stage::Qualifying if suite_order(node).is_none() && node.schedulable() != Schedulable::Yes => {
                let suite = policy.and_then(|policy| policy.suite.clone()).unwrap_or_else(|| STANDARD_SUITE.get());
                (action(node, ActionKind::Return), Task::Suite(suite), now + limits::SUITE_WITHIN)
            }
            Stage::Repairing | Stage::Qualifying | Stage::Bootstrapping | Stage::InService | Stage::Suspect => return,
            Stage::Quarantined | Stage::Draining | Stage::Maintenance | Stage::Upgrading => return,
            Stage::Held | Stage::Retired => return,
        };
        let order = Order { nonce: Nonce::of(&id, epoch.0, now), id, epoch, boot_id, task, device, expires_at };
        let node = self.node_mut(index);
        if let (Task::Rung(rung), Some(cause)) = (&order.task, &node.persisted.cause) {
            let attempt =
                Attempt { rule: cause.rule.clone(), rung: *rung, device: cause.device.clone(), ordered_at: now };
            node.persisted.attempts.push_forgetting_oldest(attempt);
        }
        node.persisted.orders.push_forgetting_oldest(order);
    }
}

/// The id of an action of this kind in the round that the node is in, or about to be in.
pub(crate) fn action(node: &Node, kind: ActionKind) -> OrderId {
    let verb = match kind {
        ActionKind::Cordon => "cordon",
        ActionKind::Drain => "drain",
        ActionKind::RestartService => "restart",
        ActionKind::ResetGpu => "reset",
        ActionKind::Reboot => "reboot",
        ActionKind::PowerCycle => "power",
        ActionKind::Return => "return",
    };
    let next = u32::from(matches!(node.persisted.stage, Stage::InService | Stage::Suspect));
    OrderId::of(verb, &node.name, node.persisted.round.saturating_add(next))
}

pub(crate) fn rung_order(node: &Node) -> Option<(&Order, RepairStep)> {
    node.persisted.orders.as_slice().iter().find_map(|order| match order.task {
        Task::Rung(rung) => Some((order, rung)),
        Task::Suite(_) => None,
    })
}

pub(crate) fn suite_order(node: &Node) -> Option<&Order> {
    node.persisted.orders.as_slice().iter().find(|order| matches!(order.task, Task::Suite(_)))
}

/// Whether a suite proves nothing any more: the machine was booted since it was ordered, or took work meanwhile.
fn is_void(node: &Node, order: &Order) -> bool {
    let booted = node.heard.as_ref().is_some_and(|heard| heard.boot_id != order.boot_id);
    let by_us = node.persisted.cause.is_some();
    booted || (by_us && node.schedulable() == Schedulable::Yes)
}

fn outcome(node: &Node, order: &OrderId) -> Option<OrderOutcome> {
    let heard = node.heard.as_deref()?;
    heard.outcomes.iter().find(|(id, _)| id == order).map(|(_, outcome)| *outcome)
}
