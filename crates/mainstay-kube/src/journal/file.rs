//! The file of a journal: a header line, then entries as JSON lines in zstd frames. Its end is repaired when it is opened
//! again, because a crash can cut the last frame.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write as _};

use super::frames::{self, Frame, Frames, LINES_BYTES_MAX};
use super::header::Header;
use crate::rotation::Rotation;

/// The current file, at the end of its last whole frame.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: File,
    bytes: u64,
    /// Bytes of all lines, before compression.
    lines_bytes: u64,
    /// Where the snapshot ends that the file begins with; none before it is written.
    snapshot_bytes: Option<u64>,
}

impl JournalFile {
    /// Continues the current file if this build wrote it, and creates a new one otherwise.
    pub(super) fn open(files: &Rotation, header: &Header) -> io::Result<Self> {
        std::fs::create_dir_all(files.folder())?;
        let path = files.current();
        if path.exists() {
            if let Some((bytes, lines_bytes)) = whole_bytes(File::open(&path)?, header) {
                let file = OpenOptions::new().append(true).open(&path)?;
                file.set_len(bytes)?;
                return Ok(Self { file, bytes, lines_bytes, snapshot_bytes: Some(0) });
            }
            files.put_aside()?;
        }
        Self::create(files, header)
    }

    /// Puts the current file aside and begins a new one.
    pub(super) fn rotate(files: &Rotation, header: &Header) -> io::Result<Self> {
        files.put_aside()?;
        Self::create(files, header)
    }

    fn create(files: &Rotation, header: &Header) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(files.current())?;
        file.set_len(0)?;
        let mut new = Self { file, bytes: 0, lines_bytes: 0, snapshot_bytes: None };
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        new.append(&line)?;
        Ok(new)
    }

    /// Appends lines as one frame. After a failure the file ends as before, or the next attempt fails as well.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let frame = frames::encode(lines)?;
        // An earlier failure may have left a part of a frame.
        if self.file.metadata()?.len() != self.bytes {
            self.file.set_len(self.bytes)?;
        }
        self.file.write_all(&frame)?;
        self.bytes = self.bytes.saturating_add(u64::try_from(frame.len()).unwrap_or(u64::MAX));
        self.lines_bytes = self.lines_bytes.saturating_add(u64::try_from(lines.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// A snapshot was written. Further ones in the same file count as growth.
    pub(super) fn snapshot_ends(&mut self) {
        self.snapshot_bytes.get_or_insert(self.bytes);
    }

    /// Whether the next file is due: enough bytes follow the snapshot that the file begins with, or the lines come near to
    /// what a reader accepts. A fleet whose snapshot alone is larger than a file must not rotate at every decision.
    pub(super) fn is_full(&self, bytes_max: u64) -> bool {
        let grown = self.bytes.saturating_sub(self.snapshot_bytes.unwrap_or(self.bytes));
        grown >= bytes_max || self.lines_bytes >= LINES_BYTES_MAX / 2
    }
}

/// Length of all whole frames of a file with this header, and of their lines. None where it has another header, or is
/// damaged.
fn whole_bytes(file: File, header: &Header) -> Option<(u64, u64)> {
    let mut frames = Frames::new(BufReader::new(file), LINES_BYTES_MAX);
    let Ok(Frame::Whole(first)) = frames.next_frame() else { return None };
    let found: Header = serde_json::from_slice(first.split(|byte| *byte == b'\n').next()?).ok()?;
    if found != *header {
        return None;
    }
    loop {
        match frames.next_frame().ok()? {
            Frame::Whole(_) => {}
            Frame::Cut | Frame::End => return Some((frames.whole_bytes(), frames.lines_bytes())),
        }
    }
}
