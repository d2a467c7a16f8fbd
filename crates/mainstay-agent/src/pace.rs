//! When a report is worth writing: the first of its kind at once, repeats after 1, 2, 4 … 60 seconds, and a sign of life
//! every five minutes. A storm on one node becomes a few updates of one object.

use std::time::Duration;

use mainstay_signal::Noted;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
const SIGN_OF_LIFE: Duration = Duration::from_secs(300);

/// When the next report is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    wait: Duration,
    written_at: Instant,
    due_at: Instant,
    /// Up to a tenth of the sign of life, so that a fleet that was started at once does not write at once.
    jitter: Duration,
}

// === impl Pace ===

impl Pace {
    /// Due now; the seed tells one node from the next.
    pub(crate) fn new(now: Instant, seed: &str) -> Self {
        let hash = seed.bytes().fold(5381_u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(byte));
        Self { wait: FIRST, written_at: now, due_at: now, jitter: Duration::from_millis(hash % 30_000) }
    }

    /// Something was counted.
    pub(crate) fn noted(&mut self, noted: Noted, now: Instant) {
        let due_at = match noted {
            // A first one waits only for the last report to be a second old: the store is not written more often.
            Noted::New => (self.written_at + FIRST).max(now).min(self.due_at),
            Noted::Repeat | Noted::Overflow => self.written_at + self.wait,
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
        self.due_at = now + SIGN_OF_LIFE + self.jitter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_becomes_a_few_reports_and_something_new_is_told_at_once() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin, "r12n04");
        pace.written(begin);
        let mut written = Vec::new();
        for tenth in 0..6_000_u32 {
            let now = begin + Duration::from_millis(100) * tenth;
            pace.noted(Noted::Repeat, now);
            if pace.is_due(now) {
                pace.written(now);
                written.push(tenth / 10);
            }
        }
        assert!(written.len() <= 16 && written.starts_with(&[2, 6, 14, 30]), "{written:?}");
        let now = begin + Duration::from_secs(601);
        pace.noted(Noted::New, now);
        assert!(pace.is_due(now + FIRST));
    }

    #[test]
    fn a_calm_node_gives_a_sign_of_life() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin, "r12n04");
        assert!(pace.is_due(begin));
        pace.written(begin);
        assert!(!pace.is_due(begin + Duration::from_secs(299)));
        assert!(pace.is_due(begin + Duration::from_secs(330)));
    }
}
