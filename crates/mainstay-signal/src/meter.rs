//! Readings of one boot, turned into signals: a total says by how much it rose, a state that it lasts. It judges nothing; a
//! new boot begins with a new meter.

use std::collections::BTreeMap;

use mainstay_model::Timestamp;

use crate::reading::{Flag, Kind, Reading, Worded};
use crate::{Place, Signal};

/// How many readings are followed. Sixteen GPUs with eighteen links and sixteen adapters have about 1,500; what comes
/// beyond is not read, because nothing is known of its past.
const FOLLOWED_MAX: usize = 4096;

/// What is known of every reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meter {
    followed: BTreeMap<(Place, (&'static str, String)), Past>,
}

/// What was read last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Past {
    /// What it was when it last spoke.
    Total(u64),
    Clear,
    Set {
        said: (&'static str, String),
        since: Timestamp,
        told_at: Option<Timestamp>,
    },
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
        let Worded { source, code, detail, thing, kind } = reading.worded();
        let key = (place.clone(), thing);
        if self.followed.len() >= FOLLOWED_MAX && !self.followed.contains_key(&key) {
            return None;
        }
        let past = self.followed.get(&key);
        let (now, count) = match kind {
            Kind::Total { count, grain } => match risen(past, count) {
                Some(risen) if risen < grain => return None,
                risen => (Past::Total(count), risen.unwrap_or(0)),
            },
            Kind::State { flag: Flag::Clear, .. } => (Past::Clear, 0),
            Kind::State { flag: Flag::Set, after, every } => {
                let said = (code, detail.clone());
                let (since, told_at) = match past {
                    Some(Past::Set { said: before, since, told_at }) if *before == said => (*since, *told_at),
                    Some(Past::Set { .. } | Past::Clear | Past::Total(_)) | None => (at, None),
                };
                let tells = at >= told_at.map_or(since + after, |told_at| told_at + every);
                (Past::Set { said, since, told_at: if tells { Some(at) } else { told_at } }, u64::from(tells))
            }
        };
        self.followed.insert(key, now);
        let signal = Signal::new(source, code, place.clone(), &detail)?;
        (count > 0).then_some((signal, count))
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
