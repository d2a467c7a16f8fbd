//! Waiting without burning a core and without missing a change: until a moment, until the state file's folder changes, or
//! until somebody rings. Signals do not end a wait, as they do not end one inside a driver.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::{read, write};

/// Where the machine has no inotify instance left, the file is looked at this often instead.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A watch over the folder of a file.
#[derive(Debug)]
pub(crate) struct Watch(Option<OwnedFd>);

/// Wakes all threads that wait on it, and stays set.
#[derive(Debug)]
pub(crate) struct WakeSignal(Option<OwnedFd>);

impl Watch {
    pub(crate) fn over(file: &Path) -> Self {
        let watched = || {
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let changes = WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE | WatchFlags::DELETE;
            inotify::add_watch(&fd, file.parent()?, changes).ok()?;
            Some(fd)
        };
        Self(watched())
    }

    /// Returns at a change, at the bell, or at the deadline, whichever is first.
    pub(crate) fn wait(&self, bell: Option<&WakeSignal>, deadline: Option<Instant>) {
        let mut left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if self.0.is_none() {
            left = Some(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN)));
        }
        let bell = bell.and_then(|bell| bell.0.as_ref());
        let mut fds: Vec<PollFd<'_>> = self.0.iter().chain(bell).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        // Interrupted is as good as woken: the caller looks at the state and waits again.
        let _ = poll(&mut fds, left.map(timespec).as_ref());
        if let Some(fd) = &self.0 {
            let mut changes = [0_u8; 4096];
            while read(fd, &mut changes).is_ok_and(|bytes| bytes == changes.len()) {}
        }
    }
}

impl WakeSignal {
    pub(crate) fn new() -> Self {
        Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok())
    }

    pub(crate) fn ring(&self) {
        if let Some(fd) = &self.0 {
            // Full means that it rings already.
            let _ = write(fd.as_fd(), &1_u64.to_ne_bytes());
        }
    }
}

/// Sleeps; a signal does not shorten it.
pub(crate) fn pause(length: Duration) {
    let deadline = Instant::now() + length;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let _ = poll(&mut [], Some(&timespec(left)));
    }
}

fn timespec(length: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(length.subsec_nanos()) }
}
