//! Buckets of whole hours and days: add arrivals, read a window, and compute when the window changes.
//!
//! The newest bucket of an entry is the hour of its latest arrival, and a window is read relative to the current time.
//! So time alone changes nothing, and a healthy node is not written because a new hour began.

use mainstay_model::{Arrivals, Bounded, Timestamp};

/// Number of hour buckets, which is also the longest window.
pub(crate) const HOURS: u8 = 24;

/// Number of day buckets.
pub(crate) const DAYS: u32 = 7;

const HOURS_A_DAY: u32 = 24;
const HOUR_MILLIS: i64 = 3_600_000;

/// Maximum of a bucket: the API has no unsigned integers, and a larger count carries no more information.
const BUCKET_MAX: u32 = i32::MAX.unsigned_abs();

/// Returns the hour of a timestamp, limited to the first and last valid hour.
pub(crate) fn hour_of(at: Timestamp) -> u32 {
    u32::try_from(at.0.div_euclid(HOUR_MILLIS).max(0)).unwrap_or(u32::MAX)
}

fn begin_of(hour: u32) -> Timestamp {
    Timestamp(i64::from(hour) * HOUR_MILLIS)
}

/// A count as a bucket holds it.
pub(super) fn limited(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).min(BUCKET_MAX)
}

/// Adds arrivals to an hour. If the clock stepped back, they go to the newest bucket.
pub(super) fn add(entry: &mut Arrivals, count: u64, hour: u32) {
    let hour = hour.max(entry.newest_hour);
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    shift_and_add(&mut entry.hours, hour - entry.newest_hour, count);
    shift_and_add(&mut entry.days, hour / HOURS_A_DAY - entry.newest_hour / HOURS_A_DAY, count);
    entry.newest_hour = hour;
}

/// Drops buckets that no window covers any more.
pub(super) fn roll(entry: &mut Arrivals, hour: u32) {
    let hour = hour.max(entry.newest_hour);
    keep_newer(&mut entry.hours, hour - entry.newest_hour);
    keep_newer(&mut entry.days, hour / HOURS_A_DAY - entry.newest_hour / HOURS_A_DAY);
}

/// Returns the number of arrivals in the newest `hours` buckets, including the current hour.
pub(crate) fn within(entry: &Arrivals, hours: u8, hour: u32) -> u64 {
    let left = usize::from(hours).saturating_sub(age(entry, hour));
    entry.hours.as_slice().iter().take(left).map(|count| u64::from(*count)).sum()
}

/// Returns when [`within`] next changes by time alone: when the oldest non-empty bucket leaves the window.
pub(crate) fn lapses_at(entry: &Arrivals, hours: u8, hour: u32) -> Option<Timestamp> {
    let left = usize::from(hours).saturating_sub(age(entry, hour));
    let oldest = entry.hours.as_slice().iter().take(left).rposition(|count| *count > 0)?;
    let bucket = entry.newest_hour.saturating_sub(u32::try_from(oldest).ok()?);
    Some(begin_of(bucket.saturating_add(u32::from(hours))))
}

/// Returns the arrivals on each of the last [`DAYS`] days that have any, as days ago and number.
pub(crate) fn days(entry: &Arrivals, hour: u32) -> impl Iterator<Item = (u32, u32)> {
    let age = (hour / HOURS_A_DAY).saturating_sub(entry.newest_hour / HOURS_A_DAY);
    let all = (age..DAYS).zip(entry.days.as_slice().iter().copied());
    all.filter(|(_, count)| *count > 0)
}

fn age(entry: &Arrivals, hour: u32) -> usize {
    usize::try_from(hour.saturating_sub(entry.newest_hour)).unwrap_or(usize::MAX)
}

fn shift_and_add<const MAX: usize>(buckets: &mut Bounded<u32, MAX>, by: u32, count: u32) {
    edit(buckets, |list| {
        let by = usize::try_from(by).map_or(MAX, |by| by.min(MAX));
        list.truncate(MAX - by);
        list.splice(0..0, std::iter::repeat_n(0, by));
        match list.first_mut() {
            Some(newest) => *newest = newest.saturating_add(count).min(BUCKET_MAX),
            None => list.push(count.min(BUCKET_MAX)),
        }
    });
}

fn keep_newer<const MAX: usize>(buckets: &mut Bounded<u32, MAX>, age: u32) {
    let left = usize::try_from(age).map_or(0, |age| MAX.saturating_sub(age));
    if buckets.as_slice().len() > left {
        edit(buckets, |list| list.truncate(left));
    }
}

/// Changes a list in place and removes trailing zeros, so that equal content is equal data.
fn edit<const MAX: usize>(buckets: &mut Bounded<u32, MAX>, change: impl FnOnce(&mut Vec<u32>)) {
    let mut list: Vec<u32> = std::mem::take(buckets).into();
    change(&mut list);
    list.truncate(list.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1));
    list.truncate(MAX);
    *buckets = Bounded::within(list);
}
