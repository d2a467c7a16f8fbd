//! Batches of the kernel log and of the journal, counted together with the place that they go to.

use mainstay_model::Timestamp;
use mainstay_signal::{Place, Reading, TallyOutcome};
use serde::{Deserialize, Serialize};

use super::{Change, Store};
use crate::journal::JournalPosition;
use crate::sources::lines::Lines;
use crate::sources::{Batch, JournalBatch};

/// Number of the last counted kernel log record, with counts of lost and invalid records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// The number of the last record.
    pub counted_to: Option<u64>,
    /// Records that were read.
    pub read: u64,
    /// Records that were overwritten unread.
    pub lost: u64,
    /// Records that could not be read.
    pub unreadable: u64,
    /// Records that were gone before the agent first looked.
    pub before: u64,
}

/// The last journal entry that was counted, with counts of entries and of those without a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalCounts {
    /// The last entry that was counted.
    pub position: Option<JournalPosition>,
    /// Entries that were read.
    pub read: u64,
    /// Entries without a text that could be read.
    pub unreadable: u64,
}

impl Store {
    pub(super) fn batch(&mut self, batch: Batch, now: Timestamp) -> Vec<Change> {
        self.log_is_read = true;
        if self.log.counted_to.is_none()
            && let Some(last) = batch.counted_to
        {
            self.log.before = last.saturating_add(1).saturating_sub(batch.read).saturating_sub(batch.lost);
        }
        self.log.counted_to = batch.counted_to.or(self.log.counted_to);
        // A damaged state file may contain any number.
        self.log.read = self.log.read.saturating_add(batch.read);
        self.log.lost = self.log.lost.saturating_add(batch.lost);
        self.log.unreadable = self.log.unreadable.saturating_add(batch.unreadable);
        if [batch.read, batch.lost, batch.unreadable].iter().any(|count| *count > 0) {
            self.changes += 1;
        }
        let mut changes = self.lines(batch.lines, now);
        changes.extend(self.read(&Place::Node, &Reading::LogLost(self.log.lost), now));
        changes
    }

    pub(super) fn journal_batch(&mut self, batch: JournalBatch, now: Timestamp) -> Vec<Change> {
        self.journal.position = batch.position.or(self.journal.position.take());
        self.journal.read = self.journal.read.saturating_add(batch.read);
        self.journal.unreadable = self.journal.unreadable.saturating_add(batch.unreadable);
        self.changes += 1;
        self.lines(batch.lines, now)
    }

    /// Counts what lines gave, those of one signal that follow one another at once.
    fn lines(&mut self, lines: Lines, now: Timestamp) -> Vec<Change> {
        for (template, at_millis) in &lines.unrecognised {
            self.templates += u64::from(self.unrecognised.note(template, Timestamp(*at_millis).min(now)));
        }
        self.unrecognised.note_uncounted(lines.unexamined);
        let mut changes: Vec<Change> = Vec::new();
        for (signal, at_millis) in lines.signals {
            // The clock of the log drifts against the one on the wall; nothing happens in the future.
            let at = Timestamp(at_millis).min(now);
            if self.borrowed.pays(&signal, at) {
                continue;
            }
            self.xids.count(&signal, 1);
            match changes.last_mut() {
                Some(last) if last.signal == signal => {
                    last.times += 1;
                    last.at = at;
                }
                Some(_) | None => changes.push(Change { signal, times: 1, noted: TallyOutcome::Repeat, at }),
            }
        }
        if !changes.is_empty() {
            let inventory = self.inventory();
            for change in &mut changes {
                change.noted = self.tally.note_many(&change.signal, change.times, &inventory, change.at);
            }
        }
        changes
    }
}
