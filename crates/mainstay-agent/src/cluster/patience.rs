//! How long to wait before the next try: four times as long each time, up to a minute, and never all agents at once. A server
//! that thousands of agents come back to at once hears each of them four times in the first minute.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
const GROWS: u32 = 4;

/// The wait of one task.
#[derive(Debug)]
pub(super) struct Patience {
    wait: Duration,
    tries: u64,
    chance: RandomState,
}

// === impl Patience ===

impl Patience {
    pub(super) fn new() -> Self {
        Self { wait: FIRST, tries: 0, chance: RandomState::new() }
    }

    /// It went well.
    pub(super) const fn restore(&mut self) {
        self.wait = FIRST;
    }

    /// The next wait: between half and all of what is due, and never less than the server asked for.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        self.tries = self.tries.wrapping_add(1);
        let due = self.wait.as_millis();
        let share = u128::from(self.chance.hash_one(self.tries) % 1_000);
        let wait = due / 2 + due * share / 2_000;
        self.wait = (self.wait * GROWS).min(LONGEST);
        let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(u64::MAX));
        // Who asks for more than a minute is asked again after one.
        asked.map_or(wait, |asked| asked.min(LONGEST) + wait / 4).max(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_minute_and_keep_to_what_the_server_asks() {
        let mut patience = Patience::new();
        let waits: Vec<Duration> = (0..20).map(|_| patience.next(None)).collect();
        assert!(waits[0] >= FIRST / 2 && waits[0] <= FIRST, "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= LONGEST), "{waits:?}");
        assert!(waits[10..].iter().all(|wait| *wait >= LONGEST / 2), "{waits:?}");
        let tries = waits.iter().scan(Duration::ZERO, |at, wait| {
            *at += *wait;
            Some(*at)
        });
        assert!(tries.filter(|at| *at < LONGEST).count() <= 4, "{waits:?}");
        patience.restore();
        assert!(patience.next(Some(Duration::from_secs(7))) >= Duration::from_secs(7));
        assert!(patience.next(Some(Duration::from_hours(9))) <= LONGEST * 2);
    }

    #[test]
    fn two_agents_do_not_come_back_together() {
        let (mut one, mut other) = (Patience::new(), Patience::new());
        let pairs = (0..20).map(|_| (one.next(None), other.next(None)));
        assert!(pairs.filter(|(one, other)| one == other).count() < 10);
    }
}
