//! Lines of a file that nobody vouches for: read one after the other, never more of one than its bound.

use std::io::{self, BufRead};

/// A reader of lines, each of at most so many bytes.
pub(super) struct Lines<R> {
    from: R,
    line: Vec<u8>,
    bytes_max: usize,
    /// How much was read so far.
    pub(super) bytes: u64,
}

/// One line, without its end.
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// It was longer than the bound, and was passed over.
    TooLong,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(from: R, bytes_max: usize) -> Self {
        Self { from, line: Vec::new(), bytes_max, bytes: 0 }
    }

    /// The next line; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let mut is_cut = false;
        let mut is_any = false;
        loop {
            let piece = match self.from.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                break;
            }
            is_any = true;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(piece.len());
            let room = self.bytes_max.saturating_sub(self.line.len());
            is_cut |= taken > room;
            self.line.extend_from_slice(piece.get(..taken.min(room)).unwrap_or_default());
            let used = taken + usize::from(end.is_some());
            self.from.consume(used);
            self.bytes = self.bytes.saturating_add(u64::try_from(used).unwrap_or(0));
            if end.is_some() {
                break;
            }
        }
        if !is_any {
            return Ok(None);
        }
        Ok(Some(if is_cut { Line::TooLong } else { Line::Whole(self.line.strip_suffix(b"\r").unwrap_or(&self.line)) }))
    }

    /// Exactly so many bytes, of which no more than the bound are kept. False where the file ends before.
    pub(super) fn exactly(&mut self, bytes: u64, kept: &mut Vec<u8>) -> io::Result<bool> {
        kept.clear();
        let mut left = bytes;
        while left > 0 {
            let piece = self.from.fill_buf()?;
            if piece.is_empty() {
                return Ok(false);
            }
            let taken = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let room = self.bytes_max.saturating_sub(kept.len());
            kept.extend_from_slice(piece.get(..taken.min(room)).unwrap_or_default());
            self.from.consume(taken);
            let taken = u64::try_from(taken).unwrap_or(0);
            left -= taken;
            self.bytes = self.bytes.saturating_add(taken);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], bytes_max: usize, buffer: usize) -> Vec<Option<String>> {
        let mut lines = Lines::new(io::BufReader::with_capacity(buffer, text), bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(match line {
                Line::Whole(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                Line::TooLong => None,
            });
        }
        assert_eq!(lines.bytes, u64::try_from(text.len()).unwrap());
        all
    }

    #[test]
    fn a_line_beyond_the_bound_is_passed_over_and_the_next_is_read() {
        for buffer in [1, 3, 64] {
            let all = read(b"ab\n\nabcdef\r\ngh\r\nlast", 4, buffer);
            let some = |text: &str| Some(text.to_owned());
            assert_eq!(all, [some("ab"), some(""), None, some("gh"), some("last")], "buffer of {buffer}");
        }
        assert_eq!(read(b"", 4, 8), []);
    }
}
