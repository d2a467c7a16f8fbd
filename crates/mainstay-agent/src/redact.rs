//! Names that tenants chose, taken out of text before it is written anywhere: processes, command lines, containers. It goes
//! line by line and by the place of a name in a line, never by a list of names: with a list, a tenant who calls a process
//! `Xid` would strike that word out of the evidence. Numbers of processes stay, so that lines can still be matched.

mod lines;

use std::borrow::Cow;
use std::io::{self, Write};

use crate::subprocess::Capacity;

/// What stands where a name was.
pub const MARK: &str = "[redacted]";

/// What is behind this in one line is left out: a name at the border of two pieces would be missed.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Takes names out of a stream of text, up to so many bytes.
#[derive(Debug)]
pub struct Redactor<W> {
    out: W,
    line: Vec<u8>,
    line_cut: bool,
    rules: Rules,
    room: u64,
    sum: RedactionSummary,
}

/// Number of bytes written and names removed, and whether the text was truncated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedactionSummary {
    /// How much was written.
    pub bytes: u64,
    /// How many names were taken out.
    pub names: u64,
    /// Whether there was more than room.
    pub cut: bool,
}

/// The rules for lines, with what they remember from one line to the next.
#[derive(Debug, Default)]
pub struct Rules {
    /// Inside an element that holds a name and did not end with its line.
    inside: bool,
    /// The last line ended within a name; a line that continues it is the name's as well.
    open: bool,
}

// === impl Redactor ===

impl<W: Write> Redactor<W> {
    /// Writes there, and no more than so much.
    pub fn new(out: W, bytes_max: u64) -> Self {
        Self {
            out,
            line: Vec::new(),
            line_cut: false,
            rules: Rules::default(),
            room: bytes_max,
            sum: RedactionSummary::default(),
        }
    }

    /// Takes a piece of text, which need not end where a line does.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn take(&mut self, bytes: &[u8]) -> io::Result<Capacity> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                Some(_) | None => (piece, false),
            };
            let fits = LINE_BYTES_MAX.saturating_sub(self.line.len()).min(text.len());
            self.line.extend_from_slice(text.get(..fits).unwrap_or_default());
            self.line_cut |= fits < text.len();
            if ends {
                self.end_line()?;
            }
            if self.sum.cut {
                return Ok(Capacity::Full);
            }
        }
        Ok(Capacity::More)
    }

    /// Writes what is left of the last line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> io::Result<RedactionSummary> {
        if !self.line.is_empty() && !self.sum.cut {
            self.end_line()?;
        }
        self.out.flush()?;
        Ok(self.sum)
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.line);
        let (text, names) = self.rules.line(&line);
        let end = if std::mem::take(&mut self.line_cut) { " [the rest of this line was omitted]\n" } else { "\n" };
        let length = u64::try_from(text.len() + end.len()).unwrap_or(u64::MAX);
        self.sum.names += names;
        if length > self.room {
            self.sum.cut = true;
        } else {
            self.room -= length;
            self.sum.bytes += length;
            self.out.write_all(text.as_bytes())?;
            self.out.write_all(end.as_bytes())?;
        }
        self.line.clear();
        Ok(())
    }
}

// === impl Rules ===

impl Rules {
    /// A line without names, and how many there were.
    pub fn line<'a>(&mut self, line: &'a str) -> (Cow<'a, str>, u64) {
        if std::mem::take(&mut self.open) && line.starts_with([' ', '\t']) {
            self.open = true;
            return (Cow::Borrowed(MARK), 1);
        }
        let mut spans = Vec::new();
        lines::element(line, &mut self.inside, &mut spans);
        self.open = lines::all(line, &mut spans);
        if spans.is_empty() {
            return (Cow::Borrowed(line), 0);
        }
        spans.sort_by_key(|span| (span.start, span.end));
        let (mut text, mut done, mut names) = (String::with_capacity(line.len()), 0, 0);
        for span in spans {
            // What is within a name that is gone already needs nothing more.
            if span.end <= done || span.is_empty() {
                continue;
            }
            if span.start >= done {
                text.push_str(line.get(done..span.start).unwrap_or_default());
                text.push_str(MARK);
                names += 1;
            }
            done = span.end;
        }
        text.push_str(line.get(done..).unwrap_or_default());
        (Cow::Owned(text), names)
    }
}

#[cfg(test)]
mod tests;
