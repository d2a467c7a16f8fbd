//! Logs of a process: every `tracing` event becomes one line of standard output, as text or as a JSON object. There are no
//! spans. A reader of the log that is slow or gone delays no task: lines wait in a bounded queue, and are dropped and
//! counted when it is full.

mod line;
mod queue;

use std::io;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use line::Line;
use queue::Queue;

/// Time for the last lines when the process ends. A reader that takes nothing must not hold up a shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(250);

/// Common prefix of our crates' names, which are the targets of our events.
const OUR_TARGETS: &str = "mainstay";

/// Format and level of the log of a process.
#[derive(Debug, Clone, Copy, Args)]
pub struct LogOptions {
    /// Log format; json prints one object per line
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Lowest level to log; libraries log only warnings and errors
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Info)]
    log_level: LogLevel,
}

/// Format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Time, level, target, message and fields as `name=value`
    Text,
    /// One JSON object per line
    Json,
}

/// Lowest level of the events in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// An operator must act
    Error,
    /// The process works in a degraded way
    Warn,
    /// Life cycle of the process
    Info,
    /// Details for an investigation
    Debug,
}

/// The log of this process. Dropping it writes the lines that still wait, for a quarter of a second at most.
#[derive(Debug)]
#[must_use = "lines that wait when the process ends are written when this value is dropped"]
pub struct LogGuard(Queue);

/// Turns events into lines and queues them.
struct LogLayer {
    format: LogFormat,
    queue: Queue,
}

// === impl LogOptions ===

impl LogOptions {
    /// Starts the log of this process on standard output. A process calls it once, before its first event.
    ///
    /// # Errors
    /// [`io::Error`] if the thread of the log cannot start, or if the process has a log already.
    pub fn start(self) -> io::Result<LogGuard> {
        let queue = Queue::start(self.log_format, io::stdout())?;
        let subscriber = self.subscriber(queue.clone());
        tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
        Ok(LogGuard(queue))
    }

    fn subscriber(self, queue: Queue) -> impl Subscriber + Send + Sync {
        let level = self.log_level.filter();
        // Libraries report at info and debug what is of interest to their authors.
        let levels = Targets::new().with_default(level.min(LevelFilter::WARN)).with_target(OUR_TARGETS, level);
        tracing_subscriber::registry().with(levels).with(LogLayer { format: self.log_format, queue })
    }
}

// === impl LogLevel ===

impl LogLevel {
    const fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

// === impl LogLayer ===

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::new(self.format);
        event.record(&mut line);
        let metadata = event.metadata();
        self.queue.push(line.finish(jiff::Timestamp::now(), *metadata.level(), metadata.target()));
    }
}

// === impl LogGuard ===

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.0.flush(FLUSH_TIMEOUT);
    }
}

#[cfg(test)]
mod tests;
