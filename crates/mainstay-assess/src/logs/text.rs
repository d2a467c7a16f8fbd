//! Plain text: `dmesg` with any of its times, what syslog and `journalctl` print, and lines that were copied from either.
//! The host in a line is the node; where there is none, the file is called after it.
//!
//! A line without a date gets an estimated time: that of the line before it, or one counted back from the time at which
//! the file was written, which is taken as the time of the last line. The report states how many there are.

use std::io::{self, BufRead};

use mainstay_model::Timestamp;
use mainstay_signal::{Recognition, Writer, is_followed_service, recognise};
use mainstay_text::{Line, Lines};

use super::LogReader;
use super::shape::{self, Shape};
use crate::dropped::DropReason;
use crate::timestamp::Stamp;

/// The kernel ends a line at 1,024 bytes; before it are a time and a host.
const LINE_BYTES_MAX: usize = 8 * 1024;
/// A record of several lines.
const RECORD_BYTES_MAX: usize = 16 * 1024;
/// Seconds since boot that fall by more than this are those of another boot.
const SAME_BOOT_MS: i64 = 60_000;
/// Limits of the lines that are kept until the end of the file because their boot time is not known.
const UNDATED_MAX: usize = 100_000;
const UNDATED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// One record: a line, and those that continue it.
struct Record {
    stamp: Option<Stamp>,
    host: Option<String>,
    program: Option<String>,
    is_kernel: bool,
    priority: Option<u8>,
    text: String,
}

/// Reads the records of one file in their order.
struct Reader<'a, 'b> {
    reading: &'a mut LogReader<'b>,
    latest_since_boot: i64,
    boot: u32,
    /// The last date that a line named.
    dated_at: Option<Timestamp>,
    /// Records with seconds since a boot of unknown time, with the number of that boot.
    undated: Vec<(u32, i64, Record)>,
    undated_bytes: usize,
}

pub(super) fn read(reading: &mut LogReader<'_>, from: &mut impl BufRead) -> io::Result<()> {
    let mut lines = Lines::new(from, LINE_BYTES_MAX);
    let zone = reading.zone;
    let mut reader =
        Reader { reading, latest_since_boot: 0, boot: 0, dated_at: None, undated: Vec::new(), undated_bytes: 0 };
    let mut open: Option<Record> = None;
    while let Some(line) = lines.next_line()? {
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong => {
                reader.reading.skip(DropReason::LineTooLong, 1);
                continue;
            }
        };
        if bytes.is_empty() {
            continue;
        }
        reader.reading.volume.entries += 1;
        let line = String::from_utf8_lossy(bytes);
        let shape = shape::read(&line, zone);
        match &mut open {
            Some(record) if shape.is_continuation && record.stamp.is_some() => {
                if record.text.len() + line.len() < RECORD_BYTES_MAX {
                    record.text.push('\n');
                    record.text.push_str(shape.text);
                }
            }
            Some(_) | None => {
                if let Some(record) = open.replace(Record::of(&shape)) {
                    reader.take(record);
                }
            }
        }
    }
    if let Some(record) = open {
        reader.take(record);
    }
    reader.date();
    reading.volume.bytes = lines.bytes();
    Ok(())
}

impl Record {
    fn of(shape: &Shape<'_>) -> Self {
        Self {
            stamp: shape.stamp,
            host: shape.host.map(str::to_owned),
            program: match shape.writer {
                Writer::Program(name) => Some(name.to_owned()),
                Writer::Kernel | Writer::Unstated => None,
            },
            is_kernel: shape.writer == Writer::Kernel,
            priority: shape.priority,
            text: shape.text.to_owned(),
        }
    }

    fn writer(&self) -> Writer<'_> {
        match &self.program {
            Some(name) => Writer::Program(name),
            None if self.is_kernel => Writer::Kernel,
            None => Writer::Unstated,
        }
    }
}

impl Reader<'_, '_> {
    fn take(&mut self, record: Record) {
        match record.stamp {
            Some(Stamp::At(at)) => {
                self.dated_at = Some(at);
                self.write(&record, at);
            }
            Some(Stamp::SinceBoot(ms)) => {
                if ms + SAME_BOOT_MS < self.latest_since_boot {
                    self.boot += 1;
                    self.latest_since_boot = 0;
                }
                self.latest_since_boot = self.latest_since_boot.max(ms);
                let told = self.reading.told;
                let by_node = self.reading.node.as_ref().and_then(|node| told.booted_by_node.get(node));
                match by_node.or(told.booted.as_ref()).filter(|_| self.boot == 0) {
                    Some(booted) => self.write(&record, Timestamp(booted.0.saturating_add(ms))),
                    None => self.keep(ms, record),
                }
            }
            None => {
                self.reading.volume.estimated += 1;
                match self.dated_at {
                    Some(at) => self.write(&record, at),
                    None if self.undated.is_empty() => self.write(&record, self.reading.zone.until),
                    None => self.keep(self.latest_since_boot, record),
                }
            }
        }
    }

    /// Keeps a record until the end of the file is known.
    fn keep(&mut self, ms: i64, record: Record) {
        self.undated_bytes += record.text.len();
        if self.undated.len() >= UNDATED_MAX || self.undated_bytes > UNDATED_BYTES_MAX {
            return self.reading.skip(DropReason::OnlySecondsSinceBoot, 1);
        }
        self.undated.push((self.boot, ms, record));
    }

    /// Gives every kept record a time: the last line of the file was written with the file, and a boot ends where the next
    /// one begins.
    fn date(&mut self) {
        let undated = std::mem::take(&mut self.undated);
        let mut ended_at = self.reading.zone.until;
        let mut boot = None;
        let mut booted_at = ended_at;
        let mut dated = Vec::with_capacity(undated.len());
        for (number, ms, record) in undated.into_iter().rev() {
            if boot != Some(number) {
                ended_at = if boot.is_none() { ended_at } else { booted_at };
                booted_at = Timestamp(ended_at.0.saturating_sub(ms));
                boot = Some(number);
            }
            dated.push((Timestamp(booted_at.0.saturating_add(ms).min(ended_at.0)), record));
        }
        for (at, record) in dated.into_iter().rev() {
            self.reading.volume.estimated += u64::from(record.stamp.is_some());
            self.write(&record, at);
        }
    }

    fn write(&mut self, record: &Record, at: Timestamp) {
        // What other programs print is a tenant's text.
        if record.program.as_ref().is_some_and(|program| !is_followed_service(program))
            && recognise(&record.text, record.writer()) == Recognition::Unknown
        {
            return self.reading.skip(DropReason::NotTheKernel, 1);
        }
        self.reading.line_of(record.host.as_deref(), at, &record.text, record.writer(), record.priority);
    }
}
