//! Jitter of waits, so that clients do not call together. No decision depends on it.

use std::time::Duration;

/// Returns a random duration between half of the pause and all of it.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(fastrand::u64(millis / 2..=millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_between_half_and_all_of_it() {
        for _ in 0..1_000 {
            let pause = jittered(Duration::from_millis(801));
            assert!((400..=801).contains(&pause.as_millis()), "{pause:?}");
        }
        assert_eq!(jittered(Duration::ZERO), Duration::ZERO);
    }
}
