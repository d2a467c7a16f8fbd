//! Moments and spans in words. A moment is a clock time of its day; how many days off is said beside it.

use mainstay_model::{Span, Timestamp};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A moment, seen from another.
pub(super) fn at(moment: Timestamp, now: Timestamp) -> String {
    let day = i64::try_from(DAY).unwrap_or(i64::MAX);
    let seconds = moment.0.rem_euclid(day) / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let clock =
        if seconds == 0 { format!("{hours:02}:{minutes:02}") } else { format!("{hours:02}:{minutes:02}:{seconds:02}") };
    match moment.0.div_euclid(day).saturating_sub(now.0.div_euclid(day)) {
        0 => clock,
        1 => format!("{clock} tomorrow"),
        -1 => format!("{clock} yesterday"),
        days if days > 0 => format!("{clock} in {days} days"),
        days => format!("{clock} {} days ago", days.unsigned_abs()),
    }
}

/// How long ago a moment was.
pub(super) fn ago(moment: Timestamp, now: Timestamp) -> String {
    long(now.since(moment))
}

/// A span, in the two largest units that it has.
pub(super) fn long(Span(millis): Span) -> String {
    let two = |large: u64, unit: &str, small: u64, small_unit: &str| match (millis / large, millis % large / small) {
        (whole, 0) => format!("{whole} {unit}"),
        (whole, rest) => format!("{whole} {unit} {rest} {small_unit}"),
    };
    match millis {
        0..MINUTE => format!("{} s", millis / SECOND),
        MINUTE..HOUR => format!("{} min", millis / MINUTE),
        HOUR..DAY => two(HOUR, "h", MINUTE, "min"),
        DAY.. => two(DAY, "d", HOUR, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_names_its_day_where_it_is_another() {
        let noon = Timestamp(12 * 3_600_000);
        assert_eq!(at(noon + Span::seconds(61), noon), "12:01:01");
        assert_eq!(at(noon + Span::hours(13), noon), "01:00 tomorrow");
        assert_eq!(at(noon - Span::hours(13), noon), "23:00 yesterday");
        assert_eq!(at(noon + Span::hours(72), noon), "12:00 in 3 days");
    }

    #[test]
    fn a_span_has_its_two_largest_units() {
        assert_eq!(long(Span::seconds(59)), "59 s");
        assert_eq!(long(Span::seconds(3_599)), "59 min");
        assert_eq!(long(Span::minutes(130)), "2 h 10 min");
        assert_eq!(long(Span::hours(49)), "2 d 1 h");
    }
}
