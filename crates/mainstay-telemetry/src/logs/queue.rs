//! The queue of log lines and the thread that writes them. A task that logs never waits for the reader of the log: a leader
//! that did would lose its Lease to a full pipe.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tracing::Level;

use super::LogFormat;
use super::line::Line;

/// Lines that may wait. A process logs changes, a few lines a minute; a start has about ten.
const LINES_MAX: usize = 256;
/// Pause between two looks at whether all lines are written, at the end of the process.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Queue of lines for one writer.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    lines: SyncSender<String>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Lines that are queued and not written.
    waiting: AtomicU64,
    /// Lines dropped since the last notice of it.
    dropped: AtomicU64,
}

// === impl Queue ===

impl Queue {
    /// Starts the thread that writes.
    pub(super) fn start(format: LogFormat, out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, queued) = sync_channel(LINES_MAX);
        let counts = Arc::new(Counts::default());
        let theirs = Arc::clone(&counts);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || write_all(format, &queued, &theirs, out))?;
        Ok(Self { lines, counts })
    }

    /// Queues a line, or counts it as dropped.
    pub(super) fn push(&self, line: String) {
        self.counts.waiting.fetch_add(1, Ordering::AcqRel);
        if self.lines.try_send(line).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::AcqRel);
            self.counts.dropped.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Waits until every queued line is written, at most this long.
    pub(super) fn flush(&self, timeout: Duration) {
        let give_up_at = Instant::now() + timeout;
        while self.counts.waiting.load(Ordering::Acquire) > 0 && Instant::now() < give_up_at {
            std::thread::park_timeout(LOOK_EVERY);
        }
    }
}

/// Writes lines until the process ends. A closed output is no reason to end: the log is not the work.
fn write_all(format: LogFormat, lines: &Receiver<String>, counts: &Counts, mut out: impl Write) {
    for line in lines {
        let dropped = counts.dropped.swap(0, Ordering::AcqRel);
        if dropped > 0 {
            let _ = out.write_all(notice(format, dropped).as_bytes());
        }
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        counts.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The line that replaces dropped ones.
fn notice(format: LogFormat, dropped: u64) -> String {
    let mut line = Line::new(format);
    line.message(format_args!("log lines dropped: the reader of the log is too slow"));
    line.bare("lines", dropped);
    line.finish(jiff::Timestamp::now(), Level::WARN, module_path!())
}
