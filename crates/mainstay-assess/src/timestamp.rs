//! Parses the timestamp formats of kernel logs, ticket lists and node lists. A timestamp without a time zone uses the
//! user's `--utc-offset`, by default UTC. One without a year gets the latest year that keeps it before `Zone::until`.
//! Nothing here reads a clock.

use mainstay_model::Timestamp;

/// Timestamp of a log line, absolute or since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    At(Timestamp),
    /// Milliseconds since the machine was booted.
    SinceBoot(i64),
}

/// What to assume for timestamps without a zone or a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// UTC offset in minutes, positive to the east.
    pub offset_minutes: i32,
    /// Latest possible time, from which a missing year follows.
    pub until: Timestamp,
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY_MS: i64 = 86_400_000;
/// A date in words, in any language.
const DATE_BYTES_MAX: usize = 48;

impl Zone {
    /// Parses a UTC offset such as `+02:00`; `until` is the latest possible time.
    #[must_use]
    pub fn parse(text: &str, until: Timestamp) -> Option<Self> {
        let (offset_minutes, rest) = offset(text)?;
        rest.is_empty().then_some(Self { offset_minutes, until })
    }
}

/// Parses a date, or a date and time with or without a time zone. A date alone is its midnight.
#[must_use]
pub fn parse_time(text: &str, zone: Zone) -> Option<Timestamp> {
    rfc3339(text, zone).or_else(|| rfc3339(&format!("{text}T00:00:00"), zone))
}

/// A moment as RFC 3339 has it, `2026-03-05T10:11:12[.123][Z|+00:00|+0000]`, also with a blank or a comma.
pub(super) fn rfc3339(text: &str, zone: Zone) -> Option<Timestamp> {
    let (stamp, rest) = iso(text, zone)?;
    rest.is_empty().then_some(stamp)
}

/// The time at the beginning of a line, and what follows it.
pub(super) fn leading(line: &str, zone: Zone) -> Option<(Stamp, &str)> {
    if let Some((stamp, rest)) = kmsg(line) {
        return Some((stamp, rest));
    }
    if let Some((time, rest)) = line.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        return bracket(time, zone).map(|stamp| (stamp, rest.trim_start()));
    }
    if line.starts_with(|c: char| c.is_ascii_digit()) {
        let (at, rest) = iso(line, zone)?;
        return rest.starts_with([' ', ':', ';']).then(|| (Stamp::At(at), rest.trim_start_matches([' ', ':', ';'])));
    }
    // `Sat Mar 25 16:12:52 2017`, as `logread` and `date` write it.
    let (is_long, line) = match line.split_once(' ') {
        Some((day, rest)) if DAYS.contains(&day) => (true, rest),
        Some(_) | None => (false, line),
    };
    let (month, rest) = month(line)?;
    let (day, rest) = number(rest.trim_start(), 2)?;
    let (clock, rest) = clock(rest.strip_prefix(' ')?)?;
    let rest = rest.strip_prefix(' ')?;
    if is_long && let Some((year, after)) = number(rest, 4).filter(|(year, _)| *year > 1_970) {
        let at = moment(i64::from(year), month, day, clock, zone.offset_minutes)?;
        return Some((Stamp::At(at), after.strip_prefix(' ')?));
    }
    let at = with_year(month, day, clock, zone)?;
    Some((Stamp::At(at), rest))
}

/// A time without a usable date: a month in another language, a delta of `dmesg --human`. Answers what follows it.
pub(super) fn unreadable(line: &str) -> Option<&str> {
    if let Some((time, rest)) = line.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        let time = time.trim_start();
        let is_delta =
            time.strip_prefix('+').is_some_and(|delta| delta.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
        let is_day = month(time)
            .is_some_and(|(_, rest)| rest.bytes().all(|byte| byte.is_ascii_digit() || b": ".contains(&byte)));
        // The caller of a kernel with CONFIG_PRINTK_CALLER, behind the time.
        let is_caller = time
            .strip_prefix(['T', 'C'])
            .is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
        // A date of `dmesg -T` in another language: its clock is the same everywhere.
        let is_date = time.len() <= DATE_BYTES_MAX
            && time.split(' ').any(|word| clock(word).is_some_and(|(_, rest)| rest.is_empty()));
        return (is_delta || is_day || is_caller || is_date).then(|| rest.trim_start());
    }
    let (month, rest) = line.split_once(' ')?;
    if month.is_ascii() || month.chars().count() > 5 {
        return None;
    }
    let (_, rest) = number(rest.trim_start(), 2)?;
    let (_, rest) = clock(rest.strip_prefix(' ')?)?;
    rest.strip_prefix(' ')
}

