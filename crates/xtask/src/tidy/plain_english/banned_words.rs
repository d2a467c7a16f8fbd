//! The list of banned words, `banned_words.tsv`: reads it and finds its words in a text. Read at run time, so a change of
//! the list needs no build.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};

use super::sentence::mask;

/// The committed list.
pub(crate) const PATH: &str = "crates/xtask/src/tidy/banned_words.tsv";

/// Banned phrases and their replacements, indexed by first word.
#[derive(Debug, Default)]
pub(crate) struct BannedWords {
    by_first: BTreeMap<String, Vec<Phrase>>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Phrase {
    words: Vec<String>,
    entry: usize,
}

#[derive(Debug)]
struct Entry {
    replacement: String,
    /// Phrases in which it is allowed.
    phrases: Vec<Vec<String>>,
    /// Files in which it is allowed; a trailing `*` matches any rest.
    paths: Vec<String>,
}

/// A banned word in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Lines after the first line of the text.
    pub(crate) line: usize,
    pub(crate) word: String,
    pub(crate) replacement: String,
}

impl BannedWords {
    /// Reads the list: words separated by `|`, replacement, and allowed contexts separated by `;`.
    pub(crate) fn parse(text: &str) -> anyhow::Result<BannedWords> {
        let mut banned = BannedWords::default();
        for (line, number) in text.lines().zip(1..) {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let mut columns = line.split('\t');
            let (words, replacement) = (columns.next().unwrap_or_default(), columns.next());
            let replacement = replacement.with_context(|| format!("{PATH}:{number} has no replacement"))?;
            let allowed = columns.next().unwrap_or_default();
            ensure!(columns.next().is_none(), "{PATH}:{number} has more than three columns");
            let (mut phrases, mut paths) = (Vec::new(), Vec::new());
            for one in allowed.split(';').map(str::trim).filter(|one| !one.is_empty()) {
                match one.strip_prefix("path=") {
                    Some(path) => paths.push(path.to_owned()),
                    None => phrases.push(tokens(one).into_iter().map(|token| token.lower).collect()),
                }
            }
            let entry = banned.entries.len();
            banned.entries.push(Entry { replacement: replacement.to_owned(), phrases, paths });
            for alternative in words.split('|') {
                let words: Vec<String> = tokens(alternative).into_iter().map(|token| token.lower).collect();
                let first = words.first().with_context(|| format!("{PATH}:{number} has an empty word"))?.clone();
                banned.by_first.entry(first).or_default().push(Phrase { words, entry });
            }
        }
        Ok(banned)
    }

    /// The banned words of a text of this file, inline code left out.
    pub(crate) fn hits(&self, path: &str, text: &str) -> Vec<Hit> {
        let masked = mask(text);
        let tokens = tokens(&masked);
        let mut hits = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            for phrase in self.by_first.get(&token.lower).map_or(&[][..], Vec::as_slice) {
                let Some(entry) = self.entries.get(phrase.entry) else { continue };
                let matches = is_here(&masked, &tokens, at, &phrase.words, char::is_whitespace);
                if matches && !is_identifier(&masked, token) && !entry.allows(path, &masked, &tokens, at) {
                    let line = masked.get(..token.start).unwrap_or_default().matches('\n').count();
                    let word = phrase.words.join(" ");
                    hits.push(Hit { line, word, replacement: entry.replacement.clone() });
                }
            }
        }
        hits
    }
}

impl Entry {
    fn allows(&self, path: &str, text: &str, tokens: &[Token], at: usize) -> bool {
        let in_path = self.paths.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(start) => path.starts_with(start),
            None => path == allowed,
        });
        let joins = |c: char| c.is_whitespace() || c == '-' || c == '\'';
        in_path
            || self.phrases.iter().any(|phrase| {
                (at.saturating_sub(phrase.len().saturating_sub(1))..=at)
                    .any(|from| is_here(text, tokens, from, phrase, joins) && from + phrase.len() > at)
            })
    }
}

#[derive(Debug)]
struct Token {
    start: usize,
    end: usize,
    lower: String,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, c.is_alphanumeric() || c == '_') {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let lower = text.get(from..at).unwrap_or_default().to_lowercase();
                found.push(Token { start: from, end: at, lower });
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Whether the words stand at this token, with only these characters between them.
fn is_here(text: &str, tokens: &[Token], at: usize, words: &[String], joins: impl Fn(char) -> bool) -> bool {
    let Some(here) = tokens.get(at..at + words.len()) else { return false };
    let gaps = here.iter().zip(here.iter().skip(1));
    here.iter().zip(words).all(|(token, word)| token.lower == *word)
        && gaps.into_iter().all(|(a, b)| text.get(a.end..b.start).is_some_and(|gap| gap.chars().all(&joins)))
}

/// Part of a name such as `mad-sensor`, `docs/story.md` or `on_paper`: names change by renaming, not by rewording.
fn is_identifier(text: &str, token: &Token) -> bool {
    let glue = |c: char| "-_/.:@#$".contains(c);
    let mut before = text.get(..token.start).unwrap_or_default().chars().rev();
    let mut after = text.get(token.end..).unwrap_or_default().chars();
    let glued_before = before.next().is_some_and(glue) && before.next().is_some_and(char::is_alphanumeric);
    let glued_after = after.next().is_some_and(glue) && after.next().is_some_and(char::is_alphanumeric);
    glued_before || glued_after
}
