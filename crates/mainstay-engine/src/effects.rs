//! What should be done about one node: the difference between what its stage wants and what the world shows. Asked for
//! again until the world shows it, so nothing is lost with a message.

use mainstay_model::{
    Action, ActionKind, Effect, Epoch, Execution, GangId, Literal, NodeIndex, NodeUid, Precondition, RuleName,
    Schedulable, Span, Stage, Timestamp, Urgency, WaitingOn,
};
use mainstay_remedy::arbiter::Ledger;
use mainstay_remedy::drain::Step;
use mainstay_remedy::limits;
use mainstay_remedy::permit::Permit;

use crate::Engine;
use crate::node::Node;
use crate::orders::action;
use crate::switch::Switch;

/// Evidence alone is written down after 1, 2, 4 … 60 seconds, so that a storm on one node is a few writes.
const RECORD_PAUSE_SECONDS_MAX: u32 = 60;

/// UID in an effect on a node that the backend does not list.
const NO_UID: Literal<NodeUid> = NodeUid::literal("none");

/// The rule of an effect that only stores evidence.
const EVIDENCE: Literal<RuleName> = RuleName::literal("evidence");

/// Effects of one node.
pub(crate) struct Effects {
    pub(crate) list: Vec<Effect>,
    /// Whether everything that must survive us is on record.
    pub(crate) is_on_record: bool,
    /// Something is to be done and this keeps it from being done.
    pub(crate) held_back: Option<WaitingOn>,
}

impl Engine {
    /// What to do now, and when to look again because of it.
    pub(crate) fn effects(
        &mut self,
        index: NodeIndex,
        waiting_on: WaitingOn,
        now: Timestamp,
    ) -> (Effects, Option<Timestamp>) {
        let mut effects = Effects { list: Vec::new(), is_on_record: false, held_back: None };
        let record_at = self.record(index, &mut effects, now);
        let wanted = self.wanted(self.node(index), waiting_on, now);
        let acts = wanted.iter().any(|(_, _, standing)| *standing == Execution::Ordered);
        let obstacle = self.obstacle(index, now);
        let may_act = obstacle.is_none();
        effects.held_back = effects.held_back.or(obstacle.filter(|_| acts));
        let mut asked_again_at = None;
        for (act, kind, standing) in wanted {
            if standing != Execution::Ordered || may_act {
                let effect = self.effect(self.node(index), act, action(self.node(index), kind), standing);
                match self.node(index).refused.get(&effect.action).map(|at| *at + limits::REFUSED_RETRY) {
                    Some(again_at) if now < again_at => asked_again_at = Some(again_at),
                    Some(_) | None => effects.list.push(effect),
                }
            }
        }
        let retry = (!effects.list.is_empty()).then(|| now + limits::EFFECT_RETRY);
        let answers = self.answers_due(self.node(index), now);
        (effects, [record_at, retry, answers, asked_again_at].into_iter().flatten().min())
    }

    /// What keeps every act on a node from being carried out: nobody made us leader, the view is old, or what we mean to do
    /// is not on record yet.
    fn obstacle(&self, index: NodeIndex, now: Timestamp) -> Option<WaitingOn> {
        if !self.is_leading() {
            Some(WaitingOn::Leadership)
        } else if !self.is_fresh(index, now) || !self.is_intent_recorded(index) {
            Some(WaitingOn::WatchSync)
        } else {
            None
        }
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.cell.epoch > Epoch(0) || !self.switches.is_on(Switch::Fence)
    }

    /// Whether the view is young, and younger than our own last write.
    fn is_fresh(&self, index: NodeIndex, now: Timestamp) -> bool {
        let written_at = self.node(index).recorded_at;
        let fresh =
            self.synced_as_of.is_some_and(|as_of| now.since(as_of) <= limits::VIEW_FRESH && as_of >= written_at);
        fresh || !self.switches.is_on(Switch::Freshness)
    }

    fn is_intent_recorded(&self, index: NodeIndex) -> bool {
        self.node(index).is_recorded() || !self.switches.is_on(Switch::IntentFirst)
    }

    /// Writes down what must survive us: a change of stage or of orders at once, arrivals alone after a pause.
    fn record(&mut self, index: NodeIndex, effects: &mut Effects, now: Timestamp) -> Option<Timestamp> {
        let node = self.node(index);
        let baseline = mainstay_model::Persisted::new(Stage::InService, node.persisted.since);
        let recorded = node.recorded.as_deref().unwrap_or(&baseline);
        if *recorded == node.persisted {
            effects.is_on_record = true;
            self.node_mut(index).record_pause_seconds = 1;
            return None;
        }
        if !self.is_leading() {
            // The leader writes it down.
            return None;
        }
        let same_arrivals = mainstay_model::Persisted {
            arrivals: recorded.arrivals.clone(),
            boot_id: recorded.boot_id.clone(),
            ..node.persisted.clone()
        };
        let evidence_only = *recorded == same_arrivals;
        if evidence_only && now < node.record_after {
            return Some(node.record_after);
        }
        if self.orders_more(index) && !self.is_fresh(index, now) {
            // An order is an act: what it was given for may have changed since.
            effects.held_back = Some(WaitingOn::WatchSync);
            return Some(now + limits::EFFECT_RETRY);
        }
        let node = self.node(index);
        let act = Action::Record(Box::new(node.persisted.clone()));
        let effect = self.effect(node, act, action(node, ActionKind::Drain), Execution::Ordered);
        effects.list.push(effect);
        let node = self.node_mut(index);
        node.has_written = true;
        node.record_after = now + Span::seconds(node.record_pause_seconds);
        node.record_pause_seconds = (node.record_pause_seconds * 2).min(RECORD_PAUSE_SECONDS_MAX);
        Some(now + limits::EFFECT_RETRY)
    }

