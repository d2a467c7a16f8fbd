//! The kernel log as a source: records become signals with a moment, in batches that say how far they go.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mainstay_signal::Writer;
use rustix::time::ClockId;
use tokio::sync::mpsc;

use super::lines::LineReader;
use super::{Batch, Heartbeat, PollResult, SourceError, SourceMessage, SourceName};
use crate::kmsg::{Kmsg, ReadResult, StartPosition};

/// Records in one message: enough to be cheap, few enough to be folded in a moment.
const BATCH_MAX: u64 = 512;

/// A wait ends at least this often, so that the watchdog sees a pulse.
const WAIT: Duration = Duration::from_secs(2);

/// Pause after lines without a fault, in which the next ones gather: a driver that prints much wakes the agent 50 times a
/// second and not for every line. A fault line waits at most this long.
const GATHER: Duration = Duration::from_millis(20);

/// A log that cannot be opened is tried again; an installation may still be under way.
const REOPEN: Duration = Duration::from_secs(30);

/// Much longer than a read of the log ever takes.
const LIMIT: Duration = Duration::from_secs(10);

/// Starts reading.
///
/// # Errors
/// Where no thread can be had.
pub fn start(path: PathBuf, from: StartPosition, said: mpsc::Sender<SourceMessage>) -> std::io::Result<Arc<Heartbeat>> {
    Heartbeat::spawn(SourceName::KernelLog.word(), LIMIT, move |pulse| {
        let mut from = from;
        loop {
            let what = match pulse.track(|| Kmsg::open(&path, from)) {
                Ok(mut log) => match follow(&mut log, pulse, &said, &mut from) {
                    Ok(()) => return,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            let trouble = Some(SourceError::blind(format!("{}: {what}", path.display())));
            let round = Box::new(PollResult { trouble, ..PollResult::default() });
            if said.blocking_send(SourceMessage::Round(SourceName::KernelLog, round)).is_err() {
                return;
            }
            std::thread::park_timeout(REOPEN);
        }
    })
}

/// Reads until nobody listens. What was handed on is remembered, so that a log that is opened again goes on from there.
fn follow(
    log: &mut Kmsg,
    pulse: &Heartbeat,
    said: &mpsc::Sender<SourceMessage>,
    from: &mut StartPosition,
) -> std::io::Result<()> {
    let fine = SourceMessage::Round(SourceName::KernelLog, Box::default());
    if said.blocking_send(fine).is_err() {
        return Ok(());
    }
    let (mut caught_up, mut reader) = (false, LineReader::default());
    loop {
        let batch = pulse.track(|| batch(log, &mut reader))?;
        let nothing = batch.read + batch.lost + batch.unreadable == 0;
        let (all_read, no_fault) = (batch.caught_up, batch.lines.signals.is_empty());
        if let Some(number) = batch.counted_to {
            *from = StartPosition::After(number);
        }
        // That all was read is said once; afterwards silence says it.
        if !(nothing && caught_up) {
            caught_up = batch.caught_up;
            if said.blocking_send(SourceMessage::Batch(batch)).is_err() {
                return Ok(());
            }
        } else if said.is_closed() {
            return Ok(());
        }
        if all_read {
            if no_fault && !nothing {
                std::thread::park_timeout(GATHER);
            }
            log.wait(WAIT)?;
        }
    }
}

fn batch(log: &mut Kmsg, reader: &mut LineReader) -> std::io::Result<Batch> {
    let mut batch = Batch::default();
    let boot_millis = boot_millis();
    while batch.read + batch.unreadable < BATCH_MAX {
        match log.read()? {
            ReadResult::Record { record, lost } => {
                batch.read += 1;
                batch.lost += lost;
                batch.counted_to = Some(record.number);
                if let Some(line) = record.line() {
                    let millis = i64::try_from(record.at_micros / 1_000).unwrap_or(i64::MAX);
                    let at = boot_millis.saturating_add(millis);
                    reader.read(line, Writer::Kernel, Some(record.level), at, &mut batch.lines);
                }
            }
            ReadResult::Unreadable => batch.unreadable += 1,
            ReadResult::Nothing => {
                batch.caught_up = true;
                break;
            }
        }
    }
    Ok(batch)
}

/// When the clock that stamps records began, by the clock on the wall.
fn boot_millis() -> i64 {
    let monotonic = rustix::time::clock_gettime(ClockId::Monotonic);
    let millis = monotonic.tv_sec.saturating_mul(1_000).saturating_add(monotonic.tv_nsec / 1_000_000);
    crate::now().0.saturating_sub(millis)
}
