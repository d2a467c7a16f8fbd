//! Words and sentences of a text. Inline code counts as one word and is never judged; link targets and HTML tags do not
//! count.

/// The same text with inline code, link targets and tags overwritten, byte for byte, so that places stay as they are.
pub(crate) fn mask(text: &str) -> String {
    let mut out: Vec<u8> = text.as_bytes().to_vec();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = match rest {
            [b'`', ..] => {
                let ticks = rest.iter().take_while(|byte| **byte == b'`').count();
                find(bytes, at + ticks, &vec![b'`'; ticks]).map(|end| (end + ticks, b'x'))
            }
            [b']', b'(', ..] => find(bytes, at, b")").map(|end| (end + 1, b' ')),
            [b'<', next, ..] if next.is_ascii_alphabetic() || *next == b'/' => {
                find(bytes, at, b">").map(|end| (end + 1, b' '))
            }
            _ => None,
        };
        let Some((end, fill)) = end else {
            at += 1;
            continue;
        };
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = fill;
            }
        }
        at = end;
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    (from..=bytes.len().checked_sub(what.len())?).find(|at| bytes[*at..].starts_with(what))
}

/// How many words a text has.
pub(crate) fn words(text: &str) -> usize {
    mask(text).split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

/// Ends of words that look like the end of a sentence and are not.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no."];

/// What closes a sentence after its mark.
const CLOSERS: [char; 7] = ['*', '"', '\'', ')', '_', '”', '’'];

/// The sentences of a text, each with the offset of its first line.
pub(crate) fn sentences(text: &str) -> Vec<(usize, String)> {
    let masked = mask(text);
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in masked.match_indices(['.', '!', '?']) {
        if !ends_here(&masked, at) {
            continue;
        }
        let closers = masked.get(at + 1..).unwrap_or_default();
        let end = at + 1 + (closers.len() - closers.trim_start_matches(CLOSERS).len());
        push(text, start, end, &mut found);
        start = end;
    }
    push(text, start, text.len(), &mut found);
    found
}

/// Whether the mark at this place ends a sentence: a space and a capital follow, and it is no abbreviation.
fn ends_here(masked: &str, at: usize) -> bool {
    let after = masked.get(at + 1..).unwrap_or_default().trim_start_matches(CLOSERS);
    if !after.starts_with(char::is_whitespace) {
        return false;
    }
    let next = after.trim_start().trim_start_matches(['*', '"', '(', '[', '_', '“']).chars().next();
    let begins = next.is_some_and(|next| next.is_uppercase() || next.is_ascii_digit() || next == 'x');
    let before = masked.get(..=at).unwrap_or_default();
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches('(');
    begins && !ABBREVIATIONS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn push(text: &str, start: usize, end: usize, found: &mut Vec<(usize, String)>) {
    let piece = text.get(start..end).unwrap_or_default();
    let begins = start + (piece.len() - piece.trim_start().len());
    let line = text.get(..begins).unwrap_or_default().matches('\n').count();
    let sentence = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    if sentence.chars().any(char::is_alphabetic) {
        found.push((line, sentence));
    }
}

/// The nearest-rank 90th percentile.
pub(crate) fn p90(mut lengths: Vec<usize>) -> usize {
    lengths.sort_unstable();
    let rank = (lengths.len() * 9).div_ceil(10);
    rank.checked_sub(1).and_then(|at| lengths.get(at)).copied().unwrap_or_default()
}
