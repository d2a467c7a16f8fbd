//! Signals that ask the process to end. Create the receiver before the process reports that it has started: signals are
//! received from that moment.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives SIGTERM and SIGINT (Ctrl-C).
#[derive(Debug)]
pub struct TerminationSignals {
    terminate: Signal,
    interrupt: Signal,
}

/// Signal that asked the process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminationSignal {
    /// SIGTERM, from an init system or a kubelet.
    Terminate,
    /// SIGINT, from a terminal.
    Interrupt,
}

// === impl TerminationSignals ===

impl TerminationSignals {
    /// Starts to receive both signals. They no longer end the process.
    ///
    /// # Errors
    /// [`io::Error`] if the handlers cannot be installed.
    pub fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal. No signal is lost when the returned future is dropped.
    pub async fn received(&mut self) -> TerminationSignal {
        tokio::select! {
            _ = self.terminate.recv() => TerminationSignal::Terminate,
            _ = self.interrupt.recv() => TerminationSignal::Interrupt,
        }
    }
}

// === impl TerminationSignal ===

impl TerminationSignal {
    /// Name of the signal, as in `kill -l`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
        }
    }
}
