//! Shutdown signals of the process, received from the moment the receiver is created. It is heard from the moment this
//! is made, so it is made before anybody is told that there is something to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives SIGTERM and SIGINT (Ctrl-C).
pub(crate) struct ShutdownSignal {
    terminates: Signal,
    interrupts: Signal,
}

// === impl ShutdownSignal ===

impl ShutdownSignal {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { terminates: signal(SignalKind::terminate())?, interrupts: signal(SignalKind::interrupt())? })
    }

    /// Waits for either. Safe to be dropped while it waits.
    pub(crate) async fn received(&mut self) {
        tokio::select! {
            _ = self.terminates.recv() => {}
            _ = self.interrupts.recv() => {}
        }
    }
}
