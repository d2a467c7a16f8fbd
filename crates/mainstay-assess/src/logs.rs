//! Kernel logs in files: finds the files, detects each format from its first bytes, and reads several at once. A file that
//! is not a log, or ends early, is counted and never stops the rest. gzip is decompressed up to a bound.

mod export;
mod journal;
mod loki;
mod shape;
mod shipper;
mod text;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
#[expect(clippy::disallowed_types, reason = "threads without an executor share the list of files")]
use std::sync::Mutex;
use std::sync::{PoisonError, mpsc};

use flate2::bufread::MultiGzDecoder;
use mainstay_model::{NodeName, Timestamp};
use mainstay_signal::Writer;
use mainstay_text::Problem;

use super::dropped::DropReason;
use super::input::{Input, Volume};
use super::timestamp::Zone;

/// Files that are read: ten for each node of the largest cell.
const FILES_MAX: usize = 1_000_000;
/// Bytes that one gzip file may decompress to; the rest of it is skipped and counted. Memory does not grow with it.
pub(super) const UNPACKED_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// How deep folders are looked into.
const DEPTH_MAX: usize = 8;
/// What is looked at to tell what a file is.
const PEEK_BYTES: usize = 64 * 1024;
/// A zero byte within these shows that a file is not text. Zeros before them or later do not: logrotate with copytruncate leaves
/// zeros at the start of a text file, and a crash leaves some in the middle.
const BINARY_BYTES: usize = 512;
/// What is read at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// The node of standard input whose lines name none.
const STREAM_NODE: &str = "stdin";
/// Reading is bound by parsing; more threads than this only wait for the disk.
const THREADS_MAX: usize = 8;

/// What the command line states about the logs.
#[derive(Debug, Clone)]
pub(super) struct ReadOptions {
    /// The node of files that do not say it.
    pub(super) node: Option<NodeName>,
    pub(super) offset_minutes: i32,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    /// Boot time, for logs whose timestamps are seconds since boot.
    pub(super) booted: Option<Timestamp>,
    /// Boot time by node, for the same logs.
    pub(super) booted_by_node: BTreeMap<NodeName, Timestamp>,
    /// Used for standard input, which has no modification time.
    pub(super) now: Timestamp,
    /// Bytes that one gzip file may decompress to.
    pub(super) unpacked_bytes_max: u64,
}

/// Reads one log file into an input of its own.
pub(super) struct LogReader<'a> {
    pub(super) told: &'a ReadOptions,
    pub(super) zone: Zone,
    pub(super) name: String,
    /// The node of lines without a host.
    pub(super) node: Option<NodeName>,
    pub(super) into: Input,
    pub(super) volume: Volume,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Export,
    JournalJson,
    Loki,
    LokiLines,
    /// Objects of a log shipper or a container runtime, one a line.
    Shipper,
    /// gzip, with one of the other formats inside.
    Gzip,
    /// Compressed in a way that is not read.
    Compressed,
    /// Not text, such as a file of journald.
    Binary,
}

/// One kernel log. Its format is detected from its content.
pub enum Log {
    /// A file. Its name is the node name if its lines name none.
    File(PathBuf),
    /// An open stream, such as standard input.
    Stream {
        /// Name of the stream, for messages.
        name: String,
        /// Reader of the stream.
        from: Box<dyn Read + Send>,
    },
}

impl Log {
    /// Finds the files in folders and their subfolders, in the order of their names.
    ///
    /// # Errors
    /// If a path does not exist or cannot be read.
    pub fn find(paths: &[PathBuf]) -> Result<Vec<Self>, Problem> {
        let mut found = Vec::new();
        for path in paths {
            let meta = path.metadata().map_err(|error| Problem {
                what: format!("cannot read {}", path.display()),
                detail: format!("{error}."),
                hint: "give a file or folder with kernel logs, or - for standard input.".to_owned(),
            })?;
            if meta.is_dir() { below(path, DEPTH_MAX, &mut found) } else { found.push(path.clone()) }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(FILES_MAX);
        Ok(found.into_iter().map(Self::File).collect())
    }

    /// Size of a file, in bytes; 0 for a stream.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::File(path) => path.metadata().map_or(0, |meta| meta.len()),
            Self::Stream { .. } => 0,
        }
    }
}

fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => below(&path, depth - 1, found),
            Ok(kind) if kind.is_file() && found.len() < FILES_MAX => found.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Reads all files, several at once; the result does not depend on how many.
#[expect(clippy::disallowed_types, reason = "threads without an executor share the list of files")]
pub(super) fn read(logs: Vec<Log>, told: &ReadOptions, done: &(dyn Fn(u64) + Sync)) -> Input {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX).min(logs.len().max(1));
    let queue = Mutex::new(logs.into_iter().enumerate());
    let (send, receive) = mpsc::channel::<(usize, Input)>();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (send, queue) = (send.clone(), &queue);
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((at, log)) = next else { return };
                    let gathered = one(log, told);
                    done(gathered.volumes.values().map(|volume| volume.bytes).sum());
                    // The receiver is dropped after all threads have ended.
                    let _ = send.send((at, gathered));
                }
            });
        }
    });
    drop(send);
    let read: BTreeMap<usize, Input> = receive.into_iter().collect();
    let mut all = Input::default();
    for gathered in read.into_values() {
        all.merge(gathered);
    }
    all
}

fn one(log: Log, told: &ReadOptions) -> Input {
    let (name, from, written_at, node): (String, Box<dyn Read>, Timestamp, Option<NodeName>) = match log {
        Log::Stream { name, from } => (name, from, told.now, NodeName::parse(STREAM_NODE).ok()),
        Log::File(path) => {
            let name = path.display().to_string();
            match File::open(&path) {
                Ok(file) => {
                    let at = modified_at(&file).unwrap_or(told.now);
                    (name, Box::new(file), at, node_of(&path))
                }
                Err(error) => return unreadable(&name, &error),
            }
        }
    };
    let zone = Zone { offset_minutes: told.offset_minutes, until: told.until.unwrap_or(written_at) };
    let node = told.node.clone().or(node);
    let mut reading = LogReader { told, zone, name, node, into: Input::default(), volume: Volume::default() };
    let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
    match reading.all(&mut from) {
        Ok(kind) => {
            reading.volume.pieces = 1;
            reading.into.read(kind.words(), reading.volume);
            reading.into
        }
        Err(error) => {
            reading.into.merge(unreadable(&reading.name, &error));
            reading.into
        }
    }
}

fn modified_at(file: &File) -> Option<Timestamp> {
    let at = file.metadata().and_then(|meta| meta.modified()).ok()?;
    let since_epoch = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since_epoch.as_millis()).ok().map(Timestamp)
}

fn unreadable(name: &str, error: &io::Error) -> Input {
    let mut nothing = Input::default();
    nothing.skipped.add(DropReason::NoFile, 1, &format!("{name}: {error}"));
    nothing
}

/// `r01n02.log`, `r01n02.dmesg.gz`: a file that is named after its node. A node's name may have dots, so only known endings
/// are removed.
fn node_of(path: &Path) -> Option<NodeName> {
    let mut name = path.file_name()?.to_str()?;
    const ENDINGS: [&str; 12] =
        ["gz", "log", "txt", "dmesg", "json", "jsonl", "export", "journal", "kern", "kmsg", "out", "syslog"];
    while let Some((start, ending)) = name.rsplit_once('.') {
        if start.is_empty() || !ENDINGS.contains(&ending) {
            break;
        }
        name = start;
    }
    NodeName::parse(name).ok()
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::Text => "kernel log as text",
            Self::Export => "journal, export format",
            Self::JournalJson => "journal, JSON",
            Self::Loki | Self::LokiLines => "Loki, JSON",
            Self::Shipper => "log shipper, JSON",
            Self::Gzip | Self::Compressed => "compressed",
            Self::Binary => "binary",
        }
    }

    fn of(start: &[u8]) -> Self {
        if start.starts_with(b"\x1f\x8b") {
            return Self::Gzip;
        }
        // zstd, xz, bzip2
        let magic: [&[u8]; 3] = [b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh"];
        if magic.iter().any(|magic| start.starts_with(magic)) {
            return Self::Compressed;
        }
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start();
        if text.starts_with("__CURSOR=") || text.starts_with("__REALTIME_TIMESTAMP=") {
            return Self::Export;
        }
        // An export has the length of a binary field as bytes, so it is recognised first.
        if start.iter().skip_while(|byte| **byte == 0).take(BINARY_BYTES).any(|byte| *byte == 0) {
            return Self::Binary;
        }
        if !text.starts_with('{') {
            return Self::Text;
        }
        let first = text.lines().next().unwrap_or_default();
        if first.contains("\"__REALTIME_TIMESTAMP\"") {
            Self::JournalJson
        } else if first.contains("\"line\"") && first.contains("\"timestamp\"") {
            Self::LokiLines
        } else if shipper::is_one(first) {
            Self::Shipper
        } else if first.contains("\"data\"") || first.contains("\"status\"") || first.trim() == "{" {
            Self::Loki
        } else {
            Self::Text
        }
    }
}

