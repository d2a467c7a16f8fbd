//! Reads a journal, one entry after the other. The file is untrusted: a user sent it. Its frames, its lines and all lines
//! together have a limit. Every error names what is wrong; a file that ends within a frame is no error.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use mainstay_engine::record::{self, Entry, Unreadable};

use super::frames::{Frame, FrameError, Frames, LINES_BYTES_MAX};
use super::header::{Header, JOURNAL_FORMAT};

/// Why a journal cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be opened or read.
    #[error("cannot read the file: {0}")]
    File(io::Error),
    /// The file is not a journal.
    #[error("not a journal: {0}")]
    NotAJournal(String),
    /// Another version wrote the file.
    #[error("journal format {found} is not known; this version reads format {JOURNAL_FORMAT}")]
    Format {
        /// The format that the header names.
        found: u32,
    },
    /// A frame is damaged.
    #[error("the file is damaged after {bytes} bytes: {error}")]
    Damaged {
        /// Length of the part before the damage.
        bytes: u64,
        /// What zstd reports.
        error: io::Error,
    },
    /// A frame is larger than any that Mainstay writes.
    #[error("a frame has more than {bytes_max} bytes before compression, after {bytes} bytes of the file")]
    FrameTooLarge {
        /// Length of the part before the frame.
        bytes: u64,
        /// Limit of a frame.
        bytes_max: u64,
    },
    /// All lines together are longer than those of any file that Mainstay writes.
    #[error("the lines of the file have more than {bytes_max} bytes before compression")]
    FileTooLarge {
        /// Limit of a file.
        bytes_max: u64,
    },
    /// A line is not an entry.
    #[error("line {line} is not an entry: {error}")]
    Entry {
        /// Number of the line, from 1. The header is line 1.
        line: u64,
        /// Why the line cannot be read.
        error: Unreadable,
    },
}

impl JournalError {
    /// The frame after this many bytes cannot be used.
    fn of_frame(error: FrameError, bytes: u64) -> Self {
        match error {
            FrameError::Damaged(error) => Self::Damaged { bytes, error },
            FrameError::FrameTooLarge { bytes_max } => Self::FrameTooLarge { bytes, bytes_max },
            FrameError::FileTooLarge { bytes_max } => Self::FileTooLarge { bytes_max },
        }
    }
}

/// How the part of a journal that was read ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalEnd {
    /// Whole frames only.
    Complete,
    /// The file ends within a frame: the program crashed, or a part of the file is missing.
    Cut,
}

/// Reads the entries of one file.
#[derive(Debug)]
pub struct JournalReader<R> {
    frames: Frames<R>,
    header: Header,
    frame: Vec<u8>,
    /// Start of the next line in the frame.
    next: usize,
    lines: u64,
    end: JournalEnd,
}

impl JournalReader<BufReader<File>> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// [`JournalError`] if the file cannot be read, or is not a journal of this format.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::new(BufReader::new(File::open(path).map_err(JournalError::File)?))
    }
}

impl<R: BufRead> JournalReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`JournalError`] if there is none of this format.
    pub fn new(from: R) -> Result<Self, JournalError> {
        Self::within(from, LINES_BYTES_MAX)
    }

    /// Reads the header of a file whose lines have at most this many bytes.
    pub(super) fn within(from: R, lines_bytes_max: u64) -> Result<Self, JournalError> {
        let mut frames = Frames::new(from, lines_bytes_max);
        let not_a_journal = |detail: &str| JournalError::NotAJournal(detail.to_owned());
        let frame = match frames.next_frame() {
            Ok(Frame::Whole(frame)) => frame,
            Ok(Frame::End) => return Err(not_a_journal("the file is empty")),
            Ok(Frame::Cut) => return Err(not_a_journal("the file ends within its header")),
            Err(FrameError::Damaged(error)) => return Err(JournalError::NotAJournal(error.to_string())),
            Err(error) => return Err(JournalError::of_frame(error, 0)),
        };
        let end = frame.iter().position(|byte| *byte == b'\n').unwrap_or(frame.len());
        let line = frame.get(..end).unwrap_or_default();
        #[derive(serde::Deserialize)]
        struct FormatOnly {
            journal: u32,
        }
        let format: FormatOnly =
            serde_json::from_slice(line).map_err(|error| JournalError::NotAJournal(error.to_string()))?;
        if format.journal != JOURNAL_FORMAT {
            return Err(JournalError::Format { found: format.journal });
        }
        let header = serde_json::from_slice(line).map_err(|error| JournalError::NotAJournal(error.to_string()))?;
        Ok(Self { frames, header, frame, next: end + 1, lines: 1, end: JournalEnd::Complete })
    }

    /// Which program wrote the file.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// How the part that was read ends.
    #[must_use]
    pub const fn end(&self) -> JournalEnd {
        self.end
    }

    /// The next entry; none at the end.
    ///
    /// # Errors
    /// [`JournalError`] if the file is damaged there.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, JournalError> {
        while self.next >= self.frame.len() {
            match self.frames.next_frame() {
                Ok(Frame::Whole(frame)) => (self.frame, self.next) = (frame, 0),
                Ok(Frame::End) => return Ok(None),
                Ok(Frame::Cut) => {
                    self.end = JournalEnd::Cut;
                    return Ok(None);
                }
                Err(error) => return Err(JournalError::of_frame(error, self.frames.whole_bytes())),
            }
        }
        let rest = self.frame.get(self.next..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let line = rest.get(..end).unwrap_or_default();
        self.next += end + 1;
        self.lines += 1;
        let text = String::from_utf8_lossy(line);
        record::read(&text).map(Some).map_err(|error| JournalError::Entry { line: self.lines, error })
    }
}
