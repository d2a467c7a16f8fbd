//! Lines of untrusted text, one after the other, and values from JSON lines. Memory is bounded by the longest line that
//! the caller accepts.

#[cfg(test)]
mod tests;

use std::io::{self, BufRead};

use serde::Deserialize;

/// Reads lines of at most a given length.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    line: Vec<u8>,
    bytes_max: usize,
    bytes: u64,
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The bytes of a line within the limit.
    Whole(&'a [u8]),
    /// A line above the limit, which was skipped.
    TooLong,
}

/// One line that should be a JSON value.
#[derive(Debug, PartialEq, Eq)]
pub enum JsonLine<T> {
    /// The value of the line.
    Value(T),
    /// A line that is not JSON, or JSON of another shape.
    Invalid,
    /// A line above the limit, which was skipped.
    TooLong,
}

/// Whether the line at hand is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Within,
    Above,
}

impl<R: BufRead> Lines<R> {
    /// Reads lines of at most `bytes_max` bytes each.
    pub const fn new(from: R, bytes_max: usize) -> Self {
        Self { from, line: Vec::new(), bytes_max, bytes: 0 }
    }

    /// Number of bytes read so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line; none at the end.
    ///
    /// # Errors
    /// If the reader fails.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let length = self.advance()?;
        Ok(length.map(|length| match length {
            Length::Within => Line::Whole(self.whole()),
            Length::Above => Line::TooLong,
        }))
    }

    /// The value of the next line that is not empty; none at the end. The value may borrow from the line.
    ///
    /// # Errors
    /// If the reader fails. A line that is not JSON is no error: the last line of a log may be cut.
    pub fn next_json<'a, T: Deserialize<'a>>(&'a mut self) -> io::Result<Option<JsonLine<T>>> {
        let length = loop {
            match self.advance()? {
                Some(Length::Within) if self.whole().is_empty() => {}
                length => break length,
            }
        };
        Ok(length.map(|length| match length {
            Length::Within => serde_json::from_slice(self.whole()).map_or(JsonLine::Invalid, JsonLine::Value),
            Length::Above => JsonLine::TooLong,
        }))
    }

    fn whole(&self) -> &[u8] {
        self.line.strip_suffix(b"\r").unwrap_or(&self.line)
    }

    fn advance(&mut self) -> io::Result<Option<Length>> {
        self.line.clear();
        let mut length = Length::Within;
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
            if taken > room {
                length = Length::Above;
            }
            self.line.extend_from_slice(piece.get(..taken.min(room)).unwrap_or_default());
            let used = taken + usize::from(end.is_some());
            self.from.consume(used);
            self.bytes = self.bytes.saturating_add(u64::try_from(used).unwrap_or(0));
            if end.is_some() {
                break;
            }
        }
        Ok(is_any.then_some(length))
    }

    /// Reads exactly `bytes` bytes and keeps those within the limit. False if the text ends before.
    ///
    /// # Errors
    /// If the reader fails.
    pub fn exactly(&mut self, bytes: u64, kept: &mut Vec<u8>) -> io::Result<bool> {
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
