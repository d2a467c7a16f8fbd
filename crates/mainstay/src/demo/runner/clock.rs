//! How much virtual time is due: real time times the speed, in whole virtual seconds, nothing while it is paused.

use std::time::{Duration, Instant};

/// Real time that is made up for at most: a machine that slept does not live through the night in one go.
const BEHIND_MAX: Duration = Duration::from_secs(1);

/// The clock of a demo.
pub(super) struct Clock {
    speed: u32,
    paused: bool,
    asked_at: Instant,
    /// Virtual milliseconds that did not make a whole second yet.
    rest_milliseconds: u128,
}

impl Clock {
    pub(super) const fn new(speed: u32, now: Instant) -> Self {
        Self { speed, paused: false, asked_at: now, rest_milliseconds: 0 }
    }

    pub(super) const fn speed(&self) -> u32 {
        self.speed
    }

    pub(super) const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whole virtual seconds since it was last asked.
    pub(super) fn due(&mut self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.asked_at).min(BEHIND_MAX);
        self.asked_at = now;
        if self.paused {
            return 0;
        }
        let due = self.rest_milliseconds + passed.as_micros() * u128::from(self.speed) / 1_000;
        self.rest_milliseconds = due % 1_000;
        u64::try_from(due / 1_000).unwrap_or(u64::MAX)
    }

    /// What is absent stays.
    pub(super) fn changes(&mut self, paused: Option<bool>, speed: Option<u32>, now: Instant) {
        self.asked_at = now;
        self.paused = paused.unwrap_or(self.paused);
        self.speed = speed.unwrap_or(self.speed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_in_whole_seconds_and_loses_nothing() {
        let began = Instant::now();
        let mut clock = Clock::new(3, began);
        let seconds: Vec<u64> = (1..=20).map(|tick| clock.due(began + Duration::from_millis(tick * 100))).collect();
        assert_eq!(seconds.iter().sum::<u64>(), 6);
        assert_eq!(seconds.iter().max(), Some(&1));
    }

    #[test]
    fn a_pause_and_a_sleep_are_not_made_up_for() {
        let began = Instant::now();
        let mut clock = Clock::new(60, began);
        clock.changes(Some(true), None, began);
        assert_eq!(clock.due(began + Duration::from_secs(9)), 0);
        clock.changes(Some(false), Some(10), began + Duration::from_secs(9));
        assert_eq!(clock.due(began + Duration::from_secs(10)), 10);
        assert_eq!(clock.due(began + Duration::from_secs(100)), 10);
    }
}
