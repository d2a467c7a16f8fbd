//! Spans of time and moments, as people write them on a command line.

use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;

/// The longest span that makes sense here; also keeps moments from overflowing.
const SPAN_MAX: Duration = Duration::from_hours(24 * 366);

/// `90s`, `15m`, `6h`, `2d`; a bare number is seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A point in time, given as an age or as a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTime {
    /// Before now.
    Ago(Duration),
    /// By the clock.
    At(Timestamp),
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let seconds = match unit {
            "" | "s" => Some(1),
            "m" => Some(60),
            "h" => Some(60 * 60),
            "d" => Some(24 * 60 * 60),
            _ => None,
        };
        let span = seconds.zip(number.parse().ok()).and_then(|(unit, number): (u64, u64)| unit.checked_mul(number));
        let span = span.map(Duration::from_secs).filter(|span| *span <= SPAN_MAX);
        span.map(Self).ok_or_else(|| format!("{text:?} is no span such as 90s, 15m, 6h or 2d"))
    }
}

impl FromStr for StartTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.parse::<Span>(), text.parse::<Timestamp>()) {
            (Ok(span), _) => Ok(Self::Ago(span.0)),
            (Err(_), Ok(at)) => Ok(Self::At(at)),
            (Err(error), Err(_)) => Err(format!("{error}, and no moment such as 2026-11-17T10:00:00Z")),
        }
    }
}

// === impl StartTime ===

impl StartTime {
    /// In seconds since the Unix epoch.
    #[must_use]
    pub fn second(self) -> i64 {
        match self {
            Self::Ago(span) => {
                Timestamp::now().as_second().saturating_sub(i64::try_from(span.as_secs()).unwrap_or(i64::MAX))
            }
            Self::At(at) => at.as_second(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_moments_are_read_as_people_write_them() {
        let span = |text: &str| text.parse::<Span>().map(|span| span.0.as_secs());
        assert_eq!(["90", "90s", "15m", "6h", "2d"].map(span), [90, 90, 900, 21_600, 172_800].map(Ok));
        for wrong in ["", "s", "-1s", "1.5h", "6 h", "1w", "999999999999d"] {
            assert!(wrong.parse::<StartTime>().is_err(), "{wrong:?}");
        }
        assert_eq!("2026-11-17T10:00:00Z".parse::<StartTime>().map(StartTime::second), Ok(1_794_909_600));
    }
}