/// `6,1234,567890,-;text`: microseconds since boot.
fn kmsg(line: &str) -> Option<(Stamp, &str)> {
    let (fields, text) = line.split_once(';')?;
    let mut fields = fields.split(',');
    let (_, _) = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u64>().ok()?);
    let microseconds: i64 = fields.next()?.parse().ok()?;
    fields.next()?;
    Some((Stamp::SinceBoot(microseconds / 1_000), text))
}

/// `  123.456789`, or a date as `dmesg -T` has it, with its year or without.
fn bracket(text: &str, zone: Zone) -> Option<Stamp> {
    let text = text.trim();
    if let Some((seconds, fraction)) = text.split_once('.')
        && let (Ok(seconds), true) = (seconds.parse::<i64>(), fraction.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let milliseconds = fraction_ms(fraction);
        return (0..=100_000_000_000).contains(&seconds).then_some(Stamp::SinceBoot(seconds * 1_000 + milliseconds));
    }
    if let Some(at) = rfc3339(text, zone) {
        return Some(Stamp::At(at));
    }
    let (_weekday, rest) = text.split_once(' ')?;
    let (month, rest) = month(rest.trim_start())?;
    let (day, rest) = number(rest.trim_start(), 2)?;
    let (clock, rest) = clock(rest.strip_prefix(' ')?)?;
    let at = match rest.trim() {
        "" => with_year(month, day, clock, zone)?,
        year => moment(year.parse().ok()?, month, day, clock, zone.offset_minutes)?,
    };
    Some(Stamp::At(at))
}

fn iso(text: &str, zone: Zone) -> Option<(Timestamp, &str)> {
    let (year, rest) = number(text, 4)?;
    // Programs in Go write slashes.
    let (month, rest) = number(rest.strip_prefix(['-', '/'])?, 2)?;
    let (day, rest) = number(rest.strip_prefix(['-', '/'])?, 2)?;
    let (clock, rest) = clock(rest.strip_prefix(['T', ' '])?)?;
    let (offset, rest) = offset(rest).unwrap_or((zone.offset_minutes, rest));
    Some((moment(i64::from(year), month, day, clock, offset)?, rest))
}

/// `Z`, `+01:00`, `+0100`: minutes east of Greenwich.
fn offset(text: &str) -> Option<(i32, &str)> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some((0, rest));
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, rest) = number(text.get(1..)?, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':').unwrap_or(rest), 2)?;
    let is_one = hours <= 14 && minutes < 60;
    is_one.then_some((sign * i32::try_from(hours * 60 + minutes).ok()?, rest))
}

fn month(text: &str) -> Option<(u32, &str)> {
    let name = text.get(..3)?;
    let place = MONTHS.iter().position(|month| *month == name)?;
    Some((u32::try_from(place).ok()? + 1, text.get(3..)?))
}

/// `10:11:12[.123456]` as milliseconds of a day.
fn clock(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = number(text, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (seconds, rest) = number(rest.strip_prefix(':')?, 2)?;
    // A leap second is the last one again.
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let fraction = rest.strip_prefix(['.', ',']).map_or("", |rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    });
    let rest = if fraction.is_empty() { rest } else { rest.get(1 + fraction.len()..)? };
    let whole = i64::from(hours * 3_600 + minutes * 60 + seconds.min(59)) * 1_000;
    Some((whole + fraction_ms(fraction), rest))
}

