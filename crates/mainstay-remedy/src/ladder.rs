//! The next step of a repair plan. A plan runs once per removal. A step that was tried too often recently is skipped,
//! because repeating it is not a repair.

use mainstay_model::{ATTEMPTS_KEPT, Attempt, RepairStep, Span, Timestamp};

/// Default limit of attempts per step within a window: twice a day.
pub const ATTEMPTS_MAX: u32 = 2;
/// Default window in which attempts are counted.
pub const WINDOW: Span = Span::hours(24);

/// The next step of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Climb {
    /// Try this step.
    Try(RepairStep),
    /// All steps were tried: a technician has to replace a part.
    Exhausted,
}

/// Limit of attempts per step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Maximum number of attempts within the window.
    pub attempts_max: u32,
    /// Length of the window.
    pub window: Span,
}

impl Default for Caps {
    fn default() -> Self {
        Self { attempts_max: ATTEMPTS_MAX, window: WINDOW }
    }
}

/// Returns the next step of `rungs` in the repair that began at `round_at`. A replacement needs a technician, so it
/// ends the plan.
#[must_use]
pub fn climb(rungs: &[RepairStep], attempts: &[Attempt], caps: Caps, round_at: Timestamp, now: Timestamp) -> Climb {
    let tried = attempts.iter().filter(|attempt| attempt.ordered_at >= round_at).map(|attempt| attempt.rung).max();
    let often = |rung: RepairStep| {
        let within = |attempt: &&Attempt| attempt.rung == rung && now.since(attempt.ordered_at) < caps.window;
        u32::try_from(attempts.iter().filter(within).count()).unwrap_or(u32::MAX)
    };
    let recent = attempts.iter().filter(|attempt| now.since(attempt.ordered_at) < caps.window).count();
    if recent >= ATTEMPTS_KEPT {
        // A further attempt would push one out that still counts.
        return Climb::Exhausted;
    }
    let next = rungs
        .iter()
        .copied()
        .filter(|rung| tried.is_none_or(|tried| *rung > tried))
        // A capture is always useful and disturbs nothing, so it has no limit.
        .find(|rung| *rung == RepairStep::Capture || often(*rung) < caps.attempts_max);
    match next {
        None | Some(RepairStep::Replace) => Climb::Exhausted,
        Some(rung) => Climb::Try(rung),
    }
}

#[cfg(test)]
mod tests {
    use mainstay_model::RuleName;

    use super::*;

    const DAY: Timestamp = Timestamp(86_400_000);
    const RUNGS: [RepairStep; 4] = [RepairStep::Capture, RepairStep::ResetGpu, RepairStep::Reboot, RepairStep::Replace];

    fn tried(rung: RepairStep, ordered_at: Timestamp) -> Attempt {
        Attempt { rule: RuleName::parse("r").unwrap(), rung, device: None, ordered_at }
    }

    #[test]
    fn capture_comes_first_and_each_round_climbs() {
        let climb = |attempts: &[Attempt]| climb(&RUNGS, attempts, Caps::default(), DAY, DAY + Span::hours(1));
        assert_eq!(climb(&[]), Climb::Try(RepairStep::Capture));
        assert_eq!(climb(&[tried(RepairStep::Capture, DAY)]), Climb::Try(RepairStep::ResetGpu));
        assert_eq!(climb(&[tried(RepairStep::ResetGpu, DAY)]), Climb::Try(RepairStep::Reboot));
        assert_eq!(climb(&[tried(RepairStep::Reboot, DAY)]), Climb::Exhausted);
    }

    #[test]
    fn a_rung_that_was_tried_twice_today_is_passed_over() {
        let before = DAY - Span::hours(3);
        let twice =
            [tried(RepairStep::ResetGpu, before), tried(RepairStep::ResetGpu, before), tried(RepairStep::Capture, DAY)];
        assert_eq!(climb(&RUNGS, &twice, Caps::default(), DAY, DAY), Climb::Try(RepairStep::Reboot));
        let yesterday = DAY - Span::hours(25);
        let old = [
            tried(RepairStep::ResetGpu, yesterday),
            tried(RepairStep::ResetGpu, yesterday),
            tried(RepairStep::Capture, DAY),
        ];
        assert_eq!(climb(&RUNGS, &old, Caps::default(), DAY, DAY), Climb::Try(RepairStep::ResetGpu));
    }

    #[test]
    fn a_full_list_of_recent_attempts_ends_the_plan() {
        let caps = Caps { attempts_max: 16, window: WINDOW };
        let attempts = |at| vec![tried(RepairStep::Capture, at); ATTEMPTS_KEPT];
        assert_eq!(climb(&RUNGS, &attempts(DAY), caps, DAY, DAY), Climb::Exhausted);
        assert_eq!(climb(&RUNGS, &attempts(DAY)[1..], caps, DAY, DAY), Climb::Try(RepairStep::ResetGpu));
        let before = DAY - WINDOW;
        assert_eq!(climb(&RUNGS, &attempts(before), caps, DAY, DAY), Climb::Try(RepairStep::Capture));
    }
}
