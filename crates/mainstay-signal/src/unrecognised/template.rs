//! Removes the values of a line: numbers, addresses and ids become `#`, names, quoted text and paths become `*`. What is
//! left are the words of the driver, so that equal faults of a fleet have equal templates.

use mainstay_model::Template;

use crate::scan::clean;

const NUMBER: char = '#';
const NAME: char = '*';

/// Names of drivers and file systems that have digits; their digits are no values.
const NAMES_WITH_DIGITS: &[&str] = &[
    "mlx5_core",
    "mlx5_ib",
    "mlx5e",
    "mlx5",
    "mlx4_core",
    "mlx4_en",
    "mlx4_ib",
    "mlx4",
    "i40e",
    "e1000e",
    "e1000",
    "r8169",
    "tg3",
    "bnx2x",
    "cxgb4",
    "cxgb3",
    "mpt3sas",
    "mpt2sas",
    "ext4",
    "EXT4-fs",
    "EXT3-fs",
    "jbd2",
    "JBD2",
    "amd64",
    "x86_64",
    "i915",
    "i2c",
    "md5",
    "DMA32",
    "ib_mlx5",
];

/// Words that a chosen name follows.
const INTRODUCERS: &[&str] = &[
    "comm",
    "process",
    "task",
    "thread",
    "client",
    "pod",
    "container",
    "namespace",
    "user",
    "hostname",
    "image",
    "sandbox",
];

/// Words that are no chosen name, after one of the above.
const NO_NAMES: &[&str] = &[
    "a",
    "and",
    "blocked",
    "can",
    "cannot",
    "create",
    "creation",
    "did",
    "died",
    "error",
    "exited",
    "failed",
    "for",
    "from",
    "group",
    "has",
    "hung",
    "id",
    "in",
    "init",
    "is",
    "killed",
    "memory",
    "name",
    "not",
    "of",
    "on",
    "pid",
    "process",
    "refused",
    "runtime",
    "start",
    "terminated",
    "timeout",
    "timed",
    "to",
    "was",
    "with",
];

/// The template of a text, with at most as many bytes as the model allows.
pub(super) fn of(text: &str) -> String {
    let unquoted = without_quotes(text);
    let mut out = String::with_capacity(Template::BYTES_MAX * 2);
    let mut is_name_next = false;
    for (at, word) in unquoted.split_ascii_whitespace().enumerate() {
        // What follows is cut anyway.
        if out.len() > Template::BYTES_MAX {
            break;
        }
        let before = out.len();
        if before > 0 {
            out.push(' ');
        }
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_one_of = |list: &[&str]| {
            let alike = list.iter().filter(|known| known.len() == bare.len());
            alike.into_iter().any(|known| bare.eq_ignore_ascii_case(known))
        };
        if (is_name_next && !bare.is_empty() && !is_one_of(NO_NAMES)) || is_process(word, at) {
            push_name(&mut out, word);
        } else {
            push_word(&mut out, word);
        }
        // A row of registers is one value.
        let (head, tail) = out.split_at(before);
        if is_value(tail) && is_value(head.rsplit(' ').next().unwrap_or_default()) {
            out.truncate(before);
        }
        is_name_next = is_one_of(INTRODUCERS);
    }
    clean(&out, Template::BYTES_MAX)
}

/// The code of a template: its driver and a digest of the text, so that the code can be computed again from the text.
pub(super) fn code(driver: &str, template: &str) -> String {
    // FNV-1a, folded: short, and no secret.
    let digest = template
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{driver}-{:08x}", (digest >> 32) ^ (digest & 0xffff_ffff))
}

fn is_value(word: &str) -> bool {
    let word = word.trim();
    word.contains(NUMBER) && word.chars().all(|c| matches!(c, NUMBER | ',' | ')' | '}' | ']' | '(' | '{' | '['))
}

/// Replaces quoted text by a name. An apostrophe between letters opens nothing.
fn without_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        let close = match first {
            '\'' | '"' | '`' => Some(first),
            '<' => Some('>'),
            _ => None,
        };
        let opens = !out.ends_with(|c: char| c.is_ascii_alphanumeric());
        if let Some(length) = close.filter(|_| opens).and_then(|close| quoted(after, close)) {
            out.push(NAME);
            rest = after.get(length..).unwrap_or_default();
        } else {
            out.push(first);
            rest = after;
        }
    }
    out
}

/// Bytes up to and including the closing quote, if there is one that ends a text.
fn quoted(text: &str, close: char) -> Option<usize> {
    let end = text.match_indices(close).map(|(at, _)| at).find(|at| {
        let next = text.get(at + close.len_utf8()..).and_then(|rest| rest.chars().next());
        !next.is_some_and(|next| next.is_ascii_alphanumeric())
    })?;
    let is_one_word = !text.get(..end)?.contains(' ');
    (end > 0 && (close != '>' || is_one_word)).then_some(end + close.len_utf8())
}

