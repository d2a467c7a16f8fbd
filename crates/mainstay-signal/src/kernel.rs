//! Kernel log lines: removes the prefix of a line and passes the text to the parser that recognises its beginning. The
//! parsers see only the text that the kernel or a driver printed.

use crate::{Signal, scan};

mod aer;
mod device;
mod identity;
mod lockup;
mod mlx5;
mod oom;
mod sxid;
mod xid;

use device::DeviceLine;
pub use identity::{Identity, identify};

/// Maximum length of a line's text that is parsed. The kernel itself ends a line at 1,024 bytes (`printk`'s
/// `LOG_LINE_MAX`).
pub const LINE_BYTES_MAX: usize = 1024;

/// Maximum length of the prefix: `/dev/kmsg` fields, a journal's time and host, a time in brackets.
pub const PREFIX_BYTES_MAX: usize = 128;

/// Parses one line. Returns `None` if the line is not relevant. Text after the first line break or beyond the length
/// limits is ignored.
#[must_use]
pub fn parse(line: &str) -> Option<Signal> {
    let text = text_of(line);
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

/// Parses one line from raw bytes, because the kernel guarantees no encoding.
#[must_use]
pub fn parse_bytes(line: &[u8]) -> Option<Signal> {
    let bytes_max = PREFIX_BYTES_MAX + LINE_BYTES_MAX;
    parse(&String::from_utf8_lossy(line.get(..bytes_max).unwrap_or(line)))
}

/// Returns the text of a line: the part that the kernel or a driver printed.
fn text_of(line: &str) -> &str {
    let line = scan::cut(line, PREFIX_BYTES_MAX + LINE_BYTES_MAX);
    // A `/dev/kmsg` record continues after its text with lines of properties.
    let line = line.split(['\n', '\r']).next().unwrap_or_default();
    scan::cut(without_prefix(line), LINE_BYTES_MAX)
}

/// Removes each kind of prefix at most once, in the order in which they nest: first the prefix of the log store, then
/// what `dmesg` shows. A journal line of a program other than the kernel keeps its prefix, so that no parser accepts
/// it.
fn without_prefix(line: &str) -> &str {
    let line = without_kmsg(line).or_else(|| without_journal(line)).unwrap_or(line).trim_start();
    let line = without_level(line).unwrap_or(line);
    let line = without_bracket(line).unwrap_or(line);
    // Kernels with CONFIG_PRINTK_CALLER print the caller after the time: `[   12.345678][ T1234] text`.
    without_bracket(line).unwrap_or(line)
}

/// Parses `6,1234,567890,-;text`, with more fields before the `;` on some kernels. The facility in the first number
/// shows whether the kernel or a root process wrote the line. Both are accepted, because root can do more harm to its
/// own node.
fn without_kmsg(line: &str) -> Option<&str> {
    let (fields, text) = line.split_once(';')?;
    let mut fields = fields.split(',');
    let numbers = fields.by_ref().take(3).filter(|field| is_number(field)).count();
    (numbers == 3 && fields.next().is_some()).then_some(text)
}

/// Parses `Nov 15 03:00:00 host kernel: text`, `2026-11-15T03:00:00+00:00 host kernel: text`, or `kernel: text` alone.
fn without_journal(line: &str) -> Option<&str> {
    let (before, text) = line.split_once("kernel: ")?;
    let mut words = before.split_ascii_whitespace();
    let is_kernel = match [words.next(), words.next(), words.next(), words.next(), words.next()] {
        [None, ..] => before.is_empty(),
        [Some(time), Some(_host), None, ..] => time.contains('T') && time.starts_with(|c: char| c.is_ascii_digit()),
        [Some(month), Some(day), Some(time), Some(_host), None] => {
            month.len() == 3 && is_number(day) && time.split(':').take(3).all(is_number)
        }
        _ => false,
    };
    is_kernel.then_some(text)
}

/// Parses `<3>text`, as in the raw log and on serial consoles.
fn without_level(line: &str) -> Option<&str> {
    let (level, text) = line.strip_prefix('<')?.split_once('>')?;
    is_number(level).then(|| text.trim_start())
}

/// Parses `[  123.456789] text`, or a date in place of the seconds (`dmesg -T`). A subsystem tag such as `[drm]` has no
/// digit and stays.
fn without_bracket(line: &str) -> Option<&str> {
    let (time, text) = line.strip_prefix('[')?.split_once(']')?;
    let is_time = time.len() <= 40
        && time.contains(|c: char| c.is_ascii_digit())
        && time.chars().all(|c| c.is_ascii_alphanumeric() || " .:+,-".contains(c));
    is_time.then(|| text.trim_start())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
