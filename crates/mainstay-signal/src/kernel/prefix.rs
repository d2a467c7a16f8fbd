//! The prefix of a kernel line, and line breaks within its text. `assess` reads more shapes of logs than this,
//! with their times and hosts; here are those of the kernel itself and of the journal.

use std::borrow::Cow;

/// Line breaks in a record: the character itself, and as rsyslog writes it. `/dev/kmsg` writes `\x0a`, which the agent
/// has replaced already.
const BREAKS: [&str; 3] = ["\n", "\r", "#012"];

/// Lines that one record may have. NVIDIA's longest message has six.
const LINES_MAX: usize = 12;

/// Removes each kind of prefix at most once, in the order in which they nest: first the prefix of the log store, then
/// what `dmesg` shows. A journal line of a program other than the kernel keeps its prefix, so that no parser accepts
/// it.
pub(super) fn without_prefix(line: &str) -> &str {
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

/// Folds a record of several lines into one. Drivers repeat their name on each line, which is removed. A record of
/// `/dev/kmsg` continues after its text with lines of properties, which end the text. The parsers check how a text
/// begins, so a line break in a name that a tenant chose begins nothing.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    let Some((first, mut rest)) = split_at_break(text) else { return Cow::Borrowed(text) };
    let driver = first.split_once(": ").map(|(driver, _)| driver).filter(|driver| !driver.contains(' '));
    let mut folded = first.to_owned();
    for _ in 1..LINES_MAX {
        let (line, after) = split_at_break(rest).unwrap_or((rest, ""));
        if is_property(line) {
            break;
        }
        let line = line.trim();
        let repeated = driver.and_then(|driver| line.strip_prefix(driver)?.strip_prefix(": "));
        let line = repeated.unwrap_or(line).trim();
        if !line.is_empty() {
            if !folded.ends_with(' ') {
                folded.push(' ');
            }
            folded.push_str(line);
        }
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    Cow::Owned(folded)
}

fn split_at_break(text: &str) -> Option<(&str, &str)> {
    let breaks = BREAKS.iter().filter_map(|mark| Some((text.find(mark)?, mark.len())));
    let (at, length) = breaks.min()?;
    Some((text.get(..at)?, text.get(at + length..)?))
}

/// ` SUBSYSTEM=pci`: a property of the record.
fn is_property(line: &str) -> bool {
    let name = line.strip_prefix(' ').and_then(|line| line.split_once('=')).map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_several_lines_is_one_line() {
        for (text, expected) in [
            ("NVRM: a b\nNVRM: (c) d\n   NVRM: e.", "NVRM: a b (c) d e."),
            ("NVRM: a b#012NVRM: c", "NVRM: a b c"),
            ("NVRM: a\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:00.0\n", "NVRM: a"),
            ("one two\r\nthree", "one two three"),
            ("one", "one"),
            ("", ""),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
        assert!(folded(&"x\n".repeat(1_000)).len() <= 2 * LINES_MAX);
    }
}
