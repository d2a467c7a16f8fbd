//! Texts of Rust sources: comments, help of clap types, and string literals of shipped crates. Enough of a lexer to tell
//! comments, strings and code apart; it is no parser.

use super::sentence;
use super::text::{Kind, Text};

/// Shorter literals are keys, labels and fragments.
const MESSAGE_WORDS_MIN: usize = 2;

/// Derives whose doc comments are help texts.
const CLAP: [&str; 4] = ["Parser", "Args", "Subcommand", "ValueEnum"];

/// Every comment, help text and message of a source file.
pub(super) fn texts(path: &str, source: &str) -> Vec<Text> {
    let (pieces, code) = lex(source);
    let clap = clap_items(&code);
    let tests = test_ranges(&code);
    let shipped = is_shipped(path);
    let mut found = Vec::new();
    for piece in merge(pieces, source) {
        let in_tests = tests.iter().any(|(from, to)| (*from..*to).contains(&piece.start));
        match piece.token {
            Token::Doc if clap.iter().any(|item| item.documents(&piece, &code)) && !in_tests => {
                found.extend(help(&piece));
            }
            Token::Doc | Token::Comment => found.extend(comment(&piece)),
            Token::Literal if in_tests => {}
            Token::Literal => {
                let before = code.get(..piece.start).unwrap_or_default().trim_end();
                let kind = if before.ends_with("_help =") || before.ends_with("long_about =") {
                    Kind::LongHelp
                } else if before.ends_with("help =") || before.ends_with("about =") {
                    Kind::Help
                } else if before.ends_with("reason =") {
                    Kind::Comment
                } else if shipped && sentence::words(&piece.text) >= MESSAGE_WORDS_MIN {
                    Kind::Message
                } else {
                    continue;
                };
                // Examples are commands, not prose.
                let text = piece.text.split("Examples:").next().unwrap_or_default();
                found.push(Text { line: piece.line, kind, text: without_format(text) });
            }
        }
    }
    found
}

/// Sources of the crates whose strings users see, without their tests.
fn is_shipped(path: &str) -> bool {
    let Some((_, inside)) = path.strip_prefix("crates/mainstay").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    inside.starts_with("src/") && !inside.contains("/tests/") && !inside.ends_with("/tests.rs")
}

/// Short help is the first paragraph of a doc comment; what follows is shown by `--help` only.
fn help(piece: &Piece) -> Vec<Text> {
    let (short, long) = piece.text.split_once("\n\n").unwrap_or((&piece.text, ""));
    let mut found = vec![Text { line: piece.line, kind: Kind::Help, text: short.to_owned() }];
    if !long.is_empty() {
        let line = piece.line + short.matches('\n').count() + 2;
        found.push(Text { line, kind: Kind::LongHelp, text: long.to_owned() });
    }
    found
}

/// Comments are Markdown: code blocks in them are dropped.
fn comment(piece: &Piece) -> Vec<Text> {
    let mut blocks = super::markdown::texts(&piece.text);
    for block in &mut blocks {
        block.line += piece.line - 1;
        block.kind = Kind::Comment;
    }
    blocks
}

/// `{name:?}` of a format string becomes one letter; the reader sees a value there.
fn without_format(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from.strip_prefix("{{") {
            out.push(' ');
            rest = after;
        } else if let Some(end) = from.find('}') {
            out.push('x');
            rest = from.get(end + 1..).unwrap_or_default();
        } else {
            rest = from.get(1..).unwrap_or_default();
        }
    }
    out + rest
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Comment,
    Doc,
    Literal,
}

#[derive(Clone, Debug)]
struct Piece {
    token: Token,
    line: usize,
    start: usize,
    end: usize,
    /// Only blanks precede it on its line.
    first: bool,
    text: String,
}

/// Comments and literals in order, and the code with both blanked.
fn lex(source: &str) -> (Vec<Piece>, String) {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut pieces = Vec::new();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let found = match rest {
            [b'/', b'/', ..] => {
                let end = rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
                let marks = rest.iter().take_while(|byte| **byte == b'/').count();
                let is_doc = marks == 3 || rest.get(2) == Some(&b'!');
                let token = if is_doc { Token::Doc } else { Token::Comment };
                Some((token, at + if is_doc { 3 } else { marks }, end, end))
            }
            [b'/', b'*', ..] => {
                let end = source.get(at..).and_then(|rest| rest.find("*/")).map_or(bytes.len(), |length| at + length);
                Some((Token::Comment, at + 2, end, (end + 2).min(bytes.len())))
            }
            [b'"', ..] => {
                let end = closing_quote(bytes, at + 1);
                Some((Token::Literal, at + 1, end, (end + 1).min(bytes.len())))
            }
            [b'r', b'"' | b'#', ..] if !is_name(bytes, at) => raw(source, at),
            [b'\'', ..] => {
                at = after_quote(source, at);
                continue;
            }
            _ => None,
        };
        let Some((token, from, to, end)) = found else {
            if bytes[at] == b'\n' {
                line += 1;
                line_start = at + 1;
            }
            at += 1;
            continue;
        };
        let first = source.get(line_start..at).unwrap_or_default().trim().is_empty();
        let text = source.get(from..to).unwrap_or_default();
        let text = if token == Token::Literal { unescaped(text) } else { text.to_owned() };
        pieces.push(Piece { token, line, start: at, end, first, text });
        for (offset, byte) in code[at..end].iter_mut().enumerate() {
            if *byte == b'\n' {
                line += 1;
                line_start = at + offset + 1;
            } else {
                *byte = b' ';
            }
        }
        at = end;
    }
    (pieces, String::from_utf8_lossy(&code).into_owned())
}

