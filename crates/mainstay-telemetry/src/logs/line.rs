//! The text of one log line. Values can come from a hostile node or server: control characters are escaped, so that a value
//! cannot forge a second line or steer a terminal, and long values are cut.

use std::fmt::{self, Debug, Write as _};

use jiff::Timestamp;
use tracing::Level;
use tracing::field::{Field, Visit};

use super::LogFormat;

/// Characters of a message or of a value. Longer ones are cut and end with an ellipsis.
const CHARS_MAX: usize = 1_024;

/// Fields that every line has. An event's own field of that name gets the prefix `field.`, because a JSON object must not
/// have one name twice.
const EVERY_LINE: [&str; 3] = ["time", "level", "target"];

/// Message and fields of one event, as far as they are known.
pub(super) struct Line {
    format: LogFormat,
    message: String,
    fields: String,
}

/// Appends escaped text up to a limit. The escapes are those of a JSON string, in both formats.
struct Escaper<'a> {
    out: &'a mut String,
    chars_left: usize,
}

// === impl Line ===

impl Line {
    pub(super) const fn new(format: LogFormat) -> Self {
        Self { format, message: String::new(), fields: String::new() }
    }

    /// The whole line with its line break.
    pub(super) fn finish(self, at: Timestamp, level: Level, target: &str) -> String {
        let Self { format, message, fields } = self;
        let target = escaped(format_args!("{target}"));
        match format {
            LogFormat::Text => format!("{at:.3} {level:<5} {target}: {message}{fields}\n"),
            LogFormat::Json => {
                let level = level.as_str().to_ascii_lowercase();
                let head = format!(r#""time":"{at:.3}","level":"{level}","target":"{target}","message":"{message}""#);
                format!("{{{head}{fields}}}\n")
            }
        }
    }

    /// Sets the message, which is escaped like a value.
    pub(super) fn message(&mut self, value: fmt::Arguments<'_>) {
        self.message = escaped(value);
    }

    /// Adds a field whose value needs no quotes in JSON.
    pub(super) fn bare(&mut self, name: &str, value: impl fmt::Display) {
        self.name(name);
        // Writing to a String cannot fail.
        let _ = write!(self.fields, "{value}");
    }

    fn text(&mut self, name: &str, value: fmt::Arguments<'_>) {
        if name == "message" {
            self.message(value);
            return;
        }
        self.name(name);
        let value = escaped(value);
        let is_word = |c: char| c.is_ascii_alphanumeric() || "._:/@+-".contains(c);
        if self.format == LogFormat::Text && !value.is_empty() && value.chars().all(is_word) {
            self.fields.push_str(&value);
        } else {
            self.fields.push('"');
            self.fields.push_str(&value);
            self.fields.push('"');
        }
    }

    fn name(&mut self, name: &str) {
        let prefix = if EVERY_LINE.contains(&name) { "field." } else { "" };
        let name = escaped(format_args!("{prefix}{name}"));
        let _ = match self.format {
            LogFormat::Text => write!(self.fields, " {name}="),
            LogFormat::Json => write!(self.fields, ",\"{name}\":"),
        };
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.text(field.name(), format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.text(field.name(), format_args!("{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field.name(), value);
    }
}

/// Escaped text of at most [`CHARS_MAX`] characters. A value that writes more is interrupted.
fn escaped(value: fmt::Arguments<'_>) -> String {
    let mut out = String::new();
    if fmt::write(&mut Escaper { out: &mut out, chars_left: CHARS_MAX }, value).is_err() {
        out.push('…');
    }
    out
}

// === impl Escaper ===

impl fmt::Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.chars_left = self.chars_left.checked_sub(1).ok_or(fmt::Error)?;
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c.is_control() || reorders(c) => write!(self.out, "\\u{:04x}", u32::from(c))?,
                c => self.out.push(c),
            }
        }
        Ok(())
    }
}

/// Whether a character breaks lines or changes the direction of text, and is no control character by its class.
const fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
