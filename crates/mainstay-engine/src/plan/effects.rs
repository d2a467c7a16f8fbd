//! The effects on one node: the difference between what its stage needs and what the observations show. An effect is
//! sent again until the observations show it, so a lost message loses nothing.

use mainstay_arbiter::domains::Ledger;
use mainstay_model::{
    ActionKind, Attempt, Effect, Execution, GangId, Literal, NewOrder, NodeIndex, NodeUid, Order, Persisted,
    Precondition, RuleName, Schedulable, Span, Stage, Step, Task, Timestamp, WaitingOn,
};
use mainstay_remedy::drain::GangStep;
use mainstay_remedy::life::Machine;
use mainstay_remedy::limits;

use super::cause::urgency;
use super::orders::action;
use super::{drain, orders};
use crate::claims;
use crate::guard::Guard;
use crate::state::State;
use crate::state::node::Node;
use crate::view::{self, permit};

/// New evidence alone is stored after 1, 2, 4 … 60 seconds, so that many errors on one node cause few writes.
const STORE_PAUSE_SECONDS_MAX: u32 = 60;

/// UID in an effect on a node that the backend does not list.
const NO_UID: Literal<NodeUid> = NodeUid::literal("none");

/// The rule of an effect that only stores evidence.
const EVIDENCE: Literal<RuleName> = RuleName::literal("evidence");

/// An action that the stage needs.
type Needed = (Step, ActionKind, Execution);

/// The effects on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effects {
    pub(crate) list: Vec<Effect>,
    /// Whether everything that must survive a restart is stored.
    pub(crate) is_stored: bool,
    /// What keeps an action from being executed now.
    pub(crate) obstacle: Option<WaitingOn>,
    /// When to evaluate the node again because of these effects.
    pub(crate) again_at: Option<Timestamp>,
}

/// Computes the effects on a node now.
pub(super) fn effects(state: &mut State, id: NodeIndex, waiting_on: WaitingOn, now: Timestamp) -> Effects {
    let mut effects = Effects { list: Vec::new(), is_stored: false, obstacle: None, again_at: None };
    let store_at = store(state, id, &mut effects, now);
    let node = state.node(id);
    let mut needed = needed(state, node, waiting_on, now);
    // A status that is stored at the same time could remove the order again.
    needed.extend(order(node, now).filter(|_| effects.list.is_empty()));
    // A node that is only avoided goes on waiting for what it waits for.
    let moves = |step: &Step| !matches!(step, Step::Avoid | Step::EndAvoid);
    let acts = needed.iter().any(|(step, _, execution)| *execution == Execution::Ordered && moves(step));
    let obstacle = obstacle(state, node, now);
    let mut refused_until = None;
    for needed in needed {
        if needed.2 == Execution::Ordered && obstacle.is_some() {
            continue;
        }
        let effect = effect(state, node, needed, now);
        let key = (effect.id.clone(), effect.step.gang().cloned());
        match node.refused.get(&key).map(|at| *at + limits::REFUSED_RETRY) {
            Some(again_at) if now < again_at => refused_until = Some(again_at),
            Some(_) | None => effects.list.push(effect),
        }
    }
    let order = effects.list.iter().find_map(|effect| effect.step.order());
    let sent = order.map(|new| Box::new((new.order.nonce.clone(), now)));
    effects.obstacle = effects.obstacle.or(obstacle.filter(|_| acts));
    let retry = (!effects.list.is_empty()).then(|| now + limits::EFFECT_RETRY);
    let deadline = drain::first_deadline(state, node, now);
    let shows_by = order_under_way(node, now);
    effects.again_at = [store_at, retry, deadline, refused_until, shows_by].into_iter().flatten().min();
    let node = state.node_mut(id);
    if sent.is_some() || node.unstored_order().is_none() {
        node.order_sent = sent;
    }
    effects
}

/// What keeps every action on a node from being executed: this controller does not lead, the view is old, or the intent is
/// not stored yet.
fn obstacle(state: &State, node: &Node, now: Timestamp) -> Option<WaitingOn> {
    let is_intent_stored = node.is_stored() || !state.is_on(Guard::IntentFirst);
    if !state.is_leading() {
        Some(WaitingOn::Leadership)
    } else if !is_fresh(state, now) || !is_intent_stored {
        Some(WaitingOn::WatchSync)
    } else {
        None
    }
}

/// Whether the view is recent, and not from before this controller became the leader.
pub(crate) fn is_fresh(state: &State, now: Timestamp) -> bool {
    let is_recent = |as_of: Timestamp| now.since(as_of) <= limits::VIEW_FRESH && as_of >= state.epoch_since;
    state.synced_as_of.is_some_and(is_recent) || !state.is_on(Guard::Freshness)
}

