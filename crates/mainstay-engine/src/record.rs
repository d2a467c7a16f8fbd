//! Record and replay: one JSON line per input of the engine. A recording can be replayed with another policy, another
//! catalogue or another version. The caller reads and writes the file.

mod decision;
mod snapshot;

use std::collections::BTreeSet;

use mainstay_model::{Decision, NodeIndex, Observation, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Catalogue, Engine};
pub use decision::{DecisionSummary, EffectLine, LINES_MAX, step_words};
pub use snapshot::{EngineState, NodeState};

/// The format that this version writes and the only one it reads.
pub const FORMAT: u32 = 1;

/// Maximum length of a line: the largest fact is a gang of 16,384 nodes.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One line of a recording: an input of the engine, its answer, or a part of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A fact.
    Observe(Observation),
    /// A decision was requested.
    Decide {
        /// Time of the decision.
        now: Timestamp,
    },
    /// The decision that the engine then made.
    Decided(Box<DecisionSummary>),
    /// A new engine begins, which knows no entry before this one. The entries of a snapshot follow, if there is one.
    Begin(Box<EngineState>),
    /// Part of a snapshot: the state of a node, after all facts of the snapshot.
    Restore(Box<NodeState>),
    /// The end of a snapshot.
    Restored,
    /// Entries were lost here. A snapshot follows.
    Gap {
        /// Number of lost entries.
        lost: u64,
    },
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Another version wrote the line.
    #[error("format {found} is not known; this version reads format {FORMAT}")]
    Format {
        /// The format that the line names.
        found: u32,
    },
    /// The line is longer than any line that this version writes.
    #[error("the line has {bytes} bytes; at most {LINE_BYTES_MAX} are read")]
    TooLong {
        /// Length of the line.
        bytes: usize,
    },
    /// The line is not a recorded input.
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

/// Returns the line of an entry, without its newline.
///
/// # Errors
/// An entry that cannot be written as JSON; there is none.
pub fn write(entry: &Entry) -> Result<String, Unreadable> {
    Ok(serde_json::to_string(&Versioned { format: FORMAT, entry })?)
}

/// Returns the entry of a line.
///
/// # Errors
/// [`Unreadable`] states the reason. The format is checked first, because another one may have any shape.
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

/// Returns the entries that rebuild an engine with all its facts.
#[must_use]
pub fn snapshot(engine: &Engine) -> Vec<Entry> {
    snapshot::entries(engine)
}

/// An engine that is fed with recorded entries, one by one.
#[derive(Debug, Clone)]
pub struct Player {
    /// The engine without facts, for every new beginning.
    fresh: Engine,
    engine: Engine,
    /// Nodes of the current snapshot that the next decision evaluates.
    changed: BTreeSet<NodeIndex>,
}

impl Player {
    /// Creates a player that starts with this engine, which should have no facts.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self { fresh: engine.clone(), engine, changed: BTreeSet::new() }
    }

    /// The engine in its current state.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Gives one entry to the engine. Returns the decision where the entry requests one.
    pub fn play(&mut self, entry: &Entry) -> Option<Decision> {
        match entry {
            Entry::Observe(observation) => self.engine.observe(observation),
            Entry::Decide { now } => return Some(self.engine.decide(*now)),
            Entry::Decided(_) | Entry::Gap { .. } => {}
            Entry::Begin(state) => {
                self.engine = state.begin(self.fresh.clone());
                self.changed.clear();
            }
            Entry::Restore(node) => self.changed.extend(node.restore(&mut self.engine)),
            Entry::Restored => snapshot::end(&mut self.engine, std::mem::take(&mut self.changed)),
        }
        None
    }
}

/// Digest of the built-in fault catalogue. Another catalogue may decide differently.
#[must_use]
pub fn catalogue_digest() -> String {
    decision::digest_of(&format!("{:?}", Catalogue::built_in()))
}

/// Gives all entries to an engine, and returns its decisions.
pub fn replay<'a>(engine: &mut Engine, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<(Timestamp, Decision)> {
    let mut player = Player::new(engine.clone());
    let mut decisions = Vec::new();
    for entry in entries {
        if let (Some(decision), Entry::Decide { now }) = (player.play(entry), entry) {
            decisions.push((*now, decision));
        }
    }
    *engine = player.engine;
    decisions
}

#[cfg(test)]
mod tests {
    use mainstay_model::{
        CellFacts, CellRecord, Checkpoints, Contract, Epoch, Fact, GangFacts, GangId, Mode, NodeName,
    };

    use super::*;

    #[test]
    fn the_largest_gang_fits_into_a_line_and_a_longer_line_is_refused() {
        let longest = |number: u32| format!("{number:0>0$}", NodeName::BYTES_MAX).parse().unwrap();
        let nodes = (0..16_384).map(longest).collect::<Vec<_>>().try_into().unwrap();
        let gang = GangId { namespace: "team".parse().unwrap(), name: "train".parse().unwrap() };
        let facts = Box::new(GangFacts {
            nodes,
            contract: Contract::None,
            checkpoints: Checkpoints::default(),
            progressed_at: None,
        });
        let entry = Entry::Observe(Observation { at: Timestamp(0), fact: Fact::Gang { gang, facts } });
        let line = write(&entry).unwrap();
        assert_eq!(read(&line).unwrap(), entry);
        let padded = line.clone() + &" ".repeat(LINE_BYTES_MAX - line.len());
        assert_eq!(read(&padded).unwrap(), entry);
        assert!(matches!(read(&(padded + " ")), Err(Unreadable::TooLong { .. })));
    }

    #[test]
    fn a_store_that_was_restored_is_known_after_a_snapshot_too() {
        let cell = |epoch| CellFacts { epoch: Epoch(epoch), mode: Mode::Act, ..CellFacts::default() };
        let mut engine = Engine::new();
        for epoch in [5, 3] {
            engine.observe(&Observation { at: Timestamp(0), fact: Fact::Cell(cell(epoch)) });
        }
        let mut rebuilt = Engine::new();
        replay(&mut rebuilt, &snapshot(&engine));
        let known = |engine: &Engine| (engine.state.epoch_highest, engine.state.cell.epoch, engine.state.cell.mode);
        assert_eq!(known(&rebuilt), (Epoch(5), Epoch(3), Mode::Observe));
        assert_eq!(known(&rebuilt), known(&engine));
    }

    #[test]
    fn a_summary_tells_decisions_apart_that_list_the_same_lines() {
        let counted = |to| {
            let cell = CellRecord { counted_to: Timestamp(to), ..CellRecord::default() };
            DecisionSummary::of(&Decision { cell: Some(cell), ..Decision::default() })
        };
        assert_ne!(counted(1), counted(2));
        assert_eq!(counted(1), counted(1));
    }
}
