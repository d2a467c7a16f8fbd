//! Maintenance windows: when planned disruptions may start. Windows repeat weekly, in UTC.

use mainstay_model::{Span, Timestamp, WeeklyWindow};

const MINUTE: i64 = 60_000;
const WEEK_MINUTES: i64 = 7 * 24 * 60;
/// The Unix epoch was a Thursday, and a week starts on Monday.
const EPOCH_MINUTE: i64 = 3 * 24 * 60;

/// Returns when a window allows a start: `None` if one is open now, or if there are no windows.
#[must_use]
pub fn waits_until(windows: &[WeeklyWindow], now: Timestamp) -> Option<Timestamp> {
    let opens = windows.iter().map(|window| opens_at(*window, now));
    opens.min().filter(|at| *at > now)
}

/// The next start of a window, or now while it is open.
fn opens_at(window: WeeklyWindow, now: Timestamp) -> Timestamp {
    let start = i64::from(window.start_minute) * MINUTE;
    let week = WEEK_MINUTES * MINUTE;
    let of_week = (now.0 + EPOCH_MINUTE * MINUTE).rem_euclid(week);
    let since_start = (of_week - start).rem_euclid(week);
    let is_open = u64::try_from(since_start).is_ok_and(|since| Span(since) < window.length);
    if is_open { now } else { Timestamp(now.0.saturating_add(week - since_start)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-16, a Monday, at this hour of the week.
    fn hour(hour: i64) -> Timestamp {
        Timestamp(1_794_787_200_000 + hour * 3_600_000)
    }

    #[test]
    fn a_window_is_open_from_its_start_for_its_length_every_week() {
        let tuesday_night = WeeklyWindow { start_minute: 25 * 60, length: Span::hours(4) };
        let waits = |at| waits_until(&[tuesday_night], at);
        assert_eq!(waits(hour(0)), Some(hour(25)));
        assert_eq!(waits(hour(25)), None);
        assert_eq!(waits(hour(28)), None);
        assert_eq!(waits(hour(29)), Some(hour(25 + 168)));
        assert_eq!(waits_until(&[], hour(0)), None);
    }

    #[test]
    fn a_window_may_cross_the_end_of_the_week_and_the_earliest_counts() {
        let sunday = WeeklyWindow { start_minute: 167 * 60, length: Span::hours(2) };
        let monday = WeeklyWindow { start_minute: 10 * 60, length: Span::hours(1) };
        assert_eq!(waits_until(&[sunday], hour(0)), None);
        assert_eq!(waits_until(&[sunday, monday], hour(2)), Some(hour(10)));
    }
}
