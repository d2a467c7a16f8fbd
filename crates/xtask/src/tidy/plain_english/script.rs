//! Texts of the web UI: string literals and text between tags in TypeScript sources. An approximation: it knows comments,
//! strings and templates, and treats what is between `>` and `<` as text where it looks like prose.

use super::text::{Kind, Text};

/// A literal of one word is a key or a label of code.
const LITERAL_WORDS_MIN: usize = 2;

/// Replaces a string in the code, so that code around it is not read as prose.
const STRING: u8 = 1;

/// Every string of some words, and every text between tags.
pub(super) fn texts(source: &str) -> Vec<Text> {
    let (literals, code) = lex(source);
    let mut found: Vec<Text> = literals
        .into_iter()
        .filter(|(_, text)| text.split_whitespace().count() >= LITERAL_WORDS_MIN)
        .map(|(at, text)| Text { line: line_of(source, at), kind: Kind::Page, text })
        .collect();
    found.extend(between_tags(&code).map(|(at, text)| Text { line: line_of(source, at), kind: Kind::Page, text }));
    found.sort_by_key(|text| text.line);
    found
}

fn line_of(source: &str, at: usize) -> usize {
    source.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// Literals with their places, and the code with comments blanked and literals overwritten.
fn lex(source: &str) -> (Vec<(usize, String)>, String) {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut literals = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = match rest {
            [b'/', b'/', ..] if at == 0 || bytes[at - 1] != b':' => {
                Some((rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length), b' '))
            }
            [b'/', b'*', ..] => {
                let length = source.get(at..).and_then(|rest| rest.find("*/"));
                Some((length.map_or(bytes.len(), |length| at + length + 2), b' '))
            }
            [b'/', ..] if begins_regex(bytes, at) => regex_end(bytes, at).map(|end| (end, STRING)),
            [quote @ (b'"' | b'\'' | b'`'), ..] if !is_apostrophe(bytes, at) => {
                string_end(bytes, at, *quote).map(|end| (end, STRING))
            }
            _ => None,
        };
        let Some((end, fill)) = end else {
            at += 1;
            continue;
        };
        if fill == STRING && bytes[at] != b'/' && !is_class(source, at) {
            let text = source.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
            literals.push((at, without_values(text)));
        }
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = fill;
            }
        }
        at = end;
    }
    (literals, String::from_utf8_lossy(&code).into_owned())
}

/// An apostrophe in text between tags: "doesn't".
fn is_apostrophe(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'\'' && at > 0 && bytes[at - 1].is_ascii_alphabetic()
}

fn is_class(source: &str, at: usize) -> bool {
    let before = source.get(..at).unwrap_or_default().trim_end_matches(['{', ' ']);
    before.ends_with("class=") || before.ends_with("className=")
}

fn string_end(bytes: &[u8], at: usize, quote: u8) -> Option<usize> {
    let mut depth = 0_usize;
    let mut place = at + 1;
    while place < bytes.len() {
        match bytes[place] {
            b'\\' => place += 1,
            b'$' if quote == b'`' && bytes.get(place + 1) == Some(&b'{') => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'\n' if quote != b'`' => return None,
            byte if byte == quote && depth == 0 => return Some(place + 1),
            _ => {}
        }
        place += 1;
    }
    None
}

fn begins_regex(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev().find(|byte| !byte.is_ascii_whitespace());
    before.is_some_and(|before| b"(,=:[!&|?".contains(before))
}

fn regex_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut place = at + 1;
    let mut in_class = false;
    while place < bytes.len() {
        match bytes[place] {
            b'\\' => place += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(place + 1),
            b'\n' => return None,
            _ => {}
        }
        place += 1;
    }
    None
}

/// `${value}` of a template becomes one letter.
fn without_values(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("${") {
        out.push_str(before);
        out.push('x');
        rest = from.split_once('}').map_or("", |(_, after)| after);
    }
    out + rest
}

/// Text after a tag or a value in braces, up to the next tag or value.
fn between_tags(code: &str) -> impl Iterator<Item = (usize, String)> {
    code.match_indices(['>', '}']).filter_map(|(at, mark)| {
        let rest = code.get(at + 1..)?;
        let end = rest.find(['<', '{', '}', '>'])?;
        let text = rest.get(..end)?;
        let is_arrow = mark == ">" && code.get(..at).is_some_and(|before| before.ends_with(['=', '-']));
        let is_open = rest.get(end..)?.starts_with(['<', '{']);
        let is_code = text.contains([';', '=', '&', '|', '[', ']', '\u{1}'])
            || (mark == "}" && text.contains(['(', ')']))
            || !text.contains(char::is_alphabetic);
        let skip = text.len() - text.trim_start().len();
        (!is_arrow && is_open && !is_code).then(|| (at + 1 + skip, text.trim().to_owned()))
    })
}
