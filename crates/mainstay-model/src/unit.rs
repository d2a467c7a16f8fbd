//! Numeric units as separate types, so that they cannot be mixed. None of them is a float.

use serde::{Deserialize, Serialize};

/// Parts per million: the unit of shares, rates and risk in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ppm(pub u32);

/// Number of a leadership. It only rises; the API server rejects a write with an older epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// Sequence number of a report within one boot of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(pub u64);

impl Ppm {
    /// One million parts per million: the whole.
    pub const ONE: Self = Self(1_000_000);

    /// Returns this share of `whole`, rounded down: a budget of 5 % of 19 nodes is 0 nodes, not 1.
    #[must_use]
    pub fn of(self, whole: u64) -> u64 {
        let share = u128::from(whole) * u128::from(self.0) / u128::from(Self::ONE.0);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

impl Epoch {
    /// Returns the epoch of the next leader.
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
