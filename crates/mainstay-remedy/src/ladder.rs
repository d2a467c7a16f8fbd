//! The next step of a repair plan. A plan runs once per removal. A step that was tried too often recently is skipped,
//! because repeating it is not a repair.

use mainstay_model::{ATTEMPTS_KEPT, Attempt, RepairStep, Serial, Span, Timestamp};

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

/// The repair plan for one cause.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The steps, in order.
    pub steps: &'a [RepairStep],
    /// The faulty part; the whole node if absent.
    pub device: Option<&'a Serial>,
    /// Start of the repair.
    pub since: Timestamp,
    /// Start of the last tests of this repair; absent if none were ordered.
    pub tested_at: Option<Timestamp>,
}

/// Returns the next step of a plan. Steps for other parts do not count as tried, except those that concern the whole
/// machine. Even these do not count if tests followed: the fault of this part appeared after them. A replacement needs a
/// technician, so it ends the plan.
#[must_use]
pub fn climb(plan: &Plan<'_>, attempts: &[Attempt], caps: Caps, now: Timestamp) -> Climb {
    let concerns = |attempt: &&Attempt| match attempt.rung {
        RepairStep::RestartService | RepairStep::ResetGpu => attempt.device.as_ref() == plan.device,
        RepairStep::Reboot | RepairStep::PowerCycle => {
            attempt.device.as_ref() == plan.device || plan.tested_at.is_none_or(|tests| attempt.ordered_at >= tests)
        }
        RepairStep::Capture | RepairStep::Replace => true,
    };
    let of_plan = attempts.iter().filter(|attempt| attempt.ordered_at >= plan.since).filter(concerns);
    let tried = of_plan.map(|attempt| attempt.rung).max();
    let often = |rung: RepairStep| {
        let within = |attempt: &&Attempt| attempt.rung == rung && now.since(attempt.ordered_at) < caps.window;
        u32::try_from(attempts.iter().filter(within).count()).unwrap_or(u32::MAX)
    };
    let recent = attempts.iter().filter(|attempt| now.since(attempt.ordered_at) < caps.window).count();
    if recent >= ATTEMPTS_KEPT {
        // A further attempt would push one out that still counts.
        return Climb::Exhausted;
    }
    let next = plan
        .steps
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

    const PLAN: Plan<'_> = Plan { steps: &RUNGS, device: None, since: DAY, tested_at: None };

    fn tried(rung: RepairStep, ordered_at: Timestamp) -> Attempt {
        Attempt { rule: RuleName::parse("r").unwrap(), rung, device: None, ordered_at }
    }

    #[test]
    fn capture_comes_first_and_each_round_climbs() {
        let climb = |attempts: &[Attempt]| climb(&PLAN, attempts, Caps::default(), DAY + Span::hours(1));
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
        assert_eq!(climb(&PLAN, &twice, Caps::default(), DAY), Climb::Try(RepairStep::Reboot));
        let yesterday = DAY - WINDOW;
        let old = [
            tried(RepairStep::ResetGpu, yesterday),
            tried(RepairStep::ResetGpu, yesterday),
            tried(RepairStep::Capture, DAY),
        ];
        assert_eq!(climb(&PLAN, &old, Caps::default(), DAY), Climb::Try(RepairStep::ResetGpu));
    }

    #[test]
    fn each_part_has_its_own_plan_and_a_reboot_treats_all() {
        let part = |name: &str| Some(Serial::parse(name).unwrap());
        let of = |rung, device| Attempt { device, ..tried(rung, DAY) };
        let (first, second) = (part("G1"), part("G2"));
        let next = |attempts: &[Attempt]| {
            climb(&Plan { device: second.as_ref(), ..PLAN }, attempts, Caps::default(), DAY + Span::hours(1))
        };
        let other = [of(RepairStep::Capture, first.clone()), of(RepairStep::ResetGpu, first.clone())];
        assert_eq!(next(&other), Climb::Try(RepairStep::ResetGpu));
        assert_eq!(next(&[of(RepairStep::ResetGpu, second.clone())]), Climb::Try(RepairStep::Reboot));
        assert_eq!(next(&[of(RepairStep::Reboot, first)]), Climb::Exhausted);
    }

    #[test]
    fn a_reboot_for_another_part_counts_until_tests_follow_it() {
        let part = |name: &str| Some(Serial::parse(name).unwrap());
        let (first, second) = (part("G1"), part("G2"));
        let reboot = |device| [Attempt { device, ..tried(RepairStep::Reboot, DAY) }];
        let next = |attempts: &[Attempt], tested_at| {
            let plan = Plan { device: second.as_ref(), tested_at, ..PLAN };
            climb(&plan, attempts, Caps::default(), DAY + Span::hours(1))
        };
        let tests = DAY + Span::minutes(10);
        assert_eq!(next(&reboot(first.clone()), Some(DAY)), Climb::Exhausted);
        assert_eq!(next(&reboot(first), Some(tests)), Climb::Try(RepairStep::Capture));
        assert_eq!(next(&reboot(second.clone()), Some(tests)), Climb::Exhausted);
    }

    #[test]
    fn a_full_list_of_recent_attempts_ends_the_plan() {
        let caps = Caps { attempts_max: 16, window: WINDOW };
        let attempts = |at| vec![tried(RepairStep::Capture, at); ATTEMPTS_KEPT];
        assert_eq!(climb(&PLAN, &attempts(DAY), caps, DAY), Climb::Exhausted);
        assert_eq!(climb(&PLAN, &attempts(DAY)[1..], caps, DAY), Climb::Try(RepairStep::ResetGpu));
        let before = DAY - WINDOW;
        assert_eq!(climb(&PLAN, &attempts(before), caps, DAY), Climb::Try(RepairStep::Capture));
    }
}
