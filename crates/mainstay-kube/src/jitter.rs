//! Random numbers for unique identities and retry jitter. No decision depends on them.

use std::time::Duration;

/// Random number generator, seeded from the operating system.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new() -> Self {
        let mut seed = [0; 8];
        // Without entropy all pauses are alike, which is a load and no error; an identity also names its process and time.
        let _ = aws_lc_rs::rand::fill(&mut seed);
        Self(u64::from_le_bytes(seed) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        // The finaliser of SplitMix64, over a counter with its increment.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random duration between half of the pause and all of it, so that clients do not retry together.
    pub(crate) fn around(&mut self, pause: Duration) -> Duration {
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let half = millis / 2;
        Duration::from_millis(half + self.next() % (millis - half + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_between_half_and_all_of_it() {
        let mut chance = Rng::new();
        for _ in 0..1_000 {
            let pause = chance.around(Duration::from_millis(801));
            assert!((400..=801).contains(&pause.as_millis()), "{pause:?}");
        }
        assert_eq!(chance.around(Duration::ZERO), Duration::ZERO);
    }
}
