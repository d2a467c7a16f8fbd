//! Record and replay: one JSON line per input of the engine. A recording can be replayed with another policy, another
//! catalogue or another version. The caller reads and writes the file.

use mainstay_model::{Decision, Observation, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Engine;

/// The format that this version writes and the only one it reads.
pub const FORMAT: u32 = 1;

/// A recorded line is refused beyond this: the largest fact is a gang of 16,384 nodes.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One thing that was handed to the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A fact.
    Observe(Observation),
    /// A question.
    Decide {
        /// As of when.
        now: Timestamp,
    },
}

/// Why a line is not taken.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Another version wrote it.
    #[error("format {found} is not known; this version reads format {FORMAT}")]
    Format {
        /// Which format it says.
        found: u32,
    },
    /// It is longer than any line we write.
    #[error("the line has {bytes} bytes; at most {LINE_BYTES_MAX} are read")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It is not a recorded line.
    #[error("not a recorded line: {0}")]
    Json(#[from] serde_json::Error),
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    format: u32,
    entry: T,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// The line for an entry, without its end.
///
/// # Errors
/// Where an entry has no JSON form, which none of ours lacks.
pub fn write(entry: &Entry) -> Result<String, Unreadable> {
    Ok(serde_json::to_string(&Versioned { format: FORMAT, entry })?)
}

/// The entry of a line.
///
/// # Errors
/// [`Unreadable`] says why it was not taken. The format is looked at first: another one may have any shape.
pub fn read(line: &str) -> Result<Entry, Unreadable> {
    if line.len() > LINE_BYTES_MAX {
        return Err(Unreadable::TooLong { bytes: line.len() });
    }
    let FormatOnly { format } = serde_json::from_str(line)?;
    if format != FORMAT {
        return Err(Unreadable::Format { found: format });
    }
    Ok(serde_json::from_str::<Versioned<Entry>>(line)?.entry)
}

/// Lives through the entries again.
pub fn replay<'a>(engine: &mut Engine, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<(Timestamp, Decision)> {
    let mut decisions = Vec::new();
    for entry in entries {
        match entry {
            Entry::Observe(observation) => engine.observe(observation),
            Entry::Decide { now } => decisions.push((*now, engine.decide(*now))),
        }
    }
    decisions
}
