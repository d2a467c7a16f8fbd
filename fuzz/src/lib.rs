//! What several targets share: a store that counts what was read, and a folder whose files have the words of an input.

use std::fs;
use std::path::{Path, PathBuf};

use mainstay_agent::sources::lines::{LineReader, Lines};
use mainstay_agent::sources::{Batch, PollResult, SourceMessage, SourceName};
use mainstay_agent::store::Store;
use mainstay_model::{BootId, NodeUid, Timestamp};
use mainstay_signal::Writer;
use tempfile::TempDir;

/// Stands between two files of an input.
const BETWEEN: &[u8] = b"\n----\n";

/// Some moment.
pub const NOW: Timestamp = Timestamp(1_794_700_800_000);

/// Two days and more later.
pub const LATER: Timestamp = Timestamp(1_795_000_000_000);

/// The boot of every input.
pub fn boot() -> BootId {
    BootId::parse("2c4f2c9e-0a55-4a8f-8a75-2f8f9e0f3a10").expect("an id")
}

fn uid() -> NodeUid {
    NodeUid::parse("uid").expect("an id")
}

/// Makes a report of a store, and takes up what was kept of it.
pub fn settle(store: &mut Store) {
    let report = store.report(&uid(), LATER);
    assert!(report.evidence.as_slice().len() <= 48);
    let kept = serde_json::to_vec(&store.kept()).expect("what is kept can be written");
    let again = Store::of(serde_json::from_slice(&kept).expect("and read"), store.boot()).expect("of this boot");
    assert_eq!(again.evidence(), store.evidence());
    assert_eq!(again.unrecognised(), store.unrecognised());
}

/// Reads lines as the agent does, and counts what they gave, a row of each.
pub fn count<'a>(lines: impl Iterator<Item = (&'a str, Option<u8>)>, writer: Writer<'_>) {
    let (mut reader, mut found) = (LineReader::default(), Lines::default());
    for (line, priority) in lines {
        reader.read(line, writer, priority, NOW.0, &mut found);
    }
    let read = found.signals.len() as u64;
    if found == Lines::default() {
        return;
    }
    let mut store = Store::new(boot());
    let batch = Batch { lines: found, counted_to: Some(read), read, ..Batch::default() };
    store.fold(SourceMessage::Batch(batch.clone()), NOW);
    store.fold(SourceMessage::Batch(batch), LATER);
    settle(&mut store);
}

/// Counts a look, twice.
pub fn count_round(source: SourceName, round: &PollResult) {
    let mut store = Store::new(boot());
    for at in [NOW, LATER] {
        store.fold(SourceMessage::Round(source, Box::new(round.clone())), at);
    }
    let _ = store.report(&uid(), LATER);
}

/// A folder with some files that are always the same, and some that each input has its own words for.
pub struct Tree {
    folder: TempDir,
    files: Vec<PathBuf>,
}

impl Tree {
    pub fn new(fixed: &[(&str, &str)], links: &[(&str, &str)], files: &[&str]) -> Self {
        // In memory where there is a place for that: a disk would be the slowest part of it.
        let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a folder");
        let place = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            path
        };
        for (path, text) in fixed {
            fs::write(place(path), text).expect("a file");
        }
        for (path, to) in links {
            std::os::unix::fs::symlink(folder.path().join(to), place(path)).expect("a link");
        }
        let files = files.iter().map(|path| place(path)).collect();
        Self { folder, files }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives each file its piece of the input; those behind the end are empty.
    pub fn fill(&self, input: &[u8]) {
        let mut rest = Some(input);
        for file in &self.files {
            let (piece, after) = match rest {
                Some(rest) => match rest.windows(BETWEEN.len()).position(|found| found == BETWEEN) {
                    Some(at) => (&rest[..at], Some(&rest[at + BETWEEN.len()..])),
                    None => (rest, None),
                },
                None => (&[][..], None),
            };
            fs::write(file, piece).expect("a file");
            rest = after;
        }
    }
}
