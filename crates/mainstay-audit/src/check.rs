//! The checks of the invariants, one function each: from the auditor's state and the decision to its violations. The
//! checks change nothing. For dry-run and proposed effects they check the number only.

mod bounds;
mod breaker;
mod budget;
mod counts;
mod fence;
mod forget;
mod gang;
mod grant;
mod health;
mod hold;
mod intent;
mod mode;
mod order;
mod power;
mod qualification;
mod work;

use mainstay_model::{Decision, Effect, Execution, NewOrder, Step, Timestamp};

use crate::state::{Node, Record, Registration, State};
use crate::{Invariant, Violation};

pub use bounds::{EFFECTS_MAX, LINES_MAX};
pub use fence::VIEW_AGE_MAX;

/// One effect that is to be executed now, with the auditor's state of its node.
#[derive(Debug)]
struct OrderedEffect<'a> {
    effect: &'a Effect,
    node: Option<&'a Node>,
}

/// One decision under audit, with the auditor's state.
#[derive(Debug)]
pub(crate) struct AuditContext<'a> {
    picture: &'a State,
    decision: &'a Decision,
    ordered: Vec<OrderedEffect<'a>>,
    now: Timestamp,
}

// === impl AuditContext ===

impl<'a> AuditContext<'a> {
    pub(crate) fn new(picture: &'a State, decision: &'a Decision, now: Timestamp) -> Self {
        let carried_out = decision.effects.iter().filter(|effect| effect.execution == Execution::Ordered);
        let ordered = carried_out.map(|effect| OrderedEffect { effect, node: picture.node(&effect.node) }).collect();
        Self { picture, decision, ordered, now }
    }

    /// Finds all violations of one invariant.
    pub(crate) fn violations(&self, invariant: Invariant) -> Vec<Violation> {
        let each = |check: fn(&Self, &OrderedEffect<'_>) -> Option<String>| {
            let broken = |ordered: &OrderedEffect<'_>| {
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
            Invariant::EmptyBeforeOrder => each(order::ordered_under_work),
            Invariant::CountsKept => counts::lost(self),
            Invariant::Granted => each(grant::ungranted),
            Invariant::FloorKept => budget::below_floor(self),
            Invariant::RateKept => grant::too_fast(self),
            Invariant::GangDisturbedOnce => gang::disturbed_again(self),
            Invariant::AttemptsCapped => each(order::too_often),
            Invariant::QuarantinedBeforeOrder => each(order::not_quarantined),
            Invariant::BreakerKept => breaker::exceeded(self),
            Invariant::PowerConfirmed => each(power::unconfirmed),
            Invariant::GoneBeforeForgotten => forget::too_early(self),
        }
    }
}

// === impl OrderedEffect ===

impl<'a> OrderedEffect<'a> {
    fn order(&self) -> Option<&'a NewOrder> {
        self.effect.step.order()
    }

    /// Returns the node if it is registered. Only the fence check reports a node that is not.
    fn registered(&self) -> Option<(&'a Node, &'a Registration)> {
        let node = self.node?;
        Some((node, node.registration()?))
    }

    fn record(&self) -> Option<&'a Record> {
        self.node?.record()
    }

    /// Returns whether the effect changes more than Mainstay's own status.
    const fn is_act(&self) -> bool {
        match self.effect.step {
            Step::Store(_) => false,
            Step::Order(_) | Step::Cordon | Step::Uncordon | Step::AskCheckpoint { .. } | Step::Stop { .. } => true,
            Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => true,
        }
    }
}
