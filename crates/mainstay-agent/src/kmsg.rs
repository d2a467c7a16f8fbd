//! The kernel log, as `/dev/kmsg` gives it: one record a read, numbered, and overwritten when nobody was fast enough. It
//! says which numbers were read and which are missing; what a record means is `mainstay-signal`'s to say.

mod record;

use std::io;
use std::path::Path;
use std::time::Duration;

pub use record::Record;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;

/// Room for one record. The kernel's own are at most 2,048 bytes (`PRINTK_MESSAGE_MAX`), 8,192 on kernels before 6.3
/// (`CONSOLE_EXT_LOG_MAX`); with less room than a record has, the kernel throws it away.
const RECORD_BYTES_MAX: usize = 8192;

/// The log, open at one place.
#[derive(Debug)]
pub struct Kmsg {
    device: OwnedFd,
    buffer: Box<[u8]>,
    /// The number that should come next; none before the first record.
    expected: Option<u64>,
    /// Up to here everything was counted before: read over it in silence.
    counted_to: Option<u64>,
    /// Whether a record was read, so that this is a kernel log.
    is_log: bool,
}

/// Position in the kernel log at which reading starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartPosition {
    /// At the oldest record that is there.
    Oldest,
    /// Behind the record of this number; what is missing after it was lost.
    After(u64),
    /// Where the log was last cleared (`dmesg -C`).
    Cleared,
    /// With what comes from now on.
    Now,
}

/// Outcome of one read of `/dev/kmsg`: a record, an invalid record, or no new record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadResult {
    /// One record, and how many before it were overwritten unread.
    Record {
        /// The record.
        record: Record,
        /// How many numbers are missing before it.
        lost: u64,
    },
    /// A record that is no record: no number to be had from it.
    Unreadable,
    /// Nothing new.
    Nothing,
}

// === impl Kmsg ===

impl Kmsg {
    /// Opens the log for reading, never blocking.
    ///
    /// # Errors
    /// Where there is no such device, or it may not be read (`EPERM`: `CAP_SYSLOG` is missing).
    pub fn open(path: &Path, from: StartPosition) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = rustix::fs::open(path, flags, Mode::empty())?;
        let (expected, counted_to) = match from {
            StartPosition::Oldest => (None, None),
            StartPosition::After(number) => (Some(number.saturating_add(1)), Some(number)),
            StartPosition::Cleared => {
                rustix::fs::seek(&device, SeekFrom::Data(0))?;
                (None, None)
            }
            StartPosition::Now => {
                rustix::fs::seek(&device, SeekFrom::End(0))?;
                (None, None)
            }
        };
        Ok(Self { device, buffer: vec![0; RECORD_BYTES_MAX].into(), expected, counted_to, is_log: false })
    }

    /// Waits until there is something to read, or the time is up.
    ///
    /// # Errors
    /// Where the device is gone.
    pub fn wait(&self, at_most: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.device, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads one record, over those that were counted before.
    ///
    /// # Errors
    /// Where the device is gone, or this is not a kernel log: a plain file has an end, and no records.
    pub fn read(&mut self) -> io::Result<ReadResult> {
        loop {
            match rustix::io::read(&self.device, &mut *self.buffer) {
                // The device answers EAGAIN where there is nothing new. A file that ends would be read again and again.
                Ok(0) => return Err(not_a_log()),
                Ok(bytes) => {
                    let Some(record) = Record::parse(self.buffer.get(..bytes).unwrap_or_default()) else {
                        return if self.is_log { Ok(ReadResult::Unreadable) } else { Err(not_a_log()) };
                    };
                    self.is_log = true;
                    if self.counted_to.is_some_and(|counted| record.number <= counted) {
                        continue;
                    }
                    let lost = self.expected.map_or(0, |expected| record.number.saturating_sub(expected));
                    self.expected = Some(record.number.saturating_add(1));
                    return Ok(ReadResult::Record { record, lost });
                }
                // What was next is gone; the next read begins at what is there, and its number says how much is missing.
                // A record longer than the room (EINVAL) is passed over likewise.
                Err(Errno::PIPE | Errno::INVAL | Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(ReadResult::Nothing),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn not_a_log() -> io::Error {
    io::Error::other("not a kernel log device; set --kmsg to /dev/kmsg")
}

#[cfg(test)]
mod tests;