    /// Whether the record that is due gives the agent an order that it does not have yet.
    fn orders_more(&self, index: NodeIndex) -> bool {
        let node = self.node(index);
        let given = node.recorded.as_ref().map_or(&[][..], |recorded| recorded.orders.as_slice());
        node.persisted.orders.as_slice().iter().any(|order| !given.contains(order))
    }

    /// What the stage wants of the world that the world does not show.
    fn wanted(&self, node: &Node, waiting_on: WaitingOn, now: Timestamp) -> Vec<(Action, ActionKind, Execution)> {
        match node.persisted.stage {
            Stage::Quarantined | Stage::Repairing | Stage::Qualifying => self.cordon(node).into_iter().collect(),
            Stage::Draining => self.cordon(node).into_iter().chain(self.drain(node, now)).collect(),
            Stage::Suspect if matches!(waiting_on, WaitingOn::Mode | WaitingOn::Approval) => {
                vec![(Action::Cordon, ActionKind::Cordon, self.permit(node, ActionKind::Cordon).standing())]
            }
            Stage::InService if node.schedulable() == Schedulable::NotByUs => {
                vec![(Action::Uncordon, ActionKind::Return, self.permit(node, ActionKind::Return).standing())]
            }
            Stage::InService | Stage::Suspect | Stage::Bootstrapping => Vec::new(),
            Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => Vec::new(),
        }
    }

    fn cordon(&self, node: &Node) -> Option<(Action, ActionKind, Execution)> {
        let standing = self.permit(node, ActionKind::Cordon).standing();
        (self.wants_cordon(node) && self.has_room(node)).then_some((Action::Cordon, ActionKind::Cordon, standing))
    }

    /// Whether a node that we took out still, or again, takes work.
    pub(crate) fn wants_cordon(&self, node: &Node) -> bool {
        let is_out = match node.persisted.stage {
            Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => true,
            Stage::Bootstrapping | Stage::InService | Stage::Suspect | Stage::Maintenance => false,
            Stage::Upgrading | Stage::Held | Stage::Retired => false,
        };
        is_out && node.persisted.cause.is_some() && node.schedulable() == Schedulable::Yes
    }

    /// Whether its budgets are still kept with it out: others may have taken its place since it was decided.
    pub(crate) fn has_room(&self, node: &Node) -> bool {
        let ledger = if node.is_out_anyway() { Ledger::Ours } else { Ledger::Real };
        !self.switches.is_on(Switch::Budget) || self.arbiter.holds(self.policy(node), &node.membership, ledger)
    }

    fn drain(&self, node: &Node, now: Timestamp) -> Vec<(Action, ActionKind, Execution)> {
        let permit: Permit = self.permit(node, ActionKind::Drain);
        let mut acts = Vec::new();
        for id in &node.gangs {
            let act = match self.step(node, id, now) {
                Step::Ask { answer_by } => {
                    let drain = node.persisted.since;
                    Action::AskCheckpoint { gang: GangId::clone(id), drain, urgency: urgency(node), answer_by }
                }
                Step::AwaitAnswer { .. } | Step::AwaitCheckpoint { .. } => continue,
                Step::Stop => Action::Evict { gang: GangId::clone(id) },
            };
            acts.push((act, ActionKind::Drain, permit.standing()));
        }
        acts
    }

    /// Until when a gang may take to save; none where it is owed no time.
    pub(crate) fn owed_until(&self, node: &Node, id: &GangId, now: Timestamp) -> Option<Timestamp> {
        match self.step(node, id, now) {
            Step::Ask { answer_by: until } | Step::AwaitAnswer { until } | Step::AwaitCheckpoint { until } => {
                Some(until)
            }
            Step::Stop => None,
        }
    }

    fn answers_due(&self, node: &Node, now: Timestamp) -> Option<Timestamp> {
        if node.persisted.stage != Stage::Draining {
            return None;
        }
        let due = node.gangs.iter().filter_map(|id| match self.step(node, id, now) {
            Step::AwaitAnswer { until } | Step::AwaitCheckpoint { until } => Some(until),
            Step::Ask { .. } | Step::Stop => None,
        });
        due.min()
    }

    fn effect(&self, node: &Node, act: Action, action: mainstay_model::OrderId, standing: Execution) -> Effect {
        let recorded = node.recorded.as_ref().map_or(Stage::InService, |recorded| recorded.stage);
        let uid = node.facts.as_ref().map(|facts| facts.uid.clone());
        let cause = node.persisted.cause.as_ref().map(|cause| cause.rule.clone());
        let history = node.persisted.history.as_slice().last().map(|transition| transition.rule.clone());
        Effect {
            node: node.name.clone(),
            act,
            action,
            standing,
            expected: Precondition { uid: uid.unwrap_or_else(|| NO_UID.get()), recorded },
            epoch: self.cell.epoch,
            cause: cause.or(history).unwrap_or_else(|| EVIDENCE.get()),
        }
    }
}

pub(crate) fn urgency(node: &Node) -> Urgency {
    node.persisted.cause.as_ref().map_or(Urgency::NextCheckpoint, |cause| cause.urgency)
}