fn closing_quote(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

fn is_name(bytes: &[u8], at: usize) -> bool {
    // `br"…"` and `cr"…"` are literals as well.
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_some_and(|before| (before.is_ascii_alphanumeric() || *before == b'_') && !b"bc".contains(before))
}

fn raw(source: &str, at: usize) -> Option<(Token, usize, usize, usize)> {
    let rest = source.get(at + 1..)?;
    let marks = rest.bytes().take_while(|byte| *byte == b'#').count();
    let body = rest.get(marks..)?.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(marks));
    let from = at + 1 + marks + 1;
    let to = from + body.find(&closing)?;
    Some((Token::Literal, from, to, to + closing.len()))
}

/// Past a character literal, or past the mark of a lifetime.
fn after_quote(source: &str, at: usize) -> usize {
    let mut chars = source.get(at + 1..).unwrap_or_default().char_indices();
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((escaped, c))) => {
            let from = at + 1 + escaped + c.len_utf8();
            source.get(from..).and_then(|rest| rest.find('\'')).map_or(at + 1, |length| from + length + 1)
        }
        (Some(_), Some((end, '\''))) => at + 1 + end + 1,
        _ => at + 1,
    }
}

/// Escapes become blanks of the same length; a line that goes on keeps its line break.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\n' | '"' | '\'' | '\\')) => {
                    out.push(' ');
                    out.push(c);
                }
                _ => out.push_str("  "),
            },
            c => out.push(c),
        }
    }
    out
}

/// Puts the lines of one comment together.
fn merge(pieces: Vec<Piece>, source: &str) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        if let Some(last) = merged.last_mut()
            && piece.token != Token::Literal
            && last.token == piece.token
            && last.first
            && piece.first
            && source
                .get(last.end..piece.start)
                .is_some_and(|gap| gap.trim().is_empty() && gap.matches('\n').count() == 1)
        {
            last.text.push('\n');
            last.text.push_str(piece.text.trim_start_matches(' '));
            last.end = piece.end;
        } else {
            let text = if piece.token == Token::Literal { piece.text } else { piece.text.trim_start().to_owned() };
            merged.push(Piece { text, ..piece });
        }
    }
    merged
}

/// A type that clap reads: where its derive begins, and its body.
struct ClapItem {
    derive: usize,
    is_parser: bool,
    body: (usize, usize),
}

impl ClapItem {
    /// Whether clap shows this doc comment: it is inside the type, or it heads a parser.
    fn documents(&self, piece: &Piece, code: &str) -> bool {
        let inside = (self.body.0..self.body.1).contains(&piece.start);
        let heads = self.is_parser && code.get(piece.end..self.derive).is_some_and(|gap| gap.trim().is_empty());
        inside || heads
    }
}

fn clap_items(code: &str) -> Vec<ClapItem> {
    let mut items = Vec::new();
    for (at, mark) in code.match_indices("#[derive(") {
        let list = code.get(at + mark.len()..).unwrap_or_default();
        let names: Vec<&str> = list.split(')').next().unwrap_or_default().split(',').map(last_segment).collect();
        if !names.iter().any(|name| CLAP.contains(name)) {
            continue;
        }
        if let Some(body) = braces(code, at + mark.len()) {
            items.push(ClapItem { derive: at, is_parser: names.contains(&"Parser"), body });
        }
    }
    items
}

fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or_default().trim()
}

/// What `#[cfg(test)]` guards.
fn test_ranges(code: &str) -> Vec<(usize, usize)> {
    code.match_indices("#[cfg(test)]").filter_map(|(at, _)| braces(code, at)).collect()
}

/// The next braces after a place, unless the item ends before with a semicolon.
fn braces(code: &str, from: usize) -> Option<(usize, usize)> {
    let rest = code.get(from..)?;
    let open = rest.find(['{', ';']).filter(|at| rest.as_bytes().get(*at) == Some(&b'{'))?;
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some((from + open, from + at + 1));
        }
    }
    None
}
