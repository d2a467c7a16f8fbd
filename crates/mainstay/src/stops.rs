//! The word to stop, from a terminal or from whoever supervises. It is heard from the moment this is made, so it is made
//! before anybody is told that there is something to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and Ctrl-C.
pub(crate) struct Stops {
    terminates: Signal,
    interrupts: Signal,
}

// === impl Stops ===

impl Stops {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { terminates: signal(SignalKind::terminate())?, interrupts: signal(SignalKind::interrupt())? })
    }

    /// Waits for either. Safe to be dropped while it waits.
    pub(crate) async fn heard(&mut self) {
        tokio::select! {
            _ = self.terminates.recv() => {}
            _ = self.interrupts.recv() => {}
        }
    }
}
