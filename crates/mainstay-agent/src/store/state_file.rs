//! The state file on disk: a separate thread replaces it as a whole, because a disk may hang.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, TrySendError};
use std::time::{Duration, Instant};

use mainstay_model::BootId;
use rustix::fs::FlockOperation;
use tokio::sync::Notify;

use super::{Store, StoredState};
use crate::sources::Heartbeat;

/// The file is replaced at most this often. What was said in between is still in the kernel's log and counters.
pub const EVERY: Duration = Duration::from_secs(1);

/// A disk that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(10);

/// A whole store is well under a megabyte; what is larger is not ours.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Writes the store to the state file on a separate thread, one version at a time.
#[derive(Debug)]
pub struct StateWriter {
    pulse: Arc<Heartbeat>,
    work: mpsc::SyncSender<(Vec<u8>, u64)>,
    done: Arc<WriteProgress>,
    handed: u64,
    /// Of what was handed over last: what is the same is not written again.
    digest: u64,
    handed_at: Option<Instant>,
    _lock: File,
}

/// Digest of the state on disk, with counts of writes and failures.
#[derive(Debug, Default)]
struct WriteProgress {
    /// The digest of what is on disk.
    kept: AtomicU64,
    writes: AtomicU64,
    failures: AtomicU64,
    /// Told when something is on disk: a report may wait for it.
    told: Notify,
}

/// What the state file held when the agent started.
#[derive(Debug, PartialEq, Eq)]
pub enum LoadOutcome {
    /// The store of this boot.
    ThisBoot,
    /// Nothing, or another boot's.
    Nothing,
    /// A file that could not be read, now set aside.
    Damaged(String),
}

// === impl StateWriter ===

impl StateWriter {
    /// Takes the file, which nobody else may have, and what it holds of this boot.
    ///
    /// # Errors
    /// Where another agent has it, or it cannot be written.
    pub fn open(path: &Path, boot: &BootId) -> io::Result<(Self, Store, LoadOutcome)> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let lock = File::options().create(true).append(true).open(path.with_extension("lock"))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let (store, found) = load(path, boot)?;
        let (work, next) = mpsc::sync_channel::<(Vec<u8>, u64)>(1);
        let done = Arc::new(WriteProgress::default());
        let its = Arc::clone(&done);
        let path = path.to_path_buf();
        let pulse = Heartbeat::spawn("store", LIMIT, move |pulse| {
            for (text, digest) in next {
                match pulse.track(|| replace(&path, &text)) {
                    Ok(()) => {
                        its.writes.fetch_add(1, Ordering::Relaxed);
                        its.kept.store(digest, Ordering::Release);
                        its.told.notify_one();
                    }
                    Err(_) => {
                        its.failures.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        })?;
        Ok((Self { pulse, work, done, handed: 0, digest: 0, handed_at: None, _lock: lock }, store, found))
    }

    /// Hands the store over, if it changed and the last time is long enough ago.
    pub fn keep(&mut self, store: &Store) {
        if self.handed_at.is_none_or(|at| at.elapsed() >= EVERY) {
            self.keep_now(store);
        }
    }

    /// Hands the store over, if it changed: at the end.
    pub fn keep_now(&mut self, store: &Store) {
        // What failed is handed over again, by and by.
        let failed = !self.settled() && self.overdue();
        if store.changes() == self.handed && !failed {
            return;
        }
        let Ok(text) = serde_json::to_vec(&store.kept()) else { return };
        let digest = digest(&text);
        if digest == self.digest && !failed {
            self.handed = store.changes();
            return;
        }
        match self.work.try_send((text, digest)) {
            Ok(()) => {
                self.handed = store.changes();
                self.digest = digest;
                self.handed_at = Some(Instant::now());
            }
            // The disk is busy: the next time is soon.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    fn overdue(&self) -> bool {
        self.handed_at.is_some_and(|at| at.elapsed() > LIMIT)
    }

    /// When to look again, if something is left to be written.
    #[must_use]
    pub fn due_in(&self, store: &Store) -> Option<Duration> {
        let wait = self.handed_at.map_or(Duration::ZERO, |at| EVERY.saturating_sub(at.elapsed()));
        (store.changes() != self.handed).then_some(wait)
    }

    /// Whether everything that was handed over is on disk.
    #[must_use]
    pub fn settled(&self) -> bool {
        self.done.kept.load(Ordering::Acquire) == self.digest
    }

    /// Waits until something is on disk that was not. Safe to be dropped while it waits.
    pub async fn kept(&self) {
        self.done.told.notified().await;
    }

    /// How often the file was replaced, and how often it could not be.
    #[must_use]
    pub fn writes(&self) -> (u64, u64) {
        (self.done.writes.load(Ordering::Relaxed), self.done.failures.load(Ordering::Relaxed))
    }

    /// Whether the disk hangs.
    #[must_use]
    pub fn pulse(&self) -> Arc<Heartbeat> {
        Arc::clone(&self.pulse)
    }
}

/// Tells two texts apart within one life of the process; nothing is secured by it.
fn digest(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    hasher.finish()
}

/// What another process keeps of this boot, without taking the file from it.
///
/// # Errors
/// Where it cannot be read.
pub fn look(path: &Path, boot: &BootId) -> io::Result<Option<Store>> {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(File::open(path)?, BYTES_MAX), &mut text)?;
    Ok(Store::of(serde_json::from_slice(&text)?, boot))
}

fn load(path: &Path, boot: &BootId) -> io::Result<(Store, LoadOutcome)> {
    let text = match File::open(path) {
        Ok(file) => {
            let mut text = Vec::new();
            io::Read::read_to_end(&mut io::Read::take(file, BYTES_MAX), &mut text)?;
            text
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((Store::new(boot.clone()), LoadOutcome::Nothing));
        }
        Err(error) => return Err(error),
    };
    match serde_json::from_slice::<StoredState>(&text) {
        Ok(kept) => {
            let after = Store::after(&kept, boot.clone());
            Ok(Store::of(kept, boot).map_or((after, LoadOutcome::Nothing), |store| (store, LoadOutcome::ThisBoot)))
        }
        // The kernel's log is read from its beginning; the damaged file is kept for who wants to know.
        Err(error) => {
            std::fs::rename(path, path.with_extension("damaged"))?;
            Ok((Store::new(boot.clone()), LoadOutcome::Damaged(error.to_string())))
        }
    }
}

/// The whole new file or the whole old one, whatever happens: written beside it, synced, moved over it, and the folder
/// synced as well.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside: PathBuf = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(&beside, path)?;
    match path.parent() {
        Some(folder) if folder != Path::new("") => File::open(folder)?.sync_all(),
        Some(_) | None => File::open(".")?.sync_all(),
    }
}
