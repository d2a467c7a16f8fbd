//! Drain cost model: when to stop a gang on a node that has to be drained. The options are now, after a requested
//! checkpoint, or at the gang's own next checkpoint. Each costs GPU time, and the option with the lowest expected loss
//! is chosen. A restart costs the same in every case, so it is left out.
//!
//! Jobs continue during a wait, so waiting itself costs nothing. The cost is what the fault may still cause. Waiting
//! for a hung job is wasted, and a node that fails meanwhile loses all work since the last checkpoint.

mod cost;

use mainstay_model::{Checkpoints, Contract, Hazard, Ppm, Span, Timestamp, Urgency};

pub use self::cost::Cost;
use self::cost::{Chance, Ways, expected};
use crate::limits;

/// Lost work if the last checkpoint is unknown: half of an hour, the usual interval of long runs.
pub const REDONE_ASSUMED: Span = Span::minutes(30);
/// Duration of a checkpoint if it is unknown: a large model takes minutes.
pub const SAVE_ASSUMED: Span = Span::minutes(2);
/// Expected time that the gang stops without a spare node: the duration of a repair without a new part, after which
/// some node is back.
pub const ROOM_EXPECTED: Span = Span::hours(1);
/// Maximum lost work, whatever a gang reports: operators look at a run once a day.
pub const REDONE_MAX: Span = Span::hours(24);
/// Minimum checkpoint interval; a shorter one is an error in the report.
pub const EVERY_MIN: Span = Span::minutes(1);
/// Maximum checkpoint interval; the engine never waits for a longer one.
pub const EVERY_MAX: Span = Span::hours(24);
/// Minimum duration of a checkpoint that is accepted as plausible.
pub const SAVE_MIN: Span = Span::seconds(1);
/// Maximum duration of a checkpoint that is accepted as plausible.
pub const SAVE_MAX: Span = Span::hours(1);
/// Maximum number of GPUs of a gang: the maximum number of its nodes times the maximum number of GPUs per node.
pub const GPUS_MAX: u32 = 16_384 * 16;
/// Margin for the next checkpoint, as a share of the interval. The time of a checkpoint is computed from the last
/// reported one, and steps differ in length. It counts as complete only after this margin and its own duration.
const LATE: Ppm = Ppm(50_000);

/// Whether a free node is available on which the gang could continue immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spare {
    /// A spare node is free.
    There,
    /// No spare node is free: the gang stops until there is room.
    None,
}

/// Inputs of the drain cost model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The current time.
    pub now: Timestamp,
    /// Urgency of the fault.
    pub urgency: Urgency,
    /// What the fault may still cause.
    pub hazard: Hazard,
    /// Longest time for the answer of a gang.
    pub answer_within: Span,
    /// Shortest time for the answer of a gang.
    pub answer_min: Span,
    /// Number of GPUs of the gang.
    pub gpus: u32,
    /// Checkpoint contract of the gang.
    pub contract: Contract,
    /// The gang's own checkpoints.
    pub checkpoints: Checkpoints,
    /// Whether the gang could continue on another node.
    pub spare: Spare,
    /// Start of the drain: the total wait is limited by the urgency from then on.
    pub since: Timestamp,
}

/// When a gang is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// The gang is stopped immediately.
    Now,
    /// The gang is stopped after a requested checkpoint, or at the deadline.
    AskAndWait {
        /// Deadline for the answer.
        until: Timestamp,
    },
    /// The gang is stopped after its own next checkpoint.
    AtCheckpoint {
        /// Time at which that checkpoint is complete.
        until: Timestamp,
    },
}

/// A plan, with the expected cost of each option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weighed {
    /// The chosen option.
    pub plan: Plan,
    /// Expected cost of stopping the gang now.
    pub now: Cost,
    /// Expected cost of a requested checkpoint; `None` if the gang does not save on request.
    pub ask: Option<Cost>,
    /// Expected cost of waiting for the gang's own checkpoint; `None` if none comes in time.
    pub at_checkpoint: Option<Cost>,
}

/// Computes the plan. If the fault leaves no time, the gang is stopped immediately. Of two options with the same cost
/// the later one is chosen, because each ends within its limit and jobs continue until then.
#[must_use]
pub fn weigh(case: &Case) -> Weighed {
    let known = Known::of(case);
    let now = known.stopped_now(case);
    if case.urgency == Urgency::Now {
        return Weighed { plan: Plan::Now, now, ask: None, at_checkpoint: None };
    }
    let ask = (case.contract == Contract::OnRequest).then(|| {
        let until = answer_by(case);
        (Plan::AskAndWait { until }, known.asked(case, until))
    });
    let own = known.checkpoint(case).map(|after| {
        let until = case.now + Span(after);
        (Plan::AtCheckpoint { until }, known.waited(case, after))
    });
    let ways = [own, ask, Some((Plan::Now, now))];
    let least = ways.into_iter().flatten().min_by_key(|(_, cost)| *cost);
    let plan = least.map_or(Plan::Now, |(plan, _)| plan);
    Weighed { plan, now, ask: ask.map(|(_, cost)| cost), at_checkpoint: own.map(|(_, cost)| cost) }
}

