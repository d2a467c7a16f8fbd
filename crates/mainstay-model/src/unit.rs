//! Numbers with a meaning: they do not mix, and none of them is a float.

use serde::{Deserialize, Serialize};

/// Parts per million: how the brain states shares, rates and risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ppm(pub u32);

/// Which leadership wrote something. It only rises; the API server refuses a write from an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// The place of a report within one boot of one agent's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(pub u64);

impl Ppm {
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// This share of `whole`, rounded down: a budget of 5 % of 19 nodes is 0 nodes, never a generous 1.
    #[must_use]
    pub fn of(self, whole: u64) -> u64 {
        let share = u128::from(whole) * u128::from(self.0) / u128::from(Self::ONE.0);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

impl Epoch {
    /// The epoch of the next leader.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_and_never_overflows() {
        assert_eq!(Ppm(50_000).of(19), 0);
        assert_eq!(Ppm(50_000).of(20), 1);
        assert_eq!(Ppm::ONE.of(u64::MAX), u64::MAX);
        assert_eq!(Ppm(u32::MAX).of(u64::MAX), u64::MAX);
    }
}