/// Stores what must survive a restart: a change of stage or orders immediately, new evidence alone after a pause. Returns
/// when to evaluate the node again.
fn store(state: &mut State, id: NodeIndex, effects: &mut Effects, now: Timestamp) -> Option<Timestamp> {
    let node = state.node(id);
    let baseline = Persisted::new(Stage::InService, node.status.since);
    let stored = node.stored.as_deref().unwrap_or(&baseline);
    let status = node.storable();
    if *stored == *status {
        effects.is_stored = node.unstored_order().is_none();
        state.node_mut(id).store_pause_seconds = 1;
        return None;
    }
    if !state.is_leading() {
        // The leader stores it.
        return None;
    }
    let has_new_evidence_only = *stored
        == Persisted {
            arrivals: stored.arrivals.clone(),
            boot_id: stored.boot_id.clone(),
            // The end of a grant is not urgent either.
            grant: status.grant.clone().or_else(|| stored.grant.clone()),
            ..status.clone().into_owned()
        };
    if has_new_evidence_only && now < node.store_after {
        return Some(node.store_after);
    }
    if let Some(shows_by) = order_under_way(node, now) {
        return Some(shows_by);
    }
    if node.unstored_order().is_some() && !is_fresh(state, now) {
        // The stage leads to an order, and the reason for both may have changed since.
        effects.obstacle = Some(WaitingOn::WatchSync);
        return Some(now + limits::EFFECT_RETRY);
    }
    let needed = (Step::Store(Box::new(status.into_owned())), ActionKind::Drain, Execution::Ordered);
    effects.list.push(effect(state, node, needed, now));
    let node = state.node_mut(id);
    node.has_written = true;
    node.store_after = now + Span::seconds(node.store_pause_seconds);
    node.store_pause_seconds = (node.store_pause_seconds * 2).min(STORE_PAUSE_SECONDS_MAX);
    Some(now + limits::EFFECT_RETRY)
}

/// When an order that was sent has to show in the stored status. After that it is sent again.
fn order_under_way(node: &Node, now: Timestamp) -> Option<Timestamp> {
    let (nonce, sent_at) = node.order_sent.as_deref()?;
    let is_open = node.unstored_order().is_some_and(|order| order.nonce == *nonce);
    Some(*sent_at + limits::EFFECT_RETRY).filter(|shows_by| is_open && *sent_at < now && now < *shows_by)
}

/// The order that its executor does not have yet, unless it is under way or could not be started any more.
fn order(node: &Node, now: Timestamp) -> Option<Needed> {
    let is_due = |order: &&Order| order_under_way(node, now).is_none() && now < order.start_by;
    let order = node.unstored_order().filter(is_due)?;
    let kind = orders::kind(order);
    let attempt = node.status.attempts.as_slice().last().filter(|_| matches!(order.task, Task::Rung(_))).cloned();
    Some((Step::Order(Box::new(NewOrder { order: order.clone(), attempt })), kind, Execution::Ordered))
}

/// What the stage needs and the observations do not show.
fn needed(state: &State, node: &Node, waiting_on: WaitingOn, now: Timestamp) -> Vec<Needed> {
    let execution = |kind: ActionKind| permit(state, node, kind).standing();
    match node.status.stage {
        Stage::Quarantined | Stage::Repairing | Stage::Qualifying => cordon(state, node).into_iter().collect(),
        Stage::Draining => cordon(state, node).into_iter().chain(leave(state, node, now)).collect(),
        Stage::Suspect if matches!(waiting_on, WaitingOn::Mode | WaitingOn::Approval) => {
            vec![(Step::Cordon, ActionKind::Cordon, execution(ActionKind::Cordon))]
        }
        Stage::Suspect if node.is_to_avoid && !node.is_avoided() => {
            vec![(Step::Avoid, ActionKind::Cordon, execution(ActionKind::Cordon))]
        }
        Stage::InService | Stage::Suspect => {
            let back = |step: Step| (step, ActionKind::Return, execution(ActionKind::Return));
            let uncordon = node.status.stage == Stage::InService && node.schedulable() == Schedulable::NotByUs;
            let end_avoid = node.is_avoided() && !node.is_to_avoid;
            let steps = [uncordon.then_some(Step::Uncordon), end_avoid.then_some(Step::EndAvoid)];
            steps.into_iter().flatten().map(back).collect()
        }
        Stage::Bootstrapping => Vec::new(),
        Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => Vec::new(),
    }
}

fn cordon(state: &State, node: &Node) -> Option<Needed> {
    let execution = permit(state, node, ActionKind::Cordon).standing();
    let may_cordon = lacks_taint(node) && keeps_budget(state, node);
    may_cordon.then_some((Step::Cordon, ActionKind::Cordon, execution))
}

