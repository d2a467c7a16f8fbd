//! Retry delays of one agent towards the API server: each is four times the last, up to one minute, with jitter. All
//! that one agent asks shares it, and a success alone does not end it: a server that takes a report may still be short
//! of breath. So however often a server turns thousands of agents away that come back at once, it hears each five times
//! at most in the first minute: four tries of the one, and the other's first.

#![expect(clippy::disallowed_types, reason = "held for a few lines of arithmetic, and nothing here waits")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_secs(60);

/// Retry delay that all requests of one agent share.
#[derive(Debug, Clone)]
pub(super) struct Backoff(Arc<Mutex<BackoffState>>);

/// The retry delays to come, and the time when they start again with the first.
#[derive(Debug)]
struct BackoffState {
    delays: ExponentialBackoff,
    /// Where nothing fails until then, waits are short again.
    until: Option<Instant>,
}

// === impl Backoff ===

impl Backoff {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(BackoffState { delays: delays(), until: None })))
    }

    /// The wait after a failure, or after a watch that ended, because all of a server's watches may: between half and
    /// all of what is due, and never less than the server asked for.
    pub(super) fn after_failure(&self, asked: Option<Duration>, now: Instant) -> Duration {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.until.is_some_and(|until| now >= until) {
            state.delays = delays();
        }
        let wait = state.delays.next().unwrap_or(LONGEST);
        // Who asks for more than a minute is asked again after one.
        let wait = asked.map_or(wait, |asked| asked.min(LONGEST) + wait / 4).max(wait);
        state.until = Some(now + wait + LONGEST);
        wait
    }
}

/// All retry delays from the first on. The crate adds a random share of up to the whole delay, so half the wait becomes a
/// wait between half and all.
fn delays() -> ExponentialBackoff {
    let delays = ExponentialBuilder::new().with_min_delay(FIRST / 2).with_max_delay(LONGEST / 2);
    delays.with_factor(4.0).without_max_times().with_jitter().build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_minute_and_keep_to_what_the_server_asks() {
        let (patience, now) = (Backoff::new(), Instant::now());
        let waits: Vec<Duration> = (0..20).map(|_| patience.after_failure(None, now)).collect();
        assert!(waits[0] >= FIRST / 2 && waits[0] <= FIRST, "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= LONGEST), "{waits:?}");
        assert!(waits[10..].iter().all(|wait| *wait >= LONGEST / 2), "{waits:?}");
        let patience = Backoff::new();
        assert!(patience.after_failure(Some(Duration::from_secs(7)), now) >= Duration::from_secs(7));
        assert!(patience.after_failure(Some(Duration::from_hours(9)), now) <= LONGEST * 2);
    }

    /// A report, and the watch once it is taken, against every order of yes and no.
    #[test]
    fn however_often_the_server_says_no_it_is_asked_five_times_in_the_first_minute() {
        let begin = Instant::now();
        for answers in 0..1_u32 << 8 {
            let (patience, mut now, mut is_reported, mut asked) = (Backoff::new(), begin, false, 0);
            while now < begin + LONGEST {
                let is_taken = answers >> asked & 1 == 1;
                asked += 1;
                match (is_taken, is_reported) {
                    (true, true) => break,
                    (true, false) => is_reported = true,
                    (false, _) => now += patience.after_failure(None, now),
                }
            }
            assert!(asked <= 5, "{answers:b}: {asked}");
        }
    }

    #[test]
    fn after_a_calm_minute_waits_are_short_again() {
        let (patience, now) = (Backoff::new(), Instant::now());
        let waits: Vec<Duration> = (0..9).map(|_| patience.after_failure(None, now)).collect();
        let soon = now + waits[8] + LONGEST / 2;
        assert!(patience.after_failure(None, soon) > FIRST);
        assert!(patience.after_failure(None, soon + LONGEST * 3) <= FIRST);
    }

    #[test]
    fn two_agents_do_not_come_back_together() {
        let (one, other, now) = (Backoff::new(), Backoff::new(), Instant::now());
        let pairs = (0..20).map(|_| (one.after_failure(None, now), other.after_failure(None, now)));
        assert!(pairs.filter(|(one, other)| one == other).count() < 10);
    }
}