fn fraction_ms(digits: &str) -> i64 {
    let (mut value, mut scale) = (0, 100);
    for digit in digits.bytes().take(3) {
        value += i64::from(digit - b'0') * scale;
        scale /= 10;
    }
    value
}

/// A decimal number of at most so many digits, and of one at least.
fn number(text: &str, digits_max: usize) -> Option<(u32, &str)> {
    let end = text.bytes().take(digits_max).take_while(u8::is_ascii_digit).count();
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?))
}

fn moment(year: i64, month: u32, day: u32, clock_ms: i64, offset_minutes: i32) -> Option<Timestamp> {
    let is_one = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    is_one.then(|| Timestamp(days(year, month, day) * DAY_MS + clock_ms - i64::from(offset_minutes) * 60_000))
}

/// The last year in which it is not after the end; a day of grace, because clocks differ.
fn with_year(month: u32, day: u32, clock_ms: i64, zone: Zone) -> Option<Timestamp> {
    let year = 1970 + zone.until.0.div_euclid(DAY_MS) * 400 / 146_097;
    let in_year = |year: i64| moment(year, month, day, clock_ms, zone.offset_minutes);
    [year + 1, year, year - 1].into_iter().filter_map(in_year).find(|at| at.0 <= zone.until.0 + DAY_MS)
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: u32, day: u32) -> i64 {
    // Years begin in March here, so that the odd day comes last.
    let (year, month) = if month > 2 { (year, i64::from(month) - 3) } else { (year - 1, i64::from(month) + 9) };
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// `2026-03-05T10:11:12Z`, for whoever reads it.
pub(super) fn written(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| format!("{at:.0}"))
}

/// `2026-03-05`.
pub(super) fn day(at: Timestamp) -> String {
    written(at).chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn zone() -> Zone {
        Zone { offset_minutes: 0, until: utc("2026-03-10T00:00:00Z") }
    }

    #[test]
    fn every_way_of_writing_a_time_is_the_same_moment() {
        let at = Stamp::At(utc("2026-03-05T10:11:12Z"));
        for line in [
            "2026-03-05T10:11:12Z x",
            "2026-03-05T10:11:12,000000+00:00 x",
            "2026-03-05T12:11:12+0200 x",
            "2026-03-05 10:11:12 x",
            "[Thu Mar  5 10:11:12 2026] x",
            "[Thu Mar  5 10:11:12] x",
            "Mar  5 10:11:12 x",
        ] {
            assert_eq!(leading(line, zone()), Some((at, "x")), "{line}");
        }
        assert_eq!(leading("[  123.456789] x", zone()), Some((Stamp::SinceBoot(123_456), "x")));
        assert_eq!(leading("6,12,123456789,-;x", zone()), Some((Stamp::SinceBoot(123_456), "x")));
        let east = Zone { offset_minutes: 120, ..zone() };
        assert_eq!(leading("Mar  5 12:11:12 x", east), Some((at, "x")));
    }

    #[test]
    fn a_year_that_is_not_written_is_the_last_one_that_has_been() {
        let line = |text: &str| leading(text, zone()).map(|(stamp, _)| stamp);
        assert_eq!(line("Dec 31 23:59:59 x"), Some(Stamp::At(utc("2025-12-31T23:59:59Z"))));
        assert_eq!(line("Mar  9 00:00:00 x"), Some(Stamp::At(utc("2026-03-09T00:00:00Z"))));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for line in
            ["", "x", "[drm] x", "2026-13-05T10:11:12Z x", "2026-03-05T25:11:12Z x", "[x y z] x", "Foo  5 10:11:12 x"]
        {
            assert_eq!(leading(line, zone()), None, "{line}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (text, year, month, day) in [
            ("1970-01-01T00:00:00Z", 1970, 1, 1),
            ("2024-02-29T00:00:00Z", 2024, 2, 29),
            ("2100-03-01T00:00:00Z", 2100, 3, 1),
        ] {
            assert_eq!(days(year, month, day) * DAY_MS, utc(text).0);
        }
    }
}
