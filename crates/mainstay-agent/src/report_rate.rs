//! Decides when the next report is due: new evidence at once, repeats after 1, 2, 4 … 60 seconds, and a heartbeat every
//! five minutes. A storm on one node becomes a few updates of one object.

use std::time::Duration;

use mainstay_signal::TallyOutcome;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
const SIGN_OF_LIFE: Duration = Duration::from_secs(300);
/// The agents of a cluster that start at once begin to talk to it within this time, one after the other. Silence is
/// minded after a quarter of an hour, so there is time.
const START_WITHIN: Duration = Duration::from_secs(90);

/// Time of the next report, with the current delay for repeats and the jitter of this node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportSchedule {
    wait: Duration,
    written_at: Instant,
    due_at: Instant,
    /// Up to a tenth of the sign of life, so that a fleet drifts apart.
    jitter: Duration,
    /// When the first sign of life comes: anywhere within the interval, so that a fleet that was started at once does not
    /// write at once ever after; but not in the first minute, when a server may be short of breath.
    first_sign: Option<Duration>,
}

// === impl ReportSchedule ===

impl ReportSchedule {
    /// Due now.
    pub(crate) fn new(now: Instant) -> Self {
        let (jitter, first_sign) = (up_to(SIGN_OF_LIFE / 10), Some(LONGEST + up_to(SIGN_OF_LIFE - LONGEST)));
        Self { wait: FIRST, written_at: now, due_at: now, jitter, first_sign }
    }

    /// Due soon: many nodes may have been started at once, and only one of them has something new to say. What is new is
    /// still told at once.
    pub(crate) fn among_many(now: Instant) -> Self {
        Self { due_at: now + up_to(START_WITHIN), ..Self::new(now) }
    }

    /// When it is due.
    pub(crate) const fn due_at(&self) -> Instant {
        self.due_at
    }

    /// Something was counted.
    pub(crate) fn noted(&mut self, noted: TallyOutcome, now: Instant) {
        let due_at = match noted {
            // A first one waits only for the last report to be a second old: the store is not written more often.
            TallyOutcome::New => (self.written_at + FIRST).max(now).min(self.due_at),
            TallyOutcome::Repeat | TallyOutcome::Overflow => self.written_at + self.wait,
        };
        self.due_at = self.due_at.min(due_at.max(now));
    }

    /// Whether it is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.due_at
    }

    /// A report was written. Repeats that come soon after wait longer each time; a calm while makes them quick again.
    pub(crate) fn written(&mut self, now: Instant) {
        let calm = now.saturating_duration_since(self.written_at) > LONGEST;
        self.wait = if calm { FIRST } else { (self.wait * 2).min(LONGEST) };
        self.written_at = now;
        self.due_at = now + self.first_sign.take().unwrap_or(SIGN_OF_LIFE + self.jitter);
    }
}

/// A random duration below a limit.
fn up_to(limit: Duration) -> Duration {
    limit.mul_f32(fastrand::f32())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_becomes_a_few_reports_and_something_new_is_told_at_once() {
        let begin = Instant::now();
        let mut pace = ReportSchedule::new(begin);
        pace.written(begin);
        let mut written = Vec::new();
        for tenth in 0..6_000_u32 {
            let now = begin + Duration::from_millis(100) * tenth;
            pace.noted(TallyOutcome::Repeat, now);
            if pace.is_due(now) {
                pace.written(now);
                written.push(tenth / 10);
            }
        }
        assert!(written.len() <= 16 && written.starts_with(&[2, 6, 14, 30]), "{written:?}");
        let now = begin + Duration::from_secs(601);
        pace.noted(TallyOutcome::New, now);
        assert!(pace.is_due(now + FIRST));
    }

    #[test]
    fn a_calm_node_gives_a_sign_of_life() {
        let begin = Instant::now();
        let mut pace = ReportSchedule::new(begin);
        assert!(pace.is_due(begin));
        pace.written(begin);
        assert!(!pace.is_due(begin) && pace.is_due(begin + Duration::from_secs(300)));
        pace.written(begin);
        assert!(!pace.is_due(begin + Duration::from_secs(299)));
        assert!(pace.is_due(begin + Duration::from_secs(330)));
    }

    #[test]
    fn a_fleet_that_starts_at_once_gives_signs_of_life_one_after_the_other() {
        let begin = Instant::now();
        let mut by_minute = [0; 5];
        fastrand::seed(7);
        for _ in 0..1_000 {
            let mut pace = ReportSchedule::among_many(begin);
            assert!(pace.is_due(begin + START_WITHIN));
            pace.noted(TallyOutcome::New, begin);
            assert!(pace.is_due(begin + FIRST), "something new is told at once");
            pace.written(begin);
            let due = pace.due_at().saturating_duration_since(begin).as_secs() / 60;
            by_minute[usize::try_from(due).unwrap()] += 1;
        }
        assert!(by_minute[1..].iter().all(|count| (200..=300).contains(count)), "{by_minute:?}");
    }
}
