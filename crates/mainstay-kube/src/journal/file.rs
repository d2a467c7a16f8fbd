//! The file of a journal: a header line, then entries as JSON lines in zstd frames. Its end is repaired when it is opened
//! again, because a crash can cut the last frame.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write as _};

use mainstay_api::CELL_NAME;
use mainstay_engine::record;
use serde::{Deserialize, Serialize};

use super::frames::{self, Frame, Frames};
use crate::rotation::Rotation;

/// Format version of the files that this build writes, and the only one that it reads.
pub const JOURNAL_FORMAT: u32 = 1;

/// First line of a journal: which program wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Format version of the file.
    pub journal: u32,
    /// Version of Mainstay that decided.
    pub mainstay: String,
    /// Digest of the fault catalogue that it used.
    pub catalogue: String,
    /// Name of the Cell.
    pub cell: String,
}

impl Header {
    /// The header that this build writes.
    #[must_use]
    pub fn of_this_build() -> Self {
        Self {
            journal: JOURNAL_FORMAT,
            mainstay: env!("CARGO_PKG_VERSION").to_owned(),
            catalogue: record::catalogue_digest(),
            cell: CELL_NAME.to_owned(),
        }
    }
}

/// The current file, at the end of its last whole frame.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: File,
    bytes: u64,
    /// Where the snapshot ends that the file begins with; none before it is written.
    snapshot_bytes: Option<u64>,
}

impl JournalFile {
    /// Continues the current file if this build wrote it, and creates a new one otherwise.
    pub(super) fn open(files: &Rotation, header: &Header) -> io::Result<Self> {
        std::fs::create_dir_all(files.folder())?;
        let path = files.current();
        if path.exists() {
            if let Some(bytes) = whole_bytes(File::open(&path)?, header) {
                let file = OpenOptions::new().append(true).open(&path)?;
                file.set_len(bytes)?;
                return Ok(Self { file, bytes, snapshot_bytes: Some(0) });
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
        let mut new = Self { file, bytes: 0, snapshot_bytes: None };
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
        Ok(())
    }

    /// A snapshot was written. Further ones in the same file count as growth.
    pub(super) fn snapshot_ends(&mut self) {
        self.snapshot_bytes.get_or_insert(self.bytes);
    }

    /// Bytes after the snapshot that the file begins with. A fleet whose snapshot alone is larger than a file must not
    /// rotate at every decision.
    pub(super) fn grown_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.snapshot_bytes.unwrap_or(self.bytes))
    }
}

/// Length of all whole frames of a file with this header. None where it has another one, or is damaged.
fn whole_bytes(file: File, header: &Header) -> Option<u64> {
    let mut frames = Frames::new(BufReader::new(file));
    let Ok(Frame::Whole(first)) = frames.next_frame() else { return None };
    let found: Header = serde_json::from_slice(first.split(|byte| *byte == b'\n').next()?).ok()?;
    if found != *header {
        return None;
    }
    loop {
        match frames.next_frame().ok()? {
            Frame::Whole(_) => {}
            Frame::Cut | Frame::End => return Some(frames.whole_bytes()),
        }
    }
}
