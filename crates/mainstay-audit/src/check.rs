//! The checks of the invariants, one function each: from the auditor's state and the decision to its violations. The
//! checks change nothing. For dry-run and proposed effects they check the number only.

mod bounds;
mod budget;
mod counts;
mod fence;
mod health;
mod hold;
mod intent;
mod mode;
mod qualification;
mod work;

use mainstay_model::{Act, Decision, Effect, Order, Standing, Timestamp};

use crate::picture::{Node, Picture, Record, Registration};
use crate::{Invariant, Violation};

pub use bounds::{EFFECTS_MAX, LINES_MAX};
pub use fence::VIEW_AGE_MAX;

/// One effect that is to be executed now, with the auditor's state of its node.
#[derive(Debug)]
struct Ordered<'a> {
    effect: &'a Effect,
    node: Option<&'a Node>,
    /// Orders to the agent that the new status adds.
    orders: Vec<&'a Order>,
}

/// One decision under audit, with the auditor's state.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    picture: &'a Picture,
    decision: &'a Decision,
    ordered: Vec<Ordered<'a>>,
    now: Timestamp,
}

// === impl Scene ===

impl<'a> Scene<'a> {
    pub(crate) fn new(picture: &'a Picture, decision: &'a Decision, now: Timestamp) -> Self {
        let carried_out = decision.effects.iter().filter(|effect| effect.standing == Standing::Ordered);
        let ordered = carried_out.map(|effect| Ordered::new(effect, picture.node(&effect.node))).collect();
        Self { picture, decision, ordered, now }
    }

    /// Finds all violations of one invariant.
    pub(crate) fn violations(&self, invariant: Invariant) -> Vec<Violation> {
        let each = |check: fn(&Self, &Ordered<'_>) -> Option<String>| {
            let broken = |ordered: &Ordered<'_>| {
                let detail = check(self, ordered)?;
                Some(Violation { invariant, node: Some(ordered.effect.node.clone()), detail })
            };
            self.ordered.iter().filter_map(broken).collect()
        };
        match invariant {
            Invariant::BudgetKept => budget::exceeded(self),
            Invariant::CausedAndFenced => each(fence::unfenced),
            Invariant::AskedBeforeStopped => each(work::stopped_unasked),
            Invariant::QualifiedBeforeReturn => each(qualification::returned_unproven),
            Invariant::UnknownIsNotHealthy => health::called_healthy(self),
            Invariant::NothingAboveTheMode => each(mode::above_the_mode),
            Invariant::IntentBeforeAct => each(intent::without_intent),
            Invariant::Bounded => bounds::exceeded(self),
            Invariant::HoldKept => each(hold::not_left_alone),
            Invariant::EmptyBeforeOrder => each(work::ordered_under_work),
            Invariant::CountsKept => counts::lost(self),
        }
    }
}

// === impl Ordered ===

impl<'a> Ordered<'a> {
    fn new(effect: &'a Effect, node: Option<&'a Node>) -> Self {
        let known = node.and_then(Node::record).map_or(&[][..], |record| &record.orders);
        let orders = match &effect.act {
            Act::Record(persisted) => {
                persisted.orders.as_slice().iter().filter(|order| !known.contains(order)).collect()
            }
            Act::Cordon | Act::Uncordon | Act::AskCheckpoint { .. } | Act::Evict { .. } => Vec::new(),
        };
        Self { effect, node, orders }
    }

    /// Returns the node if it is registered. Only the fence check reports a node that is not.
    fn registered(&self) -> Option<(&'a Node, &'a Registration)> {
        let node = self.node?;
        Some((node, node.registration()?))
    }

    fn record(&self) -> Option<&'a Record> {
        self.node?.record()
    }

    /// Returns whether the effect changes more than Mainstay's own status. A status write without a new order does not.
    fn is_act(&self) -> bool {
        match self.effect.act {
            Act::Record(_) => !self.orders.is_empty(),
            Act::Cordon | Act::Uncordon | Act::AskCheckpoint { .. } | Act::Evict { .. } => true,
        }
    }
}
