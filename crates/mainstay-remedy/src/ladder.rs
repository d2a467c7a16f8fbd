//! Which rung of a repair comes next. A ladder is climbed once a round; a rung that was tried often enough lately is
//! passed over, because doing the same again is not a repair.

use mainstay_model::{Attempt, Rung, Span, Timestamp};

/// How often one rung may be tried within a window where a pool says nothing else: twice a day.
pub const ATTEMPTS_MAX: u32 = 2;
/// The window that attempts are counted in, where a pool says nothing else.
pub const WINDOW: Span = Span::hours(24);

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Climb {
    /// Try this rung.
    Try(Rung),
    /// Everything was tried: a person has to replace something.
    Exhausted,
}

/// How often a rung may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// So often
    pub attempts_max: u32,
    /// within this time.
    pub window: Span,
}

impl Default for Caps {
    fn default() -> Self {
        Self { attempts_max: ATTEMPTS_MAX, window: WINDOW }
    }
}

/// The next rung of `rungs` in the round that began at `round_at`. Replacing is for people, so it ends the climb.
#[must_use]
pub fn climb(rungs: &[Rung], attempts: &[Attempt], caps: Caps, round_at: Timestamp, now: Timestamp) -> Climb {
    let tried = attempts.iter().filter(|attempt| attempt.ordered_at >= round_at).map(|attempt| attempt.rung).max();
    let often = |rung: Rung| {
        let within = |attempt: &&Attempt| attempt.rung == rung && now.since(attempt.ordered_at) < caps.window;
        u32::try_from(attempts.iter().filter(within).count()).unwrap_or(u32::MAX)
    };
    let next = rungs
        .iter()
        .copied()
        .filter(|rung| tried.is_none_or(|tried| *rung > tried))
        // A capture is worth as much the tenth time; nothing is disturbed by it.
        .find(|rung| *rung == Rung::Capture || often(*rung) < caps.attempts_max);
    match next {
        None | Some(Rung::Replace) => Climb::Exhausted,
        Some(rung) => Climb::Try(rung),
    }
}

#[cfg(test)]
mod tests {
    use mainstay_model::RuleName;

    use super::*;

    const DAY: Timestamp = Timestamp(86_400_000);
    const RUNGS: [Rung; 4] = [Rung::Capture, Rung::ResetGpu, Rung::Reboot, Rung::Replace];

    fn tried(rung: Rung, ordered_at: Timestamp) -> Attempt {
        Attempt { rule: RuleName::parse("r").unwrap(), rung, device: None, ordered_at }
    }

    #[test]
    fn capture_comes_first_and_each_round_climbs() {
        let climb = |attempts: &[Attempt]| climb(&RUNGS, attempts, Caps::default(), DAY, DAY + Span::hours(1));
        assert_eq!(climb(&[]), Climb::Try(Rung::Capture));
        assert_eq!(climb(&[tried(Rung::Capture, DAY)]), Climb::Try(Rung::ResetGpu));
        assert_eq!(climb(&[tried(Rung::ResetGpu, DAY)]), Climb::Try(Rung::Reboot));
        assert_eq!(climb(&[tried(Rung::Reboot, DAY)]), Climb::Exhausted);
    }

    #[test]
    fn a_rung_that_was_tried_twice_today_is_passed_over() {
        let before = DAY - Span::hours(3);
        let twice = [tried(Rung::ResetGpu, before), tried(Rung::ResetGpu, before), tried(Rung::Capture, DAY)];
        assert_eq!(climb(&RUNGS, &twice, Caps::default(), DAY, DAY), Climb::Try(Rung::Reboot));
        let yesterday = DAY - Span::hours(25);
        let old = [tried(Rung::ResetGpu, yesterday), tried(Rung::ResetGpu, yesterday), tried(Rung::Capture, DAY)];
        assert_eq!(climb(&RUNGS, &old, Caps::default(), DAY, DAY), Climb::Try(Rung::ResetGpu));
    }
}
