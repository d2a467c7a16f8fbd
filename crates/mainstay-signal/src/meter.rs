//! Readings of one boot, turned into signals: a total says by how much it rose, a state that it lasts. It judges nothing; a
//! new boot begins with a new meter.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mainstay_model::{Code, Source, Timestamp};
use serde::{Deserialize, Serialize};

use crate::reading::{Flag, Kind, Reading, Worded};
use crate::{Place, Signal};

/// How many readings are followed. Sixteen GPUs with eighteen links and sixteen adapters have about 1,500; what comes
/// beyond is not read, because nothing is known of its past.
const FOLLOWED_MAX: usize = 4096;

/// What is known of every reading. It can be written down and taken up again within the same boot, so that a reader
/// that restarts goes on counting where it was.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "Vec<Followed>", from = "Vec<Followed>")]
pub struct Meter {
    followed: BTreeMap<(Place, Thing), Past>,
    changes: u64,
}

/// By what is known; how often it changed is nobody's past.
impl PartialEq for Meter {
    fn eq(&self, other: &Self) -> bool {
        self.followed == other.followed
    }
}

impl Eq for Meter {}

/// Which thing at a place, in words of ours; words that were read back are owned.
type Thing = (Cow<'static, str>, String);

/// What was read last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Past {
    /// What it was when it last spoke.
    Total(u64),
    Clear,
    Set {
        said: Thing,
        since: Timestamp,
        told_at: Option<Timestamp>,
    },
}

/// One reading that is followed, as it is written down.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Followed {
    place: Place,
    thing: Thing,
    past: Past,
}

impl Meter {
    /// Nothing read.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a reading, and answers what it says and how often, if it says anything new.
    ///
    /// The first reading of a total says nothing: what it counted before may be years old. A total that fell begins
    /// anew, because drivers are loaded again; one that rises by less than is worth a word is told when it has. A state speaks when it has lasted as long as it must, then by the hour
    /// (a slowdown by the minute), and at once where something else is said of the same thing.
    pub fn read(&mut self, place: &Place, reading: &Reading, at: Timestamp) -> Option<(Signal, u64)> {
        let Worded { source, code, detail, thing: (thing, which), kind } = reading.worded();
        let count = self.follow(place, (Cow::Borrowed(thing), which), (code, &detail), kind, at);
        if count == 0 {
            return None;
        }
        Some((Signal::new(source, code, place.clone(), &detail)?, count))
    }

    /// How often what is known changed since this meter was made: a reader that keeps it need not write it down again while
    /// this is the same.
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Takes the total of a counter that another program keeps, under a code that a person chose for it.
    pub fn read_external(&mut self, code: &Code, total: u64, at: Timestamp) -> Option<(Signal, u64)> {
        let thing = (Cow::Borrowed("external"), code.to_string());
        let count = self.follow(&Place::Node, thing, ("", ""), Kind::Total { count: total, grain: 1 }, at);
        let signal = Signal::new(Source::External, code.as_str(), Place::Node, "")?;
        (count > 0).then_some((signal, count))
    }

    /// Follows one thing, and answers how often it is to be told now.
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

/// By how much a total rose since it last spoke; nothing where it was not read before.
fn risen(past: Option<&Past>, total: u64) -> Option<u64> {
    match past? {
        Past::Total(before) if total >= *before => Some(total - before),
        Past::Total(_) => Some(total),
        Past::Clear | Past::Set { .. } => None,
    }
}

#[cfg(test)]
mod tests;
