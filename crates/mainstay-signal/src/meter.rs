//! Turns the readings of one boot into signals: the increase of a total, or the duration of a state. It decides no
//! response; a new boot begins with a new meter.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mainstay_model::{Code, Source, Timestamp};
use serde::{Deserialize, Serialize};

use crate::reading::{Flag, Kind, Reading, Worded};
use crate::{Place, Signal};

/// Maximum number of readings. Sixteen GPUs with eighteen links and sixteen adapters have about 1,500. Further readings
/// are ignored, because their earlier values are unknown.
const FOLLOWED_MAX: usize = 4096;

/// The last value of every reading. It can be stored and restored within the same boot, so that a restarted agent
/// continues its counts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "Vec<Followed>", from = "Vec<Followed>")]
pub struct Meter {
    followed: BTreeMap<(Place, Thing), Past>,
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
type Thing = (Cow<'static, str>, String);

/// The last value of a reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Past {
    /// The value at the last signal.
    Total(u64),
    Clear,
    Set {
        said: Thing,
        since: Timestamp,
        told_at: Option<Timestamp>,
    },
}

/// One reading, in its stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Followed {
    place: Place,
    thing: Thing,
    past: Past,
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
        let Worded { source, code, detail, thing: (thing, which), kind } = reading.worded();
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
        thing: Thing,
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
                risen => (Past::Total(count), risen.unwrap_or(0)),
            },
            Kind::State { flag: Flag::Clear, .. } => (Past::Clear, 0),
            Kind::State { flag: Flag::Set, after, every } => {
                let said = (Cow::Borrowed(code), detail.to_owned());
                let (since, told_at) = match past {
                    Some(Past::Set { said: before, since, told_at }) if *before == said => (*since, *told_at),
                    Some(Past::Set { .. } | Past::Clear | Past::Total(_)) | None => (at, None),
                };
                let tells = at >= told_at.map_or(since + after, |told_at| told_at + every);
                (Past::Set { said, since, told_at: if tells { Some(at) } else { told_at } }, u64::from(tells))
            }
        };
        if past != Some(&now) {
            self.followed.insert(key, now);
            self.changes += 1;
        }
        count
    }
}

impl From<Meter> for Vec<Followed> {
    fn from(meter: Meter) -> Self {
        meter.followed.into_iter().map(|((place, thing), past)| Followed { place, thing, past }).collect()
    }
}

impl From<Vec<Followed>> for Meter {
    fn from(followed: Vec<Followed>) -> Self {
        let known = followed.into_iter().take(FOLLOWED_MAX);
        Self { followed: known.map(|Followed { place, thing, past }| ((place, thing), past)).collect(), changes: 0 }
    }
}

/// Returns the increase of a total since its last signal; `None` if it was not read before.
fn risen(past: Option<&Past>, total: u64) -> Option<u64> {
    match past? {
        Past::Total(before) if total >= *before => Some(total - before),
        Past::Total(_) => Some(total),
        Past::Clear | Past::Set { .. } => None,
    }
}

#[cfg(test)]
mod tests;