/// `python[1234]:` at the beginning, and `[python:1234]`, as the kernel names processes.
fn is_process(word: &str, at: usize) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(inner) =
        word.strip_prefix('[').and_then(|word| word.trim_end_matches([',', ':', '.']).strip_suffix(']'))
    {
        return inner.rsplit_once(':').is_some_and(|(name, pid)| !name.is_empty() && digits(pid));
    }
    let inner = word.trim_end_matches(':').strip_suffix(']').and_then(|word| word.split_once('['));
    at == 0 && inner.is_some_and(|(name, pid)| !name.is_empty() && digits(pid))
}

/// Pushes a name in place of a text, within its punctuation.
fn push_name(out: &mut String, word: &str) {
    let start = word.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(0);
    // The process id in `python[1234]:` belongs to the name.
    let is_last = |c: char| c.is_ascii_alphanumeric() || (c == ']' && !word.starts_with('['));
    let end = word.rfind(is_last).map_or(word.len(), |end| end + 1);
    out.push_str(word.get(..start).unwrap_or_default());
    out.push(NAME);
    out.push_str(word.get(end..).unwrap_or_default());
}

fn push_word(out: &mut String, word: &str) {
    let bare =
        word.trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | ':' | '.' | '!'));
    let is_path = bare.len() > 1 && bare.starts_with('/');
    let is_address = bare.contains("://") || (bare.len() > 1 && bare.contains('@'));
    let dots = bare.matches('.').count();
    let is_host = dots >= 2 && !bare.contains(['_', ':', '(', '=']) && bare.contains(|c: char| c.is_ascii_alphabetic());
    if is_path || is_address || (is_host && number_run(bare) != Some(bare.len())) {
        return push_name(out, word);
    }
    let mut rest = word;
    let mut is_start = true;
    while let Some(first) = rest.chars().next() {
        if is_start && let Some(length) = number_run(rest) {
            push_number(out);
            rest = rest.get(length..).unwrap_or_default();
        } else if is_start && let Some(name) = name_with_digits(rest) {
            out.push_str(name);
            rest = rest.get(name.len()..).unwrap_or_default();
        } else if is_start && let Some(length) = mixed_id(rest) {
            push_number(out);
            rest = rest.get(length..).unwrap_or_default();
        } else if first.is_ascii_digit() {
            push_number(out);
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            if first == '=' {
                rest = push_value(out, rest);
            }
        }
        is_start = !out.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == NUMBER);
    }
}

/// The value behind an equals sign; returns what follows it.
fn push_value<'a>(out: &mut String, text: &'a str) -> &'a str {
    let end = text.find([',', ';', ')', ']', '}']).unwrap_or(text.len());
    let value = text.get(..end).unwrap_or_default();
    if value.starts_with(|c: char| c.is_ascii_digit() || c == '-') || number_run(value) == Some(value.len()) {
        out.push(NUMBER);
    } else if !value.is_empty() {
        out.push(NAME);
    }
    text.get(end..).unwrap_or_default()
}

/// Two numbers side by side are one.
fn push_number(out: &mut String) {
    let is_joined = out.strip_suffix(['-', ':', '.', '/']).is_some_and(|before| before.ends_with(NUMBER));
    if is_joined {
        out.pop();
    } else if !out.ends_with(NUMBER) {
        out.push(NUMBER);
    }
}

/// Bytes of a number, an address or an id at the beginning of a text: groups of hexadecimal digits with `:`, `.` or `-`
/// between them, at least one of them with a decimal digit.
fn number_run(text: &str) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '-' | '_');
    let run = text.get(..text.find(|c| !is_part(c)).unwrap_or(text.len()))?;
    let run = run.trim_end_matches([':', '.', '-', '_']);
    let mut has_digit = false;
    for group in run.trim_start_matches('-').split([':', '.', '-', '_']) {
        let digits = group.strip_prefix("0x").or_else(|| group.strip_prefix("0X")).unwrap_or(group);
        // An IPv6 address may leave groups out.
        if (digits.is_empty() && !run.contains("::")) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        has_digit |= digits.len() < group.len() || digits.bytes().any(|byte| byte.is_ascii_digit());
    }
    // Eight letters from a to f are a register.
    (has_digit || run.len() >= 8).then_some(run.len())
}

fn name_with_digits(text: &str) -> Option<&'static str> {
    let ends = |name: &&&str| {
        !text.get(name.len()..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let first = text.bytes().next();
    let alike = NAMES_WITH_DIGITS.iter().filter(|name| name.bytes().next() == first);
    alike.filter(|name| text.starts_with(**name)).find(ends).copied()
}

/// Bytes of a serial number or another id: letters and digits in turn, without a separator.
fn mixed_id(text: &str) -> Option<usize> {
    let length = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let id = text.get(..length)?;
    let runs = id.split(|c: char| c.is_ascii_alphabetic()).filter(|digits| !digits.is_empty()).count();
    let followed_by_name = text.get(length..).is_some_and(|rest| rest.starts_with('_'));
    (length >= 8 && runs >= 2 && !followed_by_name).then_some(length)
}
