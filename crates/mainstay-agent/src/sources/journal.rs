//! Messages of services as a source: entries of the journal become signals and templates, in batches with the position
//! that they go to. Which services are followed is `mainstay-signal`'s table.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mainstay_model::BootId;
use mainstay_signal::Writer;
use tokio::sync::mpsc;

use super::lines::LineReader;
use super::{Heartbeat, JournalBatch, PollResult, SourceError, SourceMessage, SourceName};
use crate::journal::{Entry, Journal, JournalPosition, JournalStart};

/// Time between two looks. journald has no file that a reader could wait for without its library.
const EVERY: Duration = Duration::from_secs(2);

/// Entries that are looked at in one look. The rest waits in the journal for the next one.
const LOOKS_MAX: usize = 2_000;

/// A journal that cannot be opened is tried again. A host without journald keeps trying, at the cost of one look.
const REOPEN: Duration = Duration::from_mins(1);

/// Much longer than a look takes.
const LIMIT: Duration = Duration::from_secs(10);

/// Starts reading. A journal that cannot be read is no fault of the node: a host may do without journald.
///
/// # Errors
/// Where no thread can be had.
pub fn start(
    root: PathBuf,
    boot: BootId,
    start: JournalStart,
    said: mpsc::Sender<SourceMessage>,
) -> std::io::Result<Arc<Heartbeat>> {
    Heartbeat::spawn(SourceName::Journal.word(), LIMIT, move |pulse| {
        let mut start = start;
        loop {
            let error = match pulse.track(|| Journal::open(&root, boot.as_str(), &start)) {
                Ok(mut journal) => match follow(&mut journal, pulse, &said) {
                    Ok(()) => return,
                    Err(error) => {
                        start = journal.position().cloned().map_or(start, JournalStart::After);
                        error
                    }
                },
                Err(error) => error,
            };
            let trouble = Some(SourceError::partial(error.to_string()));
            let round = Box::new(PollResult { trouble, ..PollResult::default() });
            if said.blocking_send(SourceMessage::Round(SourceName::Journal, round)).is_err() {
                return;
            }
            std::thread::park_timeout(REOPEN);
        }
    })
}

/// Reads until the agent ends.
fn follow(journal: &mut Journal, pulse: &Heartbeat, said: &mpsc::Sender<SourceMessage>) -> std::io::Result<()> {
    let mut reader = LineReader::default();
    let mut caught_up = false;
    loop {
        let entries = pulse.track(|| journal.read(LOOKS_MAX))?;
        let message = if !entries.is_empty() {
            SourceMessage::Journal(Box::new(batch(&mut reader, &entries, journal.position().cloned())))
        } else if !caught_up {
            // What this boot has so far is read, and then there is time.
            caught_up = true;
            SourceMessage::Round(SourceName::Journal, Box::default())
        } else if said.is_closed() {
            return Ok(());
        } else {
            std::thread::park_timeout(EVERY);
            continue;
        };
        if said.blocking_send(message).is_err() {
            return Ok(());
        }
        if caught_up {
            std::thread::park_timeout(EVERY);
        }
    }
}

fn batch(reader: &mut LineReader, entries: &[Entry], position: Option<JournalPosition>) -> JournalBatch {
    let mut batch = JournalBatch { position, ..JournalBatch::default() };
    for entry in entries {
        batch.read += 1;
        let Some(message) = &entry.message else {
            batch.unreadable += 1;
            continue;
        };
        let at_millis = i64::try_from(entry.at_micros / 1_000).unwrap_or(i64::MAX);
        reader.read(message, Writer::Program(&entry.program), entry.priority, at_millis, &mut batch.lines);
    }
    batch
}