/// What the first bytes of a file say that it is.
fn detected(from: &mut impl BufRead) -> io::Result<Kind> {
    let start = from.fill_buf()?;
    Ok(Kind::of(start.get(..PEEK_BYTES.min(start.len())).unwrap_or_default()))
}

impl LogReader<'_> {
    fn all(&mut self, from: &mut BufReader<Box<dyn Read>>) -> io::Result<Kind> {
        let kind = detected(from)?;
        if kind != Kind::Gzip {
            self.format(kind, from)?;
            return Ok(kind);
        }
        let unpacked = MultiGzDecoder::new(from).take(self.told.unpacked_bytes_max);
        let mut unpacked = BufReader::with_capacity(BUFFER_BYTES, unpacked);
        let kind = detected(&mut unpacked)?;
        // gzip within gzip is not read: each layer could multiply the size.
        let kind = if kind == Kind::Gzip { Kind::Compressed } else { kind };
        self.format(kind, &mut unpacked)?;
        if unpacked.get_ref().limit() == 0 {
            self.skip(DropReason::TooLarge, 1);
        }
        Ok(kind)
    }

    fn format(&mut self, kind: Kind, from: &mut impl BufRead) -> io::Result<()> {
        match kind {
            Kind::Text => text::read(self, from)?,
            Kind::Export => export::read(self, from)?,
            Kind::JournalJson => journal::read(self, from)?,
            Kind::Loki => loki::read(self, from)?,
            Kind::LokiLines => loki::read_lines(self, from)?,
            Kind::Shipper => shipper::read(self, from)?,
            Kind::Gzip | Kind::Compressed => self.skip(DropReason::Compressed, 1),
            Kind::Binary => self.skip(DropReason::Binary, 1),
        }
        Ok(())
    }

    pub(super) fn skip(&mut self, why: DropReason, count: u64) {
        self.into.skipped.add(why, count, &self.name);
    }

    /// One line of a kernel, by the name of its node or that of the file.
    pub(super) fn line(&mut self, host: Option<&str>, at: Timestamp, text: &str) {
        self.line_of(host, at, text, Writer::Kernel, None);
    }

    /// One line with its writer and its syslog priority.
    pub(super) fn line_of(
        &mut self,
        host: Option<&str>,
        at: Timestamp,
        text: &str,
        writer: Writer<'_>,
        priority: Option<u8>,
    ) {
        let told = self.told;
        if told.since.is_some_and(|since| at < since) || told.until.is_some_and(|until| at > until) {
            return self.skip(DropReason::OutsideWindow, 1);
        }
        let named = host.and_then(|host| NodeName::parse(host).ok());
        let Some(name) = named.or_else(|| self.node.clone()) else { return self.skip(DropReason::NoNode, 1) };
        let Some(node) = self.into.node(&name) else { return };
        self.volume.signals += u64::from(self.into.line_of(node, at, text, writer, priority));
    }
}

#[cfg(test)]
mod tests;
