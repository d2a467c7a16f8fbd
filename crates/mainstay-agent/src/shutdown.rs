//! A shutdown signal that any number of threads can wait for, including threads that start waiting after it fired.

use std::io;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// Asks threads to stop; once fired, it stays fired.
#[derive(Debug, Clone)]
pub struct ShutdownSignal(Arc<OwnedFd>);

// === impl ShutdownSignal ===

impl ShutdownSignal {
    /// Not yet.
    ///
    /// # Errors
    /// Where no descriptor is to be had.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Says it.
    pub fn fire(&self) {
        // It fails only where it was said some 2^64 times before.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Whether it was said.
    #[must_use]
    pub fn has_fired(&self) -> bool {
        let mut fds = [PollFd::new(&*self.0, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for ShutdownSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_once_is_heard_by_all_and_for_good() -> io::Result<()> {
        let stop = ShutdownSignal::new()?;
        let other = stop.clone();
        assert!(!stop.has_fired() && !other.has_fired());
        other.fire();
        assert!(stop.has_fired() && stop.has_fired() && other.has_fired());
        Ok(())
    }
}
