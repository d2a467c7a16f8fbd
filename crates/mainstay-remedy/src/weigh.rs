//! When to stop a gang on a node that has to be emptied: now, once it has saved as asked, or at its next checkpoint. Each
//! costs GPU time, and the least expected loss is chosen. Starting again costs the same whenever it is stopped, so that
//! is left out.
//!
//! Work goes on while it is waited for, so waiting costs nothing by itself. It costs what the fault may still do: work
//! that hangs already is waited for in vain, and a node that fails meanwhile takes everything since the last checkpoint.

mod cost;

use mainstay_model::{Checkpoints, Contract, Ppm, Span, Timestamp, Urgency};

pub use self::cost::Cost;
use self::cost::{Chance, Ways, expected};
use crate::limits;

/// Work that would be done again where nobody knows when the gang last saved: half of an hour, the usual interval of
/// long runs.
pub const REDONE_ASSUMED: Span = Span::minutes(30);
/// A save takes this long where nobody says: a large model takes minutes.
pub const SAVE_ASSUMED: Span = Span::minutes(2);
/// Without a spare, the gang stands still for this long: what a repair without a new part takes, so that by then a
/// node is back somewhere.
pub const ROOM_EXPECTED: Span = Span::hours(1);
/// Nobody loses more than this, whatever a gang says: people look at a run once a day.
pub const REDONE_MAX: Span = Span::hours(24);
/// Nobody saves more often than this; a shorter interval is a mistake or a lie.
pub const EVERY_MIN: Span = Span::minutes(1);
/// A longer interval than this is never waited for anyway.
pub const EVERY_MAX: Span = Span::hours(24);
/// The shortest and the longest save that is believed.
pub const SAVE_MIN: Span = Span::seconds(1);
/// See [`SAVE_MIN`].
pub const SAVE_MAX: Span = Span::hours(1);
/// The most GPUs of a gang: the most nodes it may name, with the most GPUs that a node carries.
pub const GPUS_MAX: u32 = 16_384 * 16;
/// An interval is reckoned from the last checkpoint that we were told of, and steps are not of equal length: a
/// checkpoint is taken as there only after this share of the interval, and the save itself.
const LATE: Ppm = Ppm(50_000);

/// What a fault may still do to work that has not stopped. The numbers are ours: nobody publishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hazard {
    /// How likely it is that the work hangs already and has not noticed.
    pub hung: Ppm,
    /// How likely the node fails for good within an hour.
    pub per_hour: Ppm,
}

/// The hazard of a fault, by how urgent it is.
#[must_use]
pub const fn hazard(urgency: Urgency) -> Hazard {
    match urgency {
        Urgency::Now => Hazard { hung: Ppm::ONE, per_hour: Ppm::ONE },
        // Nobody calls the work dead, and about half of it is.
        Urgency::Minutes => Hazard { hung: Ppm(500_000), per_hour: Ppm(200_000) },
        // Nothing is broken yet; a node like that fails about as often as one that relapses, within weeks.
        Urgency::NextCheckpoint => Hazard { hung: Ppm(10_000), per_hour: Ppm(5_000) },
    }
}

/// Whether a node is free that the gang could go on with at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spare {
    /// One is.
    There,
    /// None is: it stands still until there is room.
    None,
}

/// What is weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The present.
    pub now: Timestamp,
    /// How urgent the fault is.
    pub urgency: Urgency,
    /// What the fault may still do.
    pub hazard: Hazard,
    /// GPUs of the gang.
    pub gpus: u32,
    /// What it promises about saving.
    pub contract: Contract,
    /// What is known of its checkpoints.
    pub checkpoints: Checkpoints,
    /// Whether it could go on elsewhere.
    pub spare: Spare,
    /// Since when the node is being emptied: nobody waits longer than its urgency allows from then on.
    pub since: Timestamp,
}

/// When a gang is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// At once.
    Now,
    /// When it has saved as asked, or has not answered by then.
    AskAndWait {
        /// By when.
        until: Timestamp,
    },
    /// When it has taken a checkpoint of its own.
    AtCheckpoint {
        /// When that is there.
        until: Timestamp,
    },
}

/// A plan, and what each way would have cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weighed {
    /// What is chosen.
    pub plan: Plan,
    /// What stopping it now would cost.
    pub now: Cost,
    /// What asking it would cost; none where it does not answer.
    pub ask: Option<Cost>,
    /// What waiting for a checkpoint of its own would cost; none where no checkpoint comes in time.
    pub at_checkpoint: Option<Cost>,
}

/// Weighs. Where the fault leaves no time, nothing is. Of two ways that cost the same the later one is chosen: each ends
/// within its bound, and until then work goes on.
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

/// What is done where nothing is weighed: whoever answers is asked, and nobody else is waited for.
#[must_use]
pub fn unweighed(case: &Case) -> Plan {
    match (case.urgency, case.contract) {
        (Urgency::Minutes | Urgency::NextCheckpoint, Contract::OnRequest) => {
            Plan::AskAndWait { until: case.now + limits::answer_within(case.urgency) }
        }
        (Urgency::Now, _) | (_, Contract::None | Contract::OnStop { .. }) => Plan::Now,
    }
}

/// Until when the answer of a gang that is asked now is waited for: as long as the urgency allows from the beginning of
/// the drain, and never less than it takes to answer.
fn answer_by(case: &Case) -> Timestamp {
    let latest = case.now + limits::answer_within(case.urgency);
    let bound = case.since + limits::answer_within(case.urgency);
    bound.max(case.now + limits::ANSWER_LEAST).min(latest)
}

/// What is known of a gang's checkpoints or assumed, within bounds. In milliseconds.
struct Known {
    /// Work since the last checkpoint that is taken as there.
    redone: u64,
    /// How long a save takes.
    save: u64,
    /// The next checkpoint that is taken as there, from now on; the interval; and work since it when it is.
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
        // A checkpoint that is said to come is reckoned from then on: as time goes by nothing changes.
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

    /// When the checkpoint is there that is worth waiting for, from now on: the next one; without a spare the last one
    /// that comes in time, because whoever is stopped stands still.
    fn checkpoint(&self, case: &Case) -> Option<u64> {
        let answers = if case.contract == Contract::OnRequest { limits::ANSWER_LEAST } else { Span::ZERO };
        let bound = case.since + limits::answer_within(case.urgency) - answers;
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
        // Whoever answers is asked then, and would be waited for once more.
        let asked = if case.contract == Contract::OnRequest { limits::ANSWER_LEAST.0 } else { 0 };
        let vain = (after + asked).min(limits::WATCHDOG.0);
        // Until the next checkpoint everything since the last one is at stake, then half an interval on average.
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
