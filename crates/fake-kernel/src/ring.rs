//! The kernel's log as `/dev/kmsg` shows it, in memory. It follows `devkmsg_read`, `devkmsg_poll` and `devkmsg_llseek` of
//! `kernel/printk/printk.c` (6.18) and `Documentation/ABI/testing/dev-kmsg`; the ring counts bytes of text as the kernel's
//! does, without its room for descriptors.

use std::collections::VecDeque;
use std::fmt::Write as _;

use rustix::event::PollFlags;
use rustix::io::Errno;

/// The longest record that can be read, header and properties included: the kernel's `PRINTK_MESSAGE_MAX`.
const RECORD_BYTES_MAX: usize = 2048;

/// A line as the kernel or a driver hands it to `printk`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Facility times eight, and the level.
    pub priority: u32,
    /// Microseconds since boot.
    pub at_micros: u64,
    /// The text, which may hold any byte.
    pub text: Vec<u8>,
    /// The subsystem of the device it is about, if it is about one.
    pub subsystem: Option<String>,
    /// That device, as `+pci:0000:1b:00.0`.
    pub device: Option<String>,
    /// A fragment that continues a line which another CPU interrupted.
    pub fragment: bool,
}

/// The log. What does not fit is overwritten, oldest first.
#[derive(Debug, Clone)]
pub struct Ring {
    records: VecDeque<(u64, Line)>,
    bytes: usize,
    bytes_max: usize,
    next_seq: u64,
    clear_seq: u64,
}

/// One open file on the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    seq: u64,
}

/// Position in the log to which a reader can seek.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekTarget {
    /// To the first record that is there.
    Set,
    /// To the first record after the log was cleared (`dmesg -C`), which removes none.
    Data,
    /// Behind the last record.
    End,
    /// From where it is, which the log does not know.
    Current,
}

// === impl Line ===

impl Line {
    /// A warning of the kernel.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { priority: 4, text: text.as_bytes().to_vec(), ..Self::default() }
    }

    fn bytes(&self) -> usize {
        let properties = [&self.subsystem, &self.device];
        self.text.len() + properties.into_iter().flatten().map(String::len).sum::<usize>()
    }

    /// The record as a read returns it.
    fn record(&self, seq: u64) -> Vec<u8> {
        let flags = if self.fragment { 'c' } else { '-' };
        let mut record = format!("{},{seq},{},{flags};", self.priority, self.at_micros);
        escape(&mut record, &self.text);
        for (name, value) in [("SUBSYSTEM", &self.subsystem), ("DEVICE", &self.device)] {
            if let Some(value) = value {
                let _ = write!(record, " {name}=");
                escape(&mut record, value.as_bytes());
            }
        }
        let mut bytes = record.into_bytes();
        bytes.truncate(RECORD_BYTES_MAX);
        bytes
    }
}

/// Printable ASCII but the backslash is kept, everything else written as `\xNN`; a line break ends it.
fn escape(record: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' | 0..b' ' | 127.. => {
                let _ = write!(record, "\\x{byte:02x}");
            }
            plain => record.push(char::from(*plain)),
        }
    }
    record.push('\n');
}

// === impl Ring ===

impl Ring {
    /// An empty log that holds so many bytes of text.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self { records: VecDeque::new(), bytes: 0, bytes_max, next_seq: 0, clear_seq: 0 }
    }

    /// Takes a line, and answers its sequence number. A line that is longer than the whole log is refused by the kernel
    /// too; here it overwrites everything and stays alone.
    pub fn write(&mut self, line: Line) -> u64 {
        self.bytes += line.bytes();
        let seq = self.next_seq;
        self.records.push_back((seq, line));
        self.next_seq += 1;
        while self.bytes > self.bytes_max && self.records.len() > 1 {
            if let Some((_, gone)) = self.records.pop_front() {
                self.bytes -= gone.bytes();
            }
        }
        seq
    }

    /// What `dmesg -C` does: nothing is removed, and `SEEK_DATA` begins here.
    pub const fn clear(&mut self) {
        self.clear_seq = self.next_seq;
    }

    /// The first number that is still there.
    #[must_use]
    pub fn first_seq(&self) -> u64 {
        self.records.front().map_or(self.next_seq, |(seq, _)| *seq)
    }

    /// Opens the log at its first record.
    #[must_use]
    pub fn open(&self) -> Reader {
        Reader { seq: self.first_seq() }
    }

    /// One read.
    ///
    /// # Errors
    /// `EAGAIN` where nothing is new; `EPIPE` where what was to come is gone (the next read begins at what is there);
    /// `EINVAL` where the record is longer than the room, and it is passed over.
    pub fn read(&self, reader: &mut Reader, room: usize) -> Result<Vec<u8>, Errno> {
        let Some((seq, line)) = self.at(reader.seq) else { return Err(Errno::AGAIN) };
        if seq != reader.seq {
            reader.seq = seq;
            return Err(Errno::PIPE);
        }
        reader.seq = seq + 1;
        let record = line.record(seq);
        if record.len() > room { Err(Errno::INVAL) } else { Ok(record) }
    }

    /// What `poll` says.
    #[must_use]
    pub fn poll(&self, reader: &Reader) -> PollFlags {
        match self.at(reader.seq) {
            None => PollFlags::empty(),
            Some((seq, _)) if seq == reader.seq => PollFlags::IN | PollFlags::RDNORM,
            Some(_) => PollFlags::IN | PollFlags::RDNORM | PollFlags::ERR | PollFlags::PRI,
        }
    }

    /// Moves a reader; the answer of `lseek` is 0.
    ///
    /// # Errors
    /// `ESPIPE` for an offset, `EINVAL` for a move from where it is.
    pub fn seek(&self, reader: &mut Reader, offset: i64, whence: SeekTarget) -> Result<u64, Errno> {
        if offset != 0 {
            return Err(Errno::SPIPE);
        }
        reader.seq = match whence {
            SeekTarget::Set => self.first_seq(),
            SeekTarget::Data => self.clear_seq,
            SeekTarget::End => self.next_seq,
            SeekTarget::Current => return Err(Errno::INVAL),
        };
        Ok(0)
    }

    /// The record of a number, or the first one after it.
    fn at(&self, seq: u64) -> Option<(u64, &Line)> {
        let at = usize::try_from(seq.saturating_sub(self.first_seq())).ok()?;
        self.records.get(at).map(|(seq, line)| (*seq, line))
    }
}

#[cfg(test)]
mod tests;
