//! Points in time and durations, in whole milliseconds. Callers pass the time to the engine; nothing here reads a
//! clock.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A duration, which is never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Span {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);

    /// Creates a duration from seconds.
    #[must_use]
    pub const fn seconds(seconds: u32) -> Self {
        Self(seconds as u64 * 1_000)
    }

    /// Creates a duration from minutes.
    #[must_use]
    pub const fn minutes(minutes: u32) -> Self {
        Self(minutes as u64 * 60_000)
    }

    /// Creates a duration from hours.
    #[must_use]
    pub const fn hours(hours: u32) -> Self {
        Self(hours as u64 * 3_600_000)
    }
}

impl Timestamp {
    /// Returns the time since `earlier`. The result is zero if `earlier` is later, because a clock that steps back must
    /// not expire a deadline.
    #[must_use]
    pub fn since(self, earlier: Self) -> Span {
        Span(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;

    /// Saturates at the largest timestamp instead of wrapping around.
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;

    /// Saturates at the smallest timestamp.
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub_unsigned(span.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_stepped_back_has_waited_no_time() {
        assert_eq!(Timestamp(10).since(Timestamp(30)), Span::ZERO);
        assert_eq!(Timestamp(30).since(Timestamp(10)), Span(20));
    }

    #[test]
    fn a_deadline_past_the_end_of_time_does_not_wrap() {
        assert_eq!(Timestamp(i64::MAX) + Span::hours(1), Timestamp(i64::MAX));
        assert_eq!(Timestamp(i64::MIN) - Span(u64::MAX), Timestamp(i64::MIN));
    }
}
