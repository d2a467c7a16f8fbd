//! Text lines to what is counted: signals of lines that a parser knows, templates of error lines that none knows. The
//! kernel log and the journal both use it.

use mainstay_signal::{LineTemplate, Recognition, Signal, Writer, recognise, unrecognised};

/// Templates that are made within one second, at about 10 µs each. A log that prints more unknown lines repeats itself, and
/// the rest is counted.
const TEMPLATES_A_SECOND: u32 = 50;

/// What lines of a log gave, each with its time in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// Signals, in the order of the lines.
    pub signals: Vec<(Signal, i64)>,
    /// Templates of error lines that no parser knows.
    pub unrecognised: Vec<(LineTemplate, i64)>,
    /// Unknown lines without a template, because too many came within a second. Not all of them report an error.
    pub unexamined: u64,
}

/// Reads lines, and limits how many templates are made.
#[derive(Debug, Default)]
pub struct LineReader {
    second: i64,
    made: u32,
}

// === impl LineReader ===

impl LineReader {
    /// Reads one line.
    pub fn read(&mut self, line: &str, writer: Writer<'_>, priority: Option<u8>, at_millis: i64, lines: &mut Lines) {
        match recognise(line, writer) {
            Recognition::Fault(signal) => lines.signals.push((signal, at_millis)),
            Recognition::Harmless => {}
            Recognition::Unknown => {
                let second = at_millis.div_euclid(1_000);
                if second != self.second {
                    (self.second, self.made) = (second, 0);
                }
                if self.made >= TEMPLATES_A_SECOND {
                    lines.unexamined += 1;
                } else if let Some(template) = unrecognised(line, writer, priority) {
                    self.made += 1;
                    lines.unrecognised.push((template, at_millis));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_unknown_lines_is_counted_and_not_looked_at() {
        let (mut reader, mut lines) = (LineReader::default(), Lines::default());
        for number in 0..1_000 {
            reader.read(&format!("habanalabs hl0: widget {number} failed"), Writer::Kernel, Some(3), 5_000, &mut lines);
        }
        assert_eq!((lines.unrecognised.len(), lines.unexamined), (50, 950));
        reader.read(
            "NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus.",
            Writer::Kernel,
            Some(3),
            5_000,
            &mut lines,
        );
        reader.read("habanalabs hl0: widget failed", Writer::Kernel, Some(3), 6_000, &mut lines);
        assert_eq!(
            (lines.signals.len(), lines.unrecognised.len()),
            (1, 51),
            "known lines and the next second are read"
        );
    }
}
