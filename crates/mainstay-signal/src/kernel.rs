//! Kernel log lines: removes the prefix of a line and passes the text to the parser that recognises its beginning. The
//! parsers see only the text that the kernel or a driver printed.

use std::borrow::Cow;

use crate::{Recognition, Signal, scan};

mod aer;
mod device;
mod identity;
mod lockup;
mod mlx5;
mod oom;
mod prefix;
mod sxid;
mod xid;

use device::DeviceLine;
pub use identity::{Identity, identify};
use prefix::without_prefix;

/// Maximum length of a line's text that is parsed. The kernel itself ends a line at 1,024 bytes (`printk`'s
/// `LOG_LINE_MAX`).
pub const LINE_BYTES_MAX: usize = 1024;

/// Maximum length of the prefix: `/dev/kmsg` fields, a journal's time and host, a time in brackets.
pub const PREFIX_BYTES_MAX: usize = 128;

/// Parses one line of the kernel and returns its signal. Returns `None` if the line reports no fault.
#[must_use]
pub fn parse(line: &str) -> Option<Signal> {
    recognise(line).signal()
}

/// Parses one line from raw bytes, because the kernel guarantees no encoding.
#[must_use]
pub fn parse_bytes(line: &[u8]) -> Option<Signal> {
    let bytes_max = PREFIX_BYTES_MAX + LINE_BYTES_MAX;
    parse(&String::from_utf8_lossy(line.get(..bytes_max).unwrap_or(line)))
}

/// Tells what a line of the kernel means.
pub(crate) fn recognise(line: &str) -> Recognition {
    let text = text_of(line);
    signal(&text).into()
}

/// Tells what a kernel line means that a script, a ticket or a JSON document wraps.
pub(crate) fn recognise_wrapped(_line: &str) -> Recognition {
    Recognition::Unknown
}

fn signal(text: &str) -> Option<Signal> {
    xid::parse(text)
        .or_else(|| sxid::parse(text))
        .or_else(|| lockup::parse(text))
        .or_else(|| oom::parse(text))
        .or_else(|| mlx5::parse_watchdog(text))
        .or_else(|| {
            let line = DeviceLine::read(text)?;
            aer::parse(&line).or_else(|| mlx5::parse(&line))
        })
}

/// Returns the text of a record: the part that the kernel or a driver printed, without line breaks.
fn text_of(line: &str) -> Cow<'_, str> {
    let line = scan::cut(line, PREFIX_BYTES_MAX + LINE_BYTES_MAX);
    let text = without_prefix(line);
    match prefix::folded(text) {
        Cow::Borrowed(text) => Cow::Borrowed(scan::cut(text, LINE_BYTES_MAX)),
        Cow::Owned(text) => Cow::Owned(scan::cut(&text, LINE_BYTES_MAX).to_owned()),
    }
}

#[cfg(test)]
mod tests;
