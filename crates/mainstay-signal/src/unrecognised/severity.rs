//! Whether a line reports an error: by its priority, by the level that its program prints, or by its words.

use crate::Writer;

/// The syslog priority of an error; lower numbers are worse.
const ERROR: u8 = 3;
/// The syslog priority of a notice, the last one at which words count. The kernel prints at 6 (info) what is normal.
const NOTICE: u8 = 5;

/// Beginnings of words that report an error, in lower case.
const STEMS: &[&str] = &[
    "abort",
    "assert",
    "blocked",
    "broken",
    "cannot",
    "compromis",
    "corrupt",
    "critical",
    "dead",
    "degrad",
    "denied",
    "died",
    "drop",
    "error",
    "exceed",
    "except",
    "expire",
    "fail",
    "fallen",
    "fatal",
    "hang",
    "hung",
    "illegal",
    "inaccess",
    "insufficient",
    "invalid",
    "leak",
    "locked",
    "lockup",
    "lost",
    "malform",
    "mismatch",
    "missing",
    "offlin",
    "oops",
    "overflow",
    "overheat",
    "overrun",
    "panic",
    "poison",
    "refus",
    "reject",
    "stall",
    "stuck",
    "surprise",
    "throttl",
    "timeout",
    "unable",
    "uncontain",
    "uncorrect",
    "underrun",
    "unexpect",
    "unhandl",
    "unknown",
    "unreachable",
    "unrecogn",
    "unrecover",
    "unstable",
    "unsuccess",
    "violat",
    "wedged",
];

/// Whole words that report an error, in lower case.
const WORDS: &[&str] =
    &["bad", "bug", "err", "fault", "faults", "faulted", "oom", "recovered", "sxid", "warn", "warning", "xid"];

/// Words that report an error only together, in lower case.
const PHRASES: &[&str] = &[
    "timed out",
    "not respond",
    "not ready",
    "could not",
    "couldn't",
    "can't",
    "did not",
    "no response",
    "no such",
    "is down",
    "went down",
    "out of memory",
];

/// The level that a program prints in its own line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnLevel {
    Error,
    Lower,
}

/// The message of a service's line and its own level: klog (`E1116 09:14:05.1 42 file.go:1] text`), logrus
/// (`level=error msg="text"`), or the whole line.
pub(super) fn message(line: &str) -> (&str, Option<OwnLevel>) {
    if let Some((head, text)) = line.split_once("] ")
        && let Some((level, date)) = head.split_at_checked(1)
        && date.get(..4).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()))
        && let Some(level) = klog(level)
    {
        return (text, Some(level));
    }
    if let Some((_, rest)) = line.split_once("level=") {
        let end = rest.find(' ').unwrap_or(rest.len());
        let level = match rest.get(..end).unwrap_or_default() {
            "error" | "fatal" | "panic" => OwnLevel::Error,
            _ => OwnLevel::Lower,
        };
        let text = rest.split_once("msg=\"").map_or(rest, |(_, text)| text);
        return (text, Some(level));
    }
    (line, None)
}

fn klog(level: &str) -> Option<OwnLevel> {
    match level {
        "E" | "F" => Some(OwnLevel::Error),
        "I" | "W" => Some(OwnLevel::Lower),
        _ => None,
    }
}

/// What a program states itself comes first: what a service prints to its output has the priority of all its output.
pub(super) fn is_error(text: &str, writer: Writer<'_>, priority: Option<u8>, own: Option<OwnLevel>) -> bool {
    match (own, writer, priority) {
        (Some(own), _, _) => own == OwnLevel::Error,
        (None, _, Some(..=ERROR)) => true,
        (None, Writer::Kernel, Some(priority)) => priority <= NOTICE && reports_error(text),
        (None, Writer::Program(_) | Writer::Unstated, Some(_)) | (None, _, None) => reports_error(text),
    }
}

fn reports_error(text: &str) -> bool {
    let mut negated: u8 = 0;
    for part in text.split_ascii_whitespace() {
        if negated == 0 && part.split(|c: char| !(c.is_ascii_alphabetic() || c == '\'')).any(is_error_word) {
            return true;
        }
        // `No PCIe AER errors.` and `without errors` report none.
        let is = |word: &str| part.eq_ignore_ascii_case(word);
        negated = if is("no") || is("without") { 3 } else { negated.saturating_sub(1) };
    }
    let lower = text.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| lower.contains(phrase))
}

fn is_error_word(word: &str) -> bool {
    let word = word.as_bytes();
    // Most words are none, and their first letter shows it.
    let Some(first) = word.first().map(u8::to_ascii_lowercase).filter(|_| word.len() >= 3) else { return false };
    let alike = |known: &&&str| known.as_bytes().first() == Some(&first);
    let begins = |stem: &str| word.get(..stem.len()).is_some_and(|start| start.eq_ignore_ascii_case(stem.as_bytes()));
    STEMS.iter().filter(alike).any(|stem| begins(stem))
        || WORDS.iter().filter(alike).any(|whole| word.eq_ignore_ascii_case(whole.as_bytes()))
}
