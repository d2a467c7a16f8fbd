//! The journal of facts: everything that the engine was given and what it decided, so that `mainstay sim replay --journal`
//! repeats it elsewhere. A thread of its own writes the files: a slow or full disk delays no decision. What it cannot write
//! is lost and counted, and a snapshot of the engine follows, from which a replay can go on.

mod file;
mod frames;
mod header;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

use mainstay_engine::record::{EngineState, Entry};
use mainstay_model::Decision;

use crate::metrics::Metrics;
pub use header::{Header, JOURNAL_FORMAT};
pub use reader::{JournalEnd, JournalError, JournalReader};
use writer::Writer;

/// Default size of a file at which the next one is begun, in bytes.
pub const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Default number of files that are kept.
pub const FILES_MAX: u32 = 8;
/// Entries are compressed together for this long, because single ones hardly shrink.
const WRITE_WITHIN: Duration = Duration::from_secs(5);
/// Batches that wait for the thread: there is one per decision.
const BATCHES_MAX: usize = 256;
/// Entries that wait for the thread, in all batches together. The snapshot of a large fleet may be added once half of them
/// are written.
const ENTRIES_MAX: usize = 50_000;
/// Time that the last entries get to be written when the process stops.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// Where the journal is written, and its bounds.
#[derive(Debug, Clone)]
pub struct JournalSettings {
    /// Directory of the files, which is created if missing.
    pub folder: PathBuf,
    /// Compressed bytes after the snapshot of a file at which the next file is begun.
    pub file_bytes_max: u64,
    /// Number of files that are kept.
    pub files_max: u32,
    /// Longest time until an entry is in the file. A crash loses at most this.
    pub write_within: Duration,
}

impl JournalSettings {
    /// Settings for this directory with the default bounds.
    #[must_use]
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder, file_bytes_max: FILE_BYTES_MAX, files_max: FILES_MAX, write_within: WRITE_WITHIN }
    }
}

/// One line to write. A decision is summarised by the thread, because that takes time.
#[derive(Debug)]
enum Item {
    Entry(Entry),
    Decided(Box<Decision>),
}

/// Entries that are written together.
#[derive(Debug)]
struct Batch {
    items: Vec<Item>,
    /// Whether a replay can start with this batch: it begins with a new engine.
    is_beginning: bool,
}

/// What the thread and the control loop share.
#[derive(Debug, Default)]
struct Shared {
    /// Entries that wait for the thread.
    queued: AtomicUsize,
    /// Whether the thread needs a snapshot: the file is full, or entries were lost.
    wants_snapshot: AtomicBool,
    /// Entries that did not fit into the queue since the last snapshot.
    dropped: AtomicU64,
}

/// The control loop's end of the journal. Without settings it does nothing.
#[derive(Debug)]
pub(crate) struct Journal {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    batches: SyncSender<Batch>,
    shared: Arc<Shared>,
    metrics: Metrics,
    batch: Vec<Item>,
    /// Whether entries were dropped, so that further ones are useless until a snapshot.
    has_gap: bool,
    ended: mpsc::Receiver<()>,
}

// === impl Journal ===

impl Journal {
    /// Starts the thread. It creates the files with the first entry.
    pub(crate) fn start(settings: Option<&JournalSettings>, metrics: &Metrics) -> Self {
        let Some(settings) = settings else { return Self { open: None } };
        let (batches, queue) = mpsc::sync_channel(BATCHES_MAX);
        let (end, ended) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let writer = Writer::new(settings, Arc::clone(&shared), metrics.clone());
        let spawned = std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
            writer.run(&queue);
            let _ = end.send(());
        });
        if let Err(error) = spawned {
            // Without the thread the queue has no reader: every batch is counted as lost.
            tracing::warn!(why = %error, "journal entries lost");
        }
        let (metrics, batch) = (metrics.clone(), Vec::new());
        Self { open: Some(Open { batches, shared, metrics, batch, has_gap: false, ended }) }
    }

    /// A new engine begins, without facts.
    pub(crate) fn begin(&mut self) {
        let Some(open) = &mut self.open else { return };
        let before = std::mem::take(&mut open.batch);
        open.send(before, false);
        open.send(vec![Item::Entry(Entry::Begin(Box::<EngineState>::default()))], true);
    }

    /// Adds an input of the engine. [`Journal::commit`] hands it over.
    pub(crate) fn add(&mut self, entry: impl FnOnce() -> Entry) {
        if let Some(open) = &mut self.open {
            open.batch.push(Item::Entry(entry()));
        }
    }

    /// Adds a decision of the engine.
    pub(crate) fn add_decision(&mut self, decision: &Decision) {
        if let Some(open) = &mut self.open {
            open.batch.push(Item::Decided(Box::new(decision.clone())));
        }
    }

    /// Hands over what was added. It never waits: what does not fit is lost, and counted.
    pub(crate) fn commit(&mut self) {
        if let Some(open) = &mut self.open {
            let items = std::mem::take(&mut open.batch);
            open.send(items, false);
        }
    }

    /// Hands over a snapshot of the engine, if one is needed. Everything before must be committed.
    pub(crate) fn snapshot_if_due(&mut self, snapshot: impl FnOnce() -> Vec<Entry>) {
        let Some(open) = &mut self.open else { return };
        let is_wanted = open.shared.wants_snapshot.load(Ordering::Acquire) || open.has_gap;
        // A snapshot is large: it waits until the thread has caught up.
        if is_wanted && open.shared.queued.load(Ordering::Acquire) <= ENTRIES_MAX / 2 {
            open.shared.wants_snapshot.store(false, Ordering::Release);
            open.send(snapshot().into_iter().map(Item::Entry).collect(), true);
        }
    }

    /// Writes what is queued and ends the thread, unless the disk takes too long.
    pub(crate) fn close(mut self) {
        if let Some(Open { batches, ended, .. }) = self.open.take() {
            drop(batches);
            let _ = ended.recv_timeout(CLOSE_WITHIN);
        }
    }
}

impl Open {
    fn send(&mut self, items: Vec<Item>, is_beginning: bool) {
        let count = items.len();
        if count == 0 {
            return;
        }
        let queued = self.shared.queued.load(Ordering::Acquire);
        let has_room = if is_beginning { queued <= ENTRIES_MAX / 2 } else { queued + count <= ENTRIES_MAX };
        if has_room && (is_beginning || !self.has_gap) {
            self.shared.queued.fetch_add(count, Ordering::AcqRel);
            if self.batches.try_send(Batch { items, is_beginning }).is_ok() {
                self.has_gap = false;
                return;
            }
            self.shared.queued.fetch_sub(count, Ordering::AcqRel);
        }
        self.has_gap = true;
        if is_beginning {
            return;
        }
        let lost = u64::try_from(count).unwrap_or(u64::MAX);
        self.shared.dropped.fetch_add(lost, Ordering::AcqRel);
        self.metrics.journal_lost(lost);
    }
}
