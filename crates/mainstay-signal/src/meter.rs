//! Turns the readings of one boot into signals: the increase of a total, or the duration of a state. It decides no
//! response; a new boot begins with a new meter.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mainstay_model::{Code, Source, Timestamp};
use serde::{Deserialize, Serialize};

use crate::reading::{Flag, Kind, Reading, ReadingEvidence};
use crate::{Place, Signal};

/// Maximum number of readings. Sixteen GPUs with eighteen links and sixteen adapters have about 1,500. Further readings
/// are ignored, because their earlier values are unknown.
const FOLLOWED_MAX: usize = 4096;

/// The last value of every reading. It can be stored and restored within the same boot, so that a restarted agent
/// continues its counts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "Vec<StoredReading>", from = "Vec<StoredReading>")]
pub struct Meter {
    followed: BTreeMap<(Place, ObjectKey), LastValue>,
    changes: u64,
}

/// Compares the values only; the number of changes does not matter.
impl PartialEq for Meter {
    fn eq(&self, other: &Self) -> bool {
        self.followed == other.followed
    }
}

impl Eq for Meter {}

/// Identifies one object at a place by name; restored names are owned.
type ObjectKey = (Cow<'static, str>, String);

/// Value and times that the meter stored for a reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum LastValue {
    /// The value at the last signal.
    Total(u64),
    Clear,
    Set {
        said: ObjectKey,
        since: Timestamp,
        told_at: Option<Timestamp>,
    },
}

/// A place, an object and its last value, as they are serialised.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredReading {
    place: Place,
    thing: ObjectKey,
    past: LastValue,
}

impl Meter {
    /// Creates a meter without readings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes a reading; returns a signal and its count, if there is something new.
    ///
    /// The first reading of a total gives no signal, because its events may be years old. A total that fell starts
    /// again, because drivers can be reloaded. A small increase is reported once it reaches the minimum. A state is
    /// reported after its minimum duration, then every hour (a slowdown every minute), and immediately if the detail
    /// changes.
    pub fn read(&mut self, place: &Place, reading: &Reading, at: Timestamp) -> Option<(Signal, u64)> {
        let ReadingEvidence { source, code, detail, thing: (thing, which), kind } = reading.evidence();
        let count = self.follow(place, (Cow::Borrowed(thing), which), (code, &detail), kind, at);
        if count == 0 {
            return None;
        }
        Some((Signal::new(source, code, place.clone(), &detail)?, count))
    }

    /// Returns how often the stored values changed since this meter was created. While it is the same, the meter need
    /// not be stored again.
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Processes the total of a counter of another program, under a code that an operator configured.
    pub fn read_external(&mut self, code: &Code, total: u64, at: Timestamp) -> Option<(Signal, u64)> {
        let thing = (Cow::Borrowed("external"), code.to_string());
        let count = self.follow(&Place::Node, thing, ("", ""), Kind::Total { count: total, grain: 1 }, at);
        let signal = Signal::new(Source::External, code.as_str(), Place::Node, "")?;
        (count > 0).then_some((signal, count))
    }

    /// Updates one reading and returns how many events to report now.
    fn follow(
        &mut self,
        place: &Place,
        thing: ObjectKey,
        (code, detail): (&'static str, &str),
        kind: Kind,
        at: Timestamp,
    ) -> u64 {
        let key = (place.clone(), thing);
        if self.followed.len() >= FOLLOWED_MAX && !self.followed.contains_key(&key) {
            return 0;
        }
        let past = self.followed.get(&key);
        let (now, count) = match kind {
            Kind::Total { count, grain } => match risen(past, count) {
                Some(risen) if risen < grain => return 0,
                risen => (LastValue::Total(count), risen.unwrap_or(0)),
            },
            Kind::State { flag: Flag::Clear, .. } => (LastValue::Clear, 0),
            Kind::State { flag: Flag::Set, after, every } => {
                let said = (Cow::Borrowed(code), detail.to_owned());
                let (since, told_at) = match past {
                    Some(LastValue::Set { said: before, since, told_at }) if *before == said => (*since, *told_at),
                    Some(LastValue::Set { .. } | LastValue::Clear | LastValue::Total(_)) | None => (at, None),
                };
                let tells = at >= told_at.map_or(since + after, |told_at| told_at + every);
                (LastValue::Set { said, since, told_at: if tells { Some(at) } else { told_at } }, u64::from(tells))
            }
        };
        if past != Some(&now) {
            self.followed.insert(key, now);
            self.changes += 1;
        }
        count
    }
}

impl From<Meter> for Vec<StoredReading> {
    fn from(meter: Meter) -> Self {
        meter.followed.into_iter().map(|((place, thing), past)| StoredReading { place, thing, past }).collect()
    }
}

impl From<Vec<StoredReading>> for Meter {
    fn from(followed: Vec<StoredReading>) -> Self {
        let known = followed.into_iter().take(FOLLOWED_MAX);
        Self {
            followed: known.map(|StoredReading { place, thing, past }| ((place, thing), past)).collect(),
            changes: 0,
        }
    }
}

/// Returns the increase of a total since its last signal; `None` if it was not read before.
fn risen(past: Option<&LastValue>, total: u64) -> Option<u64> {
    match past? {
        LastValue::Total(before) if total >= *before => Some(total - before),
        LastValue::Total(_) => Some(total),
        LastValue::Clear | LastValue::Set { .. } => None,
    }
}

#[cfg(test)]
mod tests;
