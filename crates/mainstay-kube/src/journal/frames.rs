//! zstd frames of a journal, one after the other. A frame is decoded whole and its checksum verified before its lines are
//! used, so that damage never looks like a fact. Memory is bounded by the largest frame that this version writes, and time
//! by the lines of a whole file: a small file can expand to any size.

use std::io::{self, BufRead, Read};

use mainstay_engine::record::LINE_BYTES_MAX;

/// Bytes of lines at which a frame is ended.
pub(super) const FRAME_BYTES: usize = 256 * 1024;
/// Largest frame that is read: the last line of a frame may be the longest one.
const FRAME_BYTES_MAX: u64 = (FRAME_BYTES + LINE_BYTES_MAX + 1) as u64;
/// Lines of a file that are read, in bytes before compression. The largest file that a controller may write, 1 GiB, expands
/// to more only if its lines shrink to less than an eighth, so the writer also ends a file at half of this.
pub(super) const LINES_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// Largest window that is decoded, as a power of two. Every frame that this version writes has a smaller one.
const WINDOW_LOG_MAX: u32 = 23;
/// zstd's own default level.
const LEVEL: i32 = 3;

/// Compresses the lines of one frame.
pub(super) fn encode(lines: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true))?;
    compressor.compress(lines)
}

/// The next frame of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The lines of a whole frame.
    Whole(Vec<u8>),
    /// The file ends within a frame, as after a crash.
    Cut,
    /// The file ends after a whole frame.
    End,
}

/// Why the next frame cannot be used.
#[derive(Debug)]
pub(super) enum FrameError {
    /// The reader fails, or the frame is damaged.
    Damaged(io::Error),
    /// The frame is larger than any that this version writes.
    FrameTooLarge { bytes_max: u64 },
    /// The lines of all frames together exceed the limit of a file.
    FileTooLarge { bytes_max: u64 },
}

/// Reads frames, and counts the bytes of whole ones.
#[derive(Debug)]
pub(super) struct Frames<R> {
    from: Counted<R>,
    whole_bytes: u64,
    /// Bytes of all lines so far, and at most.
    lines_bytes: u64,
    lines_bytes_max: u64,
}

#[derive(Debug)]
struct Counted<R> {
    from: R,
    bytes: u64,
}

impl<R: BufRead> Frames<R> {
    pub(super) const fn new(from: R, lines_bytes_max: u64) -> Self {
        Self { from: Counted { from, bytes: 0 }, whole_bytes: 0, lines_bytes: 0, lines_bytes_max }
    }

    /// Length of all whole frames so far.
    pub(super) const fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// Length of the lines of all whole frames so far.
    pub(super) const fn lines_bytes(&self) -> u64 {
        self.lines_bytes
    }

    /// The next frame.
    ///
    /// # Errors
    /// [`FrameError`] if the reader fails, the frame is damaged, or a limit is exceeded.
    pub(super) fn next_frame(&mut self) -> Result<Frame, FrameError> {
        if self.from.fill_buf().map_err(FrameError::Damaged)?.is_empty() {
            return Ok(Frame::End);
        }
        let mut lines = Vec::new();
        match self.decode(&mut lines) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Frame::Cut),
            Err(error) => return Err(FrameError::Damaged(error)),
        }
        let bytes = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if bytes > FRAME_BYTES_MAX {
            return Err(FrameError::FrameTooLarge { bytes_max: FRAME_BYTES_MAX });
        }
        let lines_bytes = self.lines_bytes.saturating_add(bytes);
        if lines_bytes > self.lines_bytes_max {
            return Err(FrameError::FileTooLarge { bytes_max: self.lines_bytes_max });
        }
        (self.whole_bytes, self.lines_bytes) = (self.from.bytes, lines_bytes);
        Ok(Frame::Whole(lines))
    }

    /// Decodes a frame, up to one byte more than a frame may have.
    fn decode(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        let mut decoder = zstd::Decoder::with_buffer(&mut self.from)?.single_frame();
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        decoder.take(FRAME_BYTES_MAX + 1).read_to_end(lines)?;
        Ok(())
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.bytes += u64::try_from(read).unwrap_or(0);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.bytes += u64::try_from(bytes).unwrap_or(0);
        self.from.consume(bytes);
    }
}