/// Returns the plan without the cost model: request a checkpoint from a gang that answers, and wait for no other gang.
#[must_use]
pub fn unweighed(case: &Case) -> Plan {
    match (case.urgency, case.contract) {
        (Urgency::Minutes | Urgency::NextCheckpoint, Contract::OnRequest) => {
            Plan::AskAndWait { until: case.now + case.answer_within }
        }
        (Urgency::Now, _) | (_, Contract::None | Contract::OnStop { .. }) => Plan::Now,
    }
}

/// Returns the deadline for the answer of a gang: as long as the urgency allows from the start of the drain, and never
/// less than the time needed for an answer.
fn answer_by(case: &Case) -> Timestamp {
    let latest = case.now + case.answer_within;
    let bound = case.since + case.answer_within;
    bound.max(case.now + case.answer_min).min(latest)
}

/// Known or assumed checkpoints of a gang, within limits. In milliseconds.
struct Known {
    /// Work since the last checkpoint that counts as complete.
    redone: u64,
    /// Duration of a checkpoint.
    save: u64,
    /// Time until the next checkpoint that counts as complete; the interval; and the work since that checkpoint then.
    next: Option<(u64, u64)>,
    late: u64,
}

impl Known {
    fn of(case: &Case) -> Self {
        let Checkpoints { last, every, save } = case.checkpoints;
        let promised = match case.contract {
            Contract::OnStop { within } => Some(within),
            Contract::OnRequest | Contract::None => None,
        };
        let save = save.or(promised).unwrap_or(SAVE_ASSUMED).clamp(SAVE_MIN, SAVE_MAX).0;
        let every = every.map(|every| every.clamp(EVERY_MIN, EVERY_MAX).0);
        let late = save + every.map_or(0, |every| LATE.of(every));
        let age = last.map(|last| case.now.since(last).0);
        // A reported next checkpoint is used as given, so that the result does not change as time passes.
        let ahead = last.map_or(0, |last| last.since(case.now).0);
        let (redone, next) = match (age, every) {
            (Some(age), Some(every)) => {
                let taken = age.saturating_sub(late) / every;
                let redone = age - taken * every;
                (redone, Some(((every + late).saturating_sub(redone).saturating_add(ahead), every)))
            }
            (Some(age), None) => (age, None),
            (None, Some(every)) => (every / 2, None),
            (None, None) => (REDONE_ASSUMED.0, None),
        };
        Self { redone: redone.min(REDONE_MAX.0), save, next, late }
    }

    /// Returns the time until the checkpoint that is worth waiting for: the next one. Without a spare node it is the
    /// last one that comes in time, because a stopped gang cannot continue.
    fn checkpoint(&self, case: &Case) -> Option<u64> {
        let answers = if case.contract == Contract::OnRequest { case.answer_min } else { Span::ZERO };
        let bound = case.since + case.answer_within - answers;
        let left = bound.since(case.now).0;
        let (next, every) = self.next.filter(|(next, _)| *next <= left)?;
        Some(match case.spare {
            Spare::There => next,
            Spare::None => next + (left - next) / every * every,
        })
    }

    fn stopped_now(&self, case: &Case) -> Cost {
        let saves = matches!(case.contract, Contract::OnStop { .. });
        let goes_on = if saves { self.save } else { self.redone };
        let ways = Ways { hung: self.redone, fails: 0, goes_on };
        expected(case, Chance::within(case.hazard, 0), ways.standing(case.spare, 0))
    }

    fn asked(&self, case: &Case, until: Timestamp) -> Cost {
        let vain = until.since(case.now).0.min(limits::WATCHDOG.0);
        let fails = self.redone + self.save / 2 + limits::WATCHDOG.0;
        let ways = Ways { hung: self.redone + vain, fails, goes_on: self.save };
        expected(case, Chance::within(case.hazard, self.save), ways.standing(case.spare, self.save))
    }

    fn waited(&self, case: &Case, after: u64) -> Cost {
        let (first, every) = self.next.unwrap_or_default();
        // A gang that saves on request gets a request then, and would need another wait.
        let asked = if case.contract == Contract::OnRequest { case.answer_min.0 } else { 0 };
        let vain = (after + asked).min(limits::WATCHDOG.0);
        // Until the next checkpoint all work since the last one is exposed; after it, half an interval on average.
        let later = after.saturating_sub(first);
        let at_stake = first * (self.redone + first / 2) + later * (self.late + every / 2);
        let fails = at_stake / after.max(1) + limits::WATCHDOG.0;
        let goes_on = match case.contract {
            Contract::None => self.late,
            Contract::OnStop { .. } => self.save,
            Contract::OnRequest => self.save.min(self.late),
        };
        let ways = Ways { hung: self.redone + vain, fails, goes_on };
        expected(case, Chance::within(case.hazard, after), ways.standing(case.spare, after))
    }
}

#[cfg(test)]
mod tests;
