//! The thread that writes the journal. It ends a frame when enough lines are collected or when their time is up, so that a
//! crash loses a few seconds. After a failure it writes nothing until a snapshot arrives.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mainstay_engine::record::{self, DecisionSummary, Entry, LINE_BYTES_MAX};
use tracing::{info, warn};

use super::file::JournalFile;
use super::frames::FRAME_BYTES;
use super::header::Header;
use super::{Batch, Item, JournalSettings, Shared};
use crate::metrics::Metrics;
use crate::rotation::Rotation;

/// After a failure the disk gets this time before the next snapshot.
const RETRY_AFTER: Duration = Duration::from_secs(60);
const NAME: (&str, &str) = ("journal", "jsonl.zst");

/// Writes batches to files.
#[derive(Debug)]
pub(super) struct Writer {
    files: Rotation,
    file_bytes_max: u64,
    write_within: Duration,
    header: Header,
    file: Option<JournalFile>,
    shared: Arc<Shared>,
    metrics: Metrics,
    /// Lines of the next frame, their number, and when they must be written.
    lines: Vec<u8>,
    entries: u64,
    write_by: Option<Instant>,
    /// Since when nothing is written, because entries were lost. A snapshot ends it.
    failed_at: Option<Instant>,
    has_warned: bool,
    /// Whether a snapshot was requested for the next file.
    has_asked: bool,
    /// Entries that were lost and are not marked in the file yet.
    lost: u64,
}

impl Writer {
    pub(super) fn new(settings: &JournalSettings, shared: Arc<Shared>, metrics: Metrics) -> Self {
        Self {
            files: Rotation::new(&settings.folder, NAME, settings.files_max),
            file_bytes_max: settings.file_bytes_max,
            write_within: settings.write_within,
            header: Header::of_this_build(),
            file: None,
            shared,
            metrics,
            lines: Vec::new(),
            entries: 0,
            write_by: None,
            failed_at: None,
            has_warned: false,
            has_asked: false,
            lost: 0,
        }
    }

    /// Writes until the control loop closes its end.
    pub(super) fn run(mut self, queue: &Receiver<Batch>) {
        loop {
            let due = self.write_by.into_iter().chain(self.failed_at.map(|at| at + RETRY_AFTER)).min();
            let wait = due.map_or(RETRY_AFTER, |at| at.saturating_duration_since(Instant::now()));
            match queue.recv_timeout(wait) {
                Ok(batch) => self.take(batch),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.end_frame(),
            }
            if self.write_by.is_some_and(|at| at <= Instant::now()) {
                self.end_frame();
            }
            if self.failed_at.is_some_and(|at| at.elapsed() >= RETRY_AFTER) {
                self.failed_at = Some(Instant::now());
                self.shared.wants_snapshot.store(true, Ordering::Release);
            }
        }
    }

    fn take(&mut self, Batch { items, is_beginning }: Batch) {
        let count = items.len();
        if is_beginning {
            self.begin();
        }
        // A snapshot repeats facts: where it cannot be written, nothing more is lost.
        if !(is_beginning && self.failed_at.is_some()) {
            items.into_iter().for_each(|item| self.add(item));
        }
        if is_beginning {
            self.end_frame();
            self.file.iter_mut().for_each(JournalFile::snapshot_ends);
        }
        self.shared.queued.fetch_sub(count, Ordering::AcqRel);
    }

    /// What follows can be replayed without anything before it, so a full file is put aside now.
    fn begin(&mut self) {
        self.end_frame();
        self.failed_at = None;
        self.has_asked = false;
        self.shared.wants_snapshot.store(false, Ordering::Release);
        if let Err(error) = self.prepare() {
            self.fail(&error);
            return;
        }
        let lost = self.lost + self.shared.dropped.swap(0, Ordering::AcqRel);
        self.lost = 0;
        if lost > 0 {
            self.add(Item::Entry(Entry::Gap { lost }));
        }
    }

    fn prepare(&mut self) -> io::Result<()> {
        let file = match self.file.take() {
            None => JournalFile::open(&self.files, &self.header)?,
            Some(file) => file,
        };
        let is_full = file.is_full(self.file_bytes_max);
        self.file = Some(if is_full { JournalFile::rotate(&self.files, &self.header)? } else { file });
        Ok(())
    }

    fn add(&mut self, item: Item) {
        if self.failed_at.is_some() {
            return self.lose(1);
        }
        let entry = match item {
            Item::Entry(entry) => entry,
            Item::Decided(decision) => Entry::Decided(Box::new(DecisionSummary::of(&decision))),
        };
        match record::write(&entry) {
            Ok(line) if line.len() <= LINE_BYTES_MAX => {
                self.lines.extend_from_slice(line.as_bytes());
                self.lines.push(b'\n');
                self.entries += 1;
                self.write_by.get_or_insert_with(|| Instant::now() + self.write_within);
            }
            Ok(_) | Err(_) => {
                self.end_frame();
                self.fail(&io::Error::other("an entry is too long"));
                self.lose(1);
            }
        }
        if self.lines.len() >= FRAME_BYTES {
            self.end_frame();
        }
    }

    fn end_frame(&mut self) {
        self.write_by = None;
        if self.lines.is_empty() {
            return;
        }
        let (lines, entries) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.entries));
        let Some(file) = &mut self.file else { return self.lose(entries) };
        match file.append(&lines) {
            Ok(()) => {
                self.metrics.journal_written(entries);
                let is_full = file.is_full(self.file_bytes_max);
                if is_full && !std::mem::replace(&mut self.has_asked, true) {
                    self.shared.wants_snapshot.store(true, Ordering::Release);
                }
                if std::mem::take(&mut self.has_warned) {
                    info!("journal written again");
                }
            }
            Err(error) => {
                self.lose(entries);
                self.fail(&error);
            }
        }
    }

    fn lose(&mut self, entries: u64) {
        self.lost = self.lost.saturating_add(entries);
        self.metrics.journal_lost(entries);
    }

    fn fail(&mut self, error: &io::Error) {
        self.failed_at = Some(Instant::now());
        if !std::mem::replace(&mut self.has_warned, true) {
            warn!(why = %error, "journal entries lost");
        }
    }
}