/// Whether a node that Mainstay removed still gets jobs, or gets them again.
pub(super) fn lacks_cordon(node: &Node) -> bool {
    node.status.stage.is_treated() && node.status.cause.is_some() && node.schedulable() == Schedulable::Yes
}

/// Whether a node that Mainstay treats has no quarantine taint of Mainstay. A cordon of others can end at any time, so it
/// protects no order. A node that others returned to service during planned work is not removed again.
fn lacks_taint(node: &Node) -> bool {
    node.status.stage.is_treated()
        && match node.schedulable() {
            Schedulable::Yes => node.status.cause.is_some(),
            // Without a cause there is nothing to repair, only a test.
            Schedulable::NotByOthers => node.status.cause.is_some() || node.status.stage == Stage::Qualifying,
            Schedulable::NotByUs => false,
        }
}

/// Whether the budgets are kept with the node out of service. Other nodes may have used them since the decision.
pub(crate) fn keeps_budget(state: &State, node: &Node) -> bool {
    let ledger = if node.is_out_anyway() { Ledger::Ours } else { Ledger::Real };
    !state.is_on(Guard::Budget) || state.counts.arbiter.domains.holds(state.policy(node), &node.membership, ledger)
}

/// Checkpoint requests and evictions for the gangs on a node that is being drained. The pods of a machine that does not
/// answer are released once it is off.
fn leave(state: &State, node: &Node, now: Timestamp) -> Vec<Needed> {
    let off = match view::machine(state, node, now) {
        _ if node.gangs.is_empty() => return Vec::new(),
        Machine::Answers => None,
        // Its pods would not stop, and it may still run them.
        Machine::Silent => return Vec::new(),
        Machine::Dead => Some((Step::PowerOff, ActionKind::PowerCycle)),
        Machine::Off => Some((Step::ReleasePods, ActionKind::Drain)),
    };
    if let Some((step, kind)) = off {
        return vec![(step, kind, permit(state, node, kind).standing())];
    }
    let execution = permit(state, node, ActionKind::Drain).standing();
    let act = |id: &GangId| match drain::step(state, node, id, now) {
        GangStep::Ask { answer_by } => {
            let drain = node.status.since;
            Some(Step::AskCheckpoint { gang: id.clone(), drain, urgency: urgency(node), answer_by })
        }
        GangStep::AwaitAnswer { .. } | GangStep::AwaitCheckpoint { .. } => None,
        GangStep::Stop => Some(Step::Stop { gang: id.clone() }),
    };
    let gangs = node.gangs.iter().filter(|id| drain::acts_for(state, node, id, now));
    gangs.filter_map(|id| act(id)).map(|act| (act, ActionKind::Drain, execution)).collect()
}

fn effect(state: &State, node: &Node, (step, kind, execution): Needed, now: Timestamp) -> Effect {
    let recorded = node.stored.as_ref().map_or(Stage::InService, |stored| stored.stage);
    let uid = node.facts.as_ref().map(|facts| facts.uid.clone());
    let cause = node.status.cause.as_ref().map(|cause| cause.rule.clone());
    let last = node.status.history.as_slice().last().map(|transition| transition.rule.clone());
    let granted = node.status.grant.as_ref().map(|grant| grant.claim.clone());
    let is_store = matches!(step, Step::Store(_));
    let (start_by, done_by, attempt) = match step.order() {
        Some(new) => (new.order.start_by, new.order.done_by, attempts(node, new)),
        None => (now + limits::EFFECT_RETRY, now + limits::EFFECT_RETRY, 1),
    };
    Effect {
        id: action(node, kind),
        claim: granted.or_else(|| (!is_store).then(|| claims::claim(state, node).id)),
        node: node.name.clone(),
        executor: step.executor(),
        attempt,
        step,
        execution,
        expected: Precondition {
            uid: uid.unwrap_or_else(|| NO_UID.get()),
            recorded,
            schedulable: node.schedulable(),
            is_empty: node.gangs.is_empty(),
            request: state.request(node),
        },
        start_by,
        done_by,
        epoch: state.cell.epoch,
        rule: cause.or(last).unwrap_or_else(|| EVIDENCE.get()),
    }
}

/// Which attempt of its repair step in this removal an order is.
fn attempts(node: &Node, new: &NewOrder) -> u32 {
    let Some(this) = &new.attempt else { return 1 };
    let is_same = |one: &&Attempt| one.rung == this.rung && one.ordered_at >= node.removed_at();
    u32::try_from(node.status.attempts.as_slice().iter().filter(is_same).count()).unwrap_or(u32::MAX)
}
