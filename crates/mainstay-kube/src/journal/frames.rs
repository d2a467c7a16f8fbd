//! zstd frames of a journal, one after the other. A frame is decoded whole and its checksum verified before its lines are
//! used, so that damage never looks like a fact. Memory is bounded by the largest frame that this version writes.

use std::io::{self, BufRead, Read};

use mainstay_engine::record::LINE_BYTES_MAX;

/// Bytes of lines at which a frame is ended.
pub(super) const FRAME_BYTES: usize = 256 * 1024;
/// Largest frame that is read: the last line of a frame may be the longest one.
const FRAME_BYTES_MAX: usize = FRAME_BYTES + LINE_BYTES_MAX + 1;
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

/// Reads frames, and counts the bytes of whole ones.
#[derive(Debug)]
pub(super) struct Frames<R> {
    from: Counted<R>,
    whole_bytes: u64,
}

#[derive(Debug)]
struct Counted<R> {
    from: R,
    bytes: u64,
}

impl<R: BufRead> Frames<R> {
    pub(super) const fn new(from: R) -> Self {
        Self { from: Counted { from, bytes: 0 }, whole_bytes: 0 }
    }

    /// Length of all whole frames so far.
    pub(super) const fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// The next frame.
    ///
    /// # Errors
    /// If the reader fails, or the frame is damaged or larger than any that this version writes.
    pub(super) fn next_frame(&mut self) -> io::Result<Frame> {
        if self.from.fill_buf()?.is_empty() {
            return Ok(Frame::End);
        }
        let mut decoder = zstd::Decoder::with_buffer(&mut self.from)?.single_frame();
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        let mut lines = Vec::new();
        let limit = u64::try_from(FRAME_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        match decoder.take(limit).read_to_end(&mut lines) {
            Ok(_) if lines.len() > FRAME_BYTES_MAX => {
                let text = format!("a frame has more than {FRAME_BYTES_MAX} bytes");
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            }
            Ok(_) => {
                self.whole_bytes = self.from.bytes;
                Ok(Frame::Whole(lines))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Frame::Cut),
            Err(error) => Err(error),
        }
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
